"""Functions that say what expressions take, and what is taken for a call of any function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubetrio.cel.budget import spend

SPEND, SPEND_TEXT, SPEND_ALL = "kubernetes_spend", "kubernetes_spendText", "kubernetes_spendAll"
SPEND_COPY = "kubernetes_spendCopy"
"""Take of the budget: a number, what it takes to look at a text, or at everything in a list, and
what everything in a list or map that was made takes if it is handed out."""


def spent(units: int) -> bool:
    """Take a number of units."""
    spend(units)
    return True


def spent_text(text: str) -> bool:
    """Take what it takes to look at a text."""
    spend(CALL + (len(text) >> 3))
    return True


def spent_all(items: list[Any]) -> bool:
    """Take what it takes to look at everything in a list."""
    spend(CALL + size_of(items))
    return True


def spent_copy(value: Any) -> bool:
    """Take what a list or map that was made takes if it is handed out."""
    spend(CALL + _ITEM * size_of(value))
    return True


_ITEM = 8  # times what it takes to look at it
CALL = 20  # units of calling a function here


def size_of(value: Any) -> int:
    """Units of looking at all of a value."""
    units = 0
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            units += 10 * len(one)
            pending.extend(one)
        elif isinstance(one, dict):
            units += 25 * len(one)
            pending.extend(one.values())
        elif isinstance(one, str | bytes | bytearray):
            units += 1 + (len(one) >> 3)
        else:
            units += 1
    return units


def counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes of the budget what its arguments are, before it looks at them."""

    def counted(*arguments: Any) -> Any:
        units = CALL
        for one in arguments:
            kind = type(one)
            if kind is str or kind is bytes or kind is bytearray:
                units += len(one) >> 3
            elif kind is list or kind is dict:
                units += size_of(one)
        spend(units)
        return function(*arguments)

    return counted
