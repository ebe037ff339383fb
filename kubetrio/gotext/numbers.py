"""Decimal numbers in texts, as Go's ``strconv`` reads them and words its errors."""

from __future__ import annotations

from kubetrio.gotext.text import quote

INT64_MAX = 2**63 - 1
DIGITS = 20  # of the largest number here; Python refuses to read very long ones


def is_int64(value: int) -> bool:
    """Whether a number fits into 64 bits with a sign."""
    return -INT64_MAX - 1 <= value <= INT64_MAX


def parse_int(text: str) -> int:
    """A 64-bit integer with an optional sign.

    Raises:
        ValueError: it is none; the message is that of ``strconv.ParseInt``.
    """
    negative = text[:1] == "-"
    value = _digits("ParseInt", text, text[1:] if text[:1] in ("+", "-") else text)
    value = -value if negative else value
    if not is_int64(value):
        raise _out_of_range("ParseInt", text)
    return value


def parse_uint(text: str, bits: int = 64) -> int:
    """A number without a sign.

    Args:
        text: its digits.
        bits: that it must fit into.

    Raises:
        ValueError: it is none; the message is that of ``strconv.ParseUint``.
    """
    value = _digits("ParseUint", text, text)
    if value >= 1 << bits:
        raise _out_of_range("ParseUint", text)
    return value


def _digits(function: str, text: str, digits: str) -> int:
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    digits = digits.lstrip("0")
    if len(digits) > DIGITS:
        raise _out_of_range(function, text)
    return int(digits or "0")


def _out_of_range(function: str, text: str) -> ValueError:
    return ValueError(f"strconv.{function}: parsing {quote(text)}: value out of range")
