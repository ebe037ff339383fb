"""A client's watch in the run of its server, for programs that take its events elsewhere."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Generic

import trio

from kubetrio.client import Event, Events
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import ObjectT


class HeldWatch(Generic[ObjectT]):
    """A watch that a task of the server's run holds open, one event at a time.

    All methods are for that run.

    Args:
        watch: as `kubetrio.client.Client.watch` returns it.
    """

    def __init__(self, watch: AbstractAsyncContextManager[Events[ObjectT]]) -> None:
        self._watch = watch
        self._opened = trio.Event()
        self._refused = True
        self._failure: ApiError | None = None
        self._send, self._receive = trio.open_memory_channel[Event[ObjectT]](0)

    async def hold(self) -> None:
        """Hold the watch open until it ends or this is cancelled."""
        async with self._send:
            try:
                async with self._watch as events:
                    self._refused = False
                    self._opened.set()
                    async for event in events:
                        await self._send.send(event)
            except ApiError as error:
                self._failure = error
            finally:
                self._opened.set()

    async def entered(self) -> None:
        """Wait until the watch is open.

        Raises:
            ApiError: it is refused.
        """
        await self._opened.wait()
        if self._failure is not None and self._refused:
            raise self._failure

    async def next(self) -> Event[ObjectT] | None:
        """Wait for an event; None at the end.

        Raises:
            ApiError: what ends the watch.
        """
        try:
            return await self._receive.receive()
        except trio.EndOfChannel:
            if self._failure is not None:
                raise self._failure from None
            return None
