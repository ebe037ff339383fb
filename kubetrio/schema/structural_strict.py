"""The careful walk: a request in document order, as Go's strict JSON decoder goes through it.

It runs only for objects that the compiled decoder could not take as they are.  It gives the same
object without what Go ignores, notes unknown and duplicate fields in the order of the text, and
raises what Go would:

- A value of the wrong JSON type is remembered, the first one wins, and decoding goes on.
- A type with its own ``UnmarshalJSON`` (times, quantities, ...) ends decoding at once, and its
  error wins over a remembered one.

A repeated member of a struct is decoded on top of the first, so structs and maps merge.
Reference: the behaviour of Go's ``encoding/json`` and ``sigs.k8s.io/json`` (KEP-2885).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubetrio.schema import structural_values as values
from kubetrio.schema.structural_shapes import SCHEMA_PROPS, Field, Shape, ShapeKind, struct
from kubetrio.schema.structural_values import WrongType, number_text
from kubetrio.wire.gojson import GoJsonError, type_word
from kubetrio.wire.goscan import Pairs
from kubetrio.wire.places import ROOT, Places

_INT_BITS = {ShapeKind.INT32: 31, ShapeKind.INT64: 63}
_PLAIN = {ShapeKind.STRING: str, ShapeKind.BOOL: bool}
_TIMES: Mapping[ShapeKind, Callable[[str], str | None]] = {
    ShapeKind.TIME: values.time,
    ShapeKind.MICRO_TIME: values.micro_time,
}
_STRING = Shape(ShapeKind.STRING, "string")
_SCHEMA = Shape(ShapeKind.STRUCT, "v1.JSONSchemaProps", struct=struct(SCHEMA_PROPS))


class Walk:
    """One object.

    Args:
        repeated: members of objects with repeated keys, as in ``gojson.Parsed``.
        strict: where messages about unknown and duplicate fields go.
    """

    def __init__(self, repeated: Mapping[int, Pairs], strict: list[str]) -> None:
        self._repeated = repeated
        self._strict = strict
        self._places = Places()
        self._known = [ROOT]  # places of the first steps of the path, as far as they were asked for
        self._wrong: WrongType | ValueError | None = None
        self._struct = ""
        self._fields: list[str] = []
        self._path: list[str] = []

    def clean(self, shape: Shape, value: Any) -> Any:
        """The value as far as Go takes it.

        Raises:
            GoJsonError: what Go's decoder returns.
        """
        try:
            cleaned = self._value(shape, value, None)
        except ValueError as error:
            raise GoJsonError(self._text(error)) from None
        if self._wrong is not None:
            raise GoJsonError(str(self._wrong))
        return cleaned

    def _text(self, error: ValueError) -> str:
        """An error's message, with the place of decoding if it is about a type."""
        if not isinstance(error, WrongType) or not self._fields:
            return str(error)
        place = ".".join((self._struct, *self._fields, *error.place))
        return (
            f"json: cannot unmarshal {error.word} into Go struct field "
            f"{place} of type {error.go_type}"
        )

    def _remember(self, error: ValueError) -> None:
        if self._wrong is None:
            self._wrong = GoJsonError(self._text(error))

    def _note(self, what: str, name: str) -> None:
        places, known = self._places, self._known
        if places.full:
            return
        for step in self._path[len(known) - 1 :]:
            known.append(places.inside(known[-1], step))
        if not places.new(known[-1], f"{what} {name}"):
            return
        path = f"{''.join(self._path)}.{name}".removeprefix(".")
        message = f'{what} field "{path}"'
        if places.take(message):
            self._strict.append(message)

    def _leave(self) -> None:
        """Come out of a member or element."""
        self._path.pop()
        if len(self._known) > len(self._path) + 1:
            self._known.pop()

    def _value(self, shape: Shape, value: Any, before: Any) -> Any:
        """A value of a shape, or ``before`` where Go leaves the target alone."""
        kind = shape.kind
        if value is None:
            return None
        if kind is ShapeKind.STRUCT:
            return self._members(shape, value, before)
        if kind is ShapeKind.MAP:
            return self._map(shape, value, before)
        if kind is ShapeKind.LIST:
            return self._list(shape, value, before)
        if kind in _PLAIN:
            if type(value) is _PLAIN[kind]:
                return value
            self._remember(WrongType(type_word(value), shape.go_type))
            return before
        if kind in _INT_BITS:
            return self._integer(shape, value, before)
        if kind is ShapeKind.DOUBLE:
            return self._double(shape, value, before)
        if kind is ShapeKind.BYTES:
            return self._bytes(shape, value, before)
        return self.special(shape, value)

    def _members(self, shape: Shape, value: Any, before: Any) -> Any:
        if type(value) is not dict or shape.struct is None:
            self._remember(WrongType(type_word(value), shape.go_type))
            return before
        fields = shape.struct.fields
        out: dict[str, Any] = before if type(before) is dict else {}
        seen: set[str] = set()
        outer = self._struct
        for name, item in self._pairs(value):
            field = fields.get(name)
            if field is None:
                self._note("unknown", name)
                continue
            if name in seen:
                self._note("duplicate", name)
            seen.add(name)
            self._struct = shape.struct.go_name
            self._fields.append(field.place)
            self._path.append(f".{name}")
            self._member(field, item, out)
            self._leave()
            self._fields.pop()
            self._struct = outer
        return out

    def _member(self, field: Field, item: Any, out: dict[str, Any]) -> None:
        if item is None:
            if field.nilable:
                out[field.name] = None
            return
        out[field.name] = self._value(field.shape, item, out.get(field.name))

    def _pairs(self, value: dict[str, Any]) -> Any:
        return self._repeated.get(id(value)) or value.items()

    def _map(self, shape: Shape, value: Any, before: Any) -> Any:
        if type(value) is not dict or shape.element is None:
            self._remember(WrongType(type_word(value), shape.go_type))
            return before
        out: dict[str, Any] = before if type(before) is dict else {}
        seen: set[str] = set()
        for key, item in self._pairs(value):
            if key in seen:
                self._note("duplicate", key)
            seen.add(key)
            self._path.append(f".{key}")
            out[key] = self._value(shape.element, item, None)
            self._leave()
        return out

    def _list(self, shape: Shape, value: Any, before: Any) -> Any:
        if type(value) is not list or shape.element is None:
            self._remember(WrongType(type_word(value), shape.go_type))
            return before
        out = []
        for index, item in enumerate(value):
            self._path.append(f"[{index}]")
            out.append(self._value(shape.element, item, None))
            self._leave()
        return out

    def _integer(self, shape: Shape, value: Any, before: Any) -> Any:
        limit = 1 << _INT_BITS[shape.kind]
        if type(value) is int and -limit <= value < limit:
            return value
        word = type_word(value)
        if word == "number":
            word = f"number {number_text(value)}"
        self._remember(WrongType(word, shape.go_type))
        return before

    def _double(self, shape: Shape, value: Any, before: Any) -> Any:
        if type_word(value) != "number":
            self._remember(WrongType(type_word(value), shape.go_type))
            return before
        try:
            return values.double(value)
        except WrongType as error:
            self._remember(error)
            return before

    def _bytes(self, shape: Shape, value: Any, before: Any) -> Any:
        if type(value) is list:
            return values.base64_of_bytes(bytes(map(self._byte, value)))
        if type(value) is not str:
            self._remember(WrongType(type_word(value), shape.go_type))
            return before
        try:
            return values.go_base64(value)
        except ValueError as error:
            self._remember(error)
            return before

    def _byte(self, value: Any) -> int:
        """An element of bytes that are written as a list; null and what is none count as zero."""
        if type(value) is int and 0 <= value < 1 << 8:
            return value
        if value is not None:
            word = type_word(value)
            if word == "number":
                word = f"number {number_text(value)}"
            self._remember(WrongType(word, "uint8"))
        return 0

    def special(self, shape: Shape, value: Any) -> Any:
        """A value with its own ``UnmarshalJSON``; errors end decoding.

        Raises:
            ValueError: the value is none of the type, in the words of that function.
        """
        kind = shape.kind
        if kind in _TIMES:
            if type(value) is not str:
                raise WrongType(type_word(value), "string")
            return _TIMES[kind](value)
        if kind is ShapeKind.QUANTITY:
            return values.canonical_quantity(value)
        if kind is ShapeKind.INT_OR_STRING:
            word = type_word(value)
            if word == "number":
                limit = 1 << 31
                if isinstance(value, float) or not -limit <= value < limit:
                    raise WrongType(f"number {number_text(value)}", "int32")
            elif word != "string":
                raise WrongType(word, "int32")
            return value
        if kind is ShapeKind.RAW:
            return values.raw(value)
        if kind is ShapeKind.FIELDS:
            return value
        return self._schema(kind, value)

    def _schema(self, kind: ShapeKind, value: Any) -> Any:
        """One of the "schema or something else" types; below them nothing is strict."""
        if type(value) is dict:
            return self._inner(_SCHEMA, value)
        if kind is ShapeKind.SCHEMA_OR_BOOL:
            if type(value) is not bool:
                raise ValueError("boolean or JSON schema expected")
            return value
        if type(value) is list and value:
            element = _STRING if kind is ShapeKind.SCHEMA_OR_STRINGS else _SCHEMA
            return self._inner(Shape(ShapeKind.LIST, f"[]{element.go_type}", element), value)
        return None

    def _inner(self, shape: Shape, value: Any) -> Any:
        """A decoder inside a decoder: its first error is told with our place before its own."""
        walk = _Inner(self._repeated, [])
        return walk.take(shape, value)


class _Inner(Walk):
    """A walk that leaves the wording of its error to the walk around it."""

    def take(self, shape: Shape, value: Any) -> Any:
        try:
            out = self._value(shape, value, None)
        except WrongType as error:
            self._placed(error)
            raise
        if self._wrong is not None:
            raise self._wrong
        return out

    def _remember(self, error: ValueError) -> None:
        if self._wrong is None:
            self._wrong = error
            if isinstance(error, WrongType):
                self._placed(error)

    def _placed(self, error: WrongType) -> None:
        error.place = (*self._fields, *error.place)
