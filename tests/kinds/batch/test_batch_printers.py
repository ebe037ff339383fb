"""Cells of jobs and CronJobs."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.batch import printers as batch

NOW = 1_000.0
START, END = "1970-01-01T00:10:00Z", "1970-01-01T00:11:40Z"
DELETED = {"deletionTimestamp": START}


def job(*true, metadata=None, spec=None, **status):
    conditions = [{"type": kind, "status": "True"} for kind in true]
    status = {"conditions": conditions, **status}
    return {"metadata": metadata or {}, "spec": spec or {}, "status": status}


@pytest.mark.parametrize(
    ("obj", "status"),
    [
        (job(), "Running"),
        (job("Complete", "Suspended"), "Complete"),
        (job("Failed", metadata=DELETED), "Failed"),
        (job("Suspended", metadata=DELETED), "Terminating"),
        (job("Suspended"), "Suspended"),
        (job("FailureTarget"), "FailureTarget"),
        (job(conditions=[{"type": "Complete", "status": "False"}]), "Running"),
    ],
)
def test_job_status(obj, status):
    """The end of a job outweighs its deletion, which outweighs the rest."""
    assert batch.job(obj, NOW)[1] == status


@pytest.mark.parametrize(
    ("obj", "completions", "duration"),
    [
        (job(spec={"completions": 3}, succeeded=1), "1/3", ""),
        (job(spec={"parallelism": 4}, startTime=START), "0/1 of 4", "6m40s"),
        (job(succeeded=1, startTime=START, completionTime=END), "1/1", "100s"),
    ],
)
def test_job_progress(obj, completions, duration):
    """Completions and how long they took so far, or in all."""
    assert batch.job(obj, NOW)[2:4] == [completions, duration]


def test_cron_job_optional_fields():
    """What is not set says so, in two ways."""
    assert batch.cron_job({"spec": {"schedule": "@daily"}}, NOW)[1:6] == [
        "@daily",
        "<none>",
        "<unset>",
        0,
        "<none>",
    ]


@pytest.mark.parametrize("sample", samples("batch"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("batch"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
