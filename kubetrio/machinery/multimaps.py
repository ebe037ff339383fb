"""Dictionaries of sets: several values for each key, and no key without one."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def discard(sets: dict[K, set[V]], key: K, value: V) -> None:
    """Take a value from the set of a key, and the key away when that is empty.

    Args:
        sets: by key; it is changed.
        key: need not be there.
        value: the same.
    """
    there = sets.get(key)
    if there is not None:
        there.discard(value)
        if not there:
            del sets[key]
