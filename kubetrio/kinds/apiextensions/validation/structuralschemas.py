"""Structural schemas of custom resources: what is structural and what is not.

Source: "Specifying a structural schema" in the Kubernetes documentation; KEP-1111.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubetrio.kinds.common.checks import Causes, Json
from kubetrio.machinery.fielderrors import forbidden, invalid, required
from kubetrio.runtime.effort import Effort, Exhausted
from kubetrio.structural.patterns import pattern_error

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"

_UNSUPPORTED = (
    "id",
    "$schema",
    "$ref",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
)
_NOT = "is not supported"
_INT_OR_STRING_ANY_OF = [{"type": "integer"}, {"type": "string"}]
_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
# members that value validations must not have, in the order in which they are told
_NOT_NESTED: tuple[tuple[str, str], ...] = (
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)

_POINTERS = frozenset({"default", "x-kubernetes-list-type", "x-kubernetes-map-type"})
"""Those of them that are there though they are empty."""
NILABLE = frozenset(
    {"$ref", "default", "maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems"}
    | {"multipleOf", "enum", "maxProperties", "minProperties", "required", "items", "allOf"}
    | {"oneOf", "anyOf", "not", "properties", "additionalProperties", "patternProperties"}
    | {"dependencies", "additionalItems", "definitions", "externalDocs", "example", PRESERVE}
    | {"x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type"}
    | {"x-kubernetes-validations"}
)
"""Members of schemas that are set as soon as they are not null: Go's pointers, lists and maps."""
_COLLECTED = frozenset(
    {"$ref", "enum", "allOf", "oneOf", "anyOf", "properties"}
    | {"patternProperties", "dependencies", "definitions"}
)
"""Those of them that structural schemas do not have when they are empty."""


def children(schema: Mapping[str, Any], path: str) -> Iterator[tuple[Json, str]]:
    """Schemas of the parts of a value, with their paths: items, properties, other members.

    Args:
        schema: a schema.
        path: its path.
    """
    items = schema.get("items")
    if isinstance(items, dict):
        yield items, f"{path}.items"
    for name, inner in (schema.get("properties") or {}).items():
        yield inner, f"{path}.properties[{name}]"
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        yield others, f"{path}.additionalProperties"


def nested(schema: Mapping[str, Any], path: str) -> Iterator[tuple[Json, str]]:
    """Schemas under logical junctors, with their paths.

    Args:
        schema: a schema.
        path: its path.
    """
    for name in ("anyOf", "allOf", "oneOf"):
        for index, inner in enumerate(schema.get(name) or ()):
            yield inner, f"{path}.{name}[{index}]"
    inner = schema.get("not")
    if inner is not None:
        yield inner, f"{path}.not"


def unsupported(schema: Mapping[str, Any]) -> str:
    """Why no structural schema can be made of a schema at all, empty when one can.

    Args:
        schema: a schema.
    """
    for name in _UNSUPPORTED:
        value = schema.get(name)
        if value or (name == "additionalItems" and value is not None):
            return (
                f"OpenAPIV3Schema '{name.removeprefix('$') if name == '$schema' else name}' {_NOT}"
            )
    parts = (inner for inner, _ in nested(schema, ""))
    keyword = next(filter(None, map(unsupported, parts)), "")
    if keyword:
        return keyword
    if schema.get(PRESERVE) is False:
        return f"internal error: '{PRESERVE}' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    parts = (inner for inner, _ in children(schema, ""))
    return next(filter(None, map(unsupported, parts)), "")


def structural(schema: Mapping[str, Any], path: str, out: Causes, *, compiles: bool = True) -> None:
    """Check that a schema is structural.

    Args:
        schema: the root of the schema.
        path: its path.
        out: receives causes, sorted by what they say.
        compiles: whether patterns are compiled; those of what is stored were.
    """
    causes: Causes = []
    _invariants(schema, "root", path, causes)
    # kube-apiserver looks for undefined parts under the junctors of the root alone
    for inner, where in nested(schema, path):
        _defined(inner, schema, path, where, causes)
    if compiles:
        try:
            _patterns(schema, path, causes, Effort())
        except Exhausted as error:
            causes.append(forbidden(path, f"checking its patterns {error}"))
    out.extend(sorted(causes, key=str))


def _patterns(schema: Mapping[str, Any], path: str, out: Causes, effort: Effort) -> None:
    """Check the patterns of a schema and of all below it."""
    pattern = schema.get("pattern")
    if pattern and (error := pattern_error(pattern, effort)):
        detail = f"must be a valid regular expression, but isn't: {error}"
        out.append(invalid(f"{path}.pattern", pattern, detail))
    for inner, where in (*children(schema, path), *nested(schema, path)):
        _patterns(inner, where, out, effort)


