"""Checks of jobs and CronJobs as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    pod,
    refused,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

from kubetrio.resources.validation import warnings

JOBS = resource("jobs", "batch")
CRON_JOBS = resource("cronjobs", "batch")
TEMPLATE = pod(restartPolicy="Never")


def job(**spec: Any) -> Json:
    return {"spec": {"template": TEMPLATE, **spec}}


def _codes(**codes: Any) -> Json:
    return {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": codes}]}}


@pytest.mark.parametrize(
    ("suspended", "path", "place"),
    [
        (False, "spec.template.spec.nodeSelector", "spec.template"),
        (False, "spec.template.metadata.annotations", "spec.template"),
        (True, "spec.template.spec.nodeSelector", ""),
        (True, "spec.template.spec.hostAliases", "spec.template.spec"),
        (True, "spec.template.metadata.annotations", ""),
    ],
)
def test_a_template_is_told_whole(suspended: bool, path: str, place: str) -> None:
    """A running job cannot be scheduled otherwise; of a suspended one the pods' spec is told."""
    old = made(JOBS, job(suspend=suspended))
    value: Any = [{"ip": "1.2.3.4", "hostnames": ["a"]}] if "Aliases" in path else {"a": "b"}
    found = refused_change(JOBS, old, changed(old, path, value))
    assert [line.partition(":")[0] for line in found] == ([place] if place else [])
    assert all(line.endswith(": field is immutable") for line in found)


def cron_job(**spec: Any) -> Json:
    return {"spec": {"schedule": "@daily", "jobTemplate": job(), **spec}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (cron_job(), []),
        (cron_job(timeZone="UTC"), []),
        (
            cron_job(timeZone=""),
            ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
        ),
        (
            cron_job(timeZone="No/Where"),
            ['spec.timeZone: Invalid value: "No/Where": unknown time zone No/Where'],
        ),
        (cron_job(timeZone="-x"), ['spec.timeZone: Invalid value: "-x": unknown time zone -x']),
        (
            {"metadata": {"name": "x" * 53}, **cron_job()},
            [f'metadata.name: Invalid value: "{"x" * 53}": must be no more than 52 characters'],
        ),
        (
            cron_job(jobTemplate=job(manualSelector=True)),
            [
                (
                    "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported "
                    "values: "
                    '"nil", "false"'
                )
            ],
        ),
    ],
)
def test_cron_job(body: Json, expected: list[str]) -> None:
    """CronJobs have a schedule, a zone and a name with room for a suffix."""
    assert refused(CRON_JOBS, body) == expected


def test_zone_in_schedule_may_stay() -> None:
    """A schedule that had its zone inside keeps it."""
    old = changed(made(CRON_JOBS, cron_job()), "spec.schedule", "TZ=UTC 0 0 * * *")
    assert refused_change(CRON_JOBS, old, old) == []


@pytest.mark.parametrize("containers", [None, []])
def test_a_job_that_loses_its_containers_is_refused(containers: Any) -> None:
    """Whatever else names one of them; also where the template may change."""
    policy = _codes(operator="In", values=[1], containerName="c")
    old = made(JOBS, job(suspend=True, **policy))
    new = changed(old, "spec.template.spec", {**TEMPLATE["spec"], "containers": containers})
    assert "spec.template.spec.containers: Required value" in refused_change(JOBS, old, new)


def test_a_zone_in_a_schedule_is_warned_of_on_every_change() -> None:
    """It is not when the job is new, since it is refused then."""
    old = made(CRON_JOBS, cron_job(schedule="TZ=UTC * * * * *"))
    assert warnings(CRON_JOBS, old, None) == []
    [text] = warnings(CRON_JOBS, changed(old, "metadata.labels", {"a": "b"}), old)
    assert text.startswith("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead")


@pytest.mark.parametrize("case", recorded("batch"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
