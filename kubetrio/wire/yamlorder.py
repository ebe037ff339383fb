"""The order in which Go's YAML library prints the keys of a mapping."""

from __future__ import annotations

from collections.abc import Collection
from functools import cmp_to_key

from kubetrio.machinery.sorting import sorted_in_steps

_LONGEST_NUMBER = 18  # digits


def sorted_keys(keys: Collection[str]) -> list[str]:
    """Keys in the order they are printed: numbers inside by value, other marks before letters."""
    if all(key.isalpha() for key in keys):
        return sorted_in_steps(keys)
    return sorted(keys, key=cmp_to_key(_compare))


def _compare(one: str, two: str) -> int:
    """The order of Go's YAML library; negative if ``one`` goes first."""
    length = min(len(one), len(two))
    at = next((index for index in range(length) if one[index] != two[index]), length)
    if at == length:
        return len(one) - len(two)
    if one[at].isalpha() or two[at].isalpha():
        if one[at].isalpha() and two[at].isalpha():
            return -1 if one[at] < two[at] else 1
        return 1 if one[at].isalpha() else -1
    lead = 0
    if "0" in (one[at], two[at]):
        # A zero after other digits is a digit like them, not the start of a number.
        before = at
        while before and one[before - 1].isdecimal():
            before -= 1
        lead = int(any(digit != "0" for digit in one[before:at]))
    number_one, width_one = _number_at(one, at, lead)
    number_two, width_two = _number_at(two, at, lead)
    if number_one != number_two:
        return -1 if number_one < number_two else 1
    if width_one != width_two:
        return width_one - width_two
    return -1 if one[at] < two[at] else 1


def _number_at(text: str, at: int, lead: int) -> tuple[int, int]:
    """Number written at a position, after a leading digit, and how many digits it has."""
    end = at
    while end < len(text) and text[end].isdecimal() and end - at < _LONGEST_NUMBER:
        end += 1
    return int(f"{lead}{text[at:end]}"), end - at
