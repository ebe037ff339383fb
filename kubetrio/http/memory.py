"""Memory goes back to the system when a crowd has gone.

What many connections held is free then, and yet the process keeps it, for three reasons.  Some of
it is in cycles, which Python's collector seldom looks for in a server that has little to do.  Trio
keeps the deadlines of scopes that have ended, up to a thousand of them, and one small object keeps
a megabyte of the interpreter's from being given back.  And glibc keeps what is freed (`heap`).

Source: mallopt(3) and malloc_trim(3); ``Deadlines`` in Trio's ``_core/_run.py``.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import trio

from kubetrio.env import Env
from kubetrio.http.heap import trimmer

PAUSE_S = 5.0  # between the first who leave and the giving back; and so between two of these
LEAST_CONNECTIONS = 32
LEAST_BYTES = 8 * 1024 * 1024
MOST_OBJECTS = 150_000  # a collection looks at that many in 15 to 45 ms
LATER_S = 3600.0
STEP = 250  # deadlines at a time: less than a millisecond
STEPS = 200


@dataclass(slots=True)
class FallDetector:
    """Tells when a number has fallen to less than half of where it was.

    Args:
        least: a lower high does not matter.
    """

    least: int
    high: int = 0

    def has_fallen(self, level: int) -> bool:
        """Whether it has fallen now; from there it begins anew."""
        if level * 2 < self.high and self.high >= self.least:
            self.high = level
            return True
        self.high = max(self.high, level)
        return False


@dataclass(slots=True)
class Memory:
    """Gives memory back, some seconds after there was a reason to.

    Args:
        env: threads.
    """

    env: Env
    connections: FallDetector = field(default_factory=lambda: FallDetector(LEAST_CONNECTIONS))
    requests: FallDetector = field(default_factory=lambda: FallDetector(LEAST_BYTES))
    _wanted: trio.Event = field(default_factory=trio.Event)
    _trim: Callable[[], object] | None = field(default_factory=trimmer)

    def look(self, connections: int, held_bytes: int) -> None:
        """Called once a second.

        Args:
            connections: how many are open.
            held_bytes: the most that HTTP/2 requests held since the last look.
        """
        if self.connections.has_fallen(connections) | self.requests.has_fallen(held_bytes):
            self._wanted.set()

    async def run(self) -> NoReturn:
        """Give back when it is time to, until cancelled."""
        while True:
            await self._wanted.wait()
            await trio.sleep(PAUSE_S)
            self._wanted = trio.Event()
            await forget_deadlines()
            collect()
            if self._trim is not None:
                await self.env.run_blocking(self._trim)


async def forget_deadlines() -> None:
    """Have Trio forget the deadlines of scopes that have ended.

    It does so when there are a thousand more of them than of others; so it gets as many as it
    needs.  Moving a deadline leaves one behind.
    """
    witness = trio.CancelScope(deadline=trio.current_time() + LATER_S)
    with witness:
        pass
    forgotten = weakref.ref(witness)
    del witness
    for _ in range(STEPS):
        if forgotten() is None:
            return
        with trio.CancelScope() as scope:
            later = trio.current_time() + LATER_S
            for each in range(STEP):
                scope.deadline = later + each
            await trio.lowlevel.checkpoint()


def collect() -> None:
    """Collect cyclic garbage, as far as it takes no longer than others can wait."""
    gc.collect(2 if len(gc.get_objects()) <= MOST_OBJECTS else 1)
