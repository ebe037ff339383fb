"""Checks of the specs of jobs."""

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

from kubetrio.kinds.batch.validation.jobspec import count_indexes

JOBS = resource("jobs", "batch")
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


def test_indexed_completions_follow_parallelism() -> None:
    """Indexed jobs are elastic when both numbers change together."""
    old = made(JOBS, job(parallelism=5, **INDEXED))
    both = changed(changed(old, "spec.completions", 7), "spec.parallelism", 7)
    assert refused_change(JOBS, old, both) == []
    assert refused_change(JOBS, old, changed(old, "spec.completions", 7)) == [
        "spec.completions: Invalid value: 7: can only be modified in tandem with spec.parallelism"
    ]


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