def _invariants(schema: Mapping[str, Any], level: str, path: str, out: Causes) -> None:
    kind, others = schema.get("type") or "", schema.get("additionalProperties")
    if kind == "array" and schema.get("items") is None:
        out.append(required(f"{path}.items", "must be specified"))
    for inner, where in children(schema, path):
        _invariants(inner, "item" if where == f"{path}.items" else "field", where, out)
    if others is not None and level == "root":
        out.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
    _extensions(schema, path, out)
    _junctors(schema, path, out, main=True)
    _type(schema, level, kind, path, out)
    embedded = bool(schema.get(EMBEDDED))
    if embedded and others is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        out.append(forbidden(f"{path}.additionalProperties", detail))
    _metadata(schema, level, path, out, check=level == "root" or embedded)
    if embedded and not schema.get(PRESERVE) and not schema.get("properties"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        out.append(required(f"{path}.properties", detail))


def _extensions(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    if not schema.get(INT_OR_STRING):
        return
    for name in (PRESERVE, EMBEDDED):
        if schema.get(name):
            detail = "must be false if x-kubernetes-int-or-string is true"
            out.append(invalid(f"{path}.{name}", True, detail))


def _type(schema: Mapping[str, Any], level: str, kind: str, path: str, out: Causes) -> None:
    where = f"{path}.type"
    if schema.get(EMBEDDED) and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        out.append(invalid(where, kind, detail) if kind else required(where, detail))
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        out.append(required(where, _EMPTY_TYPE[level]))
    if level == "root" and kind and kind != "object":
        out.append(invalid(where, kind, "must be object at the root"))


def _metadata(
    schema: Mapping[str, Any], level: str, path: str, out: Causes, *, check: bool
) -> None:
    properties = schema.get("properties") or {}
    if check:
        for name in ("kind", "apiVersion"):
            inner = properties.get(name)
            if inner is not None and inner.get("type") != "string":
                where = f"{path}.properties[{name}].type"
                out.append(invalid(where, inner.get("type") or "", "must be string"))
    metadata = properties.get("metadata")
    if metadata is None:
        return
    where = f"{path}.properties[metadata]"
    if check and metadata.get("type") != "object":
        out.append(invalid(f"{where}.type", metadata.get("type") or "", "must be object"))
    if level == "root":
        allowed = {"name", "generateName"}
        rest = {key for key, value in metadata.items() if _counts(key, value)}
        rest -= {"type", "default"}
        members = set(metadata.get("properties") or ())
        if rest - {"properties"} or not members <= allowed:
            detail = (
                "must not specify anything other than name and generateName, but metadata is "
                "implicitly specified"
            )
            out.append(forbidden(where, detail))


def _counts(name: str, value: Any) -> bool:
    """Whether a member of a structural schema is set."""
    return bool(value) or (value is not None and name in NILABLE - _COLLECTED)


def _junctors(schema: Mapping[str, Any], path: str, out: Causes, *, main: bool = False) -> None:
    """Check value validations; ``main`` exempts the two ways to write int-or-string."""
    skip_first = main and any(map(_int_or_string, (schema.get("allOf") or ())[:1]))
    skip_any = main and _int_or_string(schema)
    for inner, where in nested(schema, path):
        if skip_any and where.startswith(f"{path}.anyOf["):
            continue
        _value_validation(inner, where, out, skip_any=skip_first and where == f"{path}.allOf[0]")


def _int_or_string(schema: Mapping[str, Any]) -> bool:
    """Whether alternatives say that a value is an integer or a text, and nothing else."""
    causes = [
        {name: value for name, value in item.items() if _counts_nested(name, value)}
        for item in schema.get("anyOf") or ()
    ]
    return causes == _INT_OR_STRING_ANY_OF


def _counts_nested(name: str, value: Any) -> bool:
    """Whether a member of a schema under a logical junctor is set."""
    if name == "additionalProperties" and value is False:
        return False
    return _counts(name, value) or (name == "properties" and value is not None)


def _value_validation(
    schema: Mapping[str, Any], path: str, out: Causes, *, skip_any: bool = False
) -> None:
    shown = {key: value for key, value in schema.items() if key != "anyOf"} if skip_any else schema
    _junctors(shown, path, out)
    for inner, where in children(schema, path):
        if not where.endswith(".additionalProperties"):
            _value_validation(inner, where, out)
    if schema.get("type"):
        out.append(forbidden(f"{path}.type", "must be empty to be structural"))
    if schema.get("additionalProperties") not in (None, False):
        where = f"{path}.additionalProperties"
        out.append(forbidden(where, "must be undefined to be structural"))
    for name, detail in _NOT_NESTED:
        value = schema.get(name)
        if value or (name in _POINTERS and value is not None):
            out.append(forbidden(f"{path}.{name}", detail))
    if "metadata" in (schema.get("properties") or ()):
        where = f"{path}.properties[metadata]"
        out.append(forbidden(where, "must not be specified in a nested context"))


# --- completeness ---


def _defined(
    value: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
    path: str,
    where: str,
    out: Causes,
) -> None:
    if schema is None:
        out.append(required(path, f"because it is defined in {where}"))
        return
    for inner, below in nested(value, where):
        _defined(inner, schema, path, below, out)
    items = value.get("items")
    if isinstance(items, dict):
        mine = schema.get("items")
        target = mine if isinstance(mine, dict) else None
        _defined(items, target, f"{path}.items", f"{where}.items", out)
    known = schema.get("properties") or {}
    for name, inner in (value.get("properties") or {}).items():
        part = f"properties[{name}]"
        _defined(inner, known.get(name), f"{path}.{part}", f"{where}.{part}", out)
