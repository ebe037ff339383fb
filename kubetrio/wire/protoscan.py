"""A look at protobuf bytes before the runtime reads them, bounding what they can become.

Two bytes can be an empty message of hundreds of bytes, so a body of three megabytes could ask for
a gigabyte.  Small bodies cannot do much harm and are let through; others are walked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

UNCHECKED_BYTES = 64 * 1024
"""Bodies up to this size are not walked."""
BUDGET = 500_000
"""What a body may contain: a field counts 1, a nested message 4 more."""
MAX_DEPTH = 100
"""Nesting the runtime accepts."""

_MESSAGE_COST = 4
TOO_MANY = "proto: message has too many fields"
_TRUNCATED = "unexpected EOF"
_FIXED = {1: 8, 5: 4}
_VARINT_BYTES = 10


class Layout(Protocol):
    """Which fields of a message are messages."""

    @property
    def nested(self) -> Mapping[int, Layout | None]:
        """Field number to layout of the message inside; None or missing for anything else."""


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """A varint and the position after it.

    Raises:
        ValueError: cut off, or longer than 64 bits.
    """
    number = 0
    for index in range(_VARINT_BYTES):
        if position + index >= len(data):
            raise ValueError(_TRUNCATED)
        byte = data[position + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, position + index + 1
    raise ValueError("proto: integer overflow")


def read_length(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Start and end of length-delimited bytes whose length is at ``position``.

    Raises:
        ValueError: they reach beyond ``end``.
    """
    length, start = read_varint(data, position)
    if start + length > end:
        raise ValueError(_TRUNCATED)
    return start, start + length


def check(data: bytes, layout: Layout) -> None:
    """Walk a message if it is large.

    Args:
        data: the bytes of a message.
        layout: of that message.

    Raises:
        ValueError: malformed, nested deeper than ``MAX_DEPTH``, or over ``BUDGET``.
    """
    if len(data) <= UNCHECKED_BYTES:
        return
    budget = BUDGET
    waiting: list[tuple[int, int, Layout, int]] = [(0, len(data), layout, 1)]
    while waiting:
        position, end, current, depth = waiting.pop()
        nested = current.nested
        while position < end:
            tag, position = read_varint(data, position)
            budget -= 1
            wire_type = tag & 7
            if wire_type == 2:
                start, position = read_length(data, position, end)
                inner = nested.get(tag >> 3)
                if inner is not None:
                    budget -= _MESSAGE_COST
                    if depth == MAX_DEPTH:
                        raise ValueError("proto: exceeded max depth")
                    waiting.append((start, position, inner, depth + 1))
            elif wire_type == 0:
                _, position = read_varint(data, position)
            elif wire_type in _FIXED:
                position += _FIXED[wire_type]
            else:
                raise ValueError(f"proto: illegal wireType {wire_type}")
            if budget < 0:
                raise ValueError(TOO_MANY)
        if position > end:
            raise ValueError(_TRUNCATED)
