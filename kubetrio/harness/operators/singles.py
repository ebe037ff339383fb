"""Short plans with one disturbance each: what is tried before plans are drawn.

Most mistakes need one thing to go wrong at the right request, and chance comes to it late.

Needs hypothesis.
"""

from __future__ import annotations

import random  # noqa: TID251  (the randomness of an Env)
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubetrio.faults import Rule
from kubetrio.harness.operators.outside.drawing import drawn
from kubetrio.harness.operators.plans import Crash, Plan, Step
from kubetrio.harness.operators.runs import FOREIGN
from kubetrio.harness.operators.subjects import NAMES, Object, Subject
from kubetrio.harness.script import Inject, Settle

DRAWN = 8
DELAY_S = 30.0
RETRY_AFTER_S = 5
MOST_DEATHS = 4
"""The operator is killed at once, and after so many writes but one at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What an operator does when nothing goes wrong.

    Args:
        watches: resources that it watches.
        writes: verb, resource and subresource of its writes.
    """

    watches: Sequence[str]
    writes: Sequence[tuple[str, str, str]]


def singles(about: Subject, known: Habits, rng: random.Random) -> Iterator[Plan]:
    """Return plans with one disturbance before an object is made, changed or deleted.

    Args:
        about: the kind of the object.
        known: what the operator does when nothing goes wrong.
        rng: decides what the object is.
    """
    large, small = extremes(drawn(about.bodies, DRAWN, rng))
    name = NAMES[0]
    create, shared = about.create(name, large), about.create(name, large, (FOREIGN,))
    change, delete = about.change(name, small), about.delete(name)
    yield Plan(steps=(create,))
    yield Plan(steps=(shared,))
    yield Plan(steps=(create, Settle(), change, Settle(), delete))
    for before, act in (((), create), ((create, Settle()), change), ((create, Settle()), delete)):
        for wrong in disturbances(known):
            yield Plan(steps=(*before, wrong, act))
        stale = Inject(rule=Rule(fault="stale"))
        yield Plan(steps=(*before, stale, act, Settle(), Crash()))


def extremes(bodies: Sequence[Object]) -> tuple[Object, Object]:
    """The largest and the smallest of some bodies, without their metadata."""

    def content(body: Object) -> tuple[int, str]:
        text = repr({key: value for key, value in body.items() if key != "metadata"})
        return len(text), text

    ordered = sorted(bodies, key=content)
    return ordered[-1], ordered[0]


def disturbances(known: Habits) -> Iterator[Step]:
    """Return each kind of what may go wrong, about each write and each watch.

    Args:
        known: writes and watches.
    """
    for verb, resource, subresource in known.writes:
        for fault in ("409", "429", "503"):
            # A conflict of a create would tell of an object that is not there.
            if (fault, verb) != ("409", "create"):
                rule = Rule(
                    fault=fault,
                    verb=verb,
                    resource=resource,
                    subresource=subresource,
                    retry_after_s=RETRY_AFTER_S if fault == "429" else None,
                )
                yield Inject(rule=rule)
    for resource in known.watches:
        yield Inject(rule=Rule(fault="watch-delay", resource=resource, delay_s=DELAY_S))
        for fault, after in (("410", 0), ("watch-drop", 1)):
            yield Inject(
                rule=Rule(fault=fault, verb="watch", resource=resource, after_events=after, count=2)
            )
    for writes in range(MOST_DEATHS):
        yield Crash(writes=writes)
