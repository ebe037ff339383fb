"""Defaults in structural schemas of custom resources: each must be what the schema there allows.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kubetrio.gotext.text import aggregate
from kubetrio.kinds.apiextensions.validation.structuralschemas import EMBEDDED, children
from kubetrio.kinds.common.checks import Causes
from kubetrio.machinery.fielderrors import forbidden, invalid
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.runtime.effort import Effort, Exhausted
from kubetrio.structural.causes import Out
from kubetrio.structural.jsonkeys import sorted_json, steps_of
from kubetrio.structural.listtypes import check_embedded
from kubetrio.structural.structure import META_FIELDS, Malformed, Node, coerce_part, prune_part
from kubetrio.structural.values import Checker

_TYPE_META = {"kind": "Validation", "apiVersion": "validation/v1"}
_UNKNOWN = "must not have unknown fields"


@dataclass(frozen=True, slots=True)
class _Around:
    """What a part of a schema is in.

    Args:
        root: the schema of the nearest resource.
        effort: of the check.
        steps: names of the members that lead from there to the part, empty for items of lists.
        in_meta: whether the part is a member that all resources have, or in one.
    """

    root: Mapping[str, Any]
    effort: Effort
    steps: tuple[str, ...] = ()
    in_meta: bool = False

    def resource(self, value: Any) -> Any:
        """A resource that has nothing but a value of the part."""
        for step in reversed(self.steps):
            value = {step: value} if step else [value]
        return {**_TYPE_META, **value}


def defaults(schema: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check the defaults in a structural schema against it.

    Args:
        schema: the schema of a resource.
        path: its path.
        out: receives causes.
    """
    root = {**schema, EMBEDDED: True}
    try:
        _defaults(root, path, out, _Around(root, Effort()))
    except Exhausted as error:
        out.append(forbidden(path, f"checking its defaults {error}"))


def _defaults(schema: Mapping[str, Any], path: str, out: Causes, around: _Around) -> None:
    embedded = bool(schema.get(EMBEDDED))
    if embedded:
        around = _Around(schema, around.effort)
    value = schema.get("default")
    if value is not None:
        # Defaults may be inside of each other: each is checked, and by all of the schema there.
        around.effort.spend(4 * steps_of(schema) + steps_of(value))
        where, value = f"{path}.default", sorted_json(value)
        fits = _fits_in_meta if around.in_meta else _fits
        if fits(schema, value, where, out, around):
            _check(schema, value, where, out, around)
    items = f"{path}.items"
    for inner, where in children(schema, path):
        # defaults under additionalProperties are refused elsewhere
        if where == f"{path}.additionalProperties":
            continue
        name = "" if where == items else where[len(path) + len(".properties[") : -1]
        in_meta = around.in_meta or (embedded and name in META_FIELDS)
        below = replace(around, steps=(*around.steps, name), in_meta=in_meta)
        _defaults(inner, where, out, below)


def _fits(schema: Mapping[str, Any], value: Any, path: str, out: Causes, _: _Around) -> bool:
    """Check what a default has beside values: unknown members, and metadata inside of it."""
    node = Node(schema)
    if prune_part(node, copy_json(value)):
        out.append(invalid(path, value, _UNKNOWN))
    causes: Causes = []
    try:
        coerce_part(node, copy_json(value), path)
        check_embedded(node, value, path, causes, root=False)
    except Malformed as error:
        causes.append(error.cause)
    out += causes
    return not causes


def _fits_in_meta(
    schema: Mapping[str, Any], value: Any, path: str, out: Causes, around: _Around
) -> bool:
    """Check that a default in metadata makes metadata."""
    del schema
    node, whole = Node(around.root), around.resource(copy_json(value))
    causes: Causes = []
    try:
        coerce_part(node, whole, "")
        check_embedded(node, whole, "", causes, root=False)
    except Malformed as error:
        causes.append(error.cause)
    if causes:
        told = aggregate(str(replace(cause, field=cause.field[1:])) for cause in causes)
        out.append(invalid(path, value, f"must result in valid metadata: {told}"))
    return not causes


def _check(schema: Mapping[str, Any], value: Any, path: str, out: Causes, around: _Around) -> None:
    """Check a default by the schema it stands in, and by the rules there."""
    problems = Out(path, around.effort)
    Checker(schema, loose=True).check(value, "", None, problems)
    out += problems
    if problems or not _has_rules(schema):
        return
    from kubetrio.cel.engine import available
    from kubetrio.structural.celrules import check_rules, compiled

    if not available():
        return  # refused for that
    place = compiled(schema, whole=schema is around.root, broken=True)
    if place is None:
        return
    # A default is put into objects that had it, and into others.
    for before in (value, None):
        causes: Causes = []
        check_rules(
            place,
            value,
            before,
            Checker(schema),
            causes,
            path=path,
            ratchets=False,
            effort=around.effort,
        )
        out += causes
        if causes:
            return


def _has_rules(schema: Mapping[str, Any]) -> bool:
    if schema.get("x-kubernetes-validations"):
        return True
    return any(_has_rules(inner) for inner, _ in children(schema, ""))
