"""Pieces that stand in any compressed stream."""

from __future__ import annotations

import gzip
import zlib

import trio
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.api.encoding.compress import GzipChannel
from kubetrio.env import Env
from kubetrio.resources.segments.piece import Piece, checksum, shift_of, squeeze

TEXTS = st.one_of(st.binary(max_size=200), st.integers(0, 70_000).map(lambda size: b"ab{c" * size))


@given(TEXTS, TEXTS)
def test_the_checksum_of_two(one: bytes, two: bytes) -> None:
    """Made of those of both."""
    crc = checksum(zlib.crc32(one), zlib.crc32(two), shift_of(len(two)))
    assert crc == zlib.crc32(one + two)


class Heard:
    """A channel that keeps what it gets."""

    framing = "plain"

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def frame(self, payload: bytes) -> bytes:
        """As it is."""
        return payload

    def offer(self, wire: bytes) -> bool:
        """Nothing is pushed."""
        raise NotImplementedError

    async def send(self, wire: bytes) -> None:
        """Take bytes."""
        self.sent.append(wire)

    async def wait_closed(self) -> None:
        """Never."""


@given(st.lists(st.tuples(TEXTS, st.booleans()), max_size=6))
def test_pieces_between_what_is_compressed_as_it_comes(parts: list[tuple[bytes, bool]]) -> None:
    """One stream of gzip with one member, whatever stands beside what."""
    wires = [Piece(text) if kept else text for text, kept in parts]

    async def compressed() -> bytes:
        heard = Heard()
        channel = GzipChannel(heard, Env())
        for wire in wires:
            await channel.send(wire)
        await channel.finish()
        return b"".join(heard.sent)

    for _ in range(2):  # the second time nothing is squeezed
        data = trio.run(compressed)
        reader = zlib.decompressobj(16 + zlib.MAX_WBITS)
        assert reader.decompress(data) == b"".join(wires) == gzip.decompress(data)
        assert reader.eof
        assert reader.unused_data == b""


def test_a_piece_refers_to_nothing_before_it() -> None:
    """Nor what follows to the piece."""
    squeezed = squeeze(b"abc" * 100)
    assert squeezed.data.endswith(b"\0\0\xff\xff")
    assert zlib.decompressobj(-15).decompress(squeezed.data) == b"abc" * 100
    assert squeezed.size == 300
