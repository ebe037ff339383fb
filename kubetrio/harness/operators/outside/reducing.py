"""Smaller plans: what a plan is made of, and what may be left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubetrio.harness.operators.outside.trials import Attempt
from kubetrio.harness.operators.outside.wants import strays
from kubetrio.harness.operators.plans import Plan, Step
from kubetrio.harness.script import Request, Settle


def trimmed(plan: Plan) -> Plan:
    """A plan without the rest at its end, which comes anyway; a walk keeps its states by it."""
    steps = list(plan.steps)
    while plan.disturbed and isinstance(steps[-1], Settle):
        steps.pop()
    return Plan(steps=tuple(steps))


def performed(run: Attempt) -> Plan:
    """The plan of a run, up to where the run was broken off, or a state strayed from another."""
    asked, rests, steps = 0, 0, list[Step]()
    for one in run.plan.steps:
        if isinstance(one, Request):
            asked += 1
            if asked > len(run.answers):
                break
        steps.append(one)
        if isinstance(one, Settle):
            rests += 1
            shown = Plan(steps=tuple(steps))
            if strays(replace(run, plan=shown, states=run.states[: rests + 1])):
                return shown
    return Plan(steps=tuple(steps))


def about_one(plan: Plan) -> list[Plan]:
    """Plans in which users ask about one object alone, where they ask about several."""
    asked = [_name(one) for one in plan.steps if isinstance(one, Request)]
    names = dict.fromkeys(asked)
    if len(names) < 2:
        return []
    parts = [
        _joined(
            [
                unit
                for unit in _units(plan)
                if not isinstance(unit[0], Request) or _name(unit[0]) == name
            ]
        )
        for name in names
    ]
    return sorted(parts, key=lambda part: len(part.steps))


def _name(request: Request) -> str:
    """Name of the object that a request is about."""
    if request.method == "POST":
        return str(request.body["metadata"]["name"])
    return request.path.rpartition("/")[2]


def length(plan: Plan) -> int:
    """How many steps can be left out."""
    return len(_units(plan))


def shorter(plan: Plan, size: int) -> list[Plan]:
    """Plans that a number of steps is left out of, one after the other, but users still ask.

    Nothing was found where nothing goes wrong, or a plan in which something does would not be
    tried; so that stays.

    Args:
        plan: which.
        size: how many steps.
    """
    parts = _units(plan)
    fewer = [_joined([*parts[:at], *parts[at + size :]]) for at in range(0, len(parts), size)]
    return [
        one
        for one in fewer
        if one.disturbed == plan.disturbed and any(isinstance(step, Request) for step in one.steps)
    ]


def _units(plan: Plan) -> list[tuple[Step, ...]]:
    """Steps that are left out together: each with the rest that follows it."""
    parts: list[tuple[Step, ...]] = []
    for one in plan.steps:
        if isinstance(one, Settle) and parts:
            parts[-1] = (*parts[-1], one)
        else:
            parts.append((one,))
    return parts


def _joined(parts: Sequence[tuple[Step, ...]]) -> Plan:
    return Plan(steps=tuple(step for part in parts for step in part))
