"""What workload controllers keep of a pod, from which all of them decide.

Source: k8s.io/kubernetes/pkg/controller (``IsPodActive``, ``IsPodTerminating``),
pkg/api/v1/pod (``IsPodAvailable``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from kubetrio.informers.digests import Digests
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.core.pods.digests import PREFIX, Owner, owner_of, parsed
from kubetrio.machinery.timestamps import parse_time

Object = dict[str, Any]

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
OVER = frozenset({"Succeeded", "Failed"})
KEPT_ANNOTATIONS = (
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-index-failure-count",
    "batch.kubernetes.io/job-index-ignored-failure-count",
)
"""Annotations from which controllers decide."""
MOST_LABELS = 1024
"""Sets of labels that pods share."""


class Run(NamedTuple):
    """How a pod of a Job ran.

    Args:
        restarts: of all containers together.
        exits: names of containers that ended with a code that is not 0, and the codes; init
            containers come last.
        conditions: of the pod, types and statuses.
    """

    restarts: int
    exits: tuple[tuple[str, int], ...]
    conditions: tuple[tuple[str, str], ...]


class Pod(NamedTuple):
    """A pod as workload controllers see it; two equal ones need no other decision.

    Args:
        namespace: of the pod.
        name: of the pod.
        uid: of the pod.
        labels: pairs of key and value.
        annotations: those that count.
        finalizers: what holds its deletion up.
        owner: its controller.
        created: when, in seconds.
        deleting: whether it is to be gone.
        phase: of its status.
        ready: whether its ``Ready`` condition is true.
        ready_since: since when, in seconds; 0 when the condition does not say.
        ended: when it ended or was deleted, in seconds; 0 while it runs.
        node: on which it is, empty for none.
        wanted_node: the only node that its affinity allows, empty for any.
        cost: of its deletion.
        restarts: the most of a container, and the most of a sidecar.
        claims: volumes and the claims they name.
        run: what a Job is to know of how it ran, None for pods of others.
    """

    namespace: str
    name: str
    uid: str
    labels: tuple[tuple[str, str], ...]
    annotations: tuple[tuple[str, str], ...]
    finalizers: tuple[str, ...]
    owner: Owner | None
    created: float
    deleting: bool
    phase: str
    ready: bool
    ready_since: float
    ended: float
    node: str
    wanted_node: str
    cost: int
    restarts: tuple[int, int]
    claims: tuple[tuple[str, str], ...]
    run: Run | None

    @property
    def label_map(self) -> Mapping[str, str]:
        """Its labels."""
        return dict(self.labels)

    @property
    def active(self) -> bool:
        """Whether it runs or is to run."""
        return not self.deleting and self.phase not in OVER

    @property
    def terminating(self) -> bool:
        """Whether it is being deleted and still runs."""
        return self.deleting and self.phase not in OVER

    def available_in(self, min_ready_s: int, now: float) -> float | None:
        """Seconds until it counts as available, 0 when it does; None while it is not ready.

        Args:
            min_ready_s: how long it must have been ready, in seconds.
            now: wall clock, in seconds.
        """
        if not self.ready or (min_ready_s and not self.ready_since):
            return None
        return max(self.ready_since + min_ready_s - now, 0.0) if min_ready_s else 0.0

    def available(self, min_ready_s: int, now: float) -> bool:
        """Whether it counts as available; for the arguments see `available_in`."""
        return self.available_in(min_ready_s, now) == 0.0


def next_available(pods: Iterable[Pod], min_ready_s: int, now: float) -> float | None:
    """Seconds until one more pod is available; None when time makes none available.

    Args:
        pods: to look at.
        min_ready_s: see `Pod.available_in`.
        now: wall clock, in seconds.
    """
    waits = (pod.available_in(min_ready_s, now) for pod in pods)
    return min((wait for wait in waits if wait), default=None)


def pod_view(value: bytes) -> Pod:
    """What is kept of a pod.

    Args:
        value: the stored pod.
    """
    return view_of(parsed(value))


def view_of(pod: Object) -> Pod:
    """What is kept of a pod that is at hand as an object."""
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    ready: Object = next(
        (one for one in status.get("conditions") or () if one.get("type") == "Ready"), {}
    )
    annotations = meta.get("annotations") or {}
    since = ready.get("lastTransitionTime")
    owner = owner_of(meta)
    return Pod(
        namespace=meta.get("namespace") or "",
        name=meta["name"],
        uid=meta.get("uid") or "",
        labels=_shared(tuple((meta.get("labels") or {}).items())),
        annotations=tuple(
            (key, annotations[key]) for key in KEPT_ANNOTATIONS if key in annotations
        ),
        finalizers=tuple(meta.get("finalizers") or ()),
        owner=owner,
        created=_seconds(meta.get("creationTimestamp")),
        deleting=bool(meta.get("deletionTimestamp")),
        phase=status.get("phase") or "",
        ready=ready.get("status") == "True",
        ready_since=_seconds(since),
        ended=_ended(meta, spec, status),
        node=spec.get("nodeName") or "",
        wanted_node=_wanted_node(spec),
        cost=_cost(annotations.get(DELETION_COST)),
        restarts=_restarts(spec, status),
        claims=tuple(
            (one["name"], one["persistentVolumeClaim"].get("claimName") or "")
            for one in spec.get("volumes") or ()
            if one.get("persistentVolumeClaim")
        ),
        run=_run(status) if owner is not None and owner.kind == "Job" else None,
    )


@lru_cache(maxsize=MOST_LABELS)
def _shared(labels: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The first of equal labels: those of pods of one template take memory once."""
    return labels


