"""What a level was doing, and for how long.

Time-weighted numbers (the demand statistics that steer borrowing, and the utilization histograms
that sample "at the end of every nanosecond") all follow from one thing: how long the level was in
each state.  So an event costs one dictionary update, and the averages and buckets are worked out
when they are read.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubetrio.flow.seats import TICKS_PER_SECOND, seconds, ticks

# apiserver_flowcontrol_priority_level_request_utilization
REQUEST_BOUNDS = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1)
# apiserver_flowcontrol_priority_level_seat_utilization
SEAT_BOUNDS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
# apiserver_flowcontrol_demand_seats
DEMAND_BOUNDS = (0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6)
# apiserver_flowcontrol_read_vs_write_current_requests
READ_WRITE_BOUNDS = (0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)

# Labels phase and request_kind of the last, in the order of ReadWriteOccupancy's numbers.
READ_WRITE_KEYS = (
    ("waiting", "readOnly"),
    ("waiting", "mutating"),
    ("executing", "readOnly"),
    ("executing", "mutating"),
)

_NANOSECONDS_PER_TICK = 10
# States remembered before they are folded away: bounds memory, not meaning.
_REMEMBERED_STATES = 512


@dataclass(frozen=True, slots=True)
class RatioSnapshot:
    """A timing histogram as exposed: one observation for each nanosecond.

    Args:
        bounds: upper bounds of the buckets, without infinity.
        counts: observations at or below each bound (cumulative).
        count: all observations.
        total: sum of the observed ratios.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    count: int
    total: float


