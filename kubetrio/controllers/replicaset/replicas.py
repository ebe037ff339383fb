"""What a ReplicaSet or a ReplicationController is to do, and what its status says.

Source: docs "ReplicaSet"; k8s.io/kubernetes/pkg/controller/replicaset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kubetrio.controllers.podcontrol.statuses import (
    condition_of,
    printed,
    with_condition,
    without_condition,
)
from kubetrio.controllers.podcontrol.view import Pod
from kubetrio.machinery.timestamps import format_time

Object = dict[str, Any]

FAILURE = "ReplicaFailure"
COUNTED = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "terminatingReplicas",
)


class Found(NamedTuple):
    """What was found of the pods of an owner.

    Args:
        active: pods that run or are to run.
        terminating: how many are being deleted; None where the status does not say.
        failure: why pods could not be made or deleted; empty when they could.
    """

    active: Sequence[Pod]
    terminating: int | None
    failure: str = ""


def replicas_of(owner: Object) -> int:
    """How many pods an owner is to have."""
    replicas = (owner.get("spec") or {}).get("replicas")
    return 1 if replicas is None else int(replicas)


def status(owner: Object, found: Found, now: float) -> Object:
    """The members of an owner's status that follow from its pods.

    Args:
        owner: as stored; its generation is the one that was looked at.
        found: its pods.
        now: wall clock, in seconds.
    """
    spec, old = owner["spec"], owner.get("status") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    min_ready_s = spec.get("minReadySeconds") or 0
    conditions = list(old.get("conditions") or ())
    known = condition_of(old, FAILURE)
    if found.failure and known is None:
        short = len(found.active) < replicas_of(owner)
        conditions = with_condition(
            conditions,
            {
                "type": FAILURE,
                "status": "True",
                "lastTransitionTime": format_time(now),
                "reason": "FailedCreate" if short else "FailedDelete",
                "message": found.failure,
            },
        )
    elif not found.failure and known is not None:
        conditions = without_condition(conditions, FAILURE)
    ready = sum(pod.ready for pod in found.active)
    available = ready
    if min_ready_s:
        available = sum(pod.available(min_ready_s, now) for pod in found.active)
    return {
        "replicas": len(found.active),
        "fullyLabeledReplicas": _labelled(found.active, labels),
        "readyReplicas": ready,
        "availableReplicas": available,
        "terminatingReplicas": found.terminating,
        "observedGeneration": owner["metadata"].get("generation") or 0,
        "conditions": conditions,
    }


def _labelled(pods: Sequence[Pod], labels: Object) -> int:
    """How many pods have labels; those of one template mostly share theirs."""
    count, last, fits = 0, None, False
    for pod in pods:
        if pod.labels is not last:
            last, fits = pod.labels, labels.items() <= pod.label_map.items()
        count += fits
    return count


def same(owner: Object, new: Object) -> bool:
    """Whether an owner's status says what it is to say."""
    old = owner.get("status") or {}
    return (
        all((old.get(name) or 0) == (new[name] or 0) for name in COUNTED)
        and ("terminatingReplicas" in old) == (new["terminatingReplicas"] is not None)
        and (old.get("observedGeneration") or 0) == new["observedGeneration"]
        and list(old.get("conditions") or ()) == new["conditions"]
    )


def with_status(owner: Object, new: Object, type_name: str) -> Object:
    """An owner with another status.

    Args:
        owner: as stored; it is not changed.
        new: members of its status.
        type_name: full name of the type of the status.
    """
    return {**owner, "status": printed(type_name, {**(owner.get("status") or {}), **new})}
