"""From a merged document to a built-in type, as a strategic merge patch is finished.

kube-apiserver does not print and parse what such a patch made: a converter takes the values as they
are, member by member in the order of the Go struct.  It differs from a JSON decoder: it says what
it cannot convert without saying where, takes whole fractions for integers, wraps integers that are
too long, and does not look at kind and apiVersion.
Reference: the behaviour of ``runtime.DefaultUnstructuredConverter`` (apimachinery 0.36).
"""

from __future__ import annotations

import base64
import math
from typing import Any

from kubetrio.schema import structural_values as values
from kubetrio.schema.structural_shapes import Shape, ShapeKind
from kubetrio.schema.structural_strict import Walk
from kubetrio.wire.gojson import GoJsonError

_BITS = {ShapeKind.INT32: 32, ShapeKind.INT64: 64}
_GO_KINDS = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64"}
_BASIC = {
    ShapeKind.STRING: "string",
    ShapeKind.BOOL: "bool",
    ShapeKind.INT32: "int32",
    ShapeKind.INT64: "int64",
    ShapeKind.DOUBLE: "float64",
}


def _go_kind(value: Any) -> str:
    """Go's kind of the value that a JSON value is parsed to."""
    return _GO_KINDS.get(type(value), "float64")


class Restore:
    """One document.

    Args:
        strict: where messages about unknown fields go, in the order of the alphabet.
    """

    def __init__(self, strict: list[str]) -> None:
        self._strict = strict
        self._unknown: list[str] = []
        self._path: list[str] = []

    def clean(self, shape: Shape, value: Any) -> Any:
        """The value as far as the converter takes it.

        Raises:
            GoJsonError: what it says of the first member that does not fit.
        """
        try:
            cleaned = self._value(shape, value)
        except ValueError as error:
            raise GoJsonError(str(error)) from None
        self._strict.extend(sorted(self._unknown))
        return cleaned

    def _value(self, shape: Shape, value: Any) -> Any:
        kind = shape.kind
        if value is None:
            return None
        if kind in _BASIC:
            return self._basic(shape, value)
        if kind is ShapeKind.STRUCT:
            return self._members(shape, value)
        if kind is ShapeKind.MAP:
            return self._map(shape, value)
        if kind is ShapeKind.LIST:
            return self._list(shape, value)
        if kind is ShapeKind.BYTES:
            return self._bytes(value)
        if kind is ShapeKind.RAW:
            return values.reprinted(value)
        return Walk({}, []).special(shape, value)

    def _basic(self, shape: Shape, value: Any) -> Any:
        kind, given = shape.kind, _go_kind(value)
        if kind is ShapeKind.STRING and given == "string":
            return value
        if kind is ShapeKind.BOOL and given == "bool":
            return value
        number = given in ("int64", "float64")
        if number and kind is ShapeKind.DOUBLE:
            return values.double(value)
        if number and kind in _BITS and math.isfinite(value):
            whole = int(value)
            if whole == value:
                half = 1 << (_BITS[kind] - 1)
                return (whole + half) % (2 * half) - half
        # Go converts between numbers, and from integers to texts; this converter does not.
        if number and (kind in _BITS or given == "int64") and kind is not ShapeKind.BOOL:
            raise ValueError(f"cannot convert {given} to {shape.go_type}")
        raise ValueError(f"unrecognized type: {_BASIC[kind]}")

    def _members(self, shape: Shape, value: Any) -> Any:
        if type(value) is not dict or shape.struct is None:
            raise ValueError(f"cannot restore struct from: {_go_kind(value)}")
        fields = shape.struct.fields
        out: dict[str, Any] = {}
        for name, field in fields.items():
            item = value.get(name)
            if item is not None:
                self._path.append(f".{name}")
                out[name] = self._value(field.shape, item)
                self._path.pop()
        for name in value:
            if name not in fields:
                path = f"{''.join(self._path)}.{name}".removeprefix(".")
                self._unknown.append(f'unknown field "{path}"')
        return out

    def _map(self, shape: Shape, value: Any) -> Any:
        if type(value) is not dict or shape.element is None:
            raise ValueError(f"cannot restore map from {_go_kind(value)}")
        # Keys are no part of the paths in messages.
        return {key: self._value(shape.element, value[key]) for key in sorted(value)}

    def _list(self, shape: Shape, value: Any) -> Any:
        if type(value) is not list or shape.element is None:
            raise ValueError(f"cannot restore slice from {_go_kind(value)}")
        out = []
        for index, item in enumerate(value):
            self._path.append(f"[{index}]")
            out.append(self._value(shape.element, item))
            self._path.pop()
        return out

    def _bytes(self, value: Any) -> Any:
        if type(value) is str:
            try:
                return values.go_base64(value)
            except ValueError as error:
                raise ValueError(f"error decoding from json: {error}") from None
        if type(value) is not list:
            raise ValueError(f"cannot restore slice from {_go_kind(value)}")
        octet = Shape(ShapeKind.INT32, "uint8")
        numbers = (self._value(octet, item) or 0 for item in value)
        return base64.b64encode(bytes(number & 0xFF for number in numbers)).decode()
