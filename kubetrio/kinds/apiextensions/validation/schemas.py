"""Schemas in CustomResourceDefinitions.

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes
documentation; KEP-2876 (validation rules).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kubetrio.kinds.apiextensions.validation.schemadefaults import defaults
from kubetrio.kinds.apiextensions.validation.structuralschemas import (
    EMBEDDED,
    NILABLE,
    PRESERVE,
    structural,
    unsupported,
)
from kubetrio.kinds.common.checks import Causes, Json
from kubetrio.kinds.common.gostructs import go_struct_of
from kubetrio.machinery.fielderrors import forbidden, invalid, not_supported, required
from kubetrio.machinery.status import Cause
from kubetrio.structural.schemapaths import NoField, find_field

CompileRules = Callable[["SchemaRules"], Sequence[Cause]]
"""A compiler of the rules of a schema: to what is wrong with them."""

_SCHEMA_TYPE = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = frozenset({"metadata", "kind", "apiVersion"})
_LIST_TYPE = "x-kubernetes-list-type"
_MAP_TYPE = "x-kubernetes-map-type"
_MAP_KEYS = "x-kubernetes-list-map-keys"
_REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_ATOMIC_ITEM = "must be atomic as item of a list with x-kubernetes-list-type=set"
_MUST_BE_MAP = "must be map if x-kubernetes-list-map-keys is non-empty"
_NOT_EMPTY = "must be non-empty if specified"
_NO_BREAKS = "must not contain line breaks"
_UNIQUE_ITEMS = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
_newline = re.compile(r"[\n\r]")
_ROOT_MEMBERS = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
    "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties "
    "ExternalDocs Example XPreserveUnknownFields XValidations"
)
_AT_ROOT = frozenset(
    {name[:1].lower() + name[1:] for name in _ROOT_MEMBERS.split()}
    | {PRESERVE, "x-kubernetes-validations"}
)
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_BEFORE_TYPE = ("id", "$schema", "$ref")
"""Members that are not allowed at the root and stand before the type."""
_POINTERS = frozenset({"additionalItems", "dependencies", "$ref"})
"""Members that are refused when they are there, though empty."""


@dataclass(frozen=True, slots=True)
class SchemaRules:
    """The rules of a schema that is structural.

    Args:
        schema: its root.
        path: its path.
        stored: whether the schema is stored already.
        faulty: identities of its parts in which something else is wrong, at any depth: their rules
            may have no types.
    """

    schema: Json
    path: str
    stored: bool
    faulty: Container[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a schema stands.

    Args:
        faulty: receives identities of schemas in which something is wrong.
        no_defaults: why defaults are refused, empty when they are not.
        in_meta: whether it is the metadata of some object.
    """

    faulty: set[int]
    no_defaults: str = ""
    in_meta: bool = False


def no_rules(_: SchemaRules) -> Sequence[Cause]:
    """The compiler of rules that compiles nothing."""
    return ()


def definition_schema(
    validation: Mapping[str, Any],
    path: str,
    out: Causes,
    *,
    status: bool,
    compiler: CompileRules = no_rules,
    stored: bool = False,
) -> None:
    """Check the schema of a definition.

    Args:
        validation: with ``openAPIV3Schema``.
        path: its path.
        out: receives causes.
        status: whether the subresource ``status`` is on.
        compiler: compiles the rules of a schema that is good.
        stored: whether the schema is stored already.
    """
    schema: Json | None = validation.get("openAPIV3Schema")
    if schema is None:
        return
    where = f"{path}.openAPIV3Schema"
    before = len(out)
    if status:
        _root_with_status(schema, where, out)
    if schema.get("nullable"):
        out.append(forbidden(f"{where}.nullable", "nullable cannot be true at the root"))
    refused = unsupported(schema)
    causes: Causes = []
    if not refused:
        structural(schema, where, causes)
        if not causes:
            defaults(schema, where, causes)
        out.extend(causes)
    faulty: set[int] = set()
    _schema(schema, where, out, _Place(faulty), root=True)
    if not refused and not causes:
        out.extend(compiler(SchemaRules(schema, where, stored, faulty)))
    elif refused and len(out) == before:
        out.append(invalid(where, "", refused))


