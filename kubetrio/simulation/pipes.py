"""A connection in memory between a transport and a stream: what one writes the other reads.

The transport is for code of the server, the stream for a function of an embedder.
"""

from __future__ import annotations

import errno
import os

import trio

MOST_BYTES = 256 * 1024
"""Bytes that wait to be read in one direction."""


class _Flow:
    """One direction."""

    def __init__(self) -> None:
        self.waiting = bytearray()
        self.ended = False  # no more is written
        self.broken = False  # no more is read
        self._changed = trio.Event()

    def changed(self) -> None:
        """Wake those who wait."""
        self._changed.set()
        self._changed = trio.Event()

    def write(self, data: bytes | memoryview) -> int:
        """Write what there is room for; returns how much.

        Raises:
            OSError: nothing more is read.
        """
        if self.broken or self.ended:
            raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))
        taken = data[: max(0, MOST_BYTES - len(self.waiting))]
        self.waiting += taken
        self.changed()
        return len(taken)

    def read(self, most: int) -> bytes | None:
        """Read what is there; empty at the end, None for nothing yet."""
        if not self.waiting:
            return b"" if self.ended else None
        taken = bytes(self.waiting[:most])
        del self.waiting[:most]
        self.changed()
        return taken

    def end(self) -> None:
        """Write no more."""
        self.ended = True
        self.changed()

    def stop(self) -> None:
        """Read no more."""
        self.broken = True
        self.waiting.clear()
        self.changed()

    async def readable(self) -> None:
        """Wait until there is something to read, or the end."""
        await trio.lowlevel.checkpoint()
        while not (self.waiting or self.ended or self.broken):
            await self._changed.wait()

    async def writable(self) -> None:
        """Wait until there is room, or nothing more is read."""
        await trio.lowlevel.checkpoint()
        while len(self.waiting) >= MOST_BYTES and not (self.broken or self.ended):
            await self._changed.wait()


class PipeTransport:
    """The end of the server; see `kubetrio.transport.Transport`.

    Args:
        incoming: what it reads.
        outgoing: what it writes.
    """

    def __init__(self, incoming: _Flow, outgoing: _Flow) -> None:
        self._in, self._out = incoming, outgoing

    def read_nowait(self) -> bytes | None:
        """See `Transport`."""
        return self._in.read(MOST_BYTES)

    def write_nowait(self, data: bytes | memoryview) -> int:
        """See `Transport`."""
        return self._out.write(data)

    async def wait_readable(self) -> None:
        """See `Transport`."""
        await self._in.readable()

    async def wait_writable(self) -> None:
        """See `Transport`."""
        await self._out.writable()

    def end(self) -> None:
        """See `Transport`."""
        self._out.end()

    def close(self) -> None:
        """See `Transport`."""
        self._out.end()
        self._in.stop()


class PipeStream(trio.abc.HalfCloseableStream):
    """The end of a function.

    Args:
        incoming: what it reads.
        outgoing: what it writes.
    """

    def __init__(self, incoming: _Flow, outgoing: _Flow) -> None:
        self._in, self._out = incoming, outgoing
        self._closed = False

    def _check(self) -> None:
        if self._closed:
            raise trio.ClosedResourceError

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """See `trio.abc.ReceiveStream`."""
        self._check()
        await self._in.readable()
        self._check()
        return self._in.read(max_bytes or MOST_BYTES) or b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """See `trio.abc.SendStream`."""
        left = memoryview(data)
        while left:
            self._check()
            await self.wait_send_all_might_not_block()
            try:
                left = left[self._out.write(left) :]
            except OSError as error:
                raise trio.BrokenResourceError from error

    async def wait_send_all_might_not_block(self) -> None:
        """See `trio.abc.SendStream`."""
        self._check()
        await self._out.writable()

    async def send_eof(self) -> None:
        """See `trio.abc.HalfCloseableStream`."""
        self._check()
        self._out.end()
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """See `trio.abc.AsyncResource`."""
        self._closed = True
        self._out.end()
        self._in.stop()
        await trio.lowlevel.checkpoint()


def pipe() -> tuple[PipeTransport, PipeStream]:
    """Make both ends of a connection."""
    one, other = _Flow(), _Flow()
    return PipeTransport(one, other), PipeStream(other, one)
