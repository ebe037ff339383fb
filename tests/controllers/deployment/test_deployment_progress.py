"""What the status of a Deployment says."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.deployment import progress
from kubetrio.controllers.deployment.progress import Sets
from kubetrio.controllers.podcontrol.statuses import condition_of

Object = dict[str, Any]
NOW = 1000.0


def deployment(deadline: int | None = 600, paused: bool = False, **status: Any) -> Object:
    """A Deployment of two pods."""
    spec: Object = {"replicas": 2, "strategy": {"type": "RollingUpdate", "rollingUpdate": {
        "maxSurge": 1, "maxUnavailable": 0}}, "paused": paused}  # fmt: skip
    if deadline is not None:
        spec["progressDeadlineSeconds"] = deadline
    return {"metadata": {"name": "d", "generation": 1}, "spec": spec, "status": status}


def replica_set(replicas: int, available: int, **more: Any) -> Object:
    """A ReplicaSet."""
    numbers = {"replicas": replicas, "readyReplicas": available, "availableReplicas": available}
    return {"metadata": {"name": "r"}, "spec": {"replicas": replicas}, "status": {
        **numbers, "observedGeneration": 1, "terminatingReplicas": 0, **more}}  # fmt: skip


def progressing(reason: str, at: float = NOW, status: str = "True") -> Object:
    """The condition."""
    return progress.condition("Progressing", status, reason, "m", at)


def reasons(status: Object) -> dict[str, str]:
    """Reasons of conditions by type."""
    return {one["type"]: one["reason"] for one in status["conditions"]}


@pytest.mark.parametrize(
    ("known", "available", "now", "reason"),
    [
        (None, 2, NOW, "NewReplicaSetAvailable"),
        (None, 1, NOW, "ReplicaSetUpdated"),
        (progressing("NewReplicaSetCreated"), 0, NOW, "ReplicaSetUpdated"),
        (progressing("NewReplicaSetAvailable"), 0, NOW + 9999, "NewReplicaSetAvailable"),
    ],
)
def test_progress(known: Object | None, available: int, now: float, reason: str) -> None:
    """More pods, or available ones, are progress; a rollout that is over stays over."""
    conditions = [known] if known else []
    found = progress.rollout_status(
        deployment(conditions=conditions), Sets(replica_set(2, available), []), now
    )
    assert reasons(found)["Progressing"] == reason


@pytest.mark.parametrize(
    ("after", "reason"), [(600, "ReplicaSetUpdated"), (601, "ProgressDeadlineExceeded")]
)
def test_no_progress_is_told_after_the_deadline(after: float, reason: str) -> None:
    """And is what it was until then."""
    known: Object = {
        "replicas": 2,
        "updatedReplicas": 2,
        "conditions": [progressing("ReplicaSetUpdated")],
    }
    found = progress.rollout_status(deployment(**known), Sets(replica_set(2, 0), []), NOW + after)
    assert reasons(found) == {"Progressing": reason, "Available": "MinimumReplicasUnavailable"}
    left = progress.check_in(deployment(**known), found, NOW + 100)
    assert left == 500


def test_without_a_deadline_nothing_is_said_of_progress() -> None:
    """The largest number is none."""
    for deadline in (None, (1 << 31) - 1):
        one = deployment(deadline, conditions=[progressing("ReplicaSetUpdated")])
        found = progress.rollout_status(one, Sets(replica_set(2, 0), []), NOW)
        assert list(reasons(found)) == ["Available"]
        assert progress.check_in(one, found, NOW) is None
        assert progress.pause_condition({**one, "spec": {**one["spec"], "paused": True}}, 0) is None


def test_progress_keeps_the_time_of_the_transition() -> None:
    """Not that of the update."""
    known = [progressing("ReplicaSetUpdated", at=0)]
    found = progress.rollout_status(deployment(conditions=known), Sets(replica_set(2, 1), []), NOW)
    condition = condition_of(found, "Progressing")
    assert condition is not None
    assert condition["lastTransitionTime"] == "1970-01-01T00:00:00Z"
    assert condition["lastUpdateTime"] == "1970-01-01T00:16:40Z"
    assert condition["message"] == 'ReplicaSet "r" is progressing.'


def test_failures_are_those_of_the_newest_first() -> None:
    """And go with them."""
    failed = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
              "message": "no", "lastTransitionTime": "1970-01-01T00:00:00Z"}  # fmt: skip
    old = replica_set(1, 1, conditions=[{**failed, "message": "old"}])
    new = replica_set(1, 1, conditions=[failed])
    found = progress.rollout_status(deployment(), Sets(new, [old]), NOW)
    condition = condition_of(found, "ReplicaFailure")
    assert condition is not None
    assert (condition["message"], condition["lastUpdateTime"]) == ("no", "1970-01-01T00:00:00Z")
    again = deployment(conditions=[condition])
    found = progress.rollout_status(again, Sets(replica_set(2, 2), []), NOW)
    assert "ReplicaFailure" not in reasons(found)


@pytest.mark.parametrize(
    ("paused", "known", "reason"),
    [
        (True, None, "DeploymentPaused"),
        (True, "DeploymentPaused", None),
        (True, "ProgressDeadlineExceeded", None),
        (False, "DeploymentPaused", "DeploymentResumed"),
        (False, "ReplicaSetUpdated", None),
    ],
)
def test_pauses_are_told(paused: bool, known: str | None, reason: str | None) -> None:
    """So that they do not count as time without progress."""
    conditions = [progressing(known)] if known else []
    found = progress.pause_condition(deployment(paused=paused, conditions=conditions), NOW)
    assert (found and found["reason"]) == reason


def test_numbers() -> None:
    """Of all ReplicaSets; what a ReplicaSet does not say is not said."""
    sets = Sets(replica_set(2, 1), [replica_set(1, 1, terminatingReplicas=3)])
    found = progress.told_by(deployment(), progress.status_of(deployment(), sets, NOW))["status"]
    found.pop("conditions")
    assert found == {
        "observedGeneration": 1, "replicas": 3, "updatedReplicas": 2, "readyReplicas": 2,
        "availableReplicas": 2, "unavailableReplicas": 1, "terminatingReplicas": 3,
    }  # fmt: skip
    silent = replica_set(1, 1)
    del silent["status"]["terminatingReplicas"]
    found = progress.status_of(deployment(), Sets(None, [silent]), NOW)
    assert found["terminatingReplicas"] is None
