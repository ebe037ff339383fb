"""Lists that are sets or maps, and resources inside of objects: what must hold for their values.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype and objectmeta.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kubetrio.machinery.fielderrors import duplicate, invalid, required
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.names_validation import dns1035_label, path_segment
from kubetrio.machinery.objectmeta import validate_object_meta
from kubetrio.machinery.status import MORE, Cause
from kubetrio.runtime.effort import Effort
from kubetrio.schema.structural import Report
from kubetrio.structural.jsonkeys import canonical, steps_of
from kubetrio.structural.structure import METADATA, Node
from kubetrio.structural.values import Checker

Causes = list[Cause]


def check_lists(
    schema: Checker, value: Any, path: str, out: Causes, effort: Effort | None = None
) -> None:
    """Check that items of sets are different, and keys of maps.

    Args:
        schema: of the value.
        value: a JSON value.
        path: its path.
        out: receives causes.
        effort: of the check, None for a new one.

    Raises:
        Exhausted: it takes too much effort.
    """
    if schema.lists:
        _check_lists(schema, value, path, out, Effort() if effort is None else effort)


def _check_lists(schema: Checker, value: Any, path: str, out: Causes, effort: Effort) -> None:
    if not schema.lists or type(value) not in (dict, list):
        return
    effort.spend(len(value))
    if type(value) is dict:
        for key, item in value.items():
            known = schema.properties.get(key)
            if known is not None:
                _check_lists(known, item, f"{path}.{key}" if path else key, out, effort)
            elif schema.others is not None:
                _check_lists(schema.others, item, f"{path}[{key}]", out, effort)
    else:
        kind = schema.schema.get("x-kubernetes-list-type")
        if kind == "set":
            effort.spend(steps_of(value))  # sets may be in sets
            out += [duplicate(f"{path}[{at}]", value[at]) for at in _repeated(value)]
        elif kind == "map":
            _check_map(schema, value, path, out)
        if schema.items is not None:
            for index, item in enumerate(value):
                _check_lists(schema.items, item, f"{path}[{index}]", out, effort)


def _repeated(values: Iterable[Any]) -> list[int]:
    """Indexes of the second of equal values."""
    seen: dict[type, set[Any]] = {}
    twice: dict[type, set[Any]] = {}
    keys = []
    for index, value in enumerate(values):
        kind = type(value)
        key = canonical(value) if kind is dict or kind is list else value
        mine = seen.get(kind)
        if mine is None:
            mine = seen[kind] = set()
        if key not in mine:
            mine.add(key)
        elif key not in (told := twice.setdefault(kind, set())):
            told.add(key)
            keys.append(index)
    return keys


def _check_map(schema: Checker, values: list[Any], path: str, out: Causes) -> None:
    for index, item in enumerate(values):
        if item is not None and type(item) is not dict:
            detail = "must be an object for an array of list-type map"
            out.append(invalid(f"{path}[{index}]", item, detail))
            return

    def keys(item: dict[str, Any] | None) -> dict[str, Any]:
        return {name: item[name] for name in schema.keys if name in item} if item else {}

    out += [duplicate(f"{path}[{at}]", keys(values[at])) for at in _repeated(map(keys, values))]


def check_embedded(node: Node, value: Any, path: str, out: Causes, *, root: bool = True) -> None:
    """Check what resources inside of an object say of themselves.

    Args:
        node: schema of the value.
        value: a JSON value.
        path: its path.
        out: receives causes.
        root: whether it is the whole object, about which this says nothing.
    """
    if not (node.embeds or (node.embedded and not root)):
        return
    if type(value) is dict:
        if node.embedded and not root:
            _check_resource(value, path, out)
        for key, item in value.items():
            known = node.properties.get(key)
            if known is not None:
                check_embedded(known, item, f"{path}.{key}" if path else key, out, root=False)
            elif node.others is not None:
                check_embedded(node.others, item, f"{path}[{key}]", out, root=False)
    elif type(value) is list and node.items is not None:
        for index, item in enumerate(value):
            check_embedded(node.items, item, f"{path}[{index}]", out, root=False)


def _check_resource(value: dict[str, Any], path: str, out: Causes) -> None:
    out += [required(f"{path}.{name}") for name in ("apiVersion", "kind") if name not in value]
    for name, item in value.items():
        where = f"{path}.{name}"
        if name in ("apiVersion", "kind"):
            if type(item) is not str:
                out.append(invalid(where, item, "must be a string"))
            elif not item:
                out.append(invalid(where, item, "must not be empty"))
            elif name == "apiVersion":
                _check_version(item, where, out)
            elif messages := dns1035_label(item.lower()):
                detail = "may have mixed case, but should otherwise match: " + ",".join(messages)
                out.append(invalid(where, item, detail))
        elif name == "metadata":
            _check_metadata(item, where, out)


def _check_version(text: str, path: str, out: Causes) -> None:
    try:
        GroupVersion.parse(text)
    except ValueError as error:
        out.append(invalid(path, text, str(error)))


def _check_metadata(value: Any, path: str, out: Causes) -> None:
    try:
        meta = METADATA.decode(value, Report()) or {}
    except ValueError as error:
        out.append(invalid(path, value, str(error)))
        return
    meta = {**meta, "name": meta.get("name") or "fakename"}
    causes = validate_object_meta(
        meta,
        namespaced=bool(meta.get("namespace")),
        name_check=path_segment,
        standard_finalizers=False,
    )
    for cause in causes:
        where = path + cause.field.removeprefix("metadata")
        out.append(cause if cause is MORE else replace(cause, field=where))