def _seconds(text: str | None) -> float:
    return parse_time(text) if text else 0.0


def _cost(text: str | None) -> int:
    """The cost of a deletion; 0 where the text is no number of 32 bits."""
    digits = (text or "").removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or (digits[0] == "0" and text != "0"):
        return 0
    number = int(text or "0")
    return number if -(1 << 31) <= number < 1 << 31 else 0


def _ended(meta: Object, spec: Object, status: Object) -> float:
    """When a pod ended: by its containers, its readiness, its deletion, or else its creation."""
    deleted = meta.get("deletionTimestamp")
    if status.get("phase") not in OVER and not deleted:
        return 0.0
    sidecars = _sidecars(spec)
    ends = [
        ((one.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for one in [
            *(status.get("containerStatuses") or ()),
            *(one for one in status.get("initContainerStatuses") or () if one["name"] in sidecars),
        ]
    ]
    if ends and all(ends):
        return max(map(_seconds, ends))
    unready = [
        _seconds(one.get("lastTransitionTime"))
        for one in status.get("conditions") or ()
        if one.get("type") == "Ready" and one.get("status") == "False"
    ]
    if any(unready):
        return max(unready)
    if deleted:
        return _seconds(deleted) - (meta.get("deletionGracePeriodSeconds") or 0)
    return _seconds(meta.get("creationTimestamp"))


def _run(status: Object) -> Run:
    regular = status.get("containerStatuses") or ()
    first = status.get("initContainerStatuses") or ()
    codes = [
        (one.get("name") or "", ((one.get("state") or {}).get("terminated") or {}).get("exitCode"))
        for one in (*regular, *first)
    ]
    conditions = status.get("conditions") or ()
    return Run(
        restarts=sum(one.get("restartCount") or 0 for one in (*regular, *first)),
        exits=tuple((name, code) for name, code in codes if code),
        conditions=tuple((one.get("type") or "", one.get("status") or "") for one in conditions),
    )


def _wanted_node(spec: Object) -> str:
    """The node that every term of a required node affinity names."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            values = field.get("values") or ()
            if field.get("key") == "metadata.name" and field.get("operator") == "In" and values:
                return str(values[0]) if len(values) == 1 else ""
    return ""


def _sidecars(spec: Object) -> set[str]:
    """Names of init containers that keep running."""
    return {
        one["name"]
        for one in spec.get("initContainers") or ()
        if one.get("restartPolicy") == "Always"
    }


def _restarts(spec: Object, status: Object) -> tuple[int, int]:
    regular = [one.get("restartCount") or 0 for one in status.get("containerStatuses") or ()]
    sidecars = _sidecars(spec)
    beside = [
        one.get("restartCount") or 0
        for one in status.get("initContainerStatuses") or ()
        if one.get("name") in sidecars
    ]
    return max(regular, default=0), max(beside, default=0)


def views_of(informers: SharedInformerFactory) -> Digests[Pod]:
    """The pods of a server; the same for all workload controllers."""
    return informers.digests(PREFIX, pod_view)
