"""The clock of a server, for the program that runs it under Trio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from kubetrio.clock import MovableClock

IDLE_S = 0.01
"""When nothing happens for so long, what became due has been done."""


class TrioClock:
    """The clock of a server in this run.

    Args:
        settled: waits until the server has done what there is to do.
    """

    def __init__(self, settled: Callable[[], Awaitable[None]]) -> None:
        self._settled = settled

    async def move(self, *, seconds: float) -> None:
        """Move it ahead; when this returns, what became due has been done.

        Args:
            seconds: how far.

        Raises:
            RuntimeError: the program's clock cannot be moved.
            ValueError: back in time.
        """
        from trio import testing  # loads pytest where that is installed: 7 MB

        clock = trio.lowlevel.current_clock()
        match clock:
            case MovableClock():
                clock.move(seconds)
            case testing.MockClock():
                clock.jump(seconds)
            case _:
                raise RuntimeError(
                    "the clock of this program cannot be moved: run it with clock = "
                    "MovableClock(), trio.run(main, clock=clock), and give the server the wall "
                    "clock of clock.env()"
                )
        await testing.wait_all_tasks_blocked(IDLE_S)
        await self._settled()
