"""Failure and success policies."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.job.policies import Judged, enough, judge
from kubetrio.controllers.podcontrol.view import Run, view_of

Object = dict[str, Any]
POD = view_of({"metadata": {"name": "p", "namespace": "n"}, "status": {"phase": "Failed"}})


def job(*rules: Object, **spec: Any) -> Object:
    """A Job with a failure policy."""
    return {"spec": {"podFailurePolicy": {"rules": list(rules)}, **spec}}


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}},
            Judged(
                action="FailJob",
                message="Container c for pod n/p failed with exit code 3 matching FailJob rule at "
                "index 0",
            ),
        ),
        (
            {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [4]}},
            Judged(counts=False, action="Ignore"),
        ),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [4]}}, Judged()),
        (
            {"action": "Count", "onExitCodes": {
                "containerName": "d", "operator": "In", "values": [5]}},
            Judged(action="Count"),
        ),
        (
            {"action": "FailJob", "onPodConditions": [{"type": "A", "status": "True"}]},
            Judged(
                action="FailJob",
                message="Pod n/p has condition A matching FailJob rule at index 0",
            ),
        ),
        ({"action": "FailIndex", "onPodConditions": [{"type": "A", "status": "False"}]}, Judged()),
    ],
)  # fmt: skip
def test_the_first_rule_that_fits_judges(rule: Object, found: Judged) -> None:
    """By exit codes or conditions."""
    pod = POD._replace(run=Run(0, (("c", 3), ("d", 5)), (("A", "True"),)))
    assert judge(job(rule, {"action": "Count", "onPodConditions": []}), pod) == found


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        ({"succeededIndexes": "0-2"}, True),
        ({"succeededIndexes": "0-3"}, False),
        ({"succeededIndexes": "0-9", "succeededCount": 3}, True),
        ({"succeededIndexes": "4-9", "succeededCount": 1}, False),
        ({"succeededCount": 3}, True),
        ({"succeededCount": 4}, False),
        ({"succeededIndexes": "x"}, False),
    ],
)
def test_enough_may_be_less_than_all(rule: Object, met: bool) -> None:
    """By indexes, by their number, or by both."""
    one = {"spec": {"completions": 10, "successPolicy": {"rules": [rule]}}}
    assert enough(one, ((0, 2),)) == ("Matched rules at index 0" if met else "")
    assert enough(one, ()) == ""
