"""Custom resources: columns given by a CustomResourceDefinition, cells by its JSONPaths.

A cell that the path does not find, or that is not of the type of its column, is null.
Source: the section on additional printer columns of
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
and the behaviour of kube-apiserver 1.36.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from kubetrio.kinds.common.cells import INVALID, name, since
from kubetrio.kinds.common.jsonpath import JsonPathError, Path, find, parse
from kubetrio.schema.printing import Column, Json, Printer

NAME_COLUMN = Column("Name", "string", "name")
DEFAULT_COLUMNS: Sequence[Json] = (
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)")
# Go's encoder writes these as escapes, so that JSON is safe within HTML.
_HTML_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


@dataclass(frozen=True, slots=True)
class _CustomColumn:
    column: Column
    path: Path


def _columns(additional: Sequence[Json] | None) -> tuple[_CustomColumn, ...]:
    """Columns up to the first whose path does not parse, as kube-apiserver has it."""
    columns: list[_CustomColumn] = []
    for entry in additional or DEFAULT_COLUMNS:
        try:
            path = parse(entry["jsonPath"])
        except JsonPathError:
            break
        column = Column(
            name=entry["name"],
            type=entry["type"],
            format=entry.get("format") or "",
            priority=entry.get("priority") or 0,
            description=entry.get("description") or _description(entry, additional),
        )
        columns.append(_CustomColumn(column, path))
    return tuple(columns)


def _description(entry: Json, additional: Sequence[Json] | None) -> str:
    if not additional:
        return ""
    return f"Custom resource definition column (in JSONPath format): {entry['jsonPath']}"


def _go_float(value: float) -> str:
    """A float as Go's ``%v``: the shortest digits, with an exponent from 1e+06 on."""
    digits = Decimal(repr(value)).normalize()
    exponent = digits.adjusted()
    if not value or -4 <= exponent < 6:
        return f"{digits:f}"
    mantissa = digits.scaleb(-exponent)
    return f"{mantissa:f}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _plain(value: Any) -> Any:
    """A JSON value whose whole floats are integers, as Go's encoder prints them."""
    match value:
        case float():
            return _as_number(value)
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
    return value


def _as_text(value: Any) -> str:
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float():
            return _go_float(value)
        case Mapping() | list():
            compact = (",", ":")
            printed = json.dumps(
                _plain(value), sort_keys=True, separators=compact, ensure_ascii=False
            )
            return printed.translate(_HTML_ESCAPES)
    return str(value)


def _as_number(value: Any) -> int | float | None:
    """A number as Go prints a float: whole ones have no fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _as_date(value: Any, now: float) -> str | None:
    if not isinstance(value, str):
        return None
    if value in ("", "null"):
        return since(None, now)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return INVALID
    # Python reads more of ISO 8601 than RFC 3339 has.
    return since(value, now) if _RFC3339.fullmatch(value) else INVALID


def _cell(kind: str, value: Any, now: float) -> Any:
    match kind:
        case "string":
            return _as_text(value)
        case "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        case "number":
            return _as_number(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "date":
            return _as_date(value, now)
    return None


def _cells(columns: tuple[_CustomColumn, ...], obj: Json, now: float) -> list[Any]:
    cells: list[Any] = [name(obj)]
    for each in columns:
        try:
            values = find(each.path, obj)
        except JsonPathError:
            values = []
        cells.append(_cell(each.column.type, values[0], now) if values else None)
    return cells


def custom_printer(additional: Sequence[Json] | None) -> Printer:
    """The printer of one version of a custom resource.

    Args:
        additional: its ``additionalPrinterColumns``; none means an ``Age`` column.
    """
    columns = _columns(additional)
    return Printer(
        columns=(NAME_COLUMN, *(each.column for each in columns)),
        cells=lambda obj, now: _cells(columns, obj, now),
    )


def custom_row(obj: Json, additional: Sequence[Json] | None, now: float) -> list[Any]:
    """The cells of one custom resource; ``custom_printer`` does many faster.

    Args:
        obj: the object.
        additional: ``additionalPrinterColumns`` of its version.
        now: seconds since the epoch.
    """
    return _cells(_columns(additional), obj, now)
