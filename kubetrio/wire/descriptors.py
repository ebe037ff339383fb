"""What the codecs know about a type: its fields, and classes of the protobuf runtime made of them.

Rows of facts come from outside (a function from message name to rows), so this package depends on
no registry.  Classes are made for the closure of one type when that type is first asked for: all
messages of the API together are over a thousand, a Pod needs some two hundred.

Three liberties are taken with the ``.proto`` files, none of which shows on the wire:

- a message is called by its full name with ``_`` for ``.`` and has no package, so that one file of
  descriptors can hold messages of several packages;
- everything is proto2, because presence of a zero is significant for pointers in Go;
- a map is a repeated message of key and value.  The runtime's own maps are sorted for printing by
  a rule other than Go's (a key goes after the longer keys it is a prefix of), and hide null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Rows = Callable[[str], Sequence[Sequence[Any]]]
"""Message name to rows ``[number, name, type, label, flags, JSON name where different]``;
raises KeyError for a message that does not exist."""

META = "k8s.io.apimachinery.pkg.apis.meta.v1."
TIME = f"{META}Time"
MICRO_TIME = f"{META}MicroTime"
FIELDS_V1 = f"{META}FieldsV1"
QUANTITY = "k8s.io.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "k8s.io.apimachinery.pkg.util.intstr.IntOrString"
RAW_EXTENSION = "k8s.io.apimachinery.pkg.runtime.RawExtension"
EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1."
JSON_VALUE = f"{EXTENSIONS}JSON"

ZEROS: Mapping[str, Any] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "double": 0.0,
    "bytes": b"",
}
"""Scalar types of the API and their zeros."""

BinaryShape = Mapping[str, Any]
"""Where a type has bytes (base64 in JSON): member name to True or to the shape below it.  Items of
a list have the shape of the member, values of a map are found under ``"*"``."""


def message_name(type_name: str) -> str:
    """Protobuf name of a type given by its schema name (``io.k8s.…``) or its protobuf name."""
    if type_name.startswith("io.k8s."):
        type_name = f"k8s.io.{type_name[7:]}"
    return type_name.replace("-", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a message.

    Args:
        number: field number.
        name: name in the protobuf message.
        json: name of the JSON member; empty for a struct whose members are its parent's.
        type: scalar type or message name; of a map, that of its values.
        repeated: a list.
        map: a map from strings.
        value: a Go value, written even if zero; otherwise a pointer, list or map.
        omitempty: left out of JSON if empty.
        omitzero: left out of JSON if zero, for structs too.
    """

    number: int
    name: str
    json: str
    type: str
    repeated: bool
    map: bool
    value: bool
    omitempty: bool
    omitzero: bool

    @property
    def scalar(self) -> bool:
        """Whether the type is no message."""
        return self.type in ZEROS


def _field(row: Sequence[Any]) -> Field:
    number, name, type_, label, flags, *rest = row
    is_map = label == "map"
    if is_map:
        type_ = type_.removeprefix("map<string,").removesuffix(">")
    return Field(
        number=number,
        name=name,
        json=rest[0] if rest else name,
        type=type_,
        repeated=label == "rep",
        map=is_map,
        # No tag ("?") means an alias of a type elsewhere, whose fields are plain values.
        value=label == "opt" and ("v" in flags or "?" in flags),
        omitempty="e" in flags or "z" in flags,
        omitzero="z" in flags,
    )


