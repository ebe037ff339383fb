"""Values as Go prints kube-apiserver's internal structs.

Messages show a refused struct as JSON of the internal type, which has no JSON names: every member
stands there under its Go name in the order of declaration, ``null`` where nothing is set.  Types
of ``meta/v1`` are the same inside and outside and print as the API does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from kubetrio.schema.rules import Json
from kubetrio.schema.structural import Report, compile_type
from kubetrio.schema.structural_shapes import (
    SCHEMA_PROPS,
    ZEROS,
    Field,
    Shape,
    ShapeKind,
    Struct,
    struct,
)

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_first_word = re.compile("[a-z0-9]+")
_INITIALISMS: Mapping[str, str] = MappingProxyType(
    {
        "api": "API",
        "ca": "CA",
        "cel": "CEL",
        "cidrs": "CIDRs",
        "csi": "CSI",
        "fc": "FC",
        "fs": "FS",
        "id": "ID",
        "ip": "IP",
        "ips": "IPs",
        "iscsi": "ISCSI",
        "json": "JSON",
        "nfs": "NFS",
        "rbd": "RBD",
        "uid": "UID",
        "url": "URL",
        "wwids": "WWIDs",
    }
)
"""First words of names that Go writes in capitals."""
_RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "DeviceAttribute.bool": "BoolValue",
        "DeviceAttribute.bools": "BoolValues",
        "DeviceAttribute.int": "IntValue",
        "DeviceAttribute.ints": "IntValues",
        "DeviceAttribute.string": "StringValue",
        "DeviceAttribute.strings": "StringValues",
        "DeviceAttribute.version": "VersionValue",
        "DeviceAttribute.versions": "VersionValues",
        "JSONSchemaProps.$ref": "Ref",
        "JSONSchemaProps.$schema": "Schema",
        "JSONSchemaProps.x-kubernetes-embedded-resource": "XEmbeddedResource",
        "JSONSchemaProps.x-kubernetes-int-or-string": "XIntOrString",
        "JSONSchemaProps.x-kubernetes-list-map-keys": "XListMapKeys",
        "JSONSchemaProps.x-kubernetes-list-type": "XListType",
        "JSONSchemaProps.x-kubernetes-map-type": "XMapType",
        "JSONSchemaProps.x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
        "JSONSchemaProps.x-kubernetes-validations": "XValidations",
    }
)
"""``Struct.member`` to a Go name that does not follow from the API's."""
_MOVED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"JSONSchemaProps": MappingProxyType({"type": "nullable"})}
)
"""Members of a struct that stand elsewhere inside than in the API, by the one they follow."""


_UNIONS: Mapping[ShapeKind, str] = MappingProxyType(
    {
        ShapeKind.SCHEMA_OR_BOOL: "Allows",
        ShapeKind.SCHEMA_OR_LIST: "JSONSchemas",
        ShapeKind.SCHEMA_OR_STRINGS: "Property",
    }
)
"""What can stand in the place of a schema, by its Go name."""


def go_struct_of(type_name: str, value: Mapping[str, Any] | None) -> Json:
    """A struct as a message shows it.

    Args:
        type_name: full name of its type in the API, such as
            ``io.k8s.api.storage.v1.VolumeAttachmentSpec``.
        value: the decoded object; None for the zero value.

    Returns:
        What ``fielderrors`` prints.

    Raises:
        KeyError: no such type.
    """
    return _members(struct(type_name), value or {})


def go_structs_of(type_name: str, values: Sequence[Mapping[str, Any]] | None) -> list[Json] | None:
    """A list of structs as a message shows it; None for a list that is not set.

    Args:
        type_name: full name of the type of an item.
        values: the decoded items.
    """
    return None if values is None else [go_struct_of(type_name, value) for value in values]


def _members(target: Struct, value: Mapping[str, Any]) -> Json:
    out: Json = {}
    moved = _MOVED.get(target.go_name, {})
    order: list[str] = []
    for name in target.fields:
        if name not in moved.values():
            order += filter(None, (name, moved.get(name)))
    for name in order:
        field = target.fields[name]
        shape = field.shape
        if shape.struct is not None and shape.struct.type_name == f"{_META}ObjectMeta":
            # embedded, so its members stand among those of the struct around it
            out.update(_decoded(shape.struct, value.get(name)))
        else:
            out[_go_name(target.go_name, name)] = _member(field, value.get(name))
    return out


@cache  # there are so many fields
def _go_name(owner: str, name: str) -> str:
    renamed = _RENAMED.get(f"{owner}.{name}")
    if renamed is not None:
        return renamed
    first = _first_word.match(name)
    word = first[0] if first else ""
    return _INITIALISMS.get(word, word[:1].upper() + word[1:]) + name[len(word) :]


def _member(field: Field, value: Any) -> Any:
    if value is not None:
        return _value(field.shape, value)
    if field.nilable:
        return None
    target = field.shape.struct
    return ZEROS.get(field.shape.kind) if target is None else _struct(target, {})


def _value(shape: Shape, value: Any) -> Any:
    if shape.struct is not None:
        return _struct(shape.struct, value)
    if shape.kind in _UNIONS:
        return _union(_UNIONS[shape.kind], value)
    element = shape.element
    if element is None:
        return value
    if shape.kind is ShapeKind.MAP:
        return {key: _value(element, value[key]) for key in sorted(value)}
    return [_value(element, item) for item in value]


def _union(other: str, value: Any) -> Json:
    """A schema or something else: a struct inside, that prints itself in the API."""
    schema = "Schema"
    if isinstance(value, Mapping):
        inner = _members(struct(SCHEMA_PROPS), value)
        return {other: True, schema: inner} if other == "Allows" else {schema: inner, other: None}
    if other == "Allows":
        return {other: value, schema: None}
    shown = value if other == "Property" else go_structs_of(SCHEMA_PROPS, value)
    return {schema: None, other: shown}


def _struct(target: Struct, value: Mapping[str, Any]) -> Json:
    return (
        _decoded(target, value) if target.type_name.startswith(_META) else _members(target, value)
    )


def _decoded(target: Struct, value: Mapping[str, Any] | None) -> Json:
    return compile_type(target.type_name).decode(dict(value or {}), Report())