def _root_with_status(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    kind = schema.get("type") or ""
    if kind and kind != "object" and not any(_is_set(schema, name) for name in _BEFORE_TYPE):
        detail = (
            'only "object" is allowed as the type at the root of the schema if the status '
            "subresource is enabled"
        )
        out.append(invalid(f"{path}.type", kind, detail))
        return
    if any(name not in _AT_ROOT and _is_set(schema, name) for name in schema):
        detail = (
            f"only [{_ROOT_MEMBERS}] fields are allowed at the root of the schema if the status "
            "subresource is enabled"
        )
        out.append(invalid(path, go_struct_of(_SCHEMA_TYPE, schema), detail))


def _is_set(schema: Mapping[str, Any], name: str) -> bool:
    value = schema.get(name)
    return bool(value) or (value is not None and name in NILABLE)


def _schema(
    schema: Mapping[str, Any], path: str, out: Causes, place: _Place, *, root: bool = False
) -> None:
    before = len(out)
    _members(schema, path, out, place)
    if schema.get("uniqueItems"):
        out.append(forbidden(f"{path}.uniqueItems", _UNIQUE_ITEMS))
    _object_parts(schema, path, out, place, root=root)
    _other_parts(schema, path, out, place)
    if schema.get(PRESERVE) is False:
        out.append(invalid(f"{path}.{PRESERVE}", False, "must be true or undefined"))
    _map_type(schema, path, out)
    _list_type(schema, path, out)
    _map_keys(schema, path, out)
    _keyed_items(schema, path, out)
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        _rule(schema, rule, f"{path}.x-kubernetes-validations[{index}]", out)
    if len(out) > before:
        place.faulty.add(id(schema))


def _members(schema: Mapping[str, Any], path: str, out: Causes, place: _Place) -> None:
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        out.append(not_supported(f"{path}.type", kind, _TYPES, named=False))
    if schema.get("default") is not None and place.no_defaults:
        out.append(forbidden(f"{path}.default", f"must not be set {place.no_defaults}"))
    for name in _UNSUPPORTED:
        value = schema.get(name)
        if value or (name in _POINTERS and value is not None):
            out.append(forbidden(f"{path}.{name}", f"{name} is not supported"))
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        out.append(forbidden(f"{path}.type", detail))
    if isinstance(schema.get("items"), list):
        detail = "items must be a schema object and not an array"
        out.append(forbidden(f"{path}.items", detail))
    if place.in_meta and schema.get(EMBEDDED):
        detail = "must not be used inside of resource meta"
        out.append(forbidden(f"{path}.{EMBEDDED}", detail))


def _object_parts(
    schema: Mapping[str, Any], path: str, out: Causes, place: _Place, *, root: bool
) -> None:
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    if others is not None:
        where = f"{path}.additionalProperties"
        if properties and others is not True:
            detail = "additionalProperties and properties are mutual exclusive"
            out.append(forbidden(where, detail))
        if isinstance(others, dict):
            inside = place
            if place.in_meta:
                reason = "inside additionalProperties applying to object metadata"
                inside = replace(place, no_defaults=reason)
            _schema(others, where, out, inside)
    for name, inner in properties.items():
        inside = place
        if name in _META and (root or schema.get(EMBEDDED)):
            reason = f"in top-level {name}" if root else place.no_defaults
            inside = replace(place, no_defaults=reason, in_meta=True)
        _schema(inner, f"{path}.properties[{name}]", out, inside)


def _other_parts(schema: Mapping[str, Any], path: str, out: Causes, place: _Place) -> None:
    inner = schema.get("not")
    if inner is not None:
        _schema(inner, f"{path}.not", out, place)
    for name in ("allOf", "oneOf", "anyOf"):
        for index, inner in enumerate(schema.get(name) or ()):
            _schema(inner, f"{path}.{name}[{index}]", out, place)
    for name, inner in (schema.get("definitions") or {}).items():
        _schema(inner, f"{path}.definitions[{name}]", out, place)
    items = schema.get("items")
    if isinstance(items, dict):
        _schema(items, f"{path}.items", out, place)
    for index, inner in enumerate(items if isinstance(items, list) else ()):
        _schema(inner, f"{path}.items[{index}]", out, place)
    for name, inner in (schema.get("dependencies") or {}).items():
        if isinstance(inner, dict):
            _schema(inner, f"{path}.dependencies[{name}]", out, place)


# --- lists and maps ---


def _wrong_type(
    schema: Mapping[str, Any], path: str, out: Causes, wanted: str, extension: str
) -> bool:
    kind = schema.get("type") or ""
    if kind == wanted:
        return False
    detail = f"must be {wanted} if {extension} is specified"
    where = f"{path}.type"
    out.append(invalid(where, kind, detail) if kind else required(where, detail))
    return True


def _map_type(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    kind = schema.get(_MAP_TYPE)
    if kind is None:
        return
    _wrong_type(schema, path, out, "object", _MAP_TYPE)
    if kind not in ("atomic", "granular"):
        out.append(not_supported(f"{path}.{_MAP_TYPE}", kind, ("atomic", "granular"), named=False))


def _list_type(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    kind, items = schema.get(_LIST_TYPE), schema.get("items")
    if kind is None:
        return
    if not _wrong_type(schema, path, out, "array", _LIST_TYPE) and kind == "set":
        _set_items(items if isinstance(items, dict) else {}, f"{path}.items", out)
    if kind not in ("atomic", "set", "map"):
        out.append(
            not_supported(f"{path}.{_LIST_TYPE}", kind, ("atomic", "set", "map"), named=False)
        )


def _set_items(items: Mapping[str, Any], path: str, out: Causes) -> None:
    kind, listed = items.get("type"), items.get(_LIST_TYPE)
    if kind == "array" and listed not in (None, "atomic"):
        out.append(invalid(f"{path}.{_LIST_TYPE}", listed, _ATOMIC_ITEM))
    if kind == "object" and items.get(_MAP_TYPE) != "atomic":
        # what is printed is the type of the list, as kube-apiserver does
        out.append(invalid(f"{path}.{_MAP_TYPE}", listed, _ATOMIC_ITEM))


def _map_keys(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    keys: list[str] = list(schema.get(_MAP_KEYS) or ())
    kind, items = schema.get(_LIST_TYPE), schema.get("items")
    if keys and kind is None:
        out.append(required(f"{path}.{_LIST_TYPE}", _MUST_BE_MAP))
    elif keys and kind != "map":
        out.append(invalid(f"{path}.{_LIST_TYPE}", kind, _MUST_BE_MAP))
    if kind != "map":
        return
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        out.append(required(f"{path}.{_MAP_KEYS}", detail))
    where = f"{path}.items"
    if items is None:
        out.append(required(where, "must have a schema if x-kubernetes-list-type is map"))
    elif isinstance(items, list):
        detail = "must only have a single schema if x-kubernetes-list-type is map"
        out.append(invalid(where, items, detail))
    elif items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        out.append(invalid(f"{where}.type", items.get("type") or "", detail))
    else:
        _known_keys(items, keys, path, out)


def _known_keys(items: Mapping[str, Any], keys: list[str], path: str, out: Causes) -> None:
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        inner = properties.get(key)
        if inner is None:
            detail = "entries must all be names of item properties"
            out.append(invalid(f"{path}.{_MAP_KEYS}", keys, detail))
        elif inner.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            where = f"{path}.items.properties[{key}].type"
            out.append(invalid(where, items.get("type") or "", detail))
        if key in keys[:index]:
            out.append(invalid(f"{path}.{_MAP_KEYS}", keys, "must not contain duplicate entries"))


def _keyed_items(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    kind, items = schema.get(_LIST_TYPE), schema.get("items")
    if kind not in ("set", "map") or not isinstance(items, dict):
        return
    if items.get("nullable"):
        detail = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        out.append(forbidden(f"{path}.items.nullable", detail))
    if kind != "map":
        return
    needed = set(items.get("required") or ())
    for key in schema.get(_MAP_KEYS) or ():
        inner = (items.get("properties") or {}).get(key)
        if inner is None:
            continue
        where = f"{path}.items.properties[{key}]"
        if key not in needed and inner.get("default") is None:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be "
                "a required property"
            )
            out.append(required(f"{where}.default", detail))
        if inner.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            out.append(forbidden(f"{where}.nullable", detail))


# --- rules ---


def _rule(schema: Mapping[str, Any], rule: Mapping[str, Any], path: str, out: Causes) -> None:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        out.append(required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        out.append(invalid(f"{path}.message", message, _NOT_EMPTY))
    elif _newline.search(message.strip()):
        out.append(invalid(f"{path}.message", message, _NO_BREAKS))
    elif _newline.search(text) and not message:
        detail = "message must be specified if rule contains line breaks"
        out.append(required(f"{path}.message", detail))
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        out.append(required(f"{path}.messageExpression", f"messageExpression {_NOT_EMPTY}"))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        out.append(not_supported(f"{path}.reason", reason, _REASONS))
    field = rule.get("fieldPath") or ""
    if not field:
        return
    where = f"{path}.fieldPath"
    if not field.strip():
        out.append(invalid(where, field, _NOT_EMPTY))
    if _newline.search(field):
        out.append(invalid(where, field, _NO_BREAKS))
    if not _points(schema, field) and not unsupported(schema):
        out.append(invalid(where, field, "must be a valid path"))


def _points(schema: Mapping[str, Any], path: str) -> bool:
    try:
        find_field(schema, path)
    except NoField:
        return False
    return True
