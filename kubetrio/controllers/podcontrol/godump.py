"""Pod templates as Go's spew prints them, with the names of types and fields.

kube-controller-manager hashes this text; a letter more or less is another hash, and so another
ReplicaSet.  Which fields there are, in which order and of which type, is in
``schemas/gostructs.json``.

Source: github.com/davecgh/go-spew (``%#v``), k8s.io/apimachinery/pkg/api/resource (``Quantity``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from kubetrio.schema import builtin

Dump = Callable[[Any], str]
"""Prints a value of a type from its JSON, without the name of the type."""

NIL = "<nil>"
_MAP = re.compile(r"map\[([^\]]*)\](.*)")
_MAX_DIGITS = 18
_BINARY_DIGITS = 15
_NANO = -9
_WORD = 1 << 64
_MOST = (1 << 63) - 1
_AMOUNT = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([A-Za-z]*)([+-]?\d*)")
_DECIMAL = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def dump(type_name: str, value: Any) -> str:
    """Print a value with its type.

    Args:
        type_name: of Go, such as ``v1.PodTemplateSpec``.
        value: as in JSON; None when it is not given.

    Raises:
        KeyError: there is no such type.
    """
    return _typed(type_name)(value)


@cache
def _typed(type_name: str) -> Dump:
    """Prints with the type before the value."""
    pointed = type_name.removeprefix("*")
    body, shown = _untyped(pointed), f"({type_name})"
    if pointed != type_name:
        return lambda value: shown + (NIL if value is None else body(value))
    return lambda value: shown + body(value)


@cache
def _untyped(type_name: str) -> Dump:
    if type_name in _BASIC:
        return _BASIC[type_name]
    if type_name.startswith("[]"):
        return _list(_untyped(type_name[2:]))
    if mapping := _MAP.fullmatch(type_name):
        return _map(_untyped(mapping[2]))
    declared = builtin.load("gostructs")[type_name]
    return _untyped(declared) if isinstance(declared, str) else _struct(declared)


def _list(element: Dump) -> Dump:
    return lambda value: f"[{' '.join(map(element, value))}]" if value else NIL


def _map(element: Dump) -> Dump:
    def dumped(value: Any) -> str:
        if not value:
            return NIL
        return f"map[{' '.join(f'{key}:{element(value[key])}' for key in sorted(value))}]"

    return dumped


def _struct(rows: list[list[str]]) -> Dump:
    fields = [(f"{name}:", json_name, _typed(go_type)) for name, json_name, go_type in rows]

    def dumped(value: Any) -> str:
        obj = value or {}
        parts = (
            name + field(obj.get(json_name) if json_name else obj)
            for name, json_name, field in fields
        )
        return f"{{{' '.join(parts)}}}"

    return dumped


def _int_or_string(value: Any) -> str:
    text = isinstance(value, str)
    number, string = (0, value) if text else (value or 0, "")
    return f"{{Type:(intstr.Type){int(text)} IntVal:(int32){number} StrVal:(string){string}}}"


def _time(value: Any) -> str:
    if value is not None:
        raise ValueError("a template has no time of its own")
    return "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"


def _quantity(value: Any) -> str:
    """A quantity as its parser leaves it; whether it keeps its text depends on its digits."""
    text = str(value) if value else "0"
    if text == "0":
        return _amount(0, 0, "0", "DecimalSI")
    parts = _AMOUNT.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text!r} is no quantity")
    sign, num, denom, suffix, power = parts.groups("")
    num = num.lstrip("0") or ("" if denom else "0")
    if binary := suffix in _BINARY:
        shift, form = _BINARY[suffix], "BinarySI"
        precision = _BINARY_DIGITS - len(num) - int(shift * 3 / 10) - 1 if not denom else -1
        scale, mantissa = 0, 1 << shift
    else:
        form = "DecimalExponent" if power else "DecimalSI"
        scale = int(power) if power else _DECIMAL[suffix]
        precision, mantissa = _MAX_DIGITS - len(num) - len(denom), 1
    scale -= len(denom)
    if precision < 0 or scale < _NANO:
        return _big(sign, int((num + denom) or "0") * mantissa, scale, form)
    shifted = num + denom
    number = int(shifted)
    if binary:
        kept = _BINARY[suffix] % 10 == 0 and number & 7 != 0
    else:
        kept = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
    signed = -number * mantissa if sign == "-" else number * mantissa
    return _amount(signed, scale, text if kept else "", form)


def _amount(value: int, scale: int, text: str, form: str, dec: str = "(*inf.Dec)<nil>") -> str:
    return (
        f"{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} "
        f"d:(resource.infDecAmount){{Dec:{dec}}} s:(string){text} Format:(resource.Format){form}}}"
    )


def _big(sign: str, coefficient: int, scale: int, form: str) -> str:
    """A quantity of more digits than fit, as a decimal of arbitrary size in nanos."""
    unit = 10**-_NANO
    power = scale - _NANO
    nanos = coefficient * 10**power if power >= 0 else -(-coefficient // 10**-power)
    places = -_NANO if coefficient else -scale
    if form == "BinarySI":
        if nanos > _MOST * unit:
            nanos, places = _MOST, 0
        elif 0 < nanos < unit:
            form = "DecimalSI"
    words = list[str]()
    left = nanos
    while left:
        left, word = divmod(left, _WORD)
        words.append(str(word))
    digits = f"[{' '.join(words)}]" if words else NIL
    negative = "true" if sign == "-" and nanos else "false"
    dec = (
        f"(*inf.Dec){{unscaled:(big.Int){{neg:(bool){negative} abs:(big.nat){digits}}} "
        f"scale:(inf.Scale){places}}}"
    )
    return _amount(0, 0, "", form, dec)


def _number(value: Any) -> str:
    return str(value or 0)


_BASIC: dict[str, Dump] = {
    "string": lambda value: value or "",
    "bool": lambda value: "true" if value else "false",
    "int32": _number,
    "int64": _number,
    "v1.Time": _time,
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "v1.FieldsV1": str,
}
