"""JSON text to Python values as kube-apiserver reads it.

orjson does the work whenever it can be trusted.  It merges duplicate keys silently, rounds
integers beyond 64 bits and forgets how a fraction was written, so its answer is printed again and
compared:

- Every member of an object has one colon in the text, and so has every colon inside a string that
  is not written as an escape.  Dropping a member can only lower the count of the reprint, so equal
  counts prove that no key was repeated; so does a reprint that is the text.
- A fraction or a rounded integer is a ``float``; a walk over the containers finds them.  (A search
  of the text for one takes longer: `re` looks at each byte.)

A body that fails a check is read by ``goscan``, which is exact and slower.
Large bodies are read and checked in pieces (``jsonpieces``), so that other threads run meanwhile.
Errors are those of Go's ``encoding/json``.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson

from kubetrio.gotext.numbers import is_int64
from kubetrio.wire import jsonpieces
from kubetrio.wire.goscan import MAX_DEPTH, Float, GoJsonError, Pairs, Scanner, integer

__all__ = [
    "MAX_DEPTH",
    "Float",
    "GoJsonError",
    "Parsed",
    "float_text",
    "parse",
    "parse_printed",
    "type_word",
]

_NOTHING_REPEATED: Mapping[int, Pairs] = {}


@dataclass(slots=True)
class Parsed:
    """What a body says.

    Args:
        value: the JSON value; of repeated keys the last counts.  Fractions are ``Float``.
        duplicates: paths of repeated keys such as ``data.a`` or ``spec.list[0].b``, in document
            order, each once, at most 100.
        repeated: for each object with a repeated key, by ``id`` of the dict, all its members in
            order; valid while this value is alive.
    """

    value: Any
    duplicates: list[str] = field(default_factory=list)
    repeated: Mapping[int, Pairs] = field(default_factory=dict)

    def let_go(self) -> None:
        """Forget everything, container by container.

        A value of a million containers takes 50 ms to free, in one step of the interpreter.  What
        others hold is left alone.
        """
        waiting = [self.value]
        self.value, self.repeated = None, _NOTHING_REPEATED
        while waiting:
            container = waiting.pop()
            if sys.getrefcount(container) > _OURS:
                continue
            kind = type(container)
            if kind is dict:
                waiting += [item for item in container.values() if type(item) in _CONTAINERS]
            elif kind is list:
                waiting += [item for item in container if type(item) in _CONTAINERS]


_OURS = 2  # references: a variable, and the argument of who counts
_CONTAINERS = frozenset({dict, list})


def parse(body: bytes) -> Parsed:
    """Read a JSON text.

    Args:
        body: the text; invalid UTF-8 and lone surrogate escapes become U+FFFD.

    Raises:
        GoJsonError: malformed JSON, trailing data, or nesting over 10000; Go's message.
    """
    if len(body) > jsonpieces.LARGE_BYTES:
        try:
            return Parsed(jsonpieces.read(body, load_piece), [], _NOTHING_REPEATED)
        except ValueError:
            return _exact(body)
    vouched, value = _vouched(body)
    if not vouched or type(value) is float:
        return _exact(body)
    if _has_fraction(value):
        value = _with_fractions(body)
    return Parsed(value, [], _NOTHING_REPEATED)


def _with_fractions(body: bytes) -> Any:
    """A valid text without duplicates: the standard library can keep the text of numbers."""
    return json.loads(body.decode(), parse_float=Float, parse_int=integer)


def load_piece(text: bytes) -> Any:
    """A piece of a large text.

    Raises:
        ValueError: the fast half cannot be trusted.
    """
    value = _plain_piece(text)
    return _with_fractions(text) if _has_fraction(value) else value


def _plain_piece(text: bytes) -> Any:
    """Read a piece of a large text, with fractions as plain floats."""
    vouched, value = _vouched(text)
    if not vouched:
        raise ValueError("repeated keys, or no JSON")
    return value


def _piece_without_fractions(text: bytes) -> Any:
    """Read a piece of a large text that has no fractions."""
    value = _plain_piece(text)
    if _has_fraction(value):
        raise ValueError("a fraction")
    return value


def _printed_piece(text: bytes) -> Any:
    """Read a piece of a large text that a server printed."""
    value = _plain_piece(text)
    return _printed(text) if _has_fraction(value) else value


def parse_plain(body: bytes) -> Any:
    """The value of a JSON text without repeated keys and fractions; None for any other text."""
    if len(body) > jsonpieces.LARGE_BYTES:
        try:
            return jsonpieces.read(body, _piece_without_fractions)
        except ValueError:
            return None
    vouched, value = _vouched(body)
    return value if vouched and not _has_fraction(value) else None


def _vouched(body: bytes) -> tuple[bool, Any]:
    """Whether the fast half can be trusted but for fractions, and what it reads."""
    try:
        value = orjson.loads(body)
        printed = orjson.dumps(value)
    except (ValueError, TypeError):
        # Malformed, not UTF-8, or nested deeper than orjson goes.
        return False, None
    return printed == body or (
        body.count(b":") == printed.count(b":")
        and (b"\\" not in body or (b"\\u003a" not in body and b"\\u003A" not in body))
    ), value


def parse_printed(body: bytes) -> Any:
    """Read a JSON text that a server printed; fractions are ``Float``.

    Args:
        body: the text, without repeated keys; integers beyond 64 bits are ``Float`` too.
    """
    if len(body) > jsonpieces.LARGE_BYTES:
        try:
            return jsonpieces.read(body, _printed_piece)
        except ValueError:
            pass  # a lone string, or not ours after all
    value = orjson.loads(body)
    if type(value) is not dict and type(value) is not list:
        value = [value]
        return _printed(b"[%b]" % body)[0] if _has_fraction(value) else value[0]
    return _printed(body) if _has_fraction(value) else value


def parse_stored(body: bytes) -> Any:
    """Parse a stored text, with fractions as plain floats.

    Args:
        body: the text, without repeated keys.
    """
    if len(body) > jsonpieces.LARGE_BYTES:
        try:
            return jsonpieces.read(body, _plain_piece)
        except ValueError:
            pass
    return orjson.loads(body)


def _printed(body: bytes) -> Any:
    return json.loads(body, parse_float=Float, parse_int=_short_integer)


def _short_integer(text: str) -> int | Float:
    number = integer(text)
    return number if type(number) is int and is_int64(number) else Float(text)


def _exact(body: bytes) -> Parsed:
    scanner = Scanner(body)
    value = scanner.scan()
    return Parsed(value, scanner.duplicates, scanner.repeated)


def _has_fraction(value: Any) -> bool:
    """Whether a value is a float or has one inside."""
    kind = type(value)
    if kind is not dict and kind is not list:
        return kind is float
    waiting = [value]
    while waiting:
        container = waiting.pop()
        for item in container.values() if type(container) is dict else container:
            kind = type(item)
            if kind is dict or kind is list:
                waiting.append(item)
            elif kind is float:
                return True
    return False


def type_word(value: Any) -> str:
    """The JSON type of a value in Go's messages: object, array, string, number, bool or null."""
    if value is None:
        return "null"
    return _WORDS.get(type(value), "number")


_WORDS = {dict: "object", list: "array", str: "string", bool: "bool"}


def float_text(number: float) -> str:
    """A number as Go prints a ``float64``: shortest digits, exponent below 1e-6 and from 1e21.

    Raises:
        ValueError: not a number, or an infinity that carries no text of its own.
    """
    if not math.isfinite(number):
        if isinstance(number, Float):
            return number.text
        raise ValueError(f"json: unsupported value: {number}")
    text = repr(float(number))
    mantissa, _, exponent = text.partition("e")
    size = abs(number)
    if size and not 1e-6 <= size < 1e21:
        power = int(exponent)
        return f"{mantissa}e{power:+d}"
    if exponent:
        text = f"{Decimal(text):f}"
    return text.removesuffix(".0")
