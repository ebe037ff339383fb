"""Checks of the status of jobs."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    pod,
    refused_change,
    resource,
)

JOBS = resource("jobs", "batch")
TEMPLATE = pod(restartPolicy="Never")
INDEXED = {"completionMode": "Indexed", "completions": 5}


def job(**spec: Any) -> Json:
    return {"spec": {"template": TEMPLATE, **spec}}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"active": -1}, ["status.active: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"conditions": [{"type": "Complete", "status": "True"}]},
            [
                (
                    "status.completionTime: Required value: completionTime is required for "
                    "Complete "
                    "jobs"
                ),
                (
                    "status.conditions: Invalid value: cannot set Complete=True condition without "
                    "the SuccessCriteriaMet=true condition"
                ),
                "status.startTime: Required value: startTime is required for finished job",
            ],
        ),
        (
            {"completionTime": "2024-01-01T00:00:00Z"},
            [
                (
                    'status.completionTime: Invalid value: "2024-01-01T00:00:00Z": cannot set '
                    "completionTime when there is no Complete=True condition"
                )
            ],
        ),
    ],
)
def test_job_status(status: Json, expected: list[str]) -> None:
    """A finished job looks finished."""
    old = made(JOBS, job())
    assert refused_change(JOBS, old, changed(old, "status", status), "status") == expected


def _conditions(*true: str) -> list[Json]:
    return [{"type": name, "status": "True"} for name in true]


_START, _END = "2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z"
_DONE = {
    "conditions": _conditions("SuccessCriteriaMet", "Complete"),
    "startTime": _START,
    "completionTime": _END,
}
_LIMITED = {**INDEXED, "backoffLimitPerIndex": 1}


@pytest.mark.parametrize(
    ("spec", "before", "after", "expected"),
    [
        ({}, {}, _DONE, []),
        ({"suspend": True, "completions": 0}, {}, {**_DONE, "startTime": None}, []),
        (
            {},
            {},
            {**_DONE, "active": 1, "terminating": 1, "ready": 2, "completionTime": _START},
            [
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
                "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
                "status.ready: Invalid value: 2: cannot set more ready pods than active",
            ],
        ),
        (
            {},
            _DONE,
            {"succeeded": 0},
            [
                (
                    "status.conditions: Invalid value: cannot disable the terminal Complete=True "
                    "condition"
                ),
                "status.startTime: Required value: startTime cannot be removed for unsuspended job",
                (
                    "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True "
                    "condition"
                ),
            ],
        ),
        (
            {},
            _DONE,
            {**_DONE, "completionTime": "2024-01-01T02:00:00Z"},
            [
                (
                    'status.completionTime: Invalid value: "2024-01-01T02:00:00Z": completionTime '
                    "cannot be mutated"
                )
            ],
        ),
        (
            {},
            {"failed": 2, "succeeded": 3},
            {"failed": 1, "succeeded": 2},
            [
                "status.failed: Invalid value: 1: cannot decrease the failed counter",
                "status.succeeded: Invalid value: 2: cannot decrease the succeeded counter",
            ],
        ),
        ({**INDEXED, "parallelism": 5}, {"succeeded": 3}, {"succeeded": 2}, []),
        (
            {},
            {},
            {"completedIndexes": "0", "failedIndexes": "x"},
            [
                (
                    'status.completedIndexes: Invalid value: "0": cannot set non-empty '
                    "completedIndexes when non-indexed completion mode"
                ),
                (
                    'status.failedIndexes: Invalid value: "x": cannot set non-null failedIndexes '
                    "when backoffLimitPerIndex is null"
                ),
            ],
        ),
        (
            _LIMITED,
            {},
            {"completedIndexes": "0,2-9", "failedIndexes": "x,0"},
            [
                (
                    'status.completedIndexes: Invalid value: "0,2-9": error parsing '
                    'completedIndexes: too large index: "9"'
                ),
                (
                    'status.failedIndexes: Invalid value: "x,0": error parsing failedIndexes: '
                    'cannot convert string to integer for index: "x"'
                ),
                (
                    'status.failedIndexes: Invalid value: "x,0": failedIndexes and '
                    "completedIndexes overlap at index: 0"
                ),
            ],
        ),
        (_LIMITED, {}, {"completedIndexes": "0,3", "failedIndexes": "1-2,4"}, []),
        (
            {},
            {"active": 1},
            {"active": 1, "conditions": _conditions("Failed", "SuccessCriteriaMet")},
            [
                (
                    "status.conditions: Invalid value: cannot set Failed=True condition without "
                    "the FailureTarget=true condition"
                ),
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
                "status.startTime: Required value: startTime is required for finished job",
                (
                    "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and "
                    "Failed=true conditions"
                ),
            ],
        ),
    ],
)
def test_job_status_transitions(spec: Json, before: Json, after: Json, expected: list[str]) -> None:
    """A job that ended stays ended, its counts do not fall, and its indexes can be read."""
    made_job = made(JOBS, job(**spec))
    old, new = changed(made_job, "status", before), changed(made_job, "status", after)
    assert sorted(refused_change(JOBS, old, new, "status")) == sorted(expected)


def test_what_was_wrong_in_a_status_may_stay() -> None:
    """A rule holds for what a write changes."""
    wrong = {"conditions": _conditions("Complete"), "completedIndexes": "7", "ready": 4}
    old = changed(made(JOBS, job()), "status", wrong)
    new = changed(old, "status", {**wrong, "succeeded": 1})
    assert refused_change(JOBS, old, new, "status") == []
    suspended = [{"type": "Suspended", "status": "True"}]
    resumed = [{"type": "Suspended", "status": "False"}]
    old = changed(old, "status", {"startTime": _START, "conditions": suspended})
    new = changed(old, "status", {"startTime": _END, "conditions": resumed})
    assert refused_change(JOBS, old, new, "status") == []
