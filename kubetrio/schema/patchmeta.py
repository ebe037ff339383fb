"""TypeSchema values from schemas: what the OpenAPI extensions say about merging.

Rules (KEP-555, "Server-Side Apply" in the Kubernetes documentation): a list without a list type
follows its patch strategy and is atomic without one; a map is granular unless it says otherwise;
an object that declares neither members nor ``additionalProperties`` is free-form; a reference may
carry extensions of its own, which win over those of the type it names.  ``RawExtension`` is owned
as a whole, whatever is in it (kube-openapi, ``ToSchemaFromOpenAPI``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, cast

from kubetrio.machinery.typeschema import (
    DEDUCED,
    OPAQUE,
    ListType,
    Scalar,
    TypeKind,
    TypeSchema,
)
from kubetrio.schema import builtin, structural

Json = dict[str, Any]

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_LIST_TYPE = "x-kubernetes-list-type"
_LIST_MAP_KEYS = "x-kubernetes-list-map-keys"
_MAP_TYPE = "x-kubernetes-map-type"
_PATCH_STRATEGY = "x-kubernetes-patch-strategy"
_PATCH_MERGE_KEY = "x-kubernetes-patch-merge-key"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_SCALARS: Mapping[str, Scalar] = {
    "integer": "numeric",
    "number": "numeric",
    "boolean": "boolean",
}


@cache
def for_type(type_name: str) -> TypeSchema:
    """The merge type of a built-in type, such as ``io.k8s.api.core.v1.Pod``; cached.

    Raises:
        KeyError: no such type.
    """
    return from_schema(builtin.type_schema(type_name), go_name=_go_name(type_name))


@cache
def empty_object(type_name: str) -> Json:
    """What kube-apiserver prints for an object of a type with nothing set; not to be changed.

    A create is tracked as a change from this object: members that Go always prints (``spec: {}``)
    are there before, so that their parts are owned and they are not.

    Raises:
        KeyError: no such type.
    """
    return structural.compile_type(type_name).decode({}, structural.Report())


def for_custom(schema: Json) -> TypeSchema:
    """The merge type of a custom resource from ``openAPIV3Schema``; keep the result.

    ``apiVersion``, ``kind`` and ``metadata`` are those of every object, whatever the schema says.
    """
    properties = {
        **schema.get("properties", {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": _OBJECT_META},
    }
    return from_schema({**schema, "type": "object", "properties": properties})


def _go_name(type_name: str) -> str:
    return type_name.rpartition(".")[2]


def from_schema(schema: Json, *, go_name: str = "", preserves: bool = False) -> TypeSchema:
    """The merge type of any schema (OpenAPI v3 or structural); parts are made when asked for.

    Args:
        schema: it must not change afterwards.  ``$ref`` names a built-in type, with or without the
            path to the place of schemas; ``allOf`` with one reference means that reference.
        go_name: Go's name of the type that the schema is of.
        preserves: whether a schema around this one keeps members that are not declared: then those
            below do too.
    """
    wrapped = schema.get("allOf")
    if "$ref" not in schema and "type" not in schema and wrapped and "$ref" in wrapped[0]:
        schema = {**schema, "$ref": wrapped[0]["$ref"]}
    reference = schema.get("$ref")
    if reference is not None:
        type_name = reference.rpartition("/")[2]
        if type_name == _RAW_EXTENSION:
            strategy, merge_key, _ = _patch(schema)
            return replace(OPAQUE, patch_strategy=strategy, patch_merge_key=merge_key)
        target = builtin.type_schema(type_name)
        extra = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        return from_schema({**target, **extra}, go_name=_go_name(type_name))
    preserves = preserves or bool(schema.get(_PRESERVE))
    form = schema.get("type", "")
    strategy, merge_key, default = _patch(schema)
    if form == "array":
        list_type, keys = _list_type(schema)
        items = schema.get("items", {})
        return TypeSchema(
            kind=TypeKind.LIST,
            list_type=list_type,
            keys=keys,
            patch_strategy=strategy,
            patch_merge_key=merge_key,
            default=default,
            load_element=lambda: from_schema(items, preserves=preserves),
        )
    if form == "object" or schema.get("properties"):
        return TypeSchema(
            kind=TypeKind.MAP,
            map_type="atomic" if schema.get(_MAP_TYPE) == "atomic" else "granular",
            patch_strategy=strategy,
            patch_merge_key=merge_key,
            default=default,
            go_name=go_name,
            load_fields=lambda: _fields(schema, preserves),
            load_element=lambda: _undeclared(schema, preserves),
        )
    scalar = _scalar(schema, form)
    if scalar is None:
        return DEDUCED
    return TypeSchema(
        kind=TypeKind.SCALAR,
        scalar=scalar,
        patch_strategy=strategy,
        patch_merge_key=merge_key,
        default=default,
    )


def _patch(schema: Json) -> tuple[frozenset[str], str, Any]:
    strategy = schema.get(_PATCH_STRATEGY)
    return (
        frozenset(strategy.split(",")) if strategy else frozenset(),
        schema.get(_PATCH_MERGE_KEY, ""),
        schema.get("default"),
    )


def _list_type(schema: Json) -> tuple[ListType, tuple[str, ...]]:
    declared = schema.get(_LIST_TYPE)
    if declared == "map":
        return "map", tuple(schema.get(_LIST_MAP_KEYS, ()))
    if declared is not None:
        return cast("ListType", declared), ()
    if schema.get(_PATCH_STRATEGY) in ("merge", "merge,retainKeys"):
        key = schema.get(_PATCH_MERGE_KEY)
        return ("map", (key,)) if key else ("set", ())
    return "atomic", ()


def _fields(schema: Json, preserves: bool) -> Mapping[str, TypeSchema]:
    declared = {
        name: from_schema(part, preserves=preserves)
        for name, part in schema.get("properties", {}).items()
    }
    if schema.get(_EMBEDDED):
        for name in ("apiVersion", "kind"):
            declared.setdefault(name, from_schema({"type": "string"}))
        declared["metadata"] = for_type(_OBJECT_META)
    return declared


def _undeclared(schema: Json, preserves: bool) -> TypeSchema | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return from_schema(additional, preserves=preserves)
    if additional is True:
        return DEDUCED
    if additional is None and (preserves or not schema.get("properties")):
        return DEDUCED
    return None


def _scalar(schema: Json, form: str) -> Scalar | None:
    if form == "string":
        return "string" if schema.get("format", "") in ("", "byte") else "untyped"
    if form in _SCALARS:
        return _SCALARS[form]
    alternatives = schema.get("oneOf") or schema.get("anyOf") or ()
    if schema.get(_INT_OR_STRING) or any("type" in choice for choice in alternatives):
        return "untyped"
    return None
