"""A connection in memory whose other end is a function: it works while this end waits to read.

So a simulated kubelet needs no task and no socket.  Both directions are bounded: what is written is
taken when there is room, and the other end is asked for more when what it said was read.
"""

from __future__ import annotations

import errno
import os
from typing import Protocol, runtime_checkable

import trio

MOST_BYTES = 256 * 1024


class OtherEnd(Protocol):
    """What answers on a connection."""

    async def work(self, here: Connection) -> None:
        """Take what came, say something, end, or wait until there is something to do.

        It may be cancelled where it waits, and is called again then.
        """
        ...


@runtime_checkable
class Closing(Protocol):
    """An other end that has something to close."""

    def closed(self) -> None:
        """Hear that nothing is read or written any longer."""
        ...


class Connection:
    """One end of a connection; see `kubetrio.transport.Transport`.

    Args:
        other: the other end.
    """

    def __init__(self, other: OtherEnd) -> None:
        self._other = other
        self._written = bytearray()
        self._said = bytearray()
        self._no_more = False  # the other end says nothing more
        self._ended = False  # this end writes no more
        self._closed = False
        self._changed = trio.Event()

    # ------------------------------------------------------------------ this end

    def read_nowait(self) -> bytes | None:
        """See `Transport`."""
        self._check()
        if self._said:
            taken = bytes(self._said)
            self._said.clear()
            return taken
        return b"" if self._no_more else None

    def write_nowait(self, data: bytes | memoryview) -> int:
        """See `Transport`."""
        self._check()
        if self._no_more:
            raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))
        taken = data[: max(0, MOST_BYTES - len(self._written))]
        self._written += taken
        self._wake()
        return len(taken)

    async def wait_readable(self) -> None:
        """See `Transport`."""
        await trio.lowlevel.checkpoint()
        while not (self._said or self._no_more or self._closed):
            await self._other.work(self)

    async def wait_writable(self) -> None:
        """See `Transport`."""
        await trio.lowlevel.checkpoint()
        while len(self._written) >= MOST_BYTES and not (self._no_more or self._closed):
            await self._changed.wait()

    def end(self) -> None:
        """See `Transport`."""
        self._ended = True
        self._wake()

    def close(self) -> None:
        """See `Transport`."""
        self._closed = True
        self._wake()
        if isinstance(self._other, Closing):
            self._other.closed()

    # ------------------------------------------------------------------ the other end

    def take(self) -> bytes:
        """Return what was written since."""
        taken = bytes(self._written)
        self._written.clear()
        self._wake()
        return taken

    @property
    def over(self) -> bool:
        """Whether nothing more will be written."""
        return self._ended or self._closed

    @property
    def unread(self) -> int:
        """Bytes that were said and not read yet."""
        return len(self._said)

    async def written(self, seconds: float | None = None) -> None:
        """Wait until something was written, or nothing more will be.

        Args:
            seconds: how long at most; None for as long as it takes.
        """
        with trio.move_on_after(float("inf") if seconds is None else seconds):
            while not (self._written or self.over):
                await self._changed.wait()

    def say(self, data: bytes) -> None:
        """Have this end read something."""
        self._said += data

    def finish(self) -> None:
        """Say nothing more."""
        self._no_more = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def _check(self) -> None:
        if self._closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
