"""Mistakes of an operator are found, shrunk and told; an operator without them passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from shelves import SHELF, books, operator

from kubetrio.faults import Rule
from kubetrio.harness.operators.exploring import Search, explore, habits
from kubetrio.harness.operators.ground import Ground, open_ground
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.runs import FOREIGN, Terms
from kubetrio.harness.operators.singles import Habits
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Inject
from kubetrio.harness.session import replayed

FIVE = {
    "conflict": "conflict-not-retried",
    "busy": "refusal-not-retried",
    "stale": "stale-cache-trusted",
    "finalizer": "finalizer-lost",
    "storm": "status-write-storm",
}
"""Mistakes, and the rules that tell of them."""


@pytest.fixture(scope="module")
def right() -> Iterator[Ground]:
    """A server with the operator that has no mistake."""
    with open_ground(operator(), before=subject(SHELF).before) as ground:
        yield ground


def plan(mistake: str) -> Plan:
    """A plan of few steps by which a mistake shows."""
    about = subject(SHELF)
    create = about.create("a", books(1))
    match mistake:
        case "conflict":
            rule = Rule(fault="409", verb="update", subresource="status", count=8)
            return Plan(steps=(Inject(rule=rule), create))
        case "busy":
            rule = Rule(fault="429", verb="create", retry_after_s=5, count=8)
            return Plan(steps=(Inject(rule=rule), create))
        case "stale":
            late = Rule(fault="watch-delay", resource="configmaps", delay_s=30)
            return Plan(steps=(Inject(rule=late), create))
        case "finalizer":
            return Plan(steps=(about.create("a", books(1), (FOREIGN,)),))
        case _:
            return Plan(steps=(create,))


@pytest.mark.parametrize("mistake", FIVE)
def test_a_plan_shows_a_mistake_of_an_operator_and_none_of_the_right_one(
    right: Ground, mistake: str
) -> None:
    """The rule for it tells."""
    before = subject(SHELF).before
    chosen = plan(mistake)
    with open_ground(operator(mistake), before=before) as ground:
        _, findings = Search(ground).judged(chosen)
    assert FIVE[mistake] in {one.oracle for one in findings}
    _, findings = Search(right).judged(chosen)
    assert findings == []


def test_what_an_operator_does_is_learned(right: Ground) -> None:
    """Faults are about what it watches and writes."""
    assert habits(right, subject(SHELF), 0) == Habits(
        watches=["configmaps", "shelves"],
        writes=[
            ("create", "configmaps", ""),
            ("delete", "configmaps", ""),
            ("update", "shelves", ""),
            ("update", "shelves", "status"),
        ],
    )


def test_a_mistake_is_found_and_is_a_plan_of_one_step() -> None:
    """The report says what, and the script does the same without the operator."""
    terms = Terms(most_calls=300)
    failure = explore(operator("storm"), SHELF, examples=3, terms=terms)
    assert failure is not None
    assert len(failure.plan.steps) == 1
    told = str(failure)
    assert "status-write-storm: " in told
    assert "1. POST /apis/example.com/v1/namespaces/default/shelves" in told
    again = replayed(failure.script)
    assert [step.answer.status for step in again.steps[:3] if step.answer] == [201, 201, 200]


@pytest.mark.slow
@pytest.mark.parametrize("mistake", FIVE)
def test_five_mistakes_are_found_and_shrunk(mistake: str) -> None:
    """By the one call of the page, to fewer than six steps."""
    failure = explore(operator(mistake), SHELF, limit_s=600, examples=300)
    assert failure is not None
    assert FIVE[mistake] in {one.oracle for one in failure.findings}
    assert len(failure.plan.steps) < 6


@pytest.mark.slow
def test_the_right_operator_passes() -> None:
    """Whatever goes wrong."""
    failure = explore(operator(), SHELF, limit_s=600, examples=100)
    assert failure is None, str(failure)
