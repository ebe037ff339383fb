"""Numbers of the last hour are kept in a ring that does not grow."""

from __future__ import annotations

from itertools import pairwise

import trio
from trio.testing import MockClock

from kubetrio.observe.lasthour import PERIOD_S, SAMPLES, LastHour, Sample, Totals

HOUR_S = 3600


def sample(time: float) -> Sample:
    return Sample(time, 1, 2, 3, 4, 5, 6, 7, 8, 9)


def test_the_oldest_sample_makes_room() -> None:
    """The ring has so many samples at most, in their order."""
    hour = LastHour()
    for time in range(SAMPLES + 10):
        hour.add(sample(time))
    assert len(hour) == SAMPLES
    assert [one.time for one in hour.samples()] == [float(n) for n in range(10, SAMPLES + 10)]
    assert hour.samples()[0] == sample(10)


async def test_samples_come_at_a_pace(autojump_clock: MockClock) -> None:
    """One at once, then one for each period; an hour fills the ring."""
    hour = LastHour()
    with trio.move_on_after(HOUR_S - 1):
        await hour.run(lambda: sample(trio.current_time()))
    times = [one.time for one in hour.samples()]
    assert len(times) == SAMPLES
    assert {round(b - a, 6) for a, b in pairwise(times)} == {PERIOD_S}


def test_the_slowest_of_a_hundred_is_told_of_requests_since() -> None:
    """The upper end of the bucket that 99 of 100 are within."""
    bounds = (0.1, 1.0)
    before = Totals(10, 1.0, bounds, (10, 0, 0), 0)
    assert before.since(before) == 0.0
    assert Totals(110, 1.0, bounds, (109, 1, 0), 0).since(before) == 0.1
    assert Totals(110, 1.0, bounds, (105, 5, 0), 0).since(before) == 1.0
    assert Totals(20, 1.0, bounds, (10, 0, 10), 0).since(before) == 1.0
