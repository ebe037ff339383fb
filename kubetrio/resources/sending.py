"""How large bodies go to a channel: in slices, so that none is copied as a whole.

A chunk of HTTP is framed in memory, so a client that takes an object of a megabyte would have it
held twice.  A slice is as long as what is given to TLS in one call anyway.
"""

from __future__ import annotations

from typing import Protocol

import trio

from kubetrio.resources.segments.piece import Piece

SLICE_BYTES = 64 * 1024
STEP_SLICES = 2
"""Slices that follow each other if the client takes them: about 1 ms."""
WHOLE_BYTES = 4 * SLICE_BYTES
"""Bodies up to this size are framed as a whole: segments are not larger, but for large objects."""
FEW_BYTES = 16 * 1024
"""What is sent together with what follows it."""


class Wire(Protocol):
    """Where a stream goes; `api.response.Channel` has the contract."""

    framing: str

    def frame(self, payload: bytes) -> bytes:
        """A payload as it goes on the wire."""
        ...

    async def send(self, wire: bytes) -> None:
        """Take framed bytes and wait until the client has taken most of them."""


async def send(wire: Wire, body: bytes, turns: trio.Lock, before: bytes = b"") -> None:
    """Send a body that is not empty.

    Args:
        wire: where to.
        body: the bytes.
        turns: of all lists: a round of the event loop has one step of a large body in it.
        before: a few bytes that come in front of them.

    Raises:
        ClientGone: see `api.response.Channel`.
    """
    if wire.framing == "gzip" and isinstance(body, Piece):
        if before:
            await wire.send(wire.frame(before))
        await wire.send(wire.frame(body))  # itself, for it may be compressed already
        return
    if len(body) <= WHOLE_BYTES:
        await wire.send(wire.frame(before + body if before else body))
        return
    for number, begin in enumerate(range(-len(before), len(body), SLICE_BYTES)):
        if not number % STEP_SLICES:
            async with turns:  # who waits for it has it in the next round, and so has its step then
                pass
        part = body[max(begin, 0) : begin + SLICE_BYTES]
        await wire.send(wire.frame(part if number else before + part))
