"""Numbers against the schema of a custom resource: ranges of types, bounds, factors.

Source: k8s.io/kube-openapi/pkg/validation/validate (values.go, validator.go).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

from kubetrio.gotext.numbers import is_int64
from kubetrio.machinery.fielderrors import format_value, invalid
from kubetrio.structural.causes import Out
from kubetrio.wire.gojson import Float

FRACTIONS = frozenset({float, Float})
_FORMATS = {
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}
_INT32 = range(-(1 << 31), 1 << 31)


def is_whole(value: Any) -> bool:
    """Whether a number is one that JSON calls an integer (swag.IsFloat64AJSONInteger)."""
    number = float(value)
    return math.isfinite(number) and abs(number) < (1 << 53) and number == math.trunc(number)


def number_checks(
    schema: Mapping[str, Any], types: tuple[str, ...], form: str
) -> Callable[[Any, str, Out], None]:
    """The checks of numbers of a schema."""
    kind = types[0] if len(types) == 1 and types[0] in _FORMATS else ""
    form = form if form in _FORMATS.get(kind, ()) else ""
    factor, most, least = (schema.get(key) for key in ("multipleOf", "maximum", "minimum"))
    below, above = bool(schema.get("exclusiveMaximum")), bool(schema.get("exclusiveMinimum"))

    def usable(bound: Any, prefix: str, name: str, out: Out) -> bool:
        if _in_range(bound, kind, form):
            return True
        out.plain(_out_of_range(prefix, kind, form, name))
        return False

    def check(value: Any, name: str, out: Out) -> None:
        if kind and not _in_range(value, kind, form):
            out.plain(_out_of_range("Checked", kind, form, name))
        whole = type(value) is int and is_int64(value)
        if factor is not None:
            _multiple(value, factor, whole and usable(factor, "MultipleOf", name, out), name, out)
        if least is not None:
            native = usable(least, "Minimum boundary", name, out) and whole
            bound, number = _go_int(least) if native else float(least), _as(value, native)
            if number < bound or (above and number == bound):
                relation = "greater than" if above else "greater than or equal to"
                _bound(number, relation, bound, name, out)
        if most is not None:
            native = usable(most, "Maximum boundary", name, out) and whole
            bound, number = _go_int(most) if native else float(most), _as(value, native)
            if number > bound or (below and number == bound):
                relation = "less than" if below else "less than or equal to"
                _bound(number, relation, bound, name, out)

    return check


def _go_int(number: Any) -> int:
    """A float64 as an int64: what is out of range becomes the least one, as on amd64."""
    whole = int(number)
    return whole if is_int64(whole) else -(1 << 63)


def _as(value: Any, native: bool) -> int | float:
    """A value as it is compared and told: an int64 with one, else as a float64."""
    return int(value) if native else float(value)


def _bound(value: Any, said: str, bound: Any, name: str, out: Out) -> None:
    detail = f"{name} in body should be {said} {format_value(bound)}"
    out.append(invalid(out.path(name), value, detail))


def _multiple(value: Any, factor: Any, native: bool, name: str, out: Out) -> None:
    used = _go_int(factor) if native else float(factor)
    if used <= 0:
        detail = f"factor MultipleOf declared for {name} must be positive: {format_value(used)}"
        out.append(invalid(out.path(name), used, detail))
    elif not _divides(value, used, native):
        detail = f"{name} in body should be a multiple of {format_value(used)}"
        out.append(invalid(out.path(name), _as(value, native), detail))


def _divides(value: Any, factor: Any, native: bool) -> bool:
    if native:
        return bool(value % factor == 0)
    try:
        return is_whole(1 / factor * value if factor < 1 else float(value) / factor)
    except OverflowError:
        return False


def _in_range(value: Any, kind: str, form: str) -> bool:
    if kind == "integer":
        if type(value) in FRACTIONS:
            number = float(value)
            if not math.isfinite(number) or number != math.trunc(number):
                return False
            value = int(number)
        return value in _INT32 if form == "int32" else is_int64(value)
    if form == "float":
        try:
            struct.pack("<f", float(value))
        except OverflowError:
            return False
    return True


def _out_of_range(prefix: str, kind: str, form: str, name: str) -> str:
    text = f"with format {form}" if form else "(default format)"
    return f"{prefix} value must be of type {kind} {text} in {name}"
