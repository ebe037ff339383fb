"""Printers of built-in kinds, and the columns that they fill."""

from __future__ import annotations

import pytest
from printers.printed import printer_of

from kubetrio.schema import builtin
from kubetrio.schema.printing import PLAIN


@pytest.mark.parametrize("resource", builtin.load("tables"))
def test_every_column_has_a_printer(resource: str) -> None:
    """Columns other than the default ones come with cells of their own, and the reverse."""
    printer = printer_of(resource)
    assert printer.default == (printer.cells is PLAIN.cells)
