"""Reports in words and as JSON."""

from __future__ import annotations

import json
from typing import Any

from simulated_operators import SHELF, books

from kubetrio.harness.operators.calls import OPERATOR, Call, Place
from kubetrio.harness.operators.oracles import Finding
from kubetrio.harness.operators.outside.report import FORMAT, SHOWN_CALLS, Found, Report
from kubetrio.harness.operators.outside.trials import Attempt, Pace
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.singles import Habits
from kubetrio.harness.operators.subjects import subject

PLAN = Plan(steps=(subject(SHELF).create("a", books(1)),))
PLACE = Place("example.com", "shelves", "default", "a")


def report(found: Found | None, **more: Any) -> Report:
    """A report of seed 3."""
    known = Habits(watches=["shelves"], writes=[("update", "shelves", "status")])
    return Report(mistake=found, habits=known, pace=Pace(), seed=3, runs=7, seconds=1.5, **more)


def found(calls: int) -> Found:
    """A mistake, with so many failed writes and a read."""
    call = Call(
        at=1.0, user=OPERATOR.name, verb="update", place=PLACE, subresource="status", status=409,
        fault="fault-1",
    )  # fmt: skip
    read = Call(at=1.0, user=OPERATOR.name, verb="watch", place=PLACE)
    run = Attempt(plan=PLAN, calls=[read, *[call] * calls], before=(), after=())
    return Found(plan=PLAN, findings=[Finding("orphan", "it is there")], run=run)


def test_words() -> None:
    """What was wrong, by which plan, what the operator did, and how it is repeated."""
    told = str(report(found(SHOWN_CALLS + 2), repeat="again!"))
    assert told.startswith("What the operator did wrong:\norphan: it is there\n\nBy this plan:\n1.")
    assert told.count("update shelves.example.com default/a (status) -> 409 [fault-1]") == 25
    assert told.endswith("and 2 more\n\nRepeat it with:\nagain!")
    assert "watch" not in told
    assert str(report(None)) == "nothing found in 7 runs"


def test_json() -> None:
    """All of it, and the plan can be read again."""
    shown = json.loads(json.dumps(report(found(1), repeat="again!").as_dict()))
    assert (shown["format"], shown["seed"], shown["runs"]) == (FORMAT, 3, 7)
    assert shown["found"] == [{"rule": "orphan", "text": "it is there"}]
    assert str(Plan.of(shown["plan"])) == str(PLAN)
    [call] = shown["calls"]
    assert (call["verb"], call["status"], call["fault"]) == ("update", 409, "fault-1")
    assert report(None).as_dict()["found"] == []
