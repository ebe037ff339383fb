"""Plans are told in words, and have an undisturbed twin."""

from __future__ import annotations

import json

import pytest

from kubetrio.faults import Rule
from kubetrio.harness.operators.plans import Crash, Plan
from kubetrio.harness.script import Inject, Move, Request, ScriptError, Settle

ASKED = Request(method="POST", path="/a", body={"apiVersion": "v1", "kind": "A"})
PLAN = Plan(
    steps=(
        Inject(rule=Rule(fault="409", verb="update", count=1)),
        ASKED,
        Crash(writes=2, down_s=5),
        Move(seconds=10),
    )
)


def test_words() -> None:
    """A line for each step."""
    assert str(PLAN).splitlines() == [
        "1. fault 409 (verb update, count 1)",
        '2. POST /a {"kind": "A"}',
        "3. the operator is killed after 2 more writes, and started 5 s later",
        "4. 10 s pass",
    ]


def test_what_users_do_alone() -> None:
    """With time for the operator after each request."""
    assert PLAN.disturbed
    assert PLAN.undisturbed() == Plan(steps=(ASKED, Settle(), Move(seconds=10)))
    assert not PLAN.undisturbed().disturbed


def test_json() -> None:
    """Steps of scripts are as in scripts, and a plan is read as it was written."""
    assert [one["do"] for one in PLAN.as_list()] == ["fault", "request", "crash", "move"]
    written = json.dumps(PLAN.as_list())
    assert str(Plan.of(json.loads(written))) == str(PLAN)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, "a plan is a list of steps"),
        ([{"do": "restart"}], "step 1: a plan has no restart"),
        ([{"do": "crash", "writes": -1}], "step 1: a crash has the numbers writes and down"),
        ([{"do": "crash", "writes": 1.5}], "step 1: a crash has the numbers writes and down"),
        ([{"do": "crash", "when": 1}], "step 1: a crash has the numbers writes and down"),
        ([{"do": "settle"}, {"do": "move"}], "step 2: seconds: must be given"),
    ],
)
def test_what_is_no_plan(data: object, told: str) -> None:
    """One line says where."""
    with pytest.raises(ScriptError, match=f"^{told}$"):
        Plan.of(data)
