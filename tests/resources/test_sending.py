"""How bodies are given to a channel."""

from __future__ import annotations

import pytest

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
    await sending.send(wire, body, before)
    assert b"".join(wire.sent) == before + body
    if size <= sending.WHOLE_BYTES:
        assert len(wire.sent) == 1
    else:
        assert max(map(len, wire.sent)) == sending.SLICE_BYTES


async def test_pieces_go_to_compression_as_they_are() -> None:
    """However large they are, for they may be compressed already."""
    wire, piece = Wire("gzip"), Piece(b"x" * 10 * sending.WHOLE_BYTES)
    await sending.send(wire, piece, b"before")
    assert wire.sent[0] == b"before"
    assert wire.sent[1] is piece
