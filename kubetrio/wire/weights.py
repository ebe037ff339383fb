"""Estimate what a body may come to take, before a decoder reads it.

Three bytes of JSON can be an object of 64 bytes, and a request holds up to three copies of what it
sends: as it was read, as it is served, and who owns its fields.  So a body counts for more than its
bytes where it is made of very many small values.  What is made of it takes up to `TIMES` its
weight; ordinary objects weigh one to three times their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

TIMES: Final = 30
"""Bytes of memory for each byte of weight."""
MOST_WEIGHT: Final = 12 * 1024 * 1024
"""A body of less than 1.1 MB never weighs as much; objects of more are not made of small values."""

VALUE, MEMBER, CONTAINER = 24, 24, 8
"""Bytes that each value counts; a member of an object, and an object or a list, count more."""
PROTOBUF, CBOR = 10, 12
"""Times that bytes count which are denser than text."""
CHANGE: Final = 2
"""Times that a change counts: the object is there before and after."""

_PIECE_BYTES = 64 * 1024


def weight(body: bytes, media: str, *, change: bool = False) -> int:
    """How much a body counts: its bytes, or more.

    Args:
        body: the body.
        media: its media type.
        change: whether it changes an object that is there.
    """
    times = CHANGE if change else 1
    if "protobuf" in media:
        return times * PROTOBUF * len(body)
    if "cbor" in media:
        return times * CBOR * len(body)
    return times * max(len(body), _of_text(body, "yaml" in media))


def too_heavy(body: bytes, media: str) -> bool:
    """Whether a text in JSON weighs more than a body may; what stands in strings does not count.

    Args:
        body: the body.
        media: its media type; other codecs count the values that they read.
    """
    if "protobuf" in media or "cbor" in media or "yaml" in media:
        return False
    if _of_text(body) <= MOST_WEIGHT:
        return False
    return sum(map(_of_text, _outside_of_strings(body))) > MOST_WEIGHT


def _outside_of_strings(body: bytes) -> Iterator[bytes]:
    """A JSON text without its strings, in pieces: no call takes long."""
    at, inside = 0, 0
    while at < len(body):
        end = at + _PIECE_BYTES
        while body[end - 1 : end] == b"\\":  # what follows belongs to it
            end += 1
        piece = body[at:end]
        if b"\\" in piece:
            piece = piece.replace(rb"\\", b"").replace(rb"\"", b"")
        parts = piece.split(b'"')
        yield b"".join(parts[inside::2])
        inside ^= (len(parts) - 1) & 1
        at = end


def _of_text(text: bytes, lines: bool = False) -> int:
    count = text.count
    containers, values = count(b"{") + count(b"["), count(b",")
    if lines:
        values += count(b"\n")
    return CONTAINER * containers + MEMBER * count(b":") + VALUE * values
