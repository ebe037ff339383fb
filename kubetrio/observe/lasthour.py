"""Numbers of the last hour, in a ring of bounded size, for people who look at a page.

A sample every ten seconds is 360 rows of eight doubles: 23 KiB, allocated at the first sample.
Counters are kept as they are; rates are differences of two rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

import trio

PERIOD_S = 10.0
SAMPLES = 360


class Sample(NamedTuple):
    """Numbers of one moment.

    Args:
        time: wall clock, seconds since the epoch.
        requests: answered since start, without watches and other streams.
        seconds: sum of their times.
        slowest: upper end of the bucket that 99 of 100 of the requests since the sample before are
            within, in seconds; 0 where there were none.
        refused: requests answered 429 since start.
        watches: open now.
        memory: bytes of the process.
        size: bytes of the database.
        written: bytes that the process has had written to disks since start.
        revision: newest revision.
    """

    time: float
    requests: float
    seconds: float
    slowest: float
    refused: float
    watches: float
    memory: float
    size: float
    written: float
    revision: float


class Totals(NamedTuple):
    """All requests since start, without streams.

    Args:
        requests: of them.
        seconds: sum of their times.
        bounds: upper ends of buckets of times.
        counts: of requests in each of these, and in the one above them.
        refused: answered 429.
    """

    requests: int
    seconds: float
    bounds: Sequence[float]
    counts: tuple[int, ...]
    refused: int

    def since(self, before: Totals) -> float:
        """Return the time that 99 of 100 requests since then did not exceed, in seconds."""
        new = [now - then for now, then in zip(self.counts, before.counts, strict=True)]
        left = sum(new) * 0.99
        for bound, count in zip((*self.bounds, self.bounds[-1]), new, strict=True):
            left -= count
            if count and left <= 0:
                return float(bound)
        return 0.0


class LastHour:
    """The ring."""

    def __init__(self) -> None:
        self._rows: array[float] = array("d")
        self._next = 0

    def __len__(self) -> int:
        return len(self._rows) // len(Sample._fields)

    def add(self, sample: Sample) -> None:
        """Keep a sample, in the place of the oldest where the ring is full."""
        width = len(Sample._fields)
        if len(self) < SAMPLES:
            self._rows.extend(sample)
            return
        start = self._next * width
        self._rows[start : start + width] = array("d", sample)
        self._next = (self._next + 1) % SAMPLES

    def samples(self) -> list[Sample]:
        """Return the samples, oldest first."""
        width = len(Sample._fields)
        rows = [Sample(*self._rows[at : at + width]) for at in range(0, len(self._rows), width)]
        return rows[self._next :] + rows[: self._next]

    async def run(self, read: Callable[[], Sample]) -> None:
        """Take a sample each `PERIOD_S`, until cancelled.

        Args:
            read: reads the numbers of now; takes microseconds.
        """
        while True:
            self.add(read())
            await trio.sleep(PERIOD_S)
