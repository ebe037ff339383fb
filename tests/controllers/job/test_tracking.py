"""Pods of Jobs are counted once."""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.job.assessment import Assessment
from kubetrio.controllers.job.backoff import Backoff
from kubetrio.controllers.job.facts import FINALIZER, INDEX
from kubetrio.controllers.job.tracking import MOST_UNCOUNTED, Tracking
from kubetrio.controllers.podcontrol.view import Pod, view_of

Object = dict[str, Any]


def pod(name: str, phase: str = "Succeeded", **members: Any) -> Pod:
    """A pod that is not counted."""
    made = view_of({"metadata": {"name": name, "uid": name}})
    return made._replace(phase=phase, finalizers=(FINALIZER,), **members)


def track(*pods: Pod, status: Object | None = None, **spec: Any) -> Tracking:
    """What becomes of the status of a Job."""
    given = {"completions": 3, "parallelism": 2, "backoffLimit": 9, **spec}
    job = {"metadata": {"name": "j"}, "spec": given, "status": status or {}}
    return Tracking(Assessment(job, pods, 0, Backoff()), dict(status or {}), changed=False)


def test_uids_come_before_counters() -> None:
    """A pod that is interrupted in between is counted by the next sync."""
    found = track(pod("a"), pod("b", "Failed"), pod("c", "Running"))
    assert found.changed
    assert found.status["uncountedTerminatedPods"] == {"succeeded": ["a"], "failed": ["b"]}
    assert [one.name for one in found.release] == ["a", "b"]
    assert found.count({"b", "c"})
    assert (found.status["succeeded"], found.status["failed"]) == (1, 0)
    again = track(pod("b", "Failed"), status=found.status)
    assert not again.changed
    assert [one.name for one in again.release] == ["b"]
    assert again.count(set())
    assert (again.status["failed"], again.status["uncountedTerminatedPods"]) == (1, {})


def test_uids_of_pods_that_are_gone_are_counted_first() -> None:
    """Nothing is left to release then."""
    found = track(status={"uncountedTerminatedPods": {"succeeded": ["a"]}})
    assert found.changed
    assert (found.status["succeeded"], found.release) == (1, [])


def test_a_pod_without_finalizer_was_counted_before() -> None:
    """It is looked at no more."""
    found = track(pod("a")._replace(finalizers=()))
    assert (found.changed, found.release) == (False, [])


def test_indexes_are_noted_in_the_status() -> None:
    """No uid is needed for those that succeeded."""
    done = [pod(name, annotations=((INDEX, index),)) for name, index in (("a", "2"), ("b", "0"))]
    found = track(*done, completionMode="Indexed")
    assert found.status["completedIndexes"] == "0,2"
    assert (found.status["succeeded"], found.status["uncountedTerminatedPods"]) == (2, {})


def test_a_job_ends_in_two_steps() -> None:
    """What it comes to is told before its pods are let go."""
    found = track(pod("a", "Failed"), pod("b", "Running"), backoffLimit=0)
    assert [one["type"] for one in found.status["conditions"]] == ["FailureTarget"]
    assert [one.name for one in found.release] == ["a", "b"]
    assert not found.finish()
    found.count(set())
    assert found.status["failed"] == 2
    found.status["terminating"] = 1
    assert not found.finish()
    found.status["terminating"] = 0
    assert found.finish()
    assert [one["type"] for one in found.status["conditions"]] == ["FailureTarget", "Failed"]


def test_so_many_are_counted_at_a_time() -> None:
    """The status stays small."""
    found = track(*(pod(str(number)) for number in range(MOST_UNCOUNTED + 5)), completions=999)
    assert found.full
    assert len(found.release) == MOST_UNCOUNTED
