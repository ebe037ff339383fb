"""Functions that say what expressions take, and what is taken for a call of any function.

The engine's bindings keep what a function was called with and what it returned for ever
(cel-expr-python 0.1.3).  So what is called at every turn takes no argument and returns a constant:
there is a function for each size.  Lists and maps that others were called with are emptied, and
so is after the evaluation what they made of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubetrio.cel.budget import current, spend

SMALL = 64
"""What is not worth a mention."""
TIERS = 9
"""Sizes, each four times the one before; more than the last is too large for any budget."""
CALL = 20
"""Units of calling a function here."""


def spend_of(tier: int) -> str:
    """The function that takes what has at most a size.

    Args:
        tier: from 0; the size is 64 times a power of four.
    """
    return f"kubernetes_spend{tier}"


def size_at(tier: int) -> int:
    """The size of a tier."""
    return SMALL << 2 * (tier + 1)


def input_of(tier: int) -> str:
    """The function that takes what it takes to look at everything there is, so often.

    Args:
        tier: from 0; a power of four.
    """
    return f"kubernetes_input{tier}"


def tier_of(size: int) -> int:
    """The smallest tier of inputs that is as often."""
    return min(max(0, (size - 1).bit_length() + 1 >> 1), TIERS)


def _spending(units: int) -> Callable[[], bool]:
    def spending() -> bool:
        spend(units)
        return True

    return spending


def _looking(tier: int) -> Callable[[], bool]:
    def looking() -> bool:
        budget = current()
        spend((CALL + (0 if budget is None else budget.size >> 2)) << 2 * tier)
        return True

    return looking


Implementation = tuple[str, str, str, Callable[..., Any]]
"""A function as it runs: name; kinds of the arguments, after a dot if the first is the target of a
method; result; what does it."""
ROWS: list[Implementation] = [
    *((spend_of(tier), "", "bool", _spending(size_at(tier))) for tier in range(TIERS)),
    *((input_of(tier), "", "bool", _looking(tier)) for tier in range(TIERS + 1)),
]
"""These functions, as rows of `functions.ROWS`."""
NAMES = frozenset(row[0] for row in ROWS)


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
        units, held = CALL, []
        for one in arguments:
            kind = type(one)
            if kind is str or kind is bytes or kind is bytearray:
                units += len(one) >> 3
            elif kind is list or kind is dict:
                units += size_of(one)
                held.append(one)
        try:
            spend(units)
            result = function(*arguments)
            if held and type(result) in (list, dict):
                result = result.copy()
                if (budget := current()) is not None:
                    budget.handed.append(result)
            return result
        finally:
            for one in held:
                one.clear()

    return counted
