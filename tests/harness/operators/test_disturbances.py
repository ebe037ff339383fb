"""Each disturbance brings a mistake to light, a rule tells of it, and the right operator passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from shelves import SHELF, operator
from shelves_disturbed import CASES

from kubetrio.harness.operators.exploring import Search
from kubetrio.harness.operators.ground import Ground, open_ground
from kubetrio.harness.operators.oracles import ORACLES
from kubetrio.harness.operators.subjects import subject

BEFORE = subject(SHELF).before
ELSEWHERE = {"conflict-not-retried", "finalizer-lost", "status-write-storm"}
"""Rules whose mistakes are those of `test_exploring`."""


@pytest.fixture(scope="module")
def right() -> Iterator[Ground]:
    """A server with the operator that has no mistake."""
    with open_ground(operator(), before=BEFORE) as ground:
        yield ground


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_shows_by_its_plan_and_not_without_what_goes_wrong(name: str) -> None:
    """So it is the disturbance that brings it to light, where the plan has one."""
    case = CASES[name]
    with open_ground(case.operator, before=BEFORE) as ground:
        search = Search(ground)
        _, findings = search.judged(case.plan)
        assert case.rule in {one.oracle for one in findings}, [str(one) for one in findings]
        if case.plan.disturbed:
            assert search.judged(case.plan.undisturbed())[1] == []


@pytest.mark.parametrize("name", CASES)
def test_the_right_operator_passes_by_the_plan(right: Ground, name: str) -> None:
    """Nothing is told of it."""
    _, findings = Search(right).judged(CASES[name].plan)
    assert findings == []


def test_each_rule_has_a_mistake() -> None:
    """One here or one of the five that are searched for."""
    assert {case.rule for case in CASES.values()} | ELSEWHERE == set(ORACLES)
