"""When an operator in another process is at rest: it has asked for nothing new for some time.

Its time is real, and only its requests are seen.  Writes count, but those of Leases and Events.
A read counts when it is new: a program that asks for the same again and again, or whose watches
end and begin again, is at rest.
"""

from __future__ import annotations

from collections import Counter

import trio

from kubetrio.clock import MovableClock
from kubetrio.env import monotonic
from kubetrio.harness.operators.calls import OPERATOR, Call, Place, Recorder
from kubetrio.harness.operators.oracles import TAKES_ITS_TIME
from kubetrio.harness.operators.outside.program import Processes

LOOK_S = 0.02
"""Seconds between two looks at the requests."""
STARTS_S = 30.0
"""Seconds in which a process has to make its first request."""
SAME_READS = 2
"""So many equal reads are new, when something has happened."""
HELD_S = 5.0
"""Seconds by which the clock moves while requests wait for a fault alone."""


class Stillness:
    """Sees whether an operator is at rest.

    Args:
        recorder: has its requests.
        processes: of the operator.

    Attributes:
        longest_pause_s: the longest time without requests before another one came.
        silent: whether a process made no request in the time that it has for the first.
    """

    def __init__(self, recorder: Recorder, processes: Processes) -> None:
        self._recorder = recorder
        self._processes = processes
        self._seen = len(recorder.calls)
        self._reads: Counter[tuple[str, Place, str]] = Counter()
        self._starts = -1
        self._awaited = True
        self._started = monotonic()
        self.longest_pause_s = 0.0
        self.silent = False

    def begin(self) -> None:
        """Begin anew, as the recorder has, with an operator that runs."""
        self._seen = 0
        self.longest_pause_s = 0.0

    async def wait(self, quiet_s: float, limit_s: float) -> bool:
        """Wait until it has been at rest for a while; say whether it came to rest.

        Args:
            quiet_s: how long it has to have been at rest, in real seconds.
            limit_s: how long is waited, in real seconds, from when the process is there.
        """
        self._reads.clear()
        began = newest = monotonic()
        while not self._recorder.exhausted.is_set():
            await trio.sleep(LOOK_S)
            now = monotonic()
            if self._starting(now):
                began = newest = now
            elif self._asked():
                self.longest_pause_s = max(self.longest_pause_s, now - newest)
                newest = now
            elif now - newest >= quiet_s:
                if not self._recorder.in_flight:
                    return True
                move(HELD_S)  # a fault holds them, and nothing else goes on
                newest = now
            elif now - began > limit_s:
                return False
        return False

    def _starting(self, now: float) -> bool:
        """Whether a process is being started, or has not asked for anything yet."""
        processes = self._processes
        if processes.starts != self._starts:
            self._starts, self._awaited, self._started = processes.starts, True, now
        if self._awaited and self._asked():
            self._awaited = False
        if processes.over or now - self._started > STARTS_S:
            self.silent = self.silent or self._awaited
            return False
        return self._awaited or not processes.alive

    def _asked(self) -> bool:
        """Whether it has asked for something new."""
        calls = self._recorder.calls
        new = [self._counts(call) for call in calls[self._seen :] if call.user == OPERATOR.name]
        self._seen = len(calls)
        return any(new)

    def _counts(self, call: Call) -> bool:
        if call.place.resource in TAKES_ITS_TIME:
            return False
        if call.writes:
            self._reads.clear()
            return True
        read = (call.verb, call.place, call.subresource)
        self._reads[read] += 1
        return self._reads[read] <= SAME_READS


def move(seconds: float) -> None:
    """Move the clock of this run ahead.

    Raises:
        RuntimeError: it is not one that can be moved.
    """
    clock = trio.lowlevel.current_clock()
    if not isinstance(clock, MovableClock):
        raise RuntimeError("operators in processes need a run on a MovableClock")
    clock.move(seconds)
