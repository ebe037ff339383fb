"""What of an operator in a process of its own is tried, for how long, and what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kubetrio.harness.operators.outside.program import Program
from kubetrio.harness.operators.plans import Plan, Step
from kubetrio.harness.operators.runs import Run
from kubetrio.harness.operators.states import Object
from kubetrio.harness.script import Request, Settle
from kubetrio.harness.setup import Setup


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long is waited for an operator, in real seconds.

    Args:
        quiet_s: without new requests for so long, it counts as at rest.
        limit_s: so long is waited for rest between steps.
        patience_s: so long is waited at the end for rest, and for the right end.
        most_calls: requests that it may make in all.
    """

    quiet_s: float = 1.0
    limit_s: float = 3.0
    patience_s: float = 5.0
    most_calls: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is tried.

    Args:
        program: runs the operator.
        plan: what happens.
        pace: how long is waited.
        setup: how the server is made.
        before: requests that make the server ready.
        manifests: objects that are there before the operator starts.
        expected: objects there should be at the end, as far as they are known.
        fresh: whether it needs a server of its own.
    """

    program: Program
    plan: Plan
    pace: Pace = Pace()
    setup: Setup = field(default_factory=Setup)
    before: Sequence[Request] = ()
    manifests: Sequence[Object] = ()
    expected: Sequence[Object] | None = None
    fresh: bool = False

    def fits(self, other: Trial) -> bool:
        """Whether it can be done on the server of another one, with the operator that runs."""
        return not self.fresh and (
            (self.program, self.setup, self.before, self.manifests, self.pace.most_calls)
            == (other.program, other.setup, other.before, other.manifests, other.pace.most_calls)
        )


class State(NamedTuple):
    """All objects at a time when the operator was at rest.

    Args:
        objects: those that are as they were before the operator started have no content.
        calls: how many requests there had been.
        answers: how many requests of users had been answered.
    """

    objects: Sequence[Object]
    calls: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Run):
    """What happened.

    Args:
        states: when the operator was at rest: before the first step, and at each `Settle`.
        longest_pause_s: the longest time that it was not at rest without asking for anything.
        silent: whether a process of it made no request.
    """

    states: Sequence[State] = ()
    longest_pause_s: float = 0.0
    silent: bool = False


def settled(plan: Plan) -> Plan:
    """Return a plan with time for the operator after each request of users.

    Args:
        plan: whose disturbances stay.
    """
    steps: list[Step] = []
    for at, one in enumerate(plan.steps):
        steps.append(one)
        following = plan.steps[at + 1] if at + 1 < len(plan.steps) else None
        if isinstance(one, Request) and not isinstance(following, Settle):
            steps.append(Settle())
    return Plan(steps=tuple(steps))
