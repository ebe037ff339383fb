"""Resource quantities, exact: ``1500m``, ``2Gi``, ``12e6``.

A quantity is ``coefficient * 10**exponent`` with integers, so nothing is lost; values below a nano
are rounded away from zero and binary ones above 2**63-1 are capped when read.  Source: the
``Quantity`` definition in the Kubernetes API reference (grammar, canonical form).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

FORMAT_ERROR = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
NUMERIC_ERROR = "unable to parse numeric part of quantity"
SUFFIX_ERROR = "unable to parse quantity's suffix"


class Format(Enum):
    """How a quantity prints."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


_NANO = -9
_DECIMAL_SUFFIXES = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_DECIMAL_NAMES = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_NAMES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_MAX_BINARY = (1 << 63) - 1
_MAX_FAST_DIGITS = 18
# Python refuses to print longer integers, and arithmetic on them is a way to keep a server busy.
_MAX_DIGITS = 4000

# Looser than the documented expression, as the scanner of kube-apiserver is: digits may be missing.
_scan = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_exponent = re.compile(r"[eE]([+-]?[0-9]+)")


@dataclass(frozen=True, slots=True, order=False, eq=False)
class Quantity:
    """A number with a preferred way to print it.

    Equality, order and hash are those of the number.

    Args:
        coefficient: any integer.
        exponent: power of ten that multiplies it.
        format: how it prints.
        text: the text it prints as, or empty for the canonical form.
    """

    coefficient: int
    exponent: int = 0
    format: Format = Format.DECIMAL_SI
    text: str = ""

    def __str__(self) -> str:
        return self.text or self._canonical()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __hash__(self) -> int:
        return hash(_strip(self.coefficient, self.exponent))

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.compare(other) >= 0

    def __add__(self, other: Quantity) -> Quantity:
        return self._sum(other, 1)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._sum(other, -1)

    def __neg__(self) -> Quantity:
        return Quantity(-self.coefficient, self.exponent, self.format)

    def __bool__(self) -> bool:
        return self.coefficient != 0

    def compare(self, other: Quantity) -> int:
        """Order of two numbers.

        Args:
            other: the other number.

        Returns:
            -1, 0 or 1 as this one is less, equal or greater.
        """
        mine, theirs, _ = _aligned(self, other)
        return (mine > theirs) - (mine < theirs)

    def value(self) -> int:
        """The number as an integer, rounded away from zero."""
        return self._scaled(0)

    def milli_value(self) -> int:
        """Thousandths as an integer, rounded away from zero."""
        return self._scaled(-3)

    def _scaled(self, exponent: int) -> int:
        return _scale(self.coefficient, self.exponent - exponent)[0]

    def _sum(self, other: Quantity, sign: int) -> Quantity:
        mine, theirs, exponent = _aligned(self, other)
        total, exponent = _strip(mine + sign * theirs, exponent)
        return Quantity(total, exponent, self.format if self.coefficient else other.format)

    def _canonical(self) -> str:
        if not self.coefficient:
            return "0"
        if self.format is Format.BINARY_SI:
            whole, exact = _scale(self.coefficient, self.exponent)
            if exact and abs(whole) >= 1024:
                return _binary_text(whole)
        return self._decimal_text()

    def _decimal_text(self) -> str:
        number, exponent = _strip(self.coefficient, self.exponent)
        short = exponent % 3
        number, exponent = number * 10**short, exponent - short
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        if exponent > 18:
            number, exponent = number * 10 ** (exponent - 18), 18
        return f"{number}{_DECIMAL_NAMES[exponent]}"


def _binary_text(number: int) -> str:
    power = 0
    while power < len(_BINARY_NAMES) - 1 and not number % 1024:
        number //= 1024
        power += 1
    return f"{number}{_BINARY_NAMES[power]}"


def _strip(coefficient: int, exponent: int) -> tuple[int, int]:
    """Return the number without trailing zeros in the coefficient."""
    if not coefficient:
        return 0, 0
    while not coefficient % 10:
        coefficient //= 10
        exponent += 1
    return coefficient, exponent


def _scale(coefficient: int, exponent: int) -> tuple[int, bool]:
    """An integer and whether it is exact; rounds away from zero."""
    if exponent >= 0:
        return coefficient * 10**exponent, True
    whole, rest = divmod(abs(coefficient), 10**-exponent)
    whole += bool(rest)
    return (-whole if coefficient < 0 else whole), not rest