class Descriptors:
    """Fields and runtime classes of messages, made when asked for.

    Args:
        rows: where the facts come from.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._fields: dict[str, tuple[Field, ...]] = {}
        self._files: dict[str, str] = {}
        self._classes: dict[str, Any] = {}

    def fields(self, message: str) -> tuple[Field, ...]:
        """Fields of a message in the order of the Go struct, which is that of its JSON.

        Raises:
            KeyError: no such message.
        """
        known = self._fields.get(message)
        if known is None:
            known = self._fields[message] = tuple(_field(row) for row in self._rows(message))
        return known

    def slice_type(self, message: str) -> str:
        """Item type of a message that is a named list in Go and an array in JSON, or empty."""
        rows = self._rows(message)
        if len(rows) == 1 and list(rows[0][1:2]) == ["items"] and list(rows[0][3:]) == ["rep", "?"]:
            return str(rows[0][2])
        return ""

    def closure(self, message: str) -> Iterator[str]:
        """The message and all it can contain, each once."""
        waiting, seen = [message], {message}
        while waiting:
            name = waiting.pop()
            yield name
            for field in self.fields(name):
                if not field.scalar and field.type not in seen:
                    seen.add(field.type)
                    waiting.append(field.type)

    def binary_shape(self, message: str) -> BinaryShape:
        """Where objects of a type have bytes; empty for most.

        Bytes inside a type that contains itself are reported down to its first repetition.

        Raises:
            KeyError: no such message.
        """
        return self._shape(message, ())

    def _shape(self, message: str, above: tuple[str, ...]) -> BinaryShape:
        shape: dict[str, Any] = {}
        if message in above or message in _JSON_INSIDE:
            return shape
        for field in self.fields(message):
            below: Any = field.type == "bytes"
            if not field.scalar:
                below = self._shape(field.type, (*above, message))
            if below and not field.json:
                shape.update(below)
            elif below:
                shape[field.json] = {"*": below} if field.map else below
        return shape

    @cached_property
    def _pool(self) -> Any:
        from google.protobuf.descriptor_pool import DescriptorPool

        return DescriptorPool()

    def message_class(self, message: str) -> Any:
        """The runtime's class for a message.

        Raises:
            KeyError: no such message.
        """
        known = self._classes.get(message)
        if known is None:
            from google.protobuf.message_factory import GetMessageClass

            if message not in self._files:
                self._describe(message)
            descriptor = self._pool.FindMessageTypeByName(_identifier(message))
            known = self._classes[message] = GetMessageClass(descriptor)
        return known

    def _describe(self, message: str) -> None:
        """Add a file with the part of the closure that is not described yet.

        What is described is so with its whole closure, hence files never need each other.
        """
        from google.protobuf.descriptor_pb2 import FileDescriptorProto

        file = FileDescriptorProto(name=message, syntax="proto2")
        needed = set()
        for name in self.closure(message):
            if name in self._files:
                needed.add(self._files[name])
            else:
                self._files[name] = message
                self._add_message(file, name)
        file.dependency.extend(sorted(needed))
        self._pool.AddSerializedFile(file.SerializeToString())

    def _add_message(self, file: Any, message: str) -> None:
        described = file.message_type.add(name=_identifier(message))
        for field in self.fields(message):
            if field.map:
                entry = described.nested_type.add(name=f"_{field.name}")
                _add_field(entry, "key", 1, "string")
                _add_field(entry, "value", 2, field.type)
                nested = f".{described.name}.{entry.name}"
                _add_field(described, field.name, field.number, nested, repeated=True)
            else:
                _add_field(described, field.name, field.number, field.type, repeated=field.repeated)


# Messages whose bytes are JSON text, embedded as such.
_JSON_INSIDE = frozenset((FIELDS_V1, RAW_EXTENSION, JSON_VALUE))
# Numbers of google.protobuf.FieldDescriptorProto.Type.
_SCALAR_TYPES = {"double": 1, "int64": 3, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
_MESSAGE_TYPE = 11


def _identifier(message: str) -> str:
    return message.replace(".", "_")


def _add_field(
    described: Any, name: str, number: int, type_: str, *, repeated: bool = False
) -> None:
    field = described.field.add(name=name, number=number, label=3 if repeated else 1)
    if type_ in _SCALAR_TYPES:
        field.type = _SCALAR_TYPES[type_]
    else:
        field.type = _MESSAGE_TYPE
        field.type_name = type_ if type_.startswith(".") else f".{_identifier(type_)}"
