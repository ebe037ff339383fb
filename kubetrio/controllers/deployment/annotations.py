"""Annotations of a Deployment and its ReplicaSets: revisions, sizes, and what is copied.

Source: k8s.io/kubernetes/pkg/controller/deployment/util.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        ROLLBACK_TO,
    }
)
MOST_HISTORY = 2000
"""Characters of the annotation of old revisions."""
_MOST = (1 << 31) - 1


def annotations_of(obj: Object) -> dict[str, str]:
    """A copy of an object's annotations."""
    return dict(obj["metadata"].get("annotations") or {})


def with_annotations(obj: Object, annotations: dict[str, str]) -> Object:
    """An object with other annotations."""
    meta = {**obj["metadata"], "annotations": annotations}
    if not annotations:
        del meta["annotations"]
    return {**obj, "metadata": meta}


def number(obj: Object, name: str) -> int | None:
    """A number that is not negative, from an annotation; None where there is none."""
    text = annotations_of(obj).get(name, "")
    if not text.isascii() or not text.isdigit() or int(text) > _MOST:
        return None
    return int(text)


def desired_replicas(replica_set: Object) -> int | None:
    """The size of the Deployment when its ReplicaSet was last scaled."""
    return number(replica_set, DESIRED_REPLICAS)


def parsed_revision(text: str) -> int | None:
    """A revision from its text, 0 of an empty one; None where it is no number."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not text:
        return 0
    return int(text) if digits.isascii() and digits.isdigit() else None


def revision(obj: Object) -> int | None:
    """The revision of a ReplicaSet, 0 without one; None where it is no number."""
    text = annotations_of(obj).get(REVISION)
    if text is None:
        return 0
    return parsed_revision(text) if text else None


def newest_revision(replica_sets: Iterable[Object]) -> int:
    """The highest revision, 0 where there is none."""
    return max((revision(one) or 0 for one in replica_sets), default=0)


def last_revision(replica_sets: Iterable[Object | None]) -> int:
    """The second highest revision, 0 where there is none."""
    known = [revision(one) for one in replica_sets if one is not None]
    ordered = sorted(one for one in known if one is not None)
    return max(ordered[-2], 0) if len(ordered) > 1 else 0


def sizes_noted(annotations: dict[str, str], replicas: int, most: int) -> dict[str, str]:
    """Annotations of a ReplicaSet that tell the size of its Deployment.

    Args:
        annotations: as they are.
        replicas: of the Deployment.
        most: replicas that there may be in a rollout.
    """
    return {**annotations, DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(most)}


def copied(deployment: Object, replica_set: Object, newest: int) -> dict[str, str]:
    """Annotations of the newest ReplicaSet: those of its Deployment, and its revision.

    Args:
        deployment: whose annotations are copied.
        replica_set: the newest one, as it is.
        newest: revision that it has at least.
    """
    annotations = annotations_of(replica_set)
    for name, value in annotations_of(deployment).items():
        if name not in NOT_COPIED:
            annotations[name] = value
    text = annotations.get(REVISION)
    old = parsed_revision(text or "")
    if old is None or old >= newest:
        return annotations
    annotations[REVISION] = str(newest)
    if text is not None:
        annotations |= _remembered(annotations.get(HISTORY, ""), text)
    return annotations


def _remembered(history: str, old: str) -> dict[str, str]:
    """The annotation of old revisions with one more; older ones go when it is too long."""
    if not history.split(",", maxsplit=1)[0]:
        return {HISTORY: old}
    known = history.split(",")
    length, start = len(history) + len(old) + 1, 0
    while length > MOST_HISTORY and start < len(known):
        length -= len(known[start]) + 1
        start += 1
    return {HISTORY: ",".join([*known[start:], old])} if length <= MOST_HISTORY else {}


def rolled_back(deployment: Object, replica_set: Object) -> dict[str, str]:
    """Annotations of a Deployment that goes back to a ReplicaSet."""
    kept = {name: text for name, text in annotations_of(deployment).items() if name in NOT_COPIED}
    back = annotations_of(replica_set)
    return kept | {name: text for name, text in back.items() if name not in NOT_COPIED}
