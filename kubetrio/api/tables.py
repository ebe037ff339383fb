"""Server-side printing: objects as a ``Table`` of meta.k8s.io, as ``kubectl get`` asks for it.

The columns of the built-in resources are facts (``schemas/tables.json``), described in our words
(``schemas/columns.json``); their cells come from ``api.printers``.  A resource without a printer
has its name and creation time.

In a watch every event carries a ``Table`` of one row, bookmarks included, and only the first
carries column definitions.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/ (Table fetches) and the
behaviour of kube-apiserver 1.36.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from kubetrio.api import printers
from kubetrio.api.printers import pods, policy
from kubetrio.api.printers.custom import custom_printer, custom_row
from kubetrio.api.printers.helpers import field, name
from kubetrio.api.printers.model import Column, GroupResourceKey, Json, Printer, no_conditions
from kubetrio.machinery import status
from kubetrio.schema import builtin
from kubetrio.schema.annotated import ROLLBACK_TO, TEMPLATE_GENERATION
from kubetrio.schema.registry import ResourceType

__all__ = [
    "Column",
    "IncludeObject",
    "Printer",
    "TableVersion",
    "columns",
    "custom_printer",
    "custom_row",
    "include_object_of",
    "partial_object",
    "printer",
    "row",
    "table",
    "table_row",
]

IncludeObject = Literal["None", "Metadata", "Object"]
TableVersion = Literal["v1", "v1beta1"]
# (group, version, plural name)
ResourceKey = tuple[str, str, str]

DEFAULT_COLUMNS = (Column("Name", "string", "name"), Column("Created At", "date"))
# The scale of a workload is an object of its own kind, but not a resource with a path of its own.
SCALE_COLUMNS = (
    Column("Name", "string"),
    Column("Desired", "integer"),
    Column("Available", "integer"),
    Column("Age", "string"),
)
ZERO_TIMESTAMP = "0001-01-01T00:00:00Z"
LIST_META = ("resourceVersion", "continue", "remainingItemCount")
CONDITIONS = {("", "pods"): pods.row_conditions}
SORT_KEYS = {("flowcontrol.apiserver.k8s.io", "flowschemas"): policy.flow_schema_order}


@cache
def _column_index() -> dict[GroupResourceKey, tuple[Column, ...]]:
    """Columns by group and plural name: all versions of a resource share them."""
    index: dict[GroupResourceKey, tuple[Column, ...]] = {("autoscaling", "scale"): SCALE_COLUMNS}
    for key, rows in builtin.load("tables").items():
        group, _, resource = key.split("/")
        index[group, resource] = tuple(Column(*each) for each in rows)
    return index


@cache
def _described(key: GroupResourceKey) -> tuple[Column, ...]:
    """Columns of a resource with our words about them (``schemas/columns.json``)."""
    words = builtin.load("columns")
    known = {**words["*"], **words.get("/".join(key), {})}
    found = _column_index().get(key, DEFAULT_COLUMNS)
    return tuple(replace(column, description=known.get(column.name, "")) for column in found)


def _default_cells(obj: Json, _: float) -> list[Any]:
    return [name(obj), field(obj, "metadata", "creationTimestamp") or ZERO_TIMESTAMP]


@cache
def _printer(group: str, resource: str) -> Printer:
    key = (group, resource)
    return Printer(
        columns=_described(key),
        default=_column_index().get(key, DEFAULT_COLUMNS) == DEFAULT_COLUMNS,
        cells=printers.CELLS.get(key, _default_cells),
        conditions=CONDITIONS.get(key, no_conditions),
        sort_key=SORT_KEYS.get(key),
    )


def printer(group: str, _version: str, resource: str) -> Printer:
    """The printer of a built-in resource; ``autoscaling/v1/scale`` is that of a scale.

    Args:
        group: API group, empty for core.
        _version: API version; all versions print the same.
        resource: plural name.
    """
    return _printer(group, resource)


def columns(group: str, version: str, resource: str) -> tuple[Column, ...]:
    """Columns of a built-in resource, in order.

    Args:
        group: API group, empty for core.
        version: API version.
        resource: plural name.
    """
    return printer(group, version, resource).columns


def row(obj: Json, resource_key: ResourceKey, now: float) -> list[Any]:
    """Cells of one object, in column order.

    Args:
        obj: the object.
        resource_key: its (group, version, plural name).
        now: seconds since the epoch.
    """
    return printer(*resource_key).cells(obj, now)


def include_object_of(parameter: str) -> IncludeObject:
    """Read the query parameter ``includeObject``; an empty one means metadata.

    Raises:
        ApiError: it is something else (400).
    """
    match parameter:
        case "None" | "Metadata" | "Object":
            return parameter
        case "":
            return "Metadata"
    raise status.bad_request(
        "Unable to convert to Table as requested: includeObject: Invalid value: "
        f"{json.dumps(parameter, ensure_ascii=False)}: "
        "must be 'Metadata', 'Object', 'None', or empty"
    )


# Annotations that are fields of the internal object, from which metadata alone is made.
HELD_IN_FIELDS = {
    ("apps/v1", "DaemonSet"): TEMPLATE_GENERATION,
    ("apps/v1", "Deployment"): ROLLBACK_TO,
}


def partial_object(obj: Json, version: TableVersion = "v1") -> dict[str, Any]:
    """The ``PartialObjectMetadata`` of an object.

    Args:
        obj: the object as it is stored.
        version: version of meta.k8s.io.
    """
    metadata = obj.get("metadata") or {}
    held = HELD_IN_FIELDS.get((obj.get("apiVersion", ""), obj.get("kind", "")))
    if held and held in (metadata.get("annotations") or {}):
        left = {key: text for key, text in metadata["annotations"].items() if key != held}
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        if left:
            metadata["annotations"] = left
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
    }


def _as_stored(obj: Json) -> Json:
    return obj


def _list_meta(objects: list[Json], list_meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metadata of a table: that of the list, or the version of the only object."""
    if list_meta is None:
        version = field(objects[0], "metadata", "resourceVersion") if objects else None
        return {"resourceVersion": version} if version else {}
    return {key: list_meta[key] for key in LIST_META if list_meta.get(key)}


