"""What is to become of Jobs."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.job.assessment import Assessment
from kubetrio.controllers.job.backoff import Backoff
from kubetrio.controllers.job.facts import FAILURES, FINALIZER, INDEX
from kubetrio.controllers.podcontrol.view import Pod, Run, view_of

Object = dict[str, Any]
NOW = 1000.0


def pod(name: str, phase: str = "Running", index: int | None = None, **members: Any) -> Pod:
    """A pod that is not counted."""
    made = view_of({"metadata": {"name": name, "uid": name}})._replace(
        phase=phase, finalizers=(FINALIZER,), ended=NOW if phase in ("Failed", "Succeeded") else 0,
        run=Run(0, (), ()),
    )  # fmt: skip
    if index is not None:
        made = made._replace(annotations=((INDEX, str(index)),))
    return made._replace(**members)


def assess(*pods: Pod, status: Object | None = None, **spec: Any) -> Assessment:
    """A Job of three completions."""
    given: Object = {"completions": 3, "parallelism": 2, "backoffLimit": 1, **spec}
    job = {"metadata": {"name": "j"}, "spec": given, "status": status or {}}
    return Assessment(job, pods, NOW, Backoff())


def reason(found: Assessment) -> str:
    """Why a Job ends."""
    return found.outcome["reason"] if found.outcome else ""


@pytest.mark.parametrize(
    ("pods", "spec", "missing", "surplus"),
    [
        ((), {}, 2, 0),
        ((pod("a"),), {}, 1, 0),
        ((pod("a"), pod("b"), pod("c")), {}, 0, 1),
        ((pod("a", "Succeeded"), pod("b", "Succeeded")), {}, 1, 0),
        ((pod("a"),), {"suspend": True}, 1, 1),
        ((), {"completions": None}, 2, 0),
        ((pod("a", "Succeeded"), pod("b")), {"completions": None}, 0, 0),
        ((pod("a", deleting=True),), {}, 2, 0),
        ((pod("a", deleting=True),), {"podReplacementPolicy": "Failed"}, 1, 0),
        ((), {"parallelism": 0}, 0, 0),
    ],
)
def test_how_many_pods_there_are_to_be(
    pods: tuple[Pod, ...], spec: Object, missing: int, surplus: int
) -> None:
    """Never more than may run at a time, or are still to succeed."""
    found = assess(*pods, **spec)
    assert (found.missing(), len(found.surplus())) == (missing, surplus)


@pytest.mark.parametrize(
    ("pods", "status", "spec", "why"),
    [
        ((pod("a", "Failed"),), {}, {}, ""),
        ((pod("a", "Failed"), pod("b", "Failed")), {}, {}, "BackoffLimitExceeded"),
        ((pod("a", "Failed"),), {"failed": 1}, {}, "BackoffLimitExceeded"),
        ((pod("a", "Failed"),), {"failed": 1, "uncountedTerminatedPods": {"failed": ["x"]}},
         {"backoffLimit": 3}, ""),
        ((), {"startTime": "1970-01-01T00:16:30Z"}, {"activeDeadlineSeconds": 10},
         "DeadlineExceeded"),
        ((), {"startTime": "1970-01-01T00:16:31Z"}, {"activeDeadlineSeconds": 10}, ""),
        ((), {"startTime": "1970-01-01T00:00:00Z"},
         {"activeDeadlineSeconds": 10, "suspend": True}, ""),
        ((pod("a", run=Run(1, (), ())),), {},
         {"template": {"spec": {"restartPolicy": "OnFailure"}}}, "BackoffLimitExceeded"),
        ((pod("a", "Failed", run=Run(0, (("c", 9),), ())),), {},
         {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {
             "operator": "In", "values": [9]}}]}}, "PodFailurePolicy"),
    ],
)  # fmt: skip
def test_why_jobs_fail(pods: tuple[Pod, ...], status: Object, spec: Object, why: str) -> None:
    """By limits of failures and time, and by policy."""
    assert reason(assess(*pods, status=status, **spec)) == why


def test_what_was_announced_holds() -> None:
    """The failure comes with the final condition."""
    target = {"type": "FailureTarget", "status": "True", "reason": "r", "message": "m"}
    found = assess(status={"conditions": [target]})
    assert found.outcome is not None
    assert (found.outcome["type"], found.outcome["reason"]) == ("Failed", "r")
    met = {"type": "SuccessCriteriaMet", "status": "True", "reason": "r", "message": "m"}
    assert assess(status={"conditions": [met, target]}).outcome == met


def test_indexes_that_are_free_get_pods() -> None:
    """Not those that have one, or are done."""
    given: Object = {"completionMode": "Indexed", "completions": 5, "parallelism": 5}
    found = assess(pod("a", index=1), pod("b", "Succeeded", index=3),
                   status={"completedIndexes": "0"}, **given)  # fmt: skip
    assert found.succeeded == 2
    assert found.next_indexes(9) == ([2, 4], 0.0)
    assert found.missing() == 2


def test_pods_without_an_index_of_their_own_go() -> None:
    """Of several with one index, one stays."""
    given: Object = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    found = assess(pod("a", index=0), pod("b", index=0, ready=True), pod("c"), pod("d", index=7),
                   **given)  # fmt: skip
    assert {one.name for one in found.surplus()} == {"a", "c", "d"}


def test_failures_are_counted_by_index() -> None:
    """An index that fails too often is lost; another waits, and its pod stays till then."""
    given: Object = {"completionMode": "Indexed", "backoffLimitPerIndex": 1, "backoffLimit": 99}
    again = ((INDEX, "1"), (FAILURES, "1"))
    found = assess(pod("a", "Failed", index=0), pod("b", "Failed", annotations=again), **given)
    assert found.lost == ((1, 1),)
    assert {index: one.name for index, one in found.delayed.items()} == {0: "a"}
    assert found.next_indexes(3) == ([2], 0.0)
    assert found.replaced(0) == (1, 0)
    assert found.replaced(2) == (0, 0)
    assert found.next_indexes(1) == ([], 10.0)
    assert reason(found) == ""
    found = assess(pod("b", "Failed", annotations=again), maxFailedIndexes=0, **given)
    assert reason(found) == "MaxFailedIndexesExceeded"
    found = assess(pod("b", "Failed", annotations=again), status={"completedIndexes": "0,2"},
                   **given)  # fmt: skip
    assert reason(found) == "FailedIndexes"


def test_a_success_policy_ends_a_job() -> None:
    """Before all have succeeded."""
    rules = {"rules": [{"succeededCount": 1}]}
    found = assess(pod("a", "Succeeded", index=2), completionMode="Indexed", successPolicy=rules)
    assert reason(found) == "SuccessPolicy"


def test_a_job_is_complete_when_nothing_runs() -> None:
    """Without completions, one success is enough."""
    assert assess(status={"succeeded": 3}).complete(0)
    assert not assess(status={"succeeded": 3}).complete(1)
    assert not assess(status={"succeeded": 2}).complete(0)
    assert assess(status={"succeeded": 1}, completions=None).complete(0)
