"""Structural schemas of custom resources: what is structural and what is not.

Source: "Specifying a structural schema" in the Kubernetes documentation; KEP-1111.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubetrio.kinds.apiextensions.causes import Out
from kubetrio.kinds.apiextensions.listtypes import check_embedded
from kubetrio.kinds.apiextensions.structure import Node, prune_part
from kubetrio.kinds.apiextensions.values import Checker, steps_of
from kubetrio.kinds.common.checks import Causes, Json
from kubetrio.kinds.common.goregexp import regexp_error
from kubetrio.machinery.effort import Effort, Exhausted
from kubetrio.machinery.fielderrors import forbidden, invalid, required
from kubetrio.machinery.jsonvalues import copy_json

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"

_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "definitions")
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
    ("externalDocs", "must be undefined to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


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


def is_supported(schema: Mapping[str, Any]) -> bool:
    """Whether a structural schema can be made of a schema at all.

    Args:
        schema: a schema.
    """
    if any(schema.get(name) for name in _UNSUPPORTED) or schema.get(PRESERVE) is False:
        return False
    if isinstance(schema.get("items"), list) or schema.get("additionalItems") is not None:
        return False
    parts = (*children(schema, ""), *nested(schema, ""))
    return all(is_supported(inner) for inner, _ in parts)


def structural(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check that a schema is structural.

    Args:
        schema: the root of the schema.
        path: its path.
        out: receives causes, sorted by what they say.
    """
    found: Causes = []
    _invariants(schema, "root", path, found)
    # kube-apiserver looks for undefined parts under the junctors of the root alone
    for inner, where in nested(schema, path):
        _defined(inner, schema, path, where, found)
    out.extend(sorted(found, key=str))


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
        rest = {key for key, value in metadata.items() if value} - {"type", "default"}
        members = set(metadata.get("properties") or ())
        if rest - {"properties"} or not members <= allowed:
            detail = (
                "must not specify anything other than name and generateName, but metadata is "
                "implicitly specified"
            )
            out.append(forbidden(where, detail))


def _junctors(schema: Mapping[str, Any], path: str, out: Causes, *, main: bool = False) -> None:
    """Check value validations; ``main`` exempts the two ways to write int-or-string."""
    skip_first = main and any(
        item.get("anyOf") == _INT_OR_STRING_ANY_OF for item in (schema.get("allOf") or ())[:1]
    )
    skip_any = main and schema.get("anyOf") == _INT_OR_STRING_ANY_OF
    for inner, where in nested(schema, path):
        if skip_any and where.startswith(f"{path}.anyOf["):
            continue
        _value_validation(inner, where, out, skip_any=skip_first and where == f"{path}.allOf[0]")
    pattern = schema.get("pattern")
    if pattern and (error := regexp_error(pattern)):
        detail = f"must be a valid regular expression, but isn't: {error}"
        out.append(invalid(f"{path}.pattern", pattern, detail))


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
    if schema.get("additionalProperties") is not None:
        where = f"{path}.additionalProperties"
        out.append(forbidden(where, "must be undefined to be structural"))
    for name, detail in _NOT_NESTED:
        if schema.get(name) or (name == "default" and schema.get(name) is not None):
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


# --- defaults ---


def defaults(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check the defaults in a structural schema against it.

    Args:
        schema: the schema of a resource.
        path: its path.
        out: receives causes.
    """
    try:
        _defaults(schema, path, out, Effort(), whole=True)
    except Exhausted as error:
        out.append(forbidden(path, f"checking its defaults {error}"))


def _defaults(
    schema: Mapping[str, Any], path: str, out: Causes, effort: Effort, *, whole: bool = False
) -> None:
    value = schema.get("default")
    if value is not None:
        # Defaults may be inside of each other: each is checked, and by all of the schema there.
        effort.spend(4 * steps_of(schema) + steps_of(value))
        _default(schema, value, f"{path}.default", out, effort, whole=whole)
    for inner, where in children(schema, path):
        # defaults under additionalProperties are refused elsewhere
        if where != f"{path}.additionalProperties":
            _defaults(inner, where, out, effort)


def _default(
    schema: Mapping[str, Any], value: Any, path: str, out: Causes, effort: Effort, *, whole: bool
) -> None:
    node = Node({**schema, EMBEDDED: True} if whole else schema)
    trial = [copy_json(value)]
    if prune_part(node, trial[0]):
        out.append(invalid(path, value, "must not have unknown fields"))
    found: Causes = []
    check_embedded(node, value, path, found, root=False)
    if not found:
        inner = Out(path, effort)
        checker = Checker(schema, loose=True)
        checker.check(value, "", None, inner)
        found += inner
        if not found and schema.get("x-kubernetes-validations"):
            _check_rules(schema, value, path, found, effort, whole=whole)
    out += found


def _check_rules(
    schema: Mapping[str, Any], value: Any, path: str, out: Causes, effort: Effort, *, whole: bool
) -> None:
    from kubetrio.cel.engine import available
    from kubetrio.kinds.apiextensions.celrules import check_rules, compiled

    if not available():
        return  # refused for that
    place = compiled(schema, whole=whole)
    if place is not None:
        check_rules(
            place, value, value, Checker(schema), out, path=path, ratchets=False, effort=effort
        )