def table_row(
    obj: Json,
    resource: Printer,
    include_object: IncludeObject,
    table_version: TableVersion,
    now: float,
    shown: Callable[[Json], Json] = _as_stored,
) -> dict[str, Any]:
    """One row of a ``Table``; arguments as for `table`."""
    line: dict[str, Any] = {"cells": resource.cells(obj, now)}
    conditions = resource.conditions(obj)
    if conditions:
        line["conditions"] = conditions
    if include_object == "Metadata":
        line["object"] = partial_object(obj, table_version)
    else:
        line["object"] = shown(obj) if include_object == "Object" else None
    return line


def table(
    objects: Iterable[Json],
    resource: ResourceType | Printer,
    *,
    list_meta: Mapping[str, Any] | None = None,
    include_object: IncludeObject = "Metadata",
    table_version: TableVersion = "v1",
    now: float,
    with_columns: bool = True,
    shown: Callable[[Json], Json] = _as_stored,
) -> dict[str, Any]:
    """A ``Table`` of objects.

    Args:
        objects: items of a list, or one object alone (of a get, a write or a watch event), as they
            are stored: rows are the same in all versions.
        resource: their resource, if built in, or their printer.
        list_meta: metadata of the list; None if there is one object, whose version it takes.
        include_object: what rows carry beside their cells.
        table_version: version of meta.k8s.io.
        now: seconds since the epoch, for ages.
        with_columns: False in the second and later events of a watch.
        shown: a stored object as a row carries it.
    """
    if isinstance(resource, ResourceType):
        resource = printer(resource.group, resource.version, resource.resource)
    found = list(objects)
    metadata = _list_meta(found, list_meta)
    if resource.sort_key is not None:
        found.sort(key=resource.sort_key)
    rows = [table_row(obj, resource, include_object, table_version, now, shown) for obj in found]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{table_version}",
        "metadata": metadata,
        "columnDefinitions": (
            [column.as_dict() for column in resource.columns] if with_columns else None
        ),
        # Go's default convertor never makes the slice, the printers' always do.
        "rows": rows or (None if resource.default else []),
    }
