"""What every controller has in common: a name, a queue, workers, and patience with failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Protocol

import trio

from kubetrio.informers.workqueue import ShutDown, WorkQueue
from kubetrio.logs import Log
from kubetrio.machinery.status import ApiError
from kubetrio.store.errors import StoreError

log = Log("kubetrio.controllers")
# Somebody else was faster: the next look sees what they did.
EXPECTED = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})


class Later(Exception):
    """Raised by `Controller.sync`: nothing is wrong, and the key comes again later and later."""


class Source(Protocol):
    """What a controller waits for before it begins: an informer or a reflector."""

    async def sync(self) -> object:
        """Wait until all that is stored was told.

        Raises:
            StoreError: it cannot be read.
        """
        ...


class Controller(ABC):
    """Brings objects into order, one key at a time.

    A subclass puts keys into the queue when something changes, and says in `sync` what to do.

    Args:
        name: in the table of controllers, in metrics and in logs.
        sources: what it follows.
        workers: how many keys it works on at a time.
    """

    def __init__(self, name: str, sources: Sequence[Source] = (), workers: int = 1) -> None:
        self.name = name
        self.queue: WorkQueue = WorkQueue(name)
        self.sources = sources
        self.beside: list[Callable[[], Awaitable[None]]] = []  # such as resyncs
        self._workers = workers

    @abstractmethod
    async def sync(self, key: str) -> None:
        """Bring what a key stands for into order; what it raises is logged, and tried again.

        Args:
            key: whatever was put into the queue; it may be gone by now.
        """

    async def run(self) -> None:
        """Work until cancelled, or until the queue is shut down and empty.

        Raises:
            StoreError: what it follows cannot be read; run it again.
        """
        for source in self.sources:
            await source.sync()
        async with trio.open_nursery() as nursery:
            for run in self.beside:
                nursery.start_soon(run, name=f"beside {self.name}")
            for _ in range(self._workers):
                nursery.start_soon(self._work, name=self.name)

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._attempt(key)
            finally:
                self.queue.done(key)

    async def _attempt(self, key: str) -> None:
        try:
            await self.sync(key)
        except Later as error:
            log.verbose(4, "not yet", controller=self.name, key=key, reason=str(error))
        except (ApiError, StoreError) as error:
            if not isinstance(error, ApiError) or error.code not in EXPECTED:
                log.warning("cannot sync", controller=self.name, key=key, error=str(error))
        except Exception as error:  # noqa: BLE001  (logged; other keys must go on)
            log.error(error, "cannot sync", stack=True, controller=self.name, key=key)
        else:
            self.queue.forget(key)
            return
        self.queue.add_rate_limited(key)
