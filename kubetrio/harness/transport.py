"""Connections in memory: two ends that follow `kubetrio.transport.Transport`, without sockets.

They block and break as sockets do: a reader waits for bytes, a writer for room, and writing to an
end that was closed raises `OSError`.
"""

from __future__ import annotations

import errno
import os

import trio

CAPACITY_BYTES = 256 * 1024


class _Pipe:
    """Bytes on their way from one end to the other."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.data = bytearray()
        self.ended = False
        self.abandoned = False
        self.lot = trio.lowlevel.ParkingLot()

    def wake(self) -> None:
        self.lot.unpark_all()


class MemoryTransport:
    """One end of a connection; made by `memory_pair`.

    Args:
        incoming: what the other end writes.
        outgoing: what it reads.
    """

    def __init__(self, incoming: _Pipe, outgoing: _Pipe) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._closed = False

    @property
    def unread(self) -> int:
        """Bytes that wait to be read at this end."""
        return len(self._incoming.data)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def read_nowait(self, most: int = 65536) -> bytes | None:
        """See `Transport`.

        Args:
            most: bytes taken at once.
        """
        self._check()
        pipe = self._incoming
        if pipe.data:
            taken = bytes(pipe.data[:most])
            del pipe.data[:most]
            pipe.wake()
            return taken
        return b"" if pipe.ended else None

    def write_nowait(self, data: bytes | memoryview) -> int:
        """See `Transport`."""
        self._check()
        pipe = self._outgoing
        if pipe.abandoned:
            raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))
        taken = data[: max(0, pipe.capacity - len(pipe.data))]
        pipe.data += taken
        if taken:
            pipe.wake()
        return len(taken)

    async def wait_readable(self) -> None:
        """See `Transport`."""
        pipe = self._incoming
        while not (self._closed or pipe.data or pipe.ended):
            await pipe.lot.park()
        await trio.lowlevel.checkpoint()

    async def wait_writable(self) -> None:
        """See `Transport`."""
        pipe = self._outgoing
        while not (self._closed or pipe.abandoned or len(pipe.data) < pipe.capacity):
            await pipe.lot.park()
        await trio.lowlevel.checkpoint()

    def end(self) -> None:
        """Write no more: the other end reads what is there, then the end."""
        self._outgoing.ended = True
        self._outgoing.wake()

    def close(self) -> None:
        """See `Transport`; calling it twice is fine."""
        self._closed = True
        self._incoming.abandoned = True
        self._incoming.data.clear()
        self._incoming.wake()
        self.end()

    def _check(self) -> None:
        if self._closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def memory_pair(capacity: int = CAPACITY_BYTES) -> tuple[MemoryTransport, MemoryTransport]:
    """A connection; what is written at one end is read at the other.

    Args:
        capacity: bytes that each direction holds before a writer must wait.
    """
    there, back = _Pipe(capacity), _Pipe(capacity)
    return MemoryTransport(there, back), MemoryTransport(back, there)
