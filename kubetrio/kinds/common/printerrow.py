"""What a group's folder says of how objects of a kind become rows of a ``Table``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kubetrio.schema.printing import Cells, Column, Conditions, Json, no_conditions


class PrinterRow(NamedTuple):
    """How the objects of one kind become rows; its columns are facts (``schemas/tables.json``).

    Args:
        cells: fills the columns.
        conditions: ``TableRowCondition`` objects of a row.
        sort_key: order of the rows of a list, or None to keep the order of the list.
        columns: of what has no path of its own, and so no columns among the facts.
    """

    cells: Cells
    conditions: Conditions = no_conditions
    sort_key: Callable[[Json], Any] | None = None
    columns: tuple[Column, ...] = ()
