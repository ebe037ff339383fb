"""Server-side printing: objects as a ``Table`` of meta.k8s.io, as ``kubectl get`` asks for it.

Columns and cells are those of the kind's printer (`Kind.printer`); a kind without one shows name
and creation time.

In a watch every event carries a ``Table`` of one row, bookmarks included, and only the first
carries column definitions.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/ (Table fetches) and the
behaviour of kube-apiserver 1.36.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from kubetrio.kinds.common.ages import Age
from kubetrio.kinds.common.cells import field
from kubetrio.machinery import status
from kubetrio.resources.representation import Ages
from kubetrio.schema.kind import Kind
from kubetrio.schema.printing import Json, Printer
from kubetrio.wire import jsonwire

IncludeObject = Literal["None", "Metadata", "Object"]
TableVersion = Literal["v1", "v1beta1"]

LIST_META = ("resourceVersion", "continue", "remainingItemCount")


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


def partial_object(obj: Json, version: TableVersion = "v1", hidden: str = "") -> dict[str, Any]:
    """The ``PartialObjectMetadata`` of an object.

    Args:
        obj: the object as it is stored.
        version: version of meta.k8s.io.
        hidden: annotation that is a member of the internal object, from which metadata alone is
            made; or empty.
    """
    metadata = obj.get("metadata") or {}
    if hidden and hidden in (metadata.get("annotations") or {}):
        left = {key: text for key, text in metadata["annotations"].items() if key != hidden}
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
        line["object"] = partial_object(obj, table_version, resource.hidden)
    else:
        line["object"] = shown(obj) if include_object == "Object" else None
    return line


ROW = b'{"cells":['


def row_text(row: dict[str, Any]) -> tuple[bytes, Ages]:
    """A row as JSON behind another, and those of its cells that are ages.

    Args:
        row: what `table_row` made.
    """
    cells = row["cells"]
    text, begin = b"," + ROW, 0
    ages: list[float | int] = []
    for end, cell in enumerate(cells, 1):
        if type(cell) is not Age:
            continue
        text += (b"," if begin else b"") + jsonwire.encode(cells[begin:end])[1:-1]
        last = len(text) - 1 - (len(jsonwire.encode(cell.after)) - 2)
        ages += (cell.since, last - (len(jsonwire.encode(cell.length)) - 2), last)
        begin = end
    if not ages:
        return b"," + jsonwire.encode(row), ()
    rest = jsonwire.encode({**row, "cells": cells[begin:]})[len(ROW) :]
    return text + (b"," if begin < len(cells) else b"") + rest, tuple(ages)


def table(
    objects: Iterable[Json],
    resource: Kind | Printer,
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
    if isinstance(resource, Kind):
        resource = resource.printer
    items = list(objects)
    metadata = _list_meta(items, list_meta)
    if resource.sort_key is not None:
        items.sort(key=resource.sort_key)
    rows = [table_row(obj, resource, include_object, table_version, now, shown) for obj in items]
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
