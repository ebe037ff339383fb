"""Work of authenticators that outlives the request that asked for it.

A request may go away while what it asked for is on its way, and others wait for the same: so it is
fetched by a task of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NoReturn

import trio


class NotRunning(RuntimeError):
    """The server is starting or stopping: nothing can be fetched."""


class Background:
    """Tasks of one server's authenticators; nothing runs before `run` does."""

    def __init__(self) -> None:
        self._nursery: trio.Nursery | None = None
        self._early: list[tuple[Callable[[], Awaitable[object]], str]] = []

    def start(self, work: Callable[[], Awaitable[object]], name: str) -> None:
        """Begin something that ends by itself and raises nothing, now or when `run` begins.

        Args:
            work: what to do.
            name: of the task.
        """
        if self._nursery is None:
            self._early.append((work, name))
        else:
            self._nursery.start_soon(work, name=name)

    @property
    def running(self) -> bool:
        """Whether what is started begins now."""
        return self._nursery is not None

    async def run(self) -> NoReturn:
        """Run what is started, until cancelled."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                early, self._early = self._early, []
                for work, name in early:
                    nursery.start_soon(work, name=name)
                await trio.sleep_forever()
        finally:
            self._nursery = None
        raise AssertionError("cancelled before")


class Flight:
    """One answer for all who ask for the same at a time.

    Args:
        background: where it is fetched.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self._done: trio.Event | None = None

    @property
    def under_way(self) -> bool:
        """Whether it is being fetched."""
        return self._done is not None

    async def join(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        """Wait until the work is done that is under way, or begin it.

        Args:
            work: keeps its own result and raises nothing.
            name: of the task.

        Raises:
            NotRunning: nothing can be begun.
        """
        if self._done is None:
            if not self._background.running:
                raise NotRunning("the server is starting or stopping")
            done = self._done = trio.Event()

            async def run() -> None:
                try:
                    await work()
                finally:
                    self._done = None
                    done.set()

            self._background.start(run, name)
        waiting = self._done
        await waiting.wait()
