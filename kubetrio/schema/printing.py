"""What a printer is: the columns of a resource and a function that fills them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]
# (object, now in seconds since the epoch) -> one cell a column
Cells = Callable[[Json, float], list[Any]]
# one ``TableRowCondition`` each
Conditions = Callable[[Json], list[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a ``Table``.

    Args:
        name: heading, such as ``Age``.
        type: OpenAPI type of the cells; ``date`` for times.
        format: OpenAPI format; ``name`` marks the cell that names the object.
        priority: 0 is always shown, more is shown by ``-o wide``.
        description: text for people.
    """

    name: str
    type: str
    format: str = ""
    priority: int = 0
    description: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The ``TableColumnDefinition``."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def no_conditions(_: Json) -> list[dict[str, str]]:
    """Row conditions of most resources: none."""
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Printer:
    """How the objects of one resource become rows.

    Args:
        columns: the columns, in order.
        cells: fills them.
        conditions: ``TableRowCondition`` objects of a row.
        sort_key: order of the rows of a list, or None to keep the order of the list.
        hidden: annotation that the metadata of a row do not show, or empty.
        default: whether these are the columns of resources that have none of their own.
    """

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Conditions = no_conditions
    sort_key: Callable[[Json], Any] | None = None
    hidden: str = ""
    default: bool = False


ZERO_TIMESTAMP = "0001-01-01T00:00:00Z"
DEFAULT_COLUMNS = (Column("Name", "string", "name"), Column("Created At", "date"))
"""Columns of what has no printer."""


def default_cells(obj: Json, _: float) -> list[Any]:
    """Name and creation time."""
    metadata = obj.get("metadata") or {}
    return [metadata.get("name") or "", metadata.get("creationTimestamp") or ZERO_TIMESTAMP]


PLAIN = Printer(columns=DEFAULT_COLUMNS, cells=default_cells, default=True)
"""The printer of what has none."""
