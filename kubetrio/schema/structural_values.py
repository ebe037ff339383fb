"""Values with an ``UnmarshalJSON`` or a text form of their own: what Go reads and prints.

Every function takes a JSON value that is not null and returns what the server prints for it.  The
only error is ``ValueError`` with Go's message.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from typing import Any

from kubetrio.gotext.numbers import is_int64
from kubetrio.machinery import quantity
from kubetrio.machinery.remember import remembered
from kubetrio.machinery.timestamps import PRINTED, normalise_micro, normalise_time
from kubetrio.wire.gojson import Float, float_text

# Already as the server prints it.  Leap days and year 1 are left to the parser.
_printed_time = re.compile(rf"(?!0001){PRINTED}(\.[0-9]{{6}})?Z").fullmatch
# Caches hold short texts only, so that their size in bytes is bounded too.
_CACHED_TEXT = 32
_EXACT_FLOAT = 1 << 53
_NUMBERS = frozenset({int, float, Float})  # merged documents have plain fractions too
_NEWLINES = b"\r\n"
_BASE64 = {char: index for index, char in enumerate(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)}  # fmt: skip
_PAD = 0x3D


class WrongType(ValueError):
    """A JSON type that a Go type cannot take.

    Args:
        word: what was given, such as ``string`` or ``number 1.5``.
        go_type: what was expected.

    Attributes:
        place: where it was, below the value with an ``UnmarshalJSON`` that it is inside of.
    """

    def __init__(self, word: str, go_type: str) -> None:
        super().__init__(f"json: cannot unmarshal {word} into Go value of type {go_type}")
        self.word = word
        self.go_type = go_type
        self.place: tuple[str, ...] = ()


def number_text(value: Any) -> str:
    """A number as it was written in the request."""
    if type(value) is Float:
        return value.text
    return float_text(value) if isinstance(value, float) else str(value)


def time(text: str) -> str | None:
    """A ``Time``: RFC 3339, printed in UTC with whole seconds; None for the zero time.

    Raises:
        ValueError: no such time.
    """
    printed = _printed_time(text)
    return text if printed and printed.group(1) is None else normalise_time(text)


def micro_time(text: str) -> str | None:
    """A ``MicroTime``: RFC 3339 with six decimals, printed in UTC; None for the zero time.

    Raises:
        ValueError: no such time.
    """
    printed = _printed_time(text)
    return text if printed and printed.group(1) is not None else normalise_micro(text)


@remembered(2048, 64)
def _quantity_text(text: str) -> str:
    return str(quantity.parse(text))


def quantity_as_given(value: Any) -> str:
    """A ``Quantity``, from a string or a number, as it was written.

    Raises:
        ValueError: it is neither.
    """
    if type(value) is str:
        return value.strip()
    if type(value) in _NUMBERS:
        return number_text(value)
    raise ValueError(quantity.FORMAT_ERROR)


def quantity_if_canonical(value: Any) -> str:
    """A ``Quantity`` that is given in its canonical form.

    Raises:
        ValueError: it is written in another way, or is none.
    """
    text = canonical_quantity(value)
    if text != value and text != quantity_as_given(value):
        raise ValueError("not canonical")
    return text


def canonical_quantity(value: Any) -> str:
    """A ``Quantity``, from a string or a number, in its canonical form.

    Raises:
        ValueError: anything else, or not a quantity.
    """
    text = value.strip() if type(value) is str else quantity_as_given(value)
    if len(text) <= _CACHED_TEXT:
        return _quantity_text(text)
    return str(quantity.parse(text))


def double(value: Any) -> int | Float:
    """A ``float64``, as an int where Go prints no fraction.

    Raises:
        ValueError: not a number, or out of range.
    """
    kind = type(value)
    if kind is int and -_EXACT_FLOAT <= value <= _EXACT_FLOAT:
        return int(value)
    if kind is not int and kind is not Float and kind is not float:
        raise ValueError("not a number")
    try:
        text = float_text(float(value))
    except (OverflowError, ValueError):
        raise WrongType(f"number {number_text(value)}", "float64") from None
    return int(text) if text.removeprefix("-").isdigit() and text != "-0" else Float(text)


def raw(value: Any) -> Any:
    """JSON that is kept as it was sent; fractions that have lost their text get Go's.

    Raises:
        WrongType: a number that no float64 holds.
    """
    waiting: list[Any] = [[value]]
    while waiting:
        container = waiting.pop()
        for item in container.values() if type(container) is dict else container:
            kind = type(item)
            if kind is dict or kind is list:
                waiting.append(item)
            elif _lost(item):
                return _with(value, lambda number: double(number) if _lost(number) else number)
    return value


def _lost(value: Any) -> bool:
    """Whether a value is a number without a text that others can read."""
    return type(value) is float or (type(value) is Float and not math.isfinite(value))


def reprinted(value: Any) -> Any:
    """JSON that Go has parsed and prints again: keys sorted, numbers int64 or float64.

    Raises:
        WrongType: a number that no float64 holds.
    """
    return _with(value, lambda n: n if type(n) is int and is_int64(n) else double(n), sort=True)


def _with(value: Any, number: Callable[[Any], Any], *, sort: bool = False) -> Any:
    """A copy of a JSON value with other numbers, however deep it is."""
    whole: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any]] = [(whole, 0, value)]
    while waiting:
        where, key, item = waiting.pop()
        kind = type(item)
        if kind is dict:
            where[key] = keys = dict.fromkeys(sorted(item) if sort else item)
            waiting += [(keys, name, item[name]) for name in item]
        elif kind is list:
            where[key] = items = [None] * len(item)
            waiting += [(items, place, each) for place, each in enumerate(item)]
        else:
            where[key] = number(item) if kind in _NUMBERS else item
    return whole[0]


def int_or_string(value: Any) -> str | int:
    """An ``IntOrString``.

    Raises:
        ValueError: neither a string nor an int32.
    """
    kind = type(value)
    if kind is str or (kind is int and -(1 << 31) <= value < 1 << 31):
        return value  # type: ignore[no-any-return]
    raise ValueError("neither a string nor an int32")


def base64_text(text: str) -> str:
    """A ``[]byte`` in its canonical encoding.

    Raises:
        ValueError: not base64, or not canonical; ``go_base64`` tells which.
    """
    data = binascii.a2b_base64(text, strict_mode=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("not canonical")
    return text


def base64_of_bytes(data: bytes) -> str:
    """A ``[]byte`` as JSON has it."""
    return base64.b64encode(data).decode()


def go_base64(text: str) -> str:
    """A ``[]byte``, read as Go does: newlines anywhere are skipped, loose bits are dropped.

    Raises:
        ValueError: no base64, with the index of the byte at which Go gives up.
    """
    source = text.encode("utf-8", "surrogatepass")
    bits: list[int] = []
    at, used = 0, 0  # used: sextets of the current group of four
    while at < len(source):
        byte = source[at]
        at += 1
        sextet = _BASE64.get(byte)
        if sextet is not None:
            bits.append(sextet)
            used = (used + 1) % 4
            continue
        if byte in _NEWLINES:
            continue
        if byte != _PAD or used < 2:
            raise _corrupt(at - 1)
        if used == 2:
            at = _skip_newlines(source, at)
            if at == len(source):
                raise _corrupt(at)
            if source[at] != _PAD:
                raise _corrupt(at - 1)
            at += 1
        at = _skip_newlines(source, at)
        if at < len(source):
            raise _corrupt(at)
        return _encode(bits)
    if used:
        raise _corrupt(len(source) - used)
    return _encode(bits)


def _skip_newlines(source: bytes, at: int) -> int:
    while at < len(source) and source[at] in _NEWLINES:
        at += 1
    return at


def _corrupt(at: int) -> ValueError:
    return ValueError(f"illegal base64 data at input byte {at}")


def _encode(sextets: list[int]) -> str:
    alphabet = bytes(_BASE64)
    whole = bytes(alphabet[sextet] for sextet in sextets)
    return base64.b64encode(base64.b64decode(whole + b"=" * (-len(whole) % 4))).decode()
