"""Large JSON texts in pieces, so that no call of the C library holds the interpreter for long.

orjson reads three megabytes of small values in one call of some 50 to 150 ms, in which no other
thread runs: the event loop waits although the call is in a thread of its own.  So a large text is
cut behind commas, wherever they are; each piece is given to orjson as a text of its own, in the
brackets that are open where it begins and closed where it ends, and what it says is put into the
containers of the pieces before it.

A cut needs no exact reader: strings are skipped and brackets cancelled by a few searches.  If the
guess is wrong orjson refuses the piece, since its brackets do not fit.  So a text of which all
pieces were read is JSON as a whole; of any other the caller asks a reader that knows what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

PIECE_BYTES = 64 * 1024
"""Text that is read in one call, but for longer strings: 3 ms at most."""
LARGE_BYTES = 2 * PIECE_BYTES
"""Texts up to this size are read in one call."""
MAX_PREFIX_BYTES = 16 * 1024
"""Keys that are said again in front of each piece."""

Container = dict[str, Any] | list[Any]

# From one comma outside of strings to the last one.
_to_last_comma = re.compile(
    rb'(?:[^",]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^",]*+)*+,)*+', re.DOTALL
).match
# Strings that are whole, up to one that is not.
_to_open_string = re.compile(rb'(?:[^"]*+"[^"\\]*+(?:\\.[^"\\]*+)*+")*+[^"]*+', re.DOTALL).match
MAX_QUOTES = 64
"""Quotes in a long string that are looked at one by one."""
BEHIND_BYTES = 64
"""Text behind a long string in which a comma is looked for first."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_BEGINS = b"[{"
_BACKSLASH = ord("\\")
_SPACE = b" \t\r\n"
_EASY_DEPTH = 4  # what is nested deeper is left to a loop


class CannotCut(ValueError):
    """A text that is not JSON, or says a key twice, or that is nested too deeply."""


def read(text: bytes, load: Callable[[bytes], Any], size: int = PIECE_BYTES) -> Container:
    """Read a text piece by piece.

    Args:
        text: JSON text of an object or a list.
        load: reads the text of a piece; raises ValueError for one that it does not like,
            among them each that repeats a key.
        size: bytes of a piece, but for long strings and what is put around it.

    Raises:
        ValueError: of ``load``, or the pieces do not fit together.
    """
    reader = _Reader(load)
    at = begin = 0
    ahead = size
    while begin + ahead < len(text):
        found = _to_last_comma(text, begin, begin + ahead)
        end = begin if found is None else found.end()
        if end == begin:
            behind = _behind_string(text, begin, begin + ahead)
            if behind:
                begin, ahead = behind, BEHIND_BYTES
            else:
                ahead *= 2
            continue
        reader.take(text[at : end - 1], last=False)
        at = begin = end
        ahead = size
    return reader.take(text[at:], last=True)


def _behind_string(text: bytes, begin: int, end: int) -> int:
    """Where a string ends that reaches out of a part of a text; 0 if that is not found quickly.

    The C library looks for a quote thirty times as fast as an expression passes what is none.
    """
    match = _to_open_string(text, begin, end)
    opening = end if match is None else match.end()
    if opening >= end:
        return 0
    at = opening
    for _ in range(MAX_QUOTES):
        at = text.find(b'"', at + 1)
        if at < 0:
            return 0
        slashes = at - 1
        while text[slashes] == _BACKSLASH:
            slashes -= 1
        if (at - slashes) % 2:
            return at + 1
    return 0


class _Reader:
    """What was read so far."""

    def __init__(self, load: Callable[[bytes], Any]) -> None:
        self._load = load
        self._root: Container | None = None
        self._open: list[Container] = []

    def take(self, piece: bytes, *, last: bool) -> Container:
        """Read the next piece; returns the outermost container."""
        opened = self._open
        if not last and piece.rstrip(_SPACE)[-1:] in (b"[", b"{"):
            raise CannotCut("a comma behind a bracket")
        if opened and piece.lstrip(_SPACE)[:1] in (b"]", b"}"):
            raise CannotCut("a bracket behind a comma")
        closed, begun = (len(opened), b"") if last else _brackets(piece)
        left = len(opened) - closed
        if left < 0 or (not last and not left + len(begun)):
            raise CannotCut("more brackets end than begin")
        ends = [b"]" if begin == _BEGINS[0] else b"}" for begin in reversed(begun)]
        ends += [b"]" if type(outer) is list else b"}" for outer in reversed(opened[:left])]
        value = self._load(b"%b%b%b" % (_prefix(opened), piece, b"".join(ends)))
        if self._root is None:
            if type(value) is not dict and type(value) is not list:
                raise CannotCut("not a container")
            self._root = value
            opened = [value] if begun else []
            begun = begun[1:]
        else:
            _merge(opened, value)
            del opened[left:]
        for _ in begun:
            opened.append(_last(opened[-1]))
        self._open = opened
        return self._root


def _brackets(piece: bytes) -> tuple[int, bytes]:
    """How many brackets a piece closes that were open before, and those it leaves open."""
    if b"\\" in piece:
        piece = piece.replace(rb"\\", b"").replace(rb"\"", b"")
    left = b"".join(piece.split(b'"')[::2]).translate(None, _NO_BRACKETS)
    for _ in range(_EASY_DEPTH):
        left = left.replace(b"[]", b"").replace(b"{}", b"")
    closed, begun = 0, bytearray()
    for bracket in left:
        if bracket in _BEGINS:
            begun.append(bracket)
        elif begun:
            begun.pop()
        else:
            closed += 1
    return closed, bytes(begun)


def _prefix(opened: list[Container]) -> bytes:
    """The brackets that are open, and the keys whose values they are."""
    inner = len(opened) - 1
    parts: list[bytes] = []
    for number, container in enumerate(opened):
        if type(container) is list:
            parts.append(b"[")
        else:
            parts.append(b"{")
            if number < inner:
                parts.append(orjson.dumps(next(reversed(container))) + b":")
    prefix = b"".join(parts)
    if len(prefix) > MAX_PREFIX_BYTES:
        raise CannotCut("long keys around a piece")
    return prefix


def _merge(opened: list[Container], value: Any) -> None:
    """Put the members of what a piece says into the containers that were open.

    Raises:
        CannotCut: a key is there already.
    """
    for number, container in enumerate(opened):
        goes_on = number < len(opened) - 1
        inner: Any = None
        if type(container) is list:
            if goes_on:
                inner = value[0]
                del value[0]
            container += value
        elif type(container) is dict:
            if goes_on:
                inner = value.pop(next(reversed(container)))
            count = len(container) + len(value)
            container.update(value)
            if len(container) != count:
                raise CannotCut("a key is repeated")
        value = inner


def _last(container: Container) -> Any:
    return container[-1] if isinstance(container, list) else container[next(reversed(container))]
