"""How bodies are given to a channel."""

from __future__ import annotations

import pytest
import trio

from kubetrio.resources import sending
from kubetrio.resources.segments.piece import Piece


class Wire:
    """Notes what it is given."""

    def __init__(self, framing: str) -> None:
        self.framing = framing
        self.sent: list[bytes] = []

    def frame(self, payload: bytes) -> bytes:
        """As it is."""
        return payload

    async def send(self, wire: bytes) -> None:
        """Take it."""
        self.sent.append(wire)


@pytest.mark.parametrize("before", [b"", b"begin", b"x" * sending.FEW_BYTES])
@pytest.mark.parametrize(
    "size", [0, 1, sending.WHOLE_BYTES, sending.WHOLE_BYTES + 1, 10 * sending.SLICE_BYTES]
)
async def test_all_is_sent_in_slices(before: bytes, size: int) -> None:
    """What is small goes as a whole, and no slice of a large body is longer than it may be."""
    wire, body = Wire("chunked"), bytes(range(256)) * (size // 256) + b"y" * (size % 256)
    await sending.send(wire, body, trio.Lock(), before)
    assert b"".join(wire.sent) == before + body
    if size <= sending.WHOLE_BYTES:
        assert len(wire.sent) == 1
    else:
        assert max(map(len, wire.sent)) == sending.SLICE_BYTES


async def test_pieces_go_to_compression_as_they_are() -> None:
    """However large they are, for they may be compressed already."""
    wire, piece = Wire("gzip"), Piece(b"x" * 10 * sending.WHOLE_BYTES)
    await sending.send(wire, piece, trio.Lock(), b"before")
    assert wire.sent[0] == b"before"
    assert wire.sent[1] is piece


async def test_large_bodies_take_turns() -> None:
    """However many there are, a round of the event loop has one step of them in it."""
    turns, rounds = trio.Lock(), [0]

    class Counting(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            del timeout
            rounds.append(0)

    class Noting(Wire):
        async def send(self, wire: bytes) -> None:
            rounds[-1] += 1
            await super().send(wire)

    body = b"x" * (sending.WHOLE_BYTES * 4)
    wires = [Noting("chunked") for _ in range(8)]
    counting = Counting()
    async with trio.open_nursery() as nursery:
        for wire in wires:
            nursery.start_soon(sending.send, wire, body, turns)
        trio.lowlevel.add_instrument(counting)
    trio.lowlevel.remove_instrument(counting)
    assert sum(rounds) == sum(len(wire.sent) for wire in wires)
    assert max(rounds) == sending.STEP_SLICES
