"""Walks through states find what depends on the way, and what is left behind."""

from __future__ import annotations

import pytest
from shelves import SHELF, books, operator

from kubetrio.harness.operators.ground import open_ground
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.operators.walking import WalkSearch, walk
from kubetrio.harness.script import Settle


@pytest.mark.parametrize(
    ("mistake", "oracles"),
    [
        ("", set()),
        ("surplus", {"does-not-go-back"}),
        ("entry", {"left-behind"}),
    ],
)
def test_a_walk_and_back(mistake: str, oracles: set[str]) -> None:
    """More books, fewer books, none."""
    about = subject(SHELF)
    up = Plan(steps=(about.create("a", books(1)), Settle(), about.change("a", books(2))))
    with open_ground(operator(mistake), before=about.before) as ground:
        _, findings = WalkSearch(ground, about).judged(up)
    assert {one.oracle for one in findings} == oracles


def test_the_shortest_walk_is_one_state() -> None:
    """What is left behind is left of any object."""
    failure = walk(operator("entry"), SHELF, examples=2)
    assert failure is not None
    assert len(failure.plan.steps) == 1
    assert str(failure).startswith("What the operator did wrong:\nleft-behind: ConfigMap default/a")
