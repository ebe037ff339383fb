"""Streams of the pipeline, taken in the same process."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from kubetrio.api.response import AnyResponse, ClientGone, Response, StreamResponse
from kubetrio.runtime.groups import ungrouped

BUFFER_BYTES = 256 * 1024
"""What may wait for a client that does not take it; then it is served as slow ones are."""


class Pieces:
    """A stream's way to its reader; see `api.response.Channel`."""

    framing = "raw"

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._bytes = 0
        self._changed = trio.Event()
        self.ended = False

    def frame(self, payload: bytes) -> bytes:
        """Nothing is sent, so nothing is framed."""
        return payload

    def offer(self, wire: bytes) -> bool:
        """Take bytes without waiting; False over the bound."""
        self._pieces.append(wire)
        self._bytes += len(wire)
        self._wake()
        return self._bytes < BUFFER_BYTES

    async def send(self, wire: bytes) -> None:
        """Take bytes and wait while there are more than the bound."""
        self.offer(wire)
        while self._bytes >= BUFFER_BYTES:
            if self.ended:
                raise ClientGone
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    async def wait_closed(self) -> None:
        """Wait until the reader takes no more."""
        while not self.ended:
            await self._changed.wait()

    def end(self) -> None:
        """Nothing more comes, or is wanted."""
        self.ended = True
        self._wake()

    async def next(self) -> bytes:
        """One piece; empty at the end."""
        while not self._pieces:
            if self.ended:
                return b""
            await self._changed.wait()
        piece = self._pieces.popleft()
        self._bytes -= len(piece)
        self._wake()
        return piece

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


class Lines:
    """The lines of a stream, one after the other.

    Args:
        pieces: of the stream.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._lines: deque[bytes] = deque()
        self._rest = b""

    async def next(self) -> bytes:
        """One line that is not empty; empty at the end."""
        while not self._lines:
            piece = await self._pieces.next()
            if not piece:
                return b""
            *lines, self._rest = (self._rest + piece).split(b"\n")
            self._lines.extend(filter(None, lines))
        return self._lines.popleft()


@ungrouped
@asynccontextmanager
async def lines_of(response: StreamResponse) -> AsyncIterator[Lines]:
    """The lines of a stream, for as long as a block lasts."""
    pieces = Pieces()

    async def write() -> None:
        try:
            await response.run(pieces)
        except* ClientGone:
            pass
        finally:
            pieces.end()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write, name="in-process stream")
        yield Lines(pieces)
        pieces.end()
        nursery.cancel_scope.cancel()


async def joined(response: AnyResponse) -> bytes:
    """The whole body of an answer."""
    if isinstance(response, Response):
        return response.body
    if not isinstance(response, StreamResponse):
        raise TypeError("a tunnel has no body")
    pieces = Pieces()
    parts: list[bytes] = []

    async def write() -> None:
        try:
            await response.run(pieces)
        finally:
            pieces.end()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write, name="in-process answer")
        while piece := await pieces.next():
            parts.append(piece)
    return b"".join(parts)
