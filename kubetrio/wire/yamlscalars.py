"""What a plain YAML scalar means, and which strings must be quoted so as not to mean it.

The rules are those of the Go library Kubernetes uses, a mixture of YAML 1.1 and 1.2: ``yes`` and
``on`` are booleans, ``010`` is eight, ``1_000`` a thousand, ``1:30`` a string, and a date stays the
string it is written as.
"""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import Any

_MIN_INT, _MAX_INT, _MAX_UINT = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_NUMBER_STARTS = frozenset("+-0123456789.")
_integer = re.compile(
    r"([+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<octal>[0-7]+)|0[bB](?P<binary>[01]+)"
    r"|(?P<decimal>0|[1-9][0-9]*))"
).fullmatch
_float = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?").fullmatch
_base60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?").fullmatch
_timestamp = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt](?=.*(?:Z|[+-][0-9]{2}:[0-9]{2})$)| (?!.*[Z+]))"
    r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.[0-9]*)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
).fullmatch
_BASES = {"hex": 16, "octal": 8, "binary": 2, "decimal": 10}
_MAX_DIGITS = 400  # longer ones are out of range of a float, and int() is slow on them


def resolve(text: str) -> Any:
    """The JSON value of a plain scalar: None, a boolean, an int, a float or the text itself.

    Integers beyond 64 bits are floats.  Infinities and NaN are returned, though JSON has none.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    # A leading dot only begins a float, in which Go takes no underscores.
    plain = text if text[0] == "." else text.replace("_", "")
    if len(plain) > _MAX_DIGITS:
        return text
    match = _integer(plain)
    if match:
        base = match.lastgroup or "decimal"
        value = int(match[1] + match[base], _BASES[base])
        if _MIN_INT <= value <= _MAX_UINT:
            return value
    if _float(plain):
        number = float(plain)
        if number - number == 0:
            return number
    return text


def needs_quotes(text: str) -> bool:
    """Whether a string would be read back as something else if written plain."""
    if text == "<<":
        return True  # Go leaves it plain, and then cannot read its own output.
    return resolve(text) is not text or _base60(text) is not None or _is_timestamp(text)


def _is_timestamp(text: str) -> bool:
    match = _timestamp(text)
    if not match:
        return False
    year, month, day, hour, minute, second = (int(part) for part in match.groups(default="0"))
    try:
        datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 (checks the ranges)
    except ValueError:
        return False
    return True


def json_number(value: float) -> float:
    """A number as it is after Go has printed it as JSON and read it again.

    Raises:
        ValueError: not finite.
    """
    if isinstance(value, int):
        return value if value <= _MAX_INT else float(value)
    if value - value != 0:
        raise ValueError(f"json: unsupported value: {_NOT_FINITE.get(repr(value), 'NaN')}")
    return int(value) if value.is_integer() and _MIN_INT <= value <= _MAX_INT else value


_NOT_FINITE = {"inf": "+Inf", "-inf": "-Inf"}


def number_text(value: float) -> str:
    """A number as Go's YAML library prints it.

    Args:
        value: an int, or a finite float.
    """
    if isinstance(value, int):
        if _MIN_INT <= value <= _MAX_UINT:
            return str(value)
        value = float(value)
    sign, digits, exponent = Decimal(repr(float(value))).as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"json: unsupported value: {value}")
    text = "".join(map(str, digits)).rstrip("0") or "0"
    if text == "0":
        return "-0" if sign else "0"
    # Go's %g for the shortest text: the point stands after `point` digits.
    point = len(digits) + exponent
    minus = "-" if sign else ""
    if not -4 <= point - 1 < 6:
        rest = f".{text[1:]}" if len(text) > 1 else ""
        power = point - 1
        return f"{minus}{text[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    if len(text) <= point:
        return f"{minus}{text.ljust(point, '0')}"
    return f"{minus}{text[:point]}.{text[point:]}"
