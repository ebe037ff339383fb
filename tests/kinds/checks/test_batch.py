"""Jobs and CronJobs."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.batch.validation.jobspec import count_indexes
from kubetrio.resources.validation import warnings

from .helpers import (
    Json,
    changed,
    made,
    pod,
    refused,
    refused_change,
    resource,
)

JOBS = resource("jobs", "batch")
CRON_JOBS = resource("cronjobs", "batch")
TEMPLATE = pod(restartPolicy="Never")
INDEXED = {"completionMode": "Indexed", "completions": 5}


def job(**spec: Any) -> Json:
    return {"spec": {"template": TEMPLATE, **spec}}


def _codes(**codes: Any) -> Json:
    return {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": codes}]}}


CODES = "spec.podFailurePolicy.rules[0].onExitCodes"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (INDEXED, []),
        (
            {"maxFailedIndexes": 1, **INDEXED},
            ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"],
        ),
        (
            {"maxFailedIndexes": 9, "backoffLimitPerIndex": 1, **INDEXED},
            ["spec.maxFailedIndexes: Invalid value: 9: must be less than or equal to completions"],
        ),
        (
            {"parallelism": 100_001, **INDEXED},
            [
                (
                    "spec.parallelism: Invalid value: 100001: must be less than or equal to "
                    "100000 when "
                    "completion mode is Indexed"
                )
            ],
        ),
        (
            _codes(operator="In", values=[0]),
            [f"{CODES}.values[0]: Invalid value: 0: must not be 0 for the In operator"],
        ),
        (
            _codes(operator="NotIn", values=[2, 1]),
            [f"{CODES}.values: Invalid value: [2,1]: must be ordered"],
        ),
        (
            _codes(operator="NotIn", values=[1], containerName="z"),
            [
                (
                    f'{CODES}.containerName: Invalid value: "z": must be one of the container or '
                    "initContainer names in the pod template"
                )
            ],
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "Ignore"}]}},
            [
                (
                    "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of "
                    "OnExitCodes and "
                    "OnPodConditions is required"
                )
            ],
        ),
        (
            {"podFailurePolicy": {"rules": []}, "podReplacementPolicy": "TerminatingOrFailed"},
            [
                (
                    'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": '
                    "supported "
                    'values: "Failed"'
                )
            ],
        ),
        (
            {"successPolicy": {"rules": []}, **INDEXED},
            [
                (
                    "spec.successPolicy.rules: Required value: at least one rules must be "
                    "specified when "
                    "the successPolicy is specified"
                )
            ],
        ),
        (
            {"successPolicy": {"rules": [{"succeededCount": 6}]}, **INDEXED},
            [
                (
                    "spec.successPolicy.rules[0].succeededCount: Invalid value: 6: must be less "
                    "than or "
                    "equal to 5 (the number of specified completions)"
                )
            ],
        ),
        (
            {"managedBy": "me"},
            [
                (
                    'spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as '
                    '"acme.io/foo")'
                )
            ],
        ),
    ],
)
def test_job(spec: Json, expected: list[str]) -> None:
    """Modes and policies of a job fit together."""
    assert refused(JOBS, job(**spec)) == expected


@pytest.mark.parametrize(
    ("path", "value", "good"),
    [
        ("spec.suspend", False, True),
        ("spec.parallelism", 3, True),
        ("spec.template.spec.nodeSelector", {"a": "b"}, True),
        ("spec.template.spec.hostname", "a", False),
        ("spec.backoffLimitPerIndex", 3, False),
        ("spec.managedBy", "a.io/b", False),
    ],
)
def test_suspended_job(path: str, value: Any, good: bool) -> None:
    """A job that never ran may still be scheduled otherwise."""
    old = made(JOBS, job(suspend=True))
    assert (refused_change(JOBS, old, changed(old, path, value)) == []) is good


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


def test_indexed_completions_follow_parallelism() -> None:
    """Indexed jobs are elastic when both numbers change together."""
    old = made(JOBS, job(parallelism=5, **INDEXED))
    both = changed(changed(old, "spec.completions", 7), "spec.parallelism", 7)
    assert refused_change(JOBS, old, both) == []
    assert refused_change(JOBS, old, changed(old, "spec.completions", 7)) == [
        "spec.completions: Invalid value: 7: can only be modified in tandem with spec.parallelism"
    ]


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


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("0", 1), ("0,2-4", 4), ("1-2,4", 3)])
def test_count_indexes(text: str, expected: int) -> None:
    """Lists of indexes are counted."""
    assert count_indexes(text, 5) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 'too large index: "5"'),
        ("x", 'cannot convert string to integer for index: "x"'),
        ("2,1", "non-increasing order, previous: 2, current: 1"),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        ("1-2-3", 'the fragment "1-2-3" violates'),
    ],
)
def test_bad_indexes(text: str, expected: str) -> None:
    """What is no list of indexes is told."""
    with pytest.raises(ValueError) as error:
        count_indexes(text, 5)
    assert str(error.value).startswith(expected)


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


@pytest.mark.parametrize(("rules", "shown"), [([], "[]"), (None, "null")])
def test_no_rules_are_not_an_empty_list_of_rules(rules: list[Json] | None, shown: str) -> None:
    """Go prints them apart."""
    assert refused(JOBS, job(successPolicy={"rules": rules})) == [
        f'spec.successPolicy: Invalid value: {{"Rules":{shown}}}: requires indexed completion mode'
    ]
    old = made(JOBS, job(**INDEXED))
    new = changed(old, "spec.podFailurePolicy", {"rules": rules})
    told = f'spec.podFailurePolicy: Invalid value: {{"Rules":{shown}}}: field is immutable'
    assert told in refused_change(JOBS, old, new)


def test_policies_are_printed_in_the_words_of_go() -> None:
    """Members that never change are shown as kube-apiserver holds them."""
    policy = {"successPolicy": {"rules": [{"succeededCount": 1}]}}
    shown = '{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}'
    assert refused(JOBS, job(**policy)) == [
        f"spec.successPolicy: Invalid value: {shown}: requires indexed completion mode"
    ]
    old = made(JOBS, job(**INDEXED))
    new = changed(old, "spec.successPolicy", policy["successPolicy"])
    assert refused_change(JOBS, old, new) == [
        f"spec.successPolicy: Invalid value: {shown}: field is immutable"
    ]
    rules = _codes(operator="In", values=[1])["podFailurePolicy"]
    new = changed(old, "spec.podFailurePolicy", rules)
    codes = '{"ContainerName":null,"Operator":"In","Values":[1]}'
    shown = f'{{"Rules":[{{"Action":"FailJob","OnExitCodes":{codes},"OnPodConditions":null}}]}}'
    told = f"spec.podFailurePolicy: Invalid value: {shown}: field is immutable"
    assert told in refused_change(JOBS, old, new)


@pytest.mark.parametrize("containers", [None, []])
def test_a_job_that_loses_its_containers_is_refused(containers: Any) -> None:
    """Whatever else names one of them; also where the template may change."""
    policy = _codes(operator="In", values=[1], containerName="c")
    old = made(JOBS, job(suspend=True, **policy))
    new = changed(old, "spec.template.spec", {**TEMPLATE["spec"], "containers": containers})
    assert "spec.template.spec.containers: Required value" in refused_change(JOBS, old, new)


def test_a_job_without_labels_shares_those_of_its_pods() -> None:
    """What the server adds to the template is then a label of the job too."""
    labelled = {"spec": {"template": {"metadata": {"labels": {"app": "a"}}, **TEMPLATE}}}
    metadata = made(JOBS, labelled)["metadata"]
    assert metadata["labels"] == {
        "app": "a",
        "batch.kubernetes.io/controller-uid": metadata["uid"],
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": metadata["uid"],
        "job-name": "x",
    }


@pytest.mark.parametrize("labels", [{"app": "a"}, {"mine": "b"}])
def test_a_job_keeps_labels_of_its_own(labels: Json) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, **TEMPLATE}
    body = {"metadata": {"labels": labels}, "spec": {"template": template}}
    assert made(JOBS, body)["metadata"]["labels"] == labels


def test_a_zone_in_a_schedule_is_warned_of_on_every_change() -> None:
    """It is not when the job is new, since it is refused then."""
    old = made(CRON_JOBS, cron_job(schedule="TZ=UTC * * * * *"))
    assert warnings(CRON_JOBS, old, None) == []
    [text] = warnings(CRON_JOBS, changed(old, "metadata.labels", {"a": "b"}), old)
    assert text.startswith("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead")
