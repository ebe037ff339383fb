"""Turns of strangers: how many requests without credentials begin in one pass of the event loop.

A client without credentials can have as many requests under way as there may be
such connections.  Each of them is little work, but a pass of the event loop is as long as all that
begin in it, and all others wait for its end.  So few of them begin in one pass, the first come
first; health checks have places of their own, since probes have no credentials either.
"""

from __future__ import annotations

from collections import deque
from typing import NoReturn

import trio

PER_PASS = 16
"""Requests that begin in one pass of the loop: some 3 ms of refusals."""
HEALTH = ("/healthz", "/livez", "/readyz")


class _Lane:
    """Requests that wait for each other.

    Attributes:
        left: how many more may begin in this pass.
        waiting: the first come first; set for its turn.
    """

    __slots__ = ("left", "waiting")

    def __init__(self) -> None:
        self.left = PER_PASS
        self.waiting: deque[trio.Event] = deque()

    def next_pass(self) -> bool:
        """Let the next ones begin; whether there is room for more, and so none waits.

        Where the last ones filled the pass there is none, and only another pass makes some.
        """
        begun = min(len(self.waiting), PER_PASS)
        for _ in range(begun):
            self.waiting.popleft().set()
        self.left = PER_PASS - begun
        return self.left > 0


class Turns:
    """Turns of the strangers of one listener."""

    def __init__(self) -> None:
        self._health = _Lane()
        self._others = _Lane()
        self._used = trio.Event()

    async def take(self, path: str) -> None:
        """Wait until a request may begin; not a checkpoint where it may at once.

        Args:
            path: of the request.
        """
        lane = self._health if path.startswith(HEALTH) else self._others
        if lane.left:
            lane.left -= 1
            if not lane.left:
                self._used.set()
            return
        turn = trio.Event()
        lane.waiting.append(turn)
        try:
            await turn.wait()
        except trio.Cancelled:
            if not turn.is_set():
                lane.waiting.remove(turn)
            raise

    async def run(self) -> NoReturn:
        """Begin passes until cancelled; sleeps while few requests come."""
        while True:
            await self._used.wait()
            self._used = trio.Event()
            while True:
                await trio.lowlevel.checkpoint()
                # Both, and not the first alone: each counts what begins in this pass.
                if all([self._health.next_pass(), self._others.next_pass()]):
                    break
