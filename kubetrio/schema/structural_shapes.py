"""What the Go structs of built-in types look like to Go's JSON decoder.

A shape joins two sources: the schema of a type (which JSON types are meant) and the rows of its
protobuf message (order of the Go struct, pointers, omitempty).  Members of embedded structs are
lifted, as Go does.  Everything is built when first asked for: recursive types need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, cached_property
from typing import Any

from kubetrio.schema import builtin
from kubetrio.schema.structural_gonames import (
    LIST_TYPES,
    MAP_TYPES,
    NAMED_LISTS,
    SCALAR_TYPES,
)

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
SCHEMA_PROPS = f"{_EXTENSIONS}JSONSchemaProps"


class ShapeKind(Enum):
    """How a value is decoded."""

    STRUCT = auto()
    MAP = auto()
    LIST = auto()
    STRING = auto()
    BOOL = auto()
    INT32 = auto()
    INT64 = auto()
    DOUBLE = auto()
    BYTES = auto()
    TIME = auto()
    MICRO_TIME = auto()
    QUANTITY = auto()
    INT_OR_STRING = auto()
    RAW = auto()
    FIELDS = auto()
    SCHEMA_OR_BOOL = auto()
    SCHEMA_OR_LIST = auto()
    SCHEMA_OR_STRINGS = auto()


# Types with their own UnmarshalJSON.
_SPECIAL = {
    f"{_META}Time": ShapeKind.TIME,
    f"{_META}MicroTime": ShapeKind.MICRO_TIME,
    f"{_META}FieldsV1": ShapeKind.FIELDS,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ShapeKind.QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ShapeKind.INT_OR_STRING,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ShapeKind.RAW,
    f"{_EXTENSIONS}JSON": ShapeKind.RAW,
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": ShapeKind.SCHEMA_OR_BOOL,
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": ShapeKind.SCHEMA_OR_LIST,
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": ShapeKind.SCHEMA_OR_STRINGS,
}
_SCALARS = {
    ("string", ""): (ShapeKind.STRING, "string"),
    ("string", "byte"): (ShapeKind.BYTES, "[]uint8"),
    ("boolean", ""): (ShapeKind.BOOL, "bool"),
    ("integer", "int32"): (ShapeKind.INT32, "int32"),
    ("integer", "int64"): (ShapeKind.INT64, "int64"),
    ("number", "double"): (ShapeKind.DOUBLE, "float64"),
}
ZEROS: Mapping[ShapeKind, Any] = {
    ShapeKind.STRING: "",
    ShapeKind.BOOL: False,
    ShapeKind.INT32: 0,
    ShapeKind.INT64: 0,
    ShapeKind.DOUBLE: 0,
    ShapeKind.QUANTITY: "0",
    ShapeKind.INT_OR_STRING: 0,
}
"""What Go prints for the zero value of a scalar."""
# Zero is nil for these, as it is for every pointer.
_NILABLE = frozenset({ShapeKind.MAP, ShapeKind.LIST, ShapeKind.BYTES})


_TOLD = frozenset(
    {
        "EphemeralContainer.ports",
        "EphemeralContainer.resizePolicy",
        "EphemeralContainer.restartPolicyRules",
        "HPAScalingRules.policies",
        "JSONSchemaProps.dependencies",
    }
)
"""Lists and maps that kube-apiserver refuses though they are empty, as ``Struct.member``.

