"""Frames of SPDY/3.1."""

from __future__ import annotations

import zlib

import pytest

from kubetrio.backend import spdy
from kubetrio.backend.spdy import DATA, PING, RST_STREAM, SYN_REPLY, Frame, Framing

REPLY = bytes.fromhex("80030002 00000008 00000001 00000000".replace(" ", ""))
DROPPED = bytes.fromhex("80030003 00000008 00000003 00000005".replace(" ", ""))


def test_the_dictionary() -> None:
    """It is the one of the protocol's draft, whose checksum compressed headers begin with."""
    assert len(spdy.DICTIONARY) == 1423
    assert zlib.adler32(spdy.DICTIONARY) == 0xE3C6A7C2


def test_a_stream_is_opened() -> None:
    """Headers are compressed, with one dictionary for all of a connection."""
    framing, unpack = Framing(), zlib.decompressobj(zdict=spdy.DICTIONARY)
    for stream, name in ((1, "error"), (3, "stdin")):
        frame = framing.opening(stream, {"streamtype": name})
        assert frame[:4] == bytes.fromhex("80030001")
        assert int.from_bytes(frame[4:8]) == len(frame) - 8
        assert int.from_bytes(frame[8:12]) == stream
        block = unpack.decompress(frame[18:])
        assert block == b"\0\0\0\1\0\0\0\nstreamtype\0\0\0\5" + name.encode()


def test_data_and_pings() -> None:
    """Their bytes."""
    assert spdy.data(3, b"ab") == bytes.fromhex("0000000300000002") + b"ab"
    assert spdy.data(5, b"", fin=True) == bytes.fromhex("0000000501000000")
    assert spdy.ping(7) == bytes.fromhex("800300060000000400000007")


WIRE = REPLY + spdy.data(1, b"hello") + spdy.ping(2) + DROPPED + spdy.data(1, b"", fin=True)


def test_frames_that_come_at_once() -> None:
    """Each is one."""
    assert Framing().feed(WIRE) == [
        Frame(SYN_REPLY, 1),
        Frame(DATA, 1, b"hello"),
        Frame(PING, 2),
        Frame(RST_STREAM, 3),
        Frame(DATA, 1, b"", fin=True),
    ]


@pytest.mark.parametrize("size", range(1, 9))
def test_frames_that_come_in_parts(size: int) -> None:
    """The data is passed on as it comes; only the last piece ends the stream."""
    framing, found = Framing(), []
    wire = WIRE + spdy.data(3, b"the end", fin=True)
    for at in range(0, len(wire), size):
        found += framing.feed(wire[at : at + size])
    assert b"".join(each.payload for each in found if each.stream == 1) == b"hello"
    last = [each for each in found if each.kind == DATA and each.stream == 3]
    assert b"".join(each.payload for each in last) == b"the end"
    assert [each.fin for each in last] == [False] * (len(last) - 1) + [True]


@pytest.mark.parametrize("head", ["8002000100000000", "80030001ffffffff"])
def test_what_is_no_frame(head: str) -> None:
    """Another version, or a control frame that nobody would send."""
    with pytest.raises(spdy.SpdyError):
        Framing().feed(bytes.fromhex(head))
