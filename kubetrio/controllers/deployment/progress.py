"""The status of a Deployment: numbers, whether it is available, and whether it progresses.

Source: docs "Deployment status"; k8s.io/kubernetes/pkg/controller/deployment (``progress.go``,
``sync.go``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kubetrio.controllers.deployment.sizes import available, max_unavailable, size_of, told, total
from kubetrio.controllers.podcontrol.statuses import (
    condition_of,
    printed,
    with_condition,
    without_condition,
)
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.timestamps import format_time, parse_time

Object = dict[str, Any]

STATUS = "io.k8s.api.apps.v1.DeploymentStatus"
AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
NEW_AVAILABLE, TIMED_OUT = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"
_MOST = (1 << 31) - 1


class Sets(NamedTuple):
    """The ReplicaSets of a Deployment.

    Args:
        new: the one with its template, None where there is none.
        old: all others.
    """

    new: Object | None
    old: Sequence[Object]

    @property
    def all(self) -> list[Object]:
        """Both."""
        return [*self.old, self.new] if self.new is not None else list(self.old)


def condition(type_: str, status: str, reason: str, message: str, now: float) -> Object:
    """A condition of a Deployment; the time is the wall clock's, in seconds."""
    time = format_time(now)
    return {
        "type": type_,
        "status": status,
        "lastUpdateTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }


def deadline_of(deployment: Object) -> int | None:
    """Seconds without progress after which a rollout failed; None for no such time."""
    deadline = deployment["spec"].get("progressDeadlineSeconds")
    return None if deadline is None or deadline == _MOST else int(deadline)


def with_status_condition(status: Object, new: Object) -> Object:
    """A status with one of its conditions set."""
    conditions = with_condition(status.get("conditions") or (), new, keep_time=True)
    return {**status, "conditions": conditions}


def _without(status: Object, type_: str) -> Object:
    return {**status, "conditions": without_condition(status.get("conditions") or (), type_)}


def status_of(deployment: Object, sets: Sets, now: float) -> Object:
    """The status that follows from the ReplicaSets, with the conditions that are there.

    Args:
        deployment: as stored.
        sets: what it has.
        now: wall clock, in seconds.
    """
    old = deployment.get("status") or {}
    ready = available(sets.all)
    status: Object = {
        "observedGeneration": deployment["metadata"].get("generation") or 0,
        "replicas": sum(told(one, "replicas") for one in sets.all),
        "updatedReplicas": told(sets.new, "replicas"),
        "readyReplicas": sum(told(one, "readyReplicas") for one in sets.all),
        "availableReplicas": ready,
        "unavailableReplicas": max(total(sets.all) - ready, 0),
        "terminatingReplicas": _terminating(sets.all),
        "collisionCount": old.get("collisionCount"),
        "conditions": list(old.get("conditions") or ()),
    }
    enough = ready >= size_of(deployment) - max_unavailable(deployment)
    new = condition(
        AVAILABLE,
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "Deployment has minimum availability."
        if enough
        else "Deployment does not have minimum availability.",
        now,
    )
    return with_status_condition(status, new)


def _terminating(replica_sets: Sequence[Object]) -> int | None:
    """How many pods are being deleted; None where a ReplicaSet does not say."""
    count = 0
    for one in replica_sets:
        status = one.get("status") or {}
        if status.get("terminatingReplicas") is None:
            if status.get("observedGeneration"):
                return None
            continue
        count += int(status["terminatingReplicas"])
    return count


def complete(deployment: Object, status: Object) -> bool:
    """Whether all pods are of the newest ReplicaSet and available."""
    replicas = size_of(deployment)
    return (
        (status.get("updatedReplicas") or 0) == replicas
        and (status.get("replicas") or 0) == replicas
        and (status.get("availableReplicas") or 0) == replicas
        and (status.get("observedGeneration") or 0)
        >= (deployment["metadata"].get("generation") or 0)
    )


def _progresses(old: Object, new: Object) -> bool:
    """Whether there are more new pods or fewer old ones than before."""

    def of(status: Object, name: str) -> int:
        return int(status.get(name) or 0)

    older = of(old, "replicas") - of(old, "updatedReplicas")
    newer = of(new, "replicas") - of(new, "updatedReplicas")
    return newer < older or any(
        of(new, name) > of(old, name)
        for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )


def _timed_out(deployment: Object, status: Object, now: float) -> bool:
    known, deadline = condition_of(status, PROGRESSING), deadline_of(deployment)
    if known is None or deadline is None or known.get("reason") == NEW_AVAILABLE:
        return False
    if known.get("reason") == TIMED_OUT:
        return True
    return parse_time(known["lastUpdateTime"]) + deadline < now


def rollout_status(deployment: Object, sets: Sets, now: float) -> Object:
    """The status of a rollout; for the arguments see `status_of`."""
    old = deployment.get("status") or {}
    status = status_of(deployment, sets, now)
    deadline = deadline_of(deployment)
    if deadline is None:
        status = _without(status, PROGRESSING)
    known = condition_of(old, PROGRESSING)
    done = (
        status["replicas"] == status["updatedReplicas"]
        and known is not None
        and known.get("reason") == NEW_AVAILABLE
    )
    if deadline is not None and not done:
        status = _with_progress(deployment, sets, status, now)
    failures = [
        one for owner in ([sets.new] if sets.new is not None else []) for one in _failures(owner)
    ] or [one for owner in sets.all for one in _failures(owner)]
    if failures:
        return with_status_condition(status, failures[0])
    return _without(status, FAILURE)


def _with_progress(deployment: Object, sets: Sets, status: Object, now: float) -> Object:
    old = deployment.get("status") or {}
    what = f"Deployment {quote(deployment['metadata']['name'])}"
    if sets.new is not None:
        what = f"ReplicaSet {quote(sets.new['metadata']['name'])}"
    if complete(deployment, status):
        message = f"{what} has successfully progressed."
        new = condition(PROGRESSING, "True", NEW_AVAILABLE, message, now)
        return with_status_condition(status, new)
    if _progresses(old, status):
        new = condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{what} is progressing.", now)
        known = condition_of(old, PROGRESSING)
        if known is not None:
            if known.get("status") == "True":
                new["lastTransitionTime"] = known["lastTransitionTime"]
            status = _without(status, PROGRESSING)
        return with_status_condition(status, new)
    if _timed_out(deployment, status, now):
        message = f"{what} has timed out progressing."
        new = condition(PROGRESSING, "False", TIMED_OUT, message, now)
        return with_status_condition(status, new)
    return status


def _failures(replica_set: Object) -> list[Object]:
    """The failures of a ReplicaSet as conditions of its Deployment."""
    return [
        {
            "type": FAILURE,
            "status": one["status"],
            "lastUpdateTime": one.get("lastTransitionTime"),
            "lastTransitionTime": one.get("lastTransitionTime"),
            "reason": one.get("reason") or "",
            "message": one.get("message") or "",
        }
        for one in (replica_set.get("status") or {}).get("conditions") or ()
        if one.get("type") == FAILURE
    ]


def pause_condition(deployment: Object, now: float) -> Object | None:
    """The condition that tells of a pause or of its end; None where it is told already.

    Without it the time of a pause would count as time without progress.
    """
    known = condition_of(deployment.get("status") or {}, PROGRESSING)
    reason = known.get("reason") if known is not None else None
    if deadline_of(deployment) is None or reason == TIMED_OUT:
        return None
    paused = bool(deployment["spec"].get("paused"))
    if paused and reason != PAUSED:
        return condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now)
    if not paused and reason == PAUSED:
        return condition(PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now)
    return None


def check_in(deployment: Object, status: Object, now: float) -> float | None:
    """Seconds until a rollout that stands still is to be looked at; None when it need not be."""
    known, deadline = condition_of(deployment.get("status") or {}, PROGRESSING), None
    deadline = deadline_of(deployment)
    if deadline is None or known is None:
        return None
    if complete(deployment, status) or known.get("reason") == TIMED_OUT:
        return None
    return parse_time(known["lastUpdateTime"]) + deadline - now


def told_by(deployment: Object, status: Object) -> Object:
    """A Deployment with another status, as it is printed."""
    return {**deployment, "status": printed(STATUS, status)}
