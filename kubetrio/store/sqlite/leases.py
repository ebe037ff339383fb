"""Values with a time to live: when the next is over, and the task that deletes what has had it.

An expiry is a time by `Clock`, so it is kept over restarts and the wall clock may jump: while no
server ran nothing grew older, as in etcd, whose leases begin anew with a new leader.  Prior art of
the pace: etcd looks twice a second and takes back at most a thousand leases in one.

Where nothing has a time to live the task sleeps, and a write pays for none of this.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import NoReturn

import trio

from kubetrio.observe.logs import Log
from kubetrio.store.errors import StoreClosed, StoreError
from kubetrio.store.sqlite.clock import Clock

LOG = Log("kubetrio.store")

AT_ONCE = 64  # leases in one transaction: about two milliseconds of the event loop
EACH_S = 1.0  # so late a value may go, so that those that end together go together
PAUSE = 3.0  # times what a step took: expiry leaves three quarters of the loop to requests
AGAIN_S = 5.0  # after a failure


class Leases:
    """Times to live of one store.

    Args:
        clock: what they are measured by.
        first_ms: when the first of those found at the start is over, None when there is none.
        look: says when the first is over, once nothing is in flight.
        expire: looks at so many that are due and deletes what they are of; whether there may be
            more.
    """

    def __init__(
        self,
        clock: Clock,
        first_ms: int | None,
        look: Callable[[], Awaitable[int | None]],
        expire: Callable[[int], Awaitable[bool]],
    ) -> None:
        self._clock = clock
        self._next_ms = math.inf if first_ms is None else first_ms
        self._look = look
        self._expire = expire
        self._earlier = trio.Event()

    def written(self, ttl_ms: int) -> None:
        """Hear that a value was written.

        Args:
            ttl_ms: how long it stays, from a moment ago.
        """
        at = self._clock.now_ms() + ttl_ms
        if at < self._next_ms:
            self._next_ms = at
            self._earlier.set()

    async def run(self) -> NoReturn:
        """Delete what has lived out its time, until cancelled."""
        while True:
            await self._until_due()
            try:
                await self._all_due()
            except StoreClosed:
                await trio.sleep_forever()
            except StoreError as error:
                LOG.error(error, "Expiry failed")
                await trio.sleep(AGAIN_S)

    async def _until_due(self) -> None:
        """Wait until one may be over; a while longer, for those that follow."""
        while (left_ms := self._next_ms - self._clock.now_ms()) > 0:
            self._earlier = trio.Event()
            with trio.move_on_after(max(left_ms / 1000, EACH_S)):
                await self._earlier.wait()

    async def _all_due(self) -> None:
        more = True
        while more:
            began = trio.current_time()
            more = await self._expire(AT_ONCE)
            await trio.sleep(PAUSE * (trio.current_time() - began))
        first_ms = await self._look()
        # What was written since has been seen, or is told of by `written` in a moment.
        self._next_ms = math.inf if first_ms is None else first_ms
