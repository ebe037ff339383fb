"""Values as Go prints them in messages that name no better form.

kube-apiserver's typed values print as pointers to a struct with one member, so messages say
``&{text}`` (``%v``) and ``&value.valueUnstructured{Value:1}`` (``%#v``).  Source: the format verbs
of Go's package ``fmt``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

_WRAPPER = "&value.valueUnstructured"
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


class _Escapes(dict[int, str]):
    """Table of ``str.translate``: what each character becomes, made when first met."""

    def __missing__(self, code: int) -> str:
        escaped = _quote_char(chr(code))
        if code < _FEW:  # a client chooses the characters: no more of them are kept
            self[code] = escaped
        return escaped


_FEW = 0x100


def quote(text: str) -> str:
    """A string in double quotes as Go's ``%q`` prints it.

    Takes some nanoseconds for a character: messages tell strangers what they sent.

    Args:
        text: any text; lone surrogates print as the replacement character.
    """
    if text.isprintable():
        if "\\" in text:
            text = text.replace("\\", "\\\\")
        return f'"{text}"' if '"' not in text else '"' + text.replace('"', '\\"') + '"'
    return f'"{text.translate(_escapes)}"'


def _quote_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_escapes = _Escapes()


def aggregate(texts: Iterable[str]) -> str:
    """Several errors as one text: each once, in brackets when there are several, empty for none.

    Args:
        texts: of the errors, in order.

    Source: ``NewAggregate`` of k8s.io/apimachinery/pkg/util/errors.
    """
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]" if unique else ""


def go_value(value: Any) -> str:
    """A typed value under ``%v``."""
    return f"&{{{plain(value)}}}"


def go_literal(value: Any) -> str:
    """A typed value under ``%#v``."""
    return f"{_WRAPPER}{{Value:{_source(value)}}}"


def go_type(value: Any) -> str:
    """The type of parsed JSON under ``%T``."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return "int64"
    if isinstance(value, (int, float)):
        return "float64"
    return "map[string]interface {}" if isinstance(value, dict) else "[]interface {}"


def plain(value: Any) -> str:
    """Parsed JSON under ``%v``."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        inner = " ".join(f"{name}:{plain(value[name])}" for name in sorted(value))
        return f"map[{inner}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain, value))}]"
    if isinstance(value, float) or not (isinstance(value, str) or -(1 << 63) <= value < 1 << 63):
        return shortest(float(value))
    return str(value)


def shortest(value: float) -> str:
    """The shortest text of a float as Go's ``%g`` prints it."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = _digits(value)
    point = len(digits) + exponent
    # A hundred thousand has five zeros in Go, a million is 1e+06.
    if point - 1 < -4 or point - 1 >= 6:
        mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{point - 1:+03d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def _digits(value: float) -> tuple[str, str, int]:
    """Sign, significant digits and the power of ten that follows them."""
    text = repr(value)
    sign = "-" if text.startswith("-") else ""
    mantissa, _, power = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(power or 0) - len(fraction)
    digits = (whole + fraction).lstrip("0")
    stripped = digits.rstrip("0")
    if not stripped:
        return sign, "0", 0
    return sign, stripped, exponent + len(digits) - len(stripped)


def _source(value: Any) -> str:
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return orjson.dumps(value).decode()
    if isinstance(value, dict):
        inner = ", ".join(f'"{name}":{_source(value[name])}' for name in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_source, value))}}}"
    return plain(value)