def _aligned(one: Quantity, two: Quantity) -> tuple[int, int, int]:
    """Coefficients of both for one exponent."""
    exponent = min(one.exponent, two.exponent)
    return (
        one.coefficient * 10 ** (one.exponent - exponent),
        two.coefficient * 10 ** (two.exponent - exponent),
        exponent,
    )


def _suffix(suffix: str) -> tuple[Format, int]:
    """Format and power (of two for the binary format, else of ten)."""
    if suffix in _BINARY_SUFFIXES:
        return Format.BINARY_SI, _BINARY_SUFFIXES[suffix]
    if suffix in _DECIMAL_SUFFIXES:
        return Format.DECIMAL_SI, _DECIMAL_SUFFIXES[suffix]
    match = _exponent.fullmatch(suffix)
    if not match or len(match[1]) > 20:
        raise ValueError(SUFFIX_ERROR)
    return Format.DECIMAL_EXPONENT, int(match[1])


def parse(text: str) -> Quantity:
    """Parse a quantity.

    Args:
        text: sign, decimal digits with an optional point, and a suffix: one of ``n u m k M G T P
            E``, one of ``Ki Mi Gi Ti Pi Ei``, or ``e`` or ``E`` with a power of ten.

    Raises:
        ValueError: not such a text, in Kubernetes' words; also for numbers of more than about
            4,000 digits.
    """
    match = _scan.fullmatch(text)
    if not text or not match:
        raise ValueError(FORMAT_ERROR)
    sign, digits, decimals, suffix = match.groups(default="")
    format_, power = _suffix(suffix)
    digits = digits.lstrip("0") or "0"
    if len(digits) + len(decimals) + max(power, 0) > _MAX_DIGITS:
        raise ValueError(NUMERIC_ERROR)
    coefficient = int(digits + decimals)
    negative = sign == "-"
    fast = _is_fast(format_, power, digits, decimals, coefficient)
    if not fast and not (match[2] or decimals):
        raise ValueError(NUMERIC_ERROR)  # a sign or a point alone is zero only on the fast path
    kept = text if fast and _keeps_text(format_, power, digits, decimals, coefficient) else ""
    exponent = -len(decimals)
    if format_ is Format.BINARY_SI:
        coefficient <<= power
    else:
        exponent += power
    if exponent < _NANO:
        coefficient, exponent = _round_to_nano(coefficient, exponent), _NANO
    if format_ is Format.BINARY_SI and not fast:
        whole = coefficient // 10**-exponent
        if whole > _MAX_BINARY or (whole == _MAX_BINARY and coefficient % 10**-exponent):
            coefficient, exponent = _MAX_BINARY, 0
        if coefficient and not whole:
            format_ = Format.DECIMAL_SI
    return Quantity(-coefficient if negative else coefficient, exponent, format_, kept)


def _round_to_nano(coefficient: int, exponent: int) -> int:
    """Nanos, rounded up: who asks for something gets something."""
    if not coefficient:
        return 0
    shift = _NANO - exponent
    return 1 if shift > _MAX_DIGITS else -(-coefficient // 10**shift)


def _is_fast(format_: Format, power: int, digits: str, decimals: str, coefficient: int) -> bool:
    """Whether kube-apiserver keeps the number in 64 bits; only then it keeps the text too."""
    if format_ is Format.BINARY_SI:
        room = 15 - len(digits) - power * 3 // 10 - 1
        return not decimals and room >= 0 and coefficient << power <= _MAX_BINARY
    room = _MAX_FAST_DIGITS - len(digits) - len(decimals)
    return room >= 0 and power - len(decimals) >= _NANO


def _keeps_text(format_: Format, power: int, digits: str, decimals: str, coefficient: int) -> bool:
    """Whether the text is taken for canonical and printed again unchanged, sign included."""
    if format_ is Format.BINARY_SI:
        return coefficient & 7 != 0
    shifted = digits + decimals
    aligned = (power - len(decimals)) % 3 == 0
    return aligned and not shifted.endswith("000") and not shifted.startswith("0")


def from_json(value: Any) -> Quantity:
    """The quantity of a JSON value.

    Args:
        value: a string (white space around it is ignored), a number, or None for zero.

    Raises:
        ValueError: anything else, or not a quantity, in Kubernetes' words.
    """
    if value is None:
        return Quantity(0)
    if isinstance(value, str):
        return parse(value.strip())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return parse(repr(value))
    raise ValueError(FORMAT_ERROR)


def amounts(raw: Mapping[str, Any] | None) -> dict[str, Quantity]:
    """Quantities of a resource list.

    Args:
        raw: the list, as in JSON.
    """
    return {name: from_json(value) for name, value in (raw or {}).items()}
