"""Plans: what users do while an operator runs, and what goes wrong meanwhile."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kubetrio.faults import Rule
from kubetrio.harness.script import (
    Inject,
    Move,
    Request,
    ScriptError,
    Settle,
    step_as_dict,
    step_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """The operator is killed, and started again a while later.

    Args:
        writes: so many writes of it are done first, the last of which it is not told of.
        down_s: seconds until it is started again.
    """

    do: ClassVar[str] = "crash"
    writes: int = 0
    down_s: float = 10.0


Step = Request | Inject | Move | Settle | Crash
DISTURBANCES = (Inject, Crash)
"""Steps that an operator has to bear; what users do is all else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What users do while an operator runs, and what goes wrong meanwhile.

    Args:
        steps: one after the other; time passes in a `Move`, and in a `Settle` until the operator
            is at rest.
    """

    steps: Sequence[Step] = ()

    def undisturbed(self) -> Plan:
        """Return what users do alone, with time for the operator after each step."""
        steps: list[Step] = []
        for one in self.steps:
            if isinstance(one, Request):
                steps += [one, Settle()]
            elif isinstance(one, Move):
                steps.append(one)
        return Plan(steps=tuple(steps))

    @property
    def disturbed(self) -> bool:
        """Whether anything goes wrong."""
        return any(isinstance(one, DISTURBANCES) for one in self.steps)

    def as_list(self) -> list[dict[str, Any]]:
        """The steps as JSON has them."""
        return [
            {"do": "crash", "writes": one.writes, "down": one.down_s}
            if isinstance(one, Crash)
            else step_as_dict(one)
            for one in self.steps
        ]

    @classmethod
    def of(cls, data: object) -> Plan:
        """The plan that a list in JSON means.

        Args:
            data: as `as_list` returns it.

        Raises:
            ScriptError: it means none.
        """
        if not isinstance(data, list):
            raise ScriptError("a plan is a list of steps")
        return cls(steps=tuple(_step(one, at) for at, one in enumerate(data, 1)))

    def __str__(self) -> str:
        return "\n".join(f"{number}. {told(one)}" for number, one in enumerate(self.steps, 1))


def _step(data: object, number: int) -> Step:
    """The step that a JSON object means.

    Raises:
        ScriptError: it means none that a plan can have.
    """
    if isinstance(data, Mapping) and data.get("do") == Crash.do:
        writes, down_s = data.get("writes", 0), data.get("down", 0.0)
        known = not set(data) - {"do", "writes", "down"}
        if not (known and isinstance(writes, int) and _fits(writes) and _fits(down_s)):
            raise ScriptError(f"step {number}: a crash has the numbers writes and down")
        return Crash(writes=writes, down_s=float(down_s))
    step = step_of(data, number)
    if not isinstance(step, Request | Inject | Move | Settle):
        raise ScriptError(f"step {number}: a plan has no {step.do}")
    return step


def _fits(value: object) -> bool:
    """Whether a value is a number that is not negative."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def told(step: Step) -> str:
    """A step in words."""
    match step:
        case Crash():
            when = f"after {step.writes} more writes" if step.writes else "at once"
            return f"the operator is killed {when}, and started {step.down_s:g} s later"
        case Inject(rule=None):
            return "faults end"
        case Inject(rule=Rule() as rule):
            return f"fault {_rule(rule)}"
        case Move():
            return f"{step.seconds:g} s pass"
        case Settle():
            return "the operator comes to rest"
        case Request():
            body = "" if step.body is None else f" {_shown(step.body)}"
            return f"{step.method} {step.path}{body}"
    raise AssertionError(step)


def _rule(rule: Rule) -> str:
    """A rule in words, without what all rules of a plan have."""
    shown = {key: value for key, value in rule.as_dict().items() if key not in ("user", "id")}
    fault = shown.pop("fault")
    details = ", ".join(
        f"{key} {'/'.join(value) if isinstance(value, list) else value}"
        for key, value in shown.items()
        if value != [""]  # the object itself
    )
    return f"{fault} ({details})" if details else str(fault)


def _shown(body: Any) -> str:
    if isinstance(body, Mapping):
        body = {key: value for key, value in body.items() if key != "apiVersion"}
    return json.dumps(body, ensure_ascii=False)
