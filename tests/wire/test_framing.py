"""Frames of watch streams."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.wire import framing
from kubetrio.wire.framing import CborSequence, FrameReader, JsonLines, LengthDelimited

FRAMES = st.lists(st.binary(min_size=1, max_size=30), max_size=6)


def feed(reader: FrameReader, stream: bytes, cuts: list[int]) -> list[bytes]:
    """All frames of a stream cut at some points."""
    points = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    frames = []
    for start, end in pairwise(points):
        frames += reader.feed(stream[start:end])
    return frames


@settings(max_examples=80)
@given(FRAMES, st.lists(st.integers(0, 500)))
def test_any_chunks(frames: list[bytes], cuts: list[int]) -> None:
    """However a stream is cut, the frames are the same."""
    lines = [frame.hex().encode() for frame in frames]
    assert feed(JsonLines(), b"".join(line + b"\n" for line in lines), cuts) == lines
    stream = b"".join(map(framing.delimited, frames))
    assert feed(LengthDelimited(), stream, cuts) == frames
    items = [bytes((0x58, len(frame))) + frame for frame in frames]
    assert feed(CborSequence(), b"".join(items), cuts) == items


def test_json_event() -> None:
    """An event is a line with type and object."""
    assert framing.json_event(b"ADDED", b'{"a":1}') == b'{"type":"ADDED","object":{"a":1}}\n'


def test_blank_lines() -> None:
    """Empty lines are skipped."""
    assert JsonLines().feed(b"\n{}\r\n\r\n") == [b"{}\r"]


@pytest.mark.parametrize(
    ("reader", "stream"),
    [
        (JsonLines(8), b"123456789"),
        (JsonLines(8), b"123456789\n"),
        (LengthDelimited(8), b"\x00\x00\x00\x09"),
        (CborSequence(8), b"\x48" + b"x" * 8),
        (CborSequence(8), b"\x5a\xff\xff\xff\xff"),
        (CborSequence(8), b"\x98\x20" + b"\x00" * 8),
    ],
)
def test_too_long(reader: FrameReader, stream: bytes) -> None:
    """Frames are bounded, before they are complete where their length is told."""
    with pytest.raises(ValueError, match="longer"):
        reader.feed(stream)


@pytest.mark.parametrize("reader", [JsonLines(), LengthDelimited(), CborSequence()])
def test_close(reader: FrameReader) -> None:
    """The end of the stream is fine between frames, not within one."""
    reader.close()
    assert reader.feed(b"\x19") == []
    with pytest.raises(ValueError, match="EOF"):
        reader.close()
