"""A bound on the memory of the process: caches go first, and then requests have to wait.

What a request will take is not known when it comes, so memory that is there is what counts: while
it is over the bound nothing new is begun that takes some.  Who gets 429 tries again, as after any
other one; kube-apiserver has no such bound and is ended by the system.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import NoReturn

import trio

from kubetrio.env import RunBlocking
from kubetrio.http.heap import opened, resident_bytes, trimmer
from kubetrio.observe.logs import Log

LOG = Log("kubetrio.memory")
LOOKS_EACH_S = 0.1
RELIEF = 0.9  # of the bound: caches are dropped from there on
RELIEVES_EACH_S = 5.0
ENDS = 0.95  # of the bound: requests are taken again


class MemoryLimit:
    """Looks at the memory of the process.

    Args:
        limit: bytes.
        forget: drops what can be made again.
        thread: runs a blocking call without stalling the event loop.
        resident: bytes that the process has; as the system says when None.
        trim: gives back what is free; as the C library can when None.

    Attributes:
        short: whether there is too little of it.

    Raises:
        OSError: the system does not say how much there is.
    """

    def __init__(
        self,
        limit: int,
        forget: Callable[[], object],
        thread: RunBlocking,
        *,
        resident: Callable[[], int] | None = None,
        trim: Callable[[], object] | None = None,
    ) -> None:
        self._limit = limit
        self._forget = forget
        self._thread = thread
        self._resident = resident or _resident()
        self._trim = trim or trimmer() or gc.collect
        self._relieved_at = -RELIEVES_EACH_S
        self.short = False

    async def run(self) -> NoReturn:
        """Look again and again, until cancelled."""
        while True:
            await trio.sleep(LOOKS_EACH_S)
            await self._look()

    async def _look(self) -> None:
        bytes_now = self._resident()
        due = trio.current_time() - self._relieved_at >= RELIEVES_EACH_S
        if bytes_now > self._limit * RELIEF and due:
            self._relieved_at = trio.current_time()
            self._forget()
            gc.collect()  # what was there at the start is frozen: some milliseconds
            await self._thread(self._trim)
            bytes_now = self._resident()
        short = bytes_now > self._limit * (ENDS if self.short else 1)
        if short is not self.short:
            self.short = short
            if short:
                LOG.error(
                    None,
                    "Memory is over its limit: requests get 429",
                    bytes=bytes_now,
                    limit=self._limit,
                )
            else:
                LOG.info("Memory is within its limit again", bytes=bytes_now)


def _resident() -> Callable[[], int]:
    file = opened()  # for as long as the process lives
    return lambda: resident_bytes(file.fileno())
