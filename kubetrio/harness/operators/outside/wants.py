"""A rule for states on a walk: where users want the same, everything is the same.

It is Acto's, for one run: a state is reached on two ways, or left and come back to; and when
nothing is wanted any more, nothing is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from kubetrio.harness.operators.oracles import Finding
from kubetrio.harness.operators.outside.trials import Attempt, State
from kubetrio.harness.operators.plans import Step
from kubetrio.harness.operators.states import differences
from kubetrio.harness.script import Request, Settle

MOST_TOLD = 5
Wants = dict[str, Any]
WAYS = {"POST": "depends-on-the-way", "PATCH": "does-not-go-back", "DELETE": "left-behind"}
"""Names of findings, by the method of the request that led to the second of two states."""


def strays(run: Attempt) -> list[Finding]:
    """Where two states differ in which users want the same.

    Args:
        run: in which nothing goes wrong; one with finalizers of others says nothing, for their
            objects stay when they are not wanted any more.
    """
    first_states: dict[str, tuple[State, int]] = {}
    for number, (wants, method, state) in enumerate(_wanted(run)):
        key = orjson.dumps(wants, option=orjson.OPT_SORT_KEYS).decode()
        first, _ = first_states.setdefault(key, (state, number))
        if first is not state:
            told = differences(state.objects, first.objects)[:MOST_TOLD]
            if told:
                return [Finding(WAYS[method], text) for text in told]
    return []


def _wanted(run: Attempt) -> Iterator[tuple[Wants, str, State]]:
    """What users want in each state, and the method of their last request before it."""
    states = iter(run.states)
    wants: Wants = {}
    method, answers = "POST", iter(run.answers)
    start = next(states, None)
    if start is None or not _plain(run.plan.steps):
        return
    yield {}, method, start
    for step in run.plan.steps:
        match step:
            case Request():
                if next(answers, 500) >= 300:
                    return
                method = step.method
                _change(wants, step)
            case Settle():
                state = next(states, None)
                if state is None:
                    return
                yield dict(wants), method, state


def _plain(steps: Sequence[Step]) -> bool:
    """Whether nothing goes wrong and no object has finalizers."""
    return all(
        isinstance(one, Settle)
        or (
            isinstance(one, Request)
            and not (isinstance(one.body, Mapping) and one.body["metadata"].get("finalizers"))
        )
        for one in steps
    )


def _change(wants: Wants, request: Request) -> None:
    """Do with what is wanted as a request does with objects."""
    name = request.path.rpartition("/")[2]
    body: Any = request.body
    match request.method:
        case "POST":
            kept = ("apiVersion", "kind", "metadata", "status")
            content = {key: value for key, value in body.items() if key not in kept}
            wants[body["metadata"]["name"]] = content
        case "PATCH":
            changed = {one["path"].removeprefix("/"): one["value"] for one in body}
            wants[name] = {**wants.get(name, {}), **changed}
        case "DELETE":
            wants.pop(name, None)
