"""A name, a queue, workers, and patience with failures: what brings objects into order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Protocol

import trio

from kubetrio.informers.workqueue import ShutDown, WorkQueue
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.store.errors import StoreError

log = Log("kubetrio.controllers")
LONGEST_WAIT_S = 3600.0
"""How long a key waits for a time of the wall clock: that may be set while monotonic time runs on,
as on a device without a clock of its own, and nothing else tells of it."""
# Another writer was faster: the next look sees what they did.
EXPECTED = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})


class Later(Exception):
    """Raised by `Reconciler.sync`: nothing is wrong, and the key comes again later and later."""


class Source(Protocol):
    """What a controller waits for before it begins: an informer or a reflector."""

    async def sync(self) -> object:
        """Wait until all that is stored was told.

        Raises:
            StoreError: it cannot be read.
        """
        ...


class Reconciler(ABC):
    """Brings objects into order, one key at a time.

    A subclass puts keys into the queue when something changes, and says in `sync` what to do.

    Args:
        name: in metrics and in logs.
        sources: what it follows.
        workers: how many keys it works on at a time.

    Attributes:
        began: set when all that is stored was told, and it has begun to work.
    """

    def __init__(self, name: str, sources: Sequence[Source] = (), workers: int = 1) -> None:
        self.name = name
        self.queue: WorkQueue = WorkQueue(name)
        self.sources = list(sources)
        self.began = trio.Event()
        self.beside: list[Callable[[], Awaitable[None]]] = []  # such as resyncs
        self._workers = workers
        self._syncs: set[trio.CancelScope] = set()
        self._beside: trio.CancelScope | None = None
        self._stopped = trio.Event()
        self._resumed = trio.Event()
        self._resumed.set()

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
        self.began.set()
        async with trio.open_nursery() as nursery:
            if self.beside:
                nursery.start_soon(self._run_beside, name=f"beside {self.name}")
            for _ in range(self._workers):
                nursery.start_soon(self._work, name=self.name)

    async def _run_beside(self) -> None:
        while True:
            try:
                async with trio.open_nursery() as nursery:
                    self._beside = nursery.cancel_scope
                    for run in self.beside:
                        nursery.start_soon(run, name=f"beside {self.name}")
            finally:
                self._beside = None
            if self._resumed.is_set():
                return  # they have ended by themselves
            self._stopped.set()
            await self._resumed.wait()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                with trio.CancelScope() as scope:
                    self._syncs.add(scope)
                    await self._attempt(key)
                if scope.cancelled_caught:
                    self.queue.add(key)  # for later
            finally:
                self._syncs.discard(scope)
                self.queue.done(key)

    def look_again_in(self, key: str, left_s: float) -> None:
        """Have a key worked on when a time of the wall clock has come, or a while before.

        Args:
            key: what to work on.
            left_s: seconds until then; the next look counts them anew.
        """
        self.queue.add_after(key, min(left_s, LONGEST_WAIT_S))

    async def pause(self) -> None:
        """Do nothing more until `resume`; what is under way is cancelled, and begun anew then."""
        self._resumed, self._stopped = trio.Event(), trio.Event()
        self.queue.hold()
        for scope in self._syncs:
            scope.cancel()
        await self.queue.at_rest()
        if self._beside is not None:
            self._beside.cancel()
            await self._stopped.wait()

    def begin_anew(self) -> None:
        """Hear, while paused, that what is stored is as it was at another time."""
        self.queue.begin_anew()

    def resume(self) -> None:
        """Go on, from what is stored now."""
        self._resumed.set()
        self.queue.release()

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
