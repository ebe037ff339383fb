"""One who attacks: `python -m benchmarks.overload.attacker`, a spec as JSON in.

One line when the program has started; told to begin by a line of input, one when the attack is at
its full strength; told to end by another, one with what happened.  The process has a lower priority
than server and bystanders: attackers have machines of their own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
from dataclasses import dataclass

from benchmarks import tools
from benchmarks.clock import perf_counter
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.overload.aim import Aim
from benchmarks.overload.catalog import BY_NAME

NICE = 10
OPENING_S = 180.0  # an attack that is not at its full strength by then is as strong as it gets


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackSpec:
    """What to attack and how.

    Args:
        endpoint: the server, without credentials.
        stranger: token of a user without any right.
        holder: token of a user with some.
        attacks: names; several take turns.
        scale: share of the connections of a full attack.
        share: part of a rate that is this process's.
        slice_s: seconds of a turn.
    """

    endpoint: Endpoint
    stranger: str
    holder: str
    attacks: tuple[str, ...]
    scale: float = 1.0
    share: float = 1.0
    slice_s: float = 10.0


def attack(spec: AttackSpec) -> dict[str, int]:
    """Attack until told to end; what happened, by what and how often."""
    aim = Aim(
        endpoint=spec.endpoint,
        stranger=spec.stranger,
        holder=spec.holder,
        scale=spec.scale,
        share=spec.share,
    )
    os.nice(NICE)
    tools.report({"started": True})
    tools.spec()
    stdin = select.poll()
    stdin.register(0, select.POLLIN | select.POLLHUP)
    open_by = perf_counter() + OPENING_S
    ready = False
    for name in itertools.cycle(spec.attacks):
        until = perf_counter() + spec.slice_s
        with contextlib.closing(BY_NAME[name].run(aim)) as steps:
            for strong in steps:
                now = perf_counter()
                if not ready and (strong or now > open_by or len(spec.attacks) > 1):
                    ready = True
                    tools.report({"ready": strong})
                if stdin.poll(0):
                    return dict(aim.tally)
                if len(spec.attacks) > 1 and now > until:
                    break
    raise AssertionError  # attacks do not end


def main() -> None:
    """Read a spec, attack, print two lines."""
    read = tools.spec()
    spec = AttackSpec(**{**read, "endpoint": Endpoint(**read["endpoint"])})
    try:
        tools.report({"tally": attack(spec)})
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
