"""Rounds of the event loop, seen from outside, and who shares them.

Trio has no interface for the number of tasks that are about to run; its instruments
(``trio.abc.Instrument``) are told of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import trio

from kubetrio.flow.ticket import Flow

# How long it is remembered that a flow contended: longer than the two seconds in which leaders
# renew their leases, so that they never meet a full round.
CONTENTION_S = 3.0


class Rounds(trio.abc.Instrument):
    """Calls a function at the beginning of each round, while it is asked to; no call, no cost.

    Args:
        begin: the function.
    """

    def __init__(self, begin: Callable[[], object]) -> None:
        self._begin = begin
        self.watching = False

    def watch(self) -> None:
        """Call from the next round on."""
        if not self.watching:
            self.watching = True
            trio.lowlevel.add_instrument(self)

    def rest(self) -> None:
        """Call no more."""
        if self.watching:
            self.watching = False
            trio.lowlevel.remove_instrument(self)

    def after_io_wait(self, _timeout: float) -> None:
        """Everything that runs in the next round is known."""
        self._begin()


class _Scheduled(trio.abc.Instrument):
    """Counts the tasks that will run in the next round; it costs something for each."""

    def __init__(self) -> None:
        self.count = 0

    def task_scheduled(self, _task: trio.lowlevel.Task) -> None:
        """A task will run in the next round."""
        self.count += 1


class FlowContention:
    """Whether requests are of several flows; while they are, tasks are counted.

    Attributes:
        flow: of the last request.
        until: until when that flow contends, by Trio's clock.
        tasks: that run in this round, at most; 0 when they are not counted.
    """

    def __init__(self) -> None:
        self.flow: Flow | None = None
        self.until = 0.0
        self.tasks = 0
        self._running = False
        self._scheduled: _Scheduled | None = None

    def __enter__(self) -> Self:
        """Count from now on where it is needed."""
        self._running = True
        return self

    def __exit__(self, *_: object) -> None:
        """Count no more."""
        self._running = False
        self._count_none()

    def meet(self, flow: Flow, now: float) -> None:
        """A request comes that may be of another flow than the last one."""
        if self.flow is not None and flow != self.flow:
            self.until = now + CONTENTION_S
            if self._scheduled is None and self._running:
                self._scheduled = _Scheduled()
                trio.lowlevel.add_instrument(self._scheduled)
        self.flow = flow

    @property
    def there(self) -> bool:
        """Whether the flow of the last request contends."""
        return self._scheduled is not None

    def next_round(self) -> None:
        """A round begins."""
        if self._scheduled is not None:
            self.tasks, self._scheduled.count = self._scheduled.count, 0
            if trio.current_time() >= self.until:
                self._count_none()

    def _count_none(self) -> None:
        self.tasks = 0
        if self._scheduled is not None:
            trio.lowlevel.remove_instrument(self._scheduled)
            self._scheduled = None