class RatioHistogram:
    """Time spent at each ratio of a gauge to its limit.

    Args:
        bounds: ascending upper bounds of the buckets.
    """

    __slots__ = ("_bounds", "_ticks", "_total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._ticks = [0] * (len(self._bounds) + 1)
        self._total = 0.0

    def add(self, ratio: float, elapsed: int) -> None:
        """Note that the ratio held for a number of ticks."""
        self._ticks[bisect_left(self._bounds, ratio)] += elapsed
        self._total += ratio * elapsed * _NANOSECONDS_PER_TICK

    def snapshot(self) -> RatioSnapshot:
        """The histogram so far."""
        counts: list[int] = []
        sofar = 0
        for spent in self._ticks:
            sofar += spent * _NANOSECONDS_PER_TICK
            counts.append(sofar)
        return RatioSnapshot(self._bounds, tuple(counts[:-1]), sofar, self._total)


@dataclass(frozen=True, slots=True)
class DemandWindow:
    """Demand for seats over one adjustment period.

    Args:
        duration_s: length of the period in seconds.
        average: mean over time of the seats in use or asked for.
        deviation: standard deviation over time of the same.
        high_watermark: the largest value, however short.
    """

    duration_s: float
    average: float
    deviation: float
    high_watermark: int


class Occupancy:
    """Time in each state of one level, folded into histograms and demand on reading.

    Attributes:
        peak: largest demand since the window began; the owner raises it.
    """

    __slots__ = (
        "_demand",
        "_executing",
        "_queue_capacity",
        "_seat_limit",
        "_seats",
        "_spent",
        "_sum",
        "_sum_squares",
        "_sum_ticks",
        "_waiting",
        "peak",
    )

    def __init__(self) -> None:
        self._spent: dict[tuple[int, int, int, int], int] = {}
        self._queue_capacity = 1
        self._seat_limit = 1
        self._waiting = RatioHistogram(REQUEST_BOUNDS)
        self._executing = RatioHistogram(REQUEST_BOUNDS)
        self._seats = RatioHistogram(SEAT_BOUNDS)
        self._demand = RatioHistogram(DEMAND_BOUNDS)
        self._sum_ticks = self._sum = self._sum_squares = 0
        self.peak = 0

    def spend(self, state: tuple[int, int, int, int], elapsed: int) -> None:
        """Note that a state held for a number of ticks.

        Args:
            state: requests waiting, requests executing, seats in use, seats waiting.
            elapsed: for how many ticks.
        """
        spent = self._spent
        spent[state] = spent.get(state, 0) + elapsed
        if len(spent) >= _REMEMBERED_STATES:
            self._fold()

    def set_denominators(self, queue_capacity: int, seat_limit: int) -> None:
        """From now on measure against these limits, both at least 1."""
        self._fold()
        self._queue_capacity = queue_capacity
        self._seat_limit = seat_limit

    def take_window(self, demand_now: int) -> DemandWindow:
        """The demand since the last call; the next window begins at ``demand_now``."""
        self._fold()
        peak, self.peak = self.peak, demand_now
        elapsed, total, squares = self._sum_ticks, self._sum, self._sum_squares
        self._sum_ticks = self._sum = self._sum_squares = 0
        if not elapsed:
            return DemandWindow(0.0, 0.0, 0.0, peak)
        # Integers throughout: the variance cannot come out negative.
        variance = (squares * elapsed - total * total) / elapsed**2
        return DemandWindow(seconds(elapsed), total / elapsed, math.sqrt(variance), peak)

    def snapshots(self) -> tuple[RatioSnapshot, RatioSnapshot, RatioSnapshot, RatioSnapshot]:
        """Histograms of requests waiting, requests executing, seats in use, and demand."""
        self._fold()
        histograms = (self._waiting, self._executing, self._seats, self._demand)
        first, second, third, fourth = (histogram.snapshot() for histogram in histograms)
        return first, second, third, fourth

    def _fold(self) -> None:
        for (waiting, executing, in_use, asked), spent in self._spent.items():
            demand = in_use + asked
            self._waiting.add(waiting / self._queue_capacity, spent)
            self._executing.add(executing / self._seat_limit, spent)
            self._seats.add(in_use / self._seat_limit, spent)
            self._demand.add(demand / self._seat_limit, spent)
            self._sum_ticks += spent
            self._sum += demand * spent
            self._sum_squares += demand * demand * spent
        self._spent.clear()


class ReadWriteOccupancy:
    """Requests waiting and executing in all levels together, by read-only and mutating."""

    __slots__ = ("_capacity", "_histograms", "_now", "_numbers", "_spent")

    def __init__(self, t: float) -> None:
        self._now = ticks(t)
        self._capacity = (1, 1, 1, 1)
        self._numbers = [0, 0, 0, 0]
        self._spent: dict[tuple[int, ...], int] = {}
        self._histograms = tuple(RatioHistogram(READ_WRITE_BOUNDS) for _ in READ_WRITE_KEYS)

    def change(self, t: float, *, waiting: int, executing: int, mutating: bool) -> None:
        """Note that the numbers of one request kind change by this much."""
        now = round(t * TICKS_PER_SECOND)  # `ticks`, and no call: every verb comes here
        if now > self._now:
            self._spend_ticks(now)
        numbers = self._numbers
        numbers[mutating] += waiting
        numbers[2 + mutating] += executing

    def passed(self, t: float, busy: float, *, mutating: bool) -> None:
        """Note that one more request of a kind was executing for some of the time until now."""
        spent = min(ticks(busy), ticks(t) - self._now)
        if spent > 0:
            self._numbers[2 + mutating] += 1
            self._spend_ticks(self._now + spent)
            self._numbers[2 + mutating] -= 1

    def crossed(self, t: float, spent: Mapping[tuple[int, int], int]) -> None:
        """Note that until now more requests were executing.

        Args:
            t: now.
            spent: ticks by numbers of requests, read-only and mutating.
        """
        self._spend_ticks(ticks(t) - sum(spent.values()))
        numbers = self._numbers
        for (reads, writes), elapsed in spent.items():
            numbers[2] += reads
            numbers[3] += writes
            self._spend_ticks(self._now + elapsed)
            numbers[2] -= reads
            numbers[3] -= writes

    def executing(self) -> tuple[int, int]:
        """Requests executing now: read-only, mutating."""
        return self._numbers[2], self._numbers[3]

    def waiting(self) -> tuple[int, int]:
        """Requests waiting now: read-only, mutating."""
        return self._numbers[0], self._numbers[1]

    def set_denominators(self, t: float, waiting: int, executing: int) -> None:
        """From now on measure against these, both at least 1."""
        self._spend(t)
        self._fold()
        self._capacity = (waiting, waiting, executing, executing)

    def snapshots(self, t: float) -> dict[tuple[str, str], RatioSnapshot]:
        """Histograms by phase and request kind."""
        self._spend(t)
        self._fold()
        snapshots = (histogram.snapshot() for histogram in self._histograms)
        return dict(zip(READ_WRITE_KEYS, snapshots, strict=True))

    def _spend(self, t: float) -> None:
        self._spend_ticks(ticks(t))

    def _spend_ticks(self, now: int) -> None:
        elapsed = now - self._now
        if elapsed <= 0:
            return
        self._now += elapsed
        state = tuple(self._numbers)
        self._spent[state] = self._spent.get(state, 0) + elapsed
        if len(self._spent) >= _REMEMBERED_STATES:
            self._fold()

    def _fold(self) -> None:
        for numbers, elapsed in self._spent.items():
            parts = zip(self._histograms, numbers, self._capacity, strict=True)
            for histogram, number, capacity in parts:
                histogram.add(number / capacity, elapsed)
        self._spent.clear()
