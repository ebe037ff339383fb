"""The members of a StatefulSet: names, ordinals, volumes and claims.

Source: docs "StatefulSets"; k8s.io/kubernetes/pkg/controller/statefulset
(``stateful_set_utils.go``).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.podwriter import pod_from
from kubetrio.controllers.podcontrol.view import Pod
from kubetrio.machinery.jsonvalues import copy_json

Object = dict[str, Any]

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
REVISION = "controller-revision-hash"
ROLLING, ON_DELETE = "RollingUpdate", "OnDelete"
_MEMBER = re.compile(r"(.*)-([0-9]+)", re.DOTALL)
_MOST = (1 << 31) - 1


class Revision(NamedTuple):
    """A revision of a StatefulSet.

    Args:
        name: of its ControllerRevision.
        template: that it holds.
    """

    name: str
    template: Object


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """The StatefulSet and the ordinal that a pod's name tells; -1 where it tells none."""
    match = _MEMBER.fullmatch(name)
    if match is None:
        return "", -1
    number = int(match[2])
    return match[1], number if number <= _MOST else -1


def ordinal_of(pod: Pod) -> int:
    """The ordinal of a pod, -1 for none."""
    return parent_and_ordinal(pod.name)[1]


def start_of(spec: Object) -> int:
    """The first ordinal."""
    return int((spec.get("ordinals") or {}).get("start") or 0)


def replicas_of(spec: Object) -> int:
    """How many members there are to be."""
    replicas = spec.get("replicas")
    return 1 if replicas is None else int(replicas)


def partition_of(spec: Object) -> int:
    """The first ordinal, counted from the start, that gets the newest revision."""
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    return int(rolling.get("partition") or 0)


def strategy_of(spec: Object) -> str:
    """``RollingUpdate`` or ``OnDelete``."""
    return (spec.get("updateStrategy") or {}).get("type") or ROLLING


def claim_name(spec_claim: Object, owner: str, ordinal: int) -> str:
    """The name of a member's claim."""
    return f"{spec_claim['metadata']['name']}-{owner}-{ordinal}"


def claims_of(owner: Controlling, ordinal: int) -> list[Object]:
    """The claims of a member.

    Args:
        owner: the StatefulSet.
        ordinal: of the member.
    """
    spec = owner.obj["spec"]
    matched = (spec.get("selector") or {}).get("matchLabels") or {}
    claims = list[Object]()
    for template in spec.get("volumeClaimTemplates") or ():
        claim: Object = copy_json(template)
        meta = dict(claim.get("metadata") or {})
        meta["name"] = claim_name(template, owner.meta["name"], ordinal)
        meta["namespace"] = owner.meta["namespace"]
        if labels := {**(meta.get("labels") or {}), **matched}:
            meta["labels"] = labels
        claims.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": meta,
                "spec": claim.get("spec") or {},
            }
        )
    return claims


def with_storage(owner: Controlling, ordinal: int, spec: Object) -> Object:
    """The spec of a member whose volumes are its claims."""
    templates = owner.obj["spec"].get("volumeClaimTemplates") or ()
    names = {one["metadata"]["name"] for one in templates}
    volumes = [
        {
            "name": one["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(one, owner.meta["name"], ordinal)},
        }
        for one in templates
    ]
    others = [one for one in spec.get("volumes") or () if one.get("name") not in names]
    new = {**spec, "volumes": [*volumes, *others]}
    if not new["volumes"]:
        del new["volumes"]
    return new


def new_member(owner: Controlling, revision: Revision, ordinal: int) -> Object:
    """The pod of a member.

    Args:
        owner: the StatefulSet.
        revision: whose template it has.
        ordinal: of the member.
    """
    pod = pod_from(revision.template, owner)
    meta, name = pod["metadata"], f"{owner.meta['name']}-{ordinal}"
    meta["name"] = name
    meta["labels"] = {
        **(meta.get("labels") or {}),
        POD_NAME: name,
        POD_INDEX: str(ordinal),
        REVISION: revision.name,
    }
    spec = with_storage(owner, ordinal, pod["spec"])
    spec["hostname"] = name
    if service := owner.obj["spec"].get("serviceName"):
        spec["subdomain"] = service
    pod["spec"] = spec
    return pod


def revision_for(owner: Controlling, current: Revision, update: Revision, ordinal: int) -> Revision:
    """The revision with which a missing member is made.

    Args:
        owner: the StatefulSet.
        current: the revision that members have that are not updated.
        update: the newest.
        ordinal: of the member.
    """
    spec = owner.obj["spec"]
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("rollingUpdate") is not None:
        old = ordinal < start_of(spec) + partition_of(spec)
    else:
        count = (owner.obj.get("status") or {}).get("currentReplicas") or 0
        old = strategy_of(spec) == ROLLING and ordinal < start_of(spec) + count
    return current if old else update


def identity_matches(pod: Pod) -> bool:
    """Whether a pod has the labels of its name."""
    return pod.label_map.get(POD_NAME) == pod.name


def storage_matches(owner: Controlling, pod: Pod) -> bool:
    """Whether a pod's volumes are its claims."""
    volumes, ordinal = dict(pod.claims), ordinal_of(pod)
    return all(
        volumes.get(one["metadata"]["name"]) == claim_name(one, owner.meta["name"], ordinal)
        for one in owner.obj["spec"].get("volumeClaimTemplates") or ()
    )
