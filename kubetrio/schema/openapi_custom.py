"""Types of custom resources in OpenAPI documents, as each version of OpenAPI writes them.

A schema may be a megabyte, so it is converted in steps of some of its parts.

Source: k8s.io/apiextensions-apiserver/pkg/controller/openapi (builder, v2) and
pkg/apiserver/schema/unfold.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.openapi_types import (
    META,
    NOT_IN_V2,
    V2_PREFIX,
    V3_PREFIX,
    gvk_object,
    type_name,
)
from kubetrio.schema.steps import Steps

Json = dict[str, Any]

PARTS: Final = 200
"""Parts of schemas that are converted in a step."""
METADATA: Final = (f"{META}ListMeta", f"{META}ObjectMeta")
"""Types that those of custom resources refer to."""
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_SELECTABLE: Final = "x-kubernetes-selectable-fields"
_JUNCTORS: Final = frozenset({"allOf", "anyOf", "oneOf", "not"})
_ALTERNATIVES: Final = [{"type": "integer"}, {"type": "string"}]
_TEXT: Final = {"type": "string"}


def custom_types_steps(resources: Iterable[Kind], *, v2: bool) -> Steps[dict[str, Json]]:
    """Types of the resources that have no built-in type, and of their lists, by name, in steps.

    Args:
        resources: resources of a document; one whose type has no schema takes any object.
        v2: whether the document is Swagger 2.0.
    """
    types: dict[str, Json] = {}
    parts = _Parts(v2=v2)
    for resource in resources:
        gvk = resource.group_version_kind
        if resource.builtin or builtin.type_name_of(gvk):
            continue
        more: Json = {}
        if resource.selectors.getters:
            more[_SELECTABLE] = [{"fieldPath": path} for path in resource.selectors.getters]
        types[type_name(gvk)] = {
            **(yield from parts.resource(resource.type.schema)),
            "x-kubernetes-group-version-kind": [gvk_object(gvk)],
            **more,
        }
        listed = GroupVersionKind(gvk.group, gvk.version, resource.list_kind)
        types[type_name(listed)] = {**parts.list_of(gvk), **_gvks(listed), **more}
    return types


def _gvks(gvk: GroupVersionKind) -> Json:
    return {"x-kubernetes-group-version-kind": [gvk_object(gvk)]}


class _Parts:
    """Schemas of custom resources for one version of OpenAPI."""

    def __init__(self, *, v2: bool) -> None:
        self._v2 = v2
        self._prefix = V2_PREFIX if v2 else V3_PREFIX
        self._count = 0

    def resource(self, schema: Mapping[str, Any] | None) -> Steps[Json]:
        """The schema of a whole resource."""
        given = {"type": "object", _PRESERVE: True} if schema is None else schema
        if self._v2 and given.get(_PRESERVE):
            # kubectl would refuse what it does not find among the properties
            return {"type": "object"}
        part = yield from self._part(given)
        properties = {**(part.get("properties") or {}), **self._members("ObjectMeta")}
        return {**part, "properties": dict(sorted(properties.items()))}

    def list_of(self, gvk: GroupVersionKind) -> Json:
        """The schema of a list of resources of a kind."""
        items = {"type": "array", "items": {"$ref": self._prefix + type_name(gvk)}}
        properties = {"items": items, **self._members("ListMeta")}
        return {
            "type": "object",
            "required": ["items"],
            "properties": dict(sorted(properties.items())),
        }

    def _members(self, meta: str) -> Json:
        reference: Json = {"$ref": f"{self._prefix}{META}{meta}"}
        metadata = reference if self._v2 else {"allOf": [reference]}
        return {"apiVersion": _TEXT, "kind": _TEXT, "metadata": metadata}

    def _part(self, schema: Mapping[str, Any]) -> Steps[Json]:
        self._count += 1
        if self._count % PARTS == 0:
            yield
        part = self._for_v2(schema) if self._v2 else _unfolded(schema)
        if part.get("example") in ({}, [], ""):
            del part["example"]
        properties = part.get("properties")
        if properties:
            converted = {}
            for name, inner in properties.items():
                converted[name] = yield from self._part(inner)
            part["properties"] = converted
        for name in ("items", "additionalProperties"):
            inner = part.get(name)
            if isinstance(inner, Mapping):
                part[name] = yield from self._part(inner)
        if schema.get(_EMBEDDED) and not (self._v2 and schema.get(_PRESERVE)):
            members = {**(part.get("properties") or {}), **self._members("ObjectMeta")}
            part["properties"] = dict(sorted(members.items()))
            needed = part.get("required") or []
            more = [name for name in ("kind", "apiVersion") if name not in needed]
            part["required"] = [*needed, *more]
        return part

    def _for_v2(self, schema: Mapping[str, Any]) -> Json:
        """A part without what Swagger 2.0 has no word for, and what kubectl trips over."""
        part = {name: value for name, value in schema.items() if name not in NOT_IN_V2}
        nullable, preserve = schema.get("nullable"), schema.get(_PRESERVE)
        if nullable or preserve:
            part.pop("items", None)
            part.pop("properties", None)
        kind = part.get("type")
        if (
            nullable
            or (kind == "array" and part.get("items") is None)
            or (kind == "object" and preserve)
        ):
            part.pop("type", None)
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping) and others.get("nullable"):
            part.pop("required", None)
        elif part.get("required") and part.get("properties"):
            properties = part["properties"]
            needed = [
                name
                for name in part.pop("required")
                if not (properties.get(name) or {}).get("nullable")
            ]
            if needed:
                part["required"] = needed
        return part


def _unfolded(schema: Mapping[str, Any]) -> Json:
    """A part in which int-or-string is also said as alternatives."""
    part = {
        name: _nested(name, value) if name in _JUNCTORS else value for name, value in schema.items()
    }
    if not schema.get(_INT_OR_STRING):
        return part
    all_of = schema.get("allOf") or []
    if schema.get("anyOf") == _ALTERNATIVES or (all_of and all_of[0].get("anyOf") == _ALTERNATIVES):
        return part
    if not schema.get("anyOf"):
        part["anyOf"] = _ALTERNATIVES
    else:
        part["allOf"] = [{"anyOf": _ALTERNATIVES}, *all_of]
    return part


def _nested(name: str, value: Any) -> Any:
    """A member of a schema under a logical junctor: structural schemas forbid no members there."""
    if name in ("allOf", "anyOf", "oneOf"):
        return [_nested("not", inner) for inner in value]
    if name == "properties":
        return {key: _nested("not", inner) for key, inner in value.items()}
    if name in ("not", "items") and isinstance(value, Mapping):
        return {
            key: _nested(key, inner)
            for key, inner in value.items()
            if key != "additionalProperties"
        }
    return value
