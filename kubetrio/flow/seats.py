"""Seats, and seat-seconds in exact fixed point.

A *seat* is the unit of concurrency: a request occupies one or more of them while it executes.
A *seat-second* is one seat held for one second; it is what fair queuing shares out.  Time enters
this package as float seconds of any monotonic clock and is turned, once, into an integer number
of *ticks* of 10 ns.  From there on everything is integer arithmetic: a number of seats times a
number of ticks is a number of *units* of 1e-8 seat-seconds, without rounding, so no order of
events can make sums drift.  Python's integers do not overflow, so the progress meter of a queue
set needs no epochs (kube-apiserver winds a 64-bit one back every 2^63 units).
"""

from __future__ import annotations

from dataclasses import dataclass, field

TICKS_PER_SECOND = 10**8
# KEP-1040 calls this G: what a request is believed to take until it is known what it took.
GUESSED_SERVICE_TICKS = 3 * TICKS_PER_SECOND // 1000


def ticks(seconds: float) -> int:
    """The nearest number of 10 ns ticks to a time or duration in seconds."""
    return round(seconds * TICKS_PER_SECOND)


def seconds(count: int) -> float:
    """Seconds of a number of ticks; ``ticks(seconds(n)) == n`` for clocks below a year."""
    return count / TICKS_PER_SECOND


def seat_seconds_text(units: int) -> str:
    """Units as the debug pages print them: ``1.50000000ss``."""
    sign = "-" if units < 0 else ""
    whole, rest = divmod(abs(units), TICKS_PER_SECOND)
    return f"{sign}{whole}.{rest:08d}ss"


@dataclass(frozen=True, slots=True)
class Width:
    """How much of a level a request takes.

    Args:
        initial_seats: seats while it executes, at least 1.
        final_seats: seats after its response is sent, while its consequences are worked off
            (watchers of a written object being told); 0 for none.
        additional_latency_s: how long that takes, in seconds.

    Attributes:
        max_seats: seats held from dispatch to the end of the additional latency.
        latency_ticks: the additional latency in ticks.
        work: units of seat-seconds charged at dispatch, with the guessed service time.

    Raises:
        ValueError: no initial seat, or something negative.
    """

    initial_seats: int = 1
    final_seats: int = 0
    additional_latency_s: float = 0.0
    max_seats: int = field(init=False, compare=False)
    latency_ticks: int = field(init=False, compare=False)
    work: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.initial_seats < 1 or self.final_seats < 0 or self.additional_latency_s < 0:
            raise ValueError(
                f"impossible width of {self.initial_seats} and then {self.final_seats} seats "
                f"for {self.additional_latency_s} s"
            )
        latency = ticks(self.additional_latency_s)
        own = self.initial_seats * GUESSED_SERVICE_TICKS
        object.__setattr__(self, "max_seats", max(self.initial_seats, self.final_seats))
        object.__setattr__(self, "latency_ticks", latency)
        object.__setattr__(self, "work", own + self.final_seats * latency)


ONE_SEAT = Width()
