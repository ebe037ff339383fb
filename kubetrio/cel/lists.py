"""Functions of lists: Kubernetes' own, and those of cel-go's extensions ``lists`` and ``sets``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

from kubetrio.cel import values
from kubetrio.cel.budget import spend

Values = list[Any]


def _comparable(items: Values, name: str) -> None:
    if any(not isinstance(item, _ORDERED) for item in items):
        raise ValueError(f"no such overload: {name}(list)")


_ORDERED = (bool, int, float, str, bytes, bytearray, timedelta, datetime)


def above(one: Any, two: Any) -> bool:
    """Whether one value is greater than another; those of different kinds are not."""
    kinds = {float if _is_number(item) else type(item) for item in (one, two)}
    return len(kinds) == 1 and bool(one > two)


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def is_sorted(items: Values) -> bool:
    """Whether no item is greater than the next."""
    _comparable(items, "isSorted")
    return not any(above(one, two) for one, two in pairwise(items))


def extreme(better: Callable[[Any, Any], bool], name: str) -> Callable[[Values], Any]:
    """A function that finds the best item."""

    def extreme(items: Values) -> Any:
        if not items:
            raise ValueError(f"{name} called on empty list")
        _comparable(items, name)
        return reduce(lambda one, two: two if better(two, one) else one, items)

    return extreme


def sum_of(items: Values) -> Any:
    """The sum of numbers or spans of time."""
    kinds = {type(item) for item in items}
    if kinds - {int, float, timedelta}:
        raise ValueError("no such overload: sum(list)")
    if len(kinds) > 1:
        raise values.no_overload()
    total = reduce(add, items) if items else 0
    if isinstance(total, int) and not values.INT_MIN <= total <= values.INT_MAX:
        raise ValueError("integer overflow")
    return total


def _same(one: Any, two: Any) -> bool:
    """Equality of the language: true is no number."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    return bool(one == two)


def _at(items: Values, wanted: Any) -> int:
    return next((at for at, item in enumerate(items) if _same(item, wanted)), -1)


def index_of(where: Any, wanted: Any, offset: int = 0) -> int:
    """Where something is first, -1 for nowhere."""
    if not isinstance(where, str):
        return _at(where, wanted)
    if not wanted:
        return offset
    if offset < 0:
        raise ValueError(f"index out of range: {offset}")
    return where.find(wanted, offset)


def last_index_of(where: Any, wanted: Any, offset: int | None = None) -> int:
    """Where something is last, -1 for nowhere."""
    if not isinstance(where, str):
        index = _at(where[::-1], wanted)
        return index if index < 0 else len(where) - 1 - index
    if offset is None:
        return where.rfind(wanted)
    if not wanted:
        return offset
    if offset < 0:
        raise ValueError(f"index out of range: {offset}")
    return -1 if offset >= len(where) else where.rfind(wanted, 0, offset + len(wanted))


def range_of(count: int) -> Values:
    """The numbers from 0 on."""
    spend(max(count, 0) * 4)
    return list(range(count))


def slice_of(items: Values, begin: int, end: int) -> Values:
    """A part of a list."""
    if begin < 0 or end < 0:
        raise ValueError(f"cannot slice({begin}, {end}), negative indexes not supported")
    if begin > end:
        what = "start index must be less than or equal to end index"
        raise ValueError(f"cannot slice({begin}, {end}), {what}")
    if len(items) < end:
        raise ValueError(f"cannot slice({begin}, {end}), list is length {len(items)}")
    return items[begin:end]


def flat(items: Values, depth: int = 1) -> Values:
    """A list with the items of lists in it."""
    if depth < 0:
        raise ValueError("level must be non-negative")
    found: Values = []
    for item in items:
        if isinstance(item, list) and depth:
            found.extend(flat(item, depth - 1))
        else:
            found.append(item)
    return found


def sorted_by(items: Values, keys: Values) -> Values:
    """A list in the order that another has when it is sorted."""
    if not keys:
        return items
    if not isinstance(keys[0], _ORDERED):
        raise ValueError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise ValueError("list elements must have the same type")
    return [items[at] for at in sorted(range(len(keys)), key=keys.__getitem__)]


def distinct(items: Values) -> Values:
    """A list without what is there twice."""
    found: Values = []
    seen: set[Any] = set()
    others: Values = []  # what cannot be found by its hash
    for item in items:
        if isinstance(item, _ORDERED):
            # true is no number, and bytes are no text
            key = bytes(item) if isinstance(item, bytearray) else item
            mark = (isinstance(item, bool), key)
            if mark in seen:
                continue
            seen.add(mark)
        else:
            spend(len(others) * 10)
            if _at(others, item) >= 0:
                continue
            others.append(item)
        found.append(item)
    return found


def contains(items: Values, wanted: Values) -> bool:
    """Whether all of one list is in another."""
    spend(len(items) * len(wanted))
    return all(_at(items, item) >= 0 for item in wanted)


def intersects(one: Values, two: Values) -> bool:
    """Whether something of one list is in another."""
    spend(len(one) * len(two))
    return any(_at(one, item) >= 0 for item in two)
