"""A clock that can be moved while everything else is real: sockets, threads, the disk.

A server has two clocks.  Trio's is monotonic and wakes sleeping tasks: work queues, times to live,
periodic tasks, time limits.  The wall clock of its `Env` is what is written into objects and
compared with expiry times.  Both are moved together.

Trio's clock never goes back.  The wall clock can be set to the real time again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import trio

from kubetrio.env import Env, monotonic

RUN_AHEAD_S = 1000.0
"""So far Trio's time is from that of `monotonic`, so that who mixes them finds out at once."""


class MovableClock(trio.abc.Clock):
    """A clock for ``trio.run(..., clock=...)`` that runs as the real one does, and can be moved."""

    def __init__(self) -> None:
        self._ahead_s = RUN_AHEAD_S
        self._wall_ahead_s = 0.0

    def start_clock(self) -> None:
        """Nothing to do: it runs."""

    def current_time(self) -> float:
        """Monotonic seconds, of no particular beginning."""
        return monotonic() + self._ahead_s

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Real seconds until a deadline, if the clock is not moved meanwhile."""
        return deadline - self.current_time()

    @property
    def wall_ahead_s(self) -> float:
        """By how many seconds the wall clock is ahead of the real one."""
        return self._wall_ahead_s

    def move(self, seconds: float) -> None:
        """Move both clocks ahead; from within the run, so that Trio looks at its deadlines.

        Args:
            seconds: how far, not negative.

        Raises:
            ValueError: back in time, which Trio does not know.
        """
        if seconds < 0:
            raise ValueError("a clock cannot be moved back")
        self._ahead_s += seconds
        self._wall_ahead_s += seconds

    def restore_wall_clock(self) -> None:
        """Let the wall clock say the real time again."""
        self._wall_ahead_s = 0.0

    def env(self, base: Env | None = None) -> Env:
        """An `Env` whose wall clock moves with this clock.

        The server's own certificates are made by the wall clock that is not moved, since clients
        check them by theirs.

        Args:
            base: everything else; its wall clock must not be one that follows Trio's.
        """
        base = base or Env()
        real = base.now

        def now() -> float:
            return real() + self._wall_ahead_s

        clients: Callable[[], float] = base.clients_now or real
        return replace(base, now=now, clients_now=clients, judges_now=now)