Go reads ``[]`` as a list and prints nothing for it.  Nowhere but on the way to a refusal does this
matter, so only these are kept until they are refused.
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """One Go type.

    Args:
        kind: how it is decoded.
        go_type: its name in messages, such as ``map[string]string``.
        element: of a list or map.
        struct: of a struct.
    """

    kind: ShapeKind
    go_type: str
    element: Shape | None = None
    struct: Struct | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a Go struct.

    Args:
        name: JSON name.
        shape: type, without the pointer.
        pointer: whether it is a pointer, so that a zero that is given is kept.
        omit: whether Go leaves it out when it is empty (pointers, numbers, texts, lists, maps) or,
            for structs, zero (``omitzero``).
        place: the name behind those of the embedded structs that it comes from.
        told: whether a list that is given and empty is told from none.
    """

    name: str
    shape: Shape
    pointer: bool
    omit: bool
    place: str
    told: bool = False

    @property
    def nilable(self) -> bool:
        """Whether null is a value of its own."""
        return self.pointer or self.shape.kind in _NILABLE


class Struct:
    """A Go struct.

    Args:
        type_name: full name such as ``io.k8s.api.core.v1.Pod``.
    """

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name
        self.go_name = type_name.rpartition(".")[2]

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Members by JSON name, in the order in which Go prints them."""
        schema = builtin.type_schema(self.type_name)
        properties: dict[str, Any] = schema.get("properties", {})
        required = frozenset(schema.get("required", ()))
        facts = _rows(self.type_name)
        rows = {name: flags for name, flags, _ in facts if name in properties}
        places = {name: f"{within}{name}" for name, _, within in facts}
        # TypeMeta is not part of messages.
        first = [name for name in ("kind", "apiVersion") if name in properties and name not in rows]
        rest = [name for name in properties if name not in rows and name not in first]
        order = [*first, *rows, *rest]
        return {
            name: self._field(
                name,
                properties[name],
                rows.get(name, "?"),
                name in required,
                places.get(name, name),
            )
            for name in order
        }

    def _field(
        self, name: str, schema: dict[str, Any], flags: str, required: bool, place: str
    ) -> Field:
        shape = self._shape(name, schema)
        pointer = "p" in flags
        omit = not required if "?" in flags else "e" in flags
        if not pointer and shape.kind in _VALUE_STRUCTS:
            omit = "z" in flags  # omitempty means nothing for a struct
        told = f"{self.go_name}.{name}" in _TOLD
        return Field(name, shape, pointer, omit, place, told)

    def _shape(self, name: str, schema: dict[str, Any]) -> Shape:
        shape = shape_of(schema)
        group, package = self.type_name.split(".")[-3:-1]
        named = f"{self.go_name}.{name}"
        text = SCALAR_TYPES.get(f"{group}.{package}.{named}") or SCALAR_TYPES.get(named)
        if shape.kind is ShapeKind.STRING and text:
            return Shape(shape.kind, _qualified(package, text))
        if shape.kind is ShapeKind.LIST and named in LIST_TYPES:
            element = _qualified(package, LIST_TYPES[named])
            return Shape(ShapeKind.LIST, f"[]{element}", Shape(ShapeKind.STRING, element))
        if shape.kind is ShapeKind.LIST and named in NAMED_LISTS:
            return replace(shape, go_type=_qualified(package, NAMED_LISTS[named]))
        if shape.kind is ShapeKind.MAP and named in MAP_TYPES and shape.element:
            go_type, of_element = MAP_TYPES[named]
            element_shape = replace(shape.element, go_type=of_element or shape.element.go_type)
            return Shape(ShapeKind.MAP, go_type, element_shape)
        if shape.go_type == "map[string]resource.Quantity" and not package.startswith("v1beta"):
            return Shape(shape.kind, "v1.ResourceList", shape.element)
        return shape


_VALUE_STRUCTS = frozenset(
    {
        ShapeKind.STRUCT,
        ShapeKind.TIME,
        ShapeKind.MICRO_TIME,
        ShapeKind.QUANTITY,
        ShapeKind.INT_OR_STRING,
        ShapeKind.RAW,
        ShapeKind.FIELDS,
    }
)


def _qualified(package: str, name: str) -> str:
    return name if "." in name else f"{package}.{name}"


def _rows(type_name: str) -> list[tuple[str, str, str]]:
    """JSON names, flags and embedded structs of a message's fields; empty without message."""
    # Protobuf packages cannot have a dash: io.k8s.apiextensions-apiserver...
    return _message_rows(builtin.message_name(type_name))


def _message_rows(message: str, within: str = "") -> list[tuple[str, str, str]]:
    try:
        rows = builtin.message(message)
    except KeyError:
        return []
    out: list[tuple[str, str, str]] = []
    for _, name, kind, label, flags, *json_name in rows:
        if "i" in flags:
            out.extend(_message_rows(kind, f"{within}{kind.rpartition('.')[2]}."))
        else:
            # A list without a tag of its own is never omitted.
            plain = flags.replace("?", "") if label == "rep" else flags
            out.append((json_name[0] if json_name else name, plain, within))
    return out


@cache
def struct(type_name: str) -> Struct:
    """The struct of a type; its members are looked up when first used."""
    return Struct(type_name)


@cache
def _named(type_name: str) -> Shape:
    _, package, name = type_name.rsplit(".", 2)
    go_type = f"{package}.{name}"
    special = _SPECIAL.get(type_name)
    if special is not None:
        return Shape(special, go_type)
    schema = builtin.type_schema(type_name)
    if schema.get("type", "object") != "object":
        inner = shape_of(schema)
        return Shape(inner.kind, go_type, inner.element)
    return Shape(ShapeKind.STRUCT, go_type, struct=struct(type_name))


def shape_of(schema: dict[str, Any]) -> Shape:
    """The shape a schema describes.

    Raises:
        KeyError: a reference to an unknown type, or a scalar that no Go type has.
    """
    reference = schema.get("$ref")
    if reference is not None:
        return _named(reference)
    kind = schema.get("type", "object")
    if kind == "array":
        element = shape_of(schema["items"])
        return Shape(ShapeKind.LIST, f"[]{element.go_type}", element)
    if kind == "object":
        element = shape_of(schema["additionalProperties"])
        return Shape(ShapeKind.MAP, f"map[string]{element.go_type}", element)
    decoded, go_type = _SCALARS[kind, schema.get("format", "")]
    return Shape(decoded, go_type)
