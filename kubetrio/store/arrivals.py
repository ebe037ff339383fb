"""How far an engine has come: tasks that wait until a revision has been announced."""

from __future__ import annotations

import heapq
import itertools
from typing import Self

import trio

from kubetrio.store.model import GapHook, Revision


class Arrivals:
    """Newest revision announced, and the tasks that wait for later ones.

    Args:
        revision: newest revision at the beginning.

    Attributes:
        revision: newest revision announced.
    """

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self._waiting: list[tuple[Revision, int, trio.Event]] = []
        self._tickets = itertools.count()

    def announce(self, revision: Revision) -> None:
        """Note the newest revision and wake the tasks that waited for it."""
        self.revision = revision
        while self._waiting and self._waiting[0][0] <= revision:
            heapq.heappop(self._waiting)[2].set()

    def rewind(self, revision: Revision) -> None:
        """Go on from a revision of another history, and wake all tasks that wait."""
        self.revision = revision
        waiting, self._waiting = self._waiting, []
        for _, _, woken in waiting:
            woken.set()

    async def wait_for(self, revision: Revision) -> None:
        """Wait until a revision has been announced; the caller brings the deadline.

        Not a checkpoint when it has been.
        """
        while self.revision < revision:
            await self.wait_for_news(revision)

    async def wait_for_news(self, revision: Revision) -> None:
        """Wait until a revision that is to come has been announced, or is of a lost history."""
        waiting = (revision, next(self._tickets), trio.Event())
        heapq.heappush(self._waiting, waiting)
        try:
            await waiting[2].wait()
        except trio.Cancelled:
            if not waiting[2].is_set():  # a revision that may never come
                self._waiting.remove(waiting)
                heapq.heapify(self._waiting)
            raise


class SoleWriter:
    """What the contract asks of an engine that no other server writes to: it is never behind.

    Attributes:
        arrivals: newest revision announced.
        shared: see `Store.shared`.
    """

    arrivals: Arrivals
    shared = False

    @property
    def revision(self) -> Revision:
        """Newest revision announced."""
        return self.arrivals.revision

    @property
    def cached(self) -> Self:
        """All reads are of the newest state."""
        return self

    def on_gap(self, hook: GapHook) -> None:
        """Do nothing: an engine that sees each change has no gaps."""

    async def newest(self) -> Revision:
        """Newest revision; see `Store.newest`."""
        return self.arrivals.revision

    async def caught_up(self, revision: Revision) -> None:
        """Wait for a revision; see `Store.caught_up`."""
        await self.arrivals.wait_for(revision)
