"""Indexes as intervals and as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.job import indexes

Sets = st.sets(st.integers(0, 30))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ()),
        ("1", ((1, 1),)),
        ("1,2", ((1, 2),)),
        ("1,3-5,7", ((1, 1), (3, 5), (7, 7))),
        ("1,x,3-y,4", ((1, 1), (4, 4))),
        ("3-99", ((3, 9),)),
        ("3,12", ((3, 3),)),
    ],
)
def test_texts(text: str, found: indexes.Intervals) -> None:
    """What is wrong, and what is beyond the completions, is left out."""
    assert indexes.parsed(text, 10) == found


def of(numbers: set[int]) -> indexes.Intervals:
    """Intervals of a set."""
    return indexes.with_indexes(indexes.NONE, numbers)


@given(Sets, Sets, st.integers(0, 8))
def test_intervals_are_sets(one: set[int], two: set[int], count: int) -> None:
    """Whatever is done with them."""
    assert indexes.parsed(indexes.text(of(one)), 99) == of(one)
    assert indexes.merged(of(one), of(two)) == of(one | two)
    assert indexes.total(of(one)) == len(one)
    assert {number for number in range(31) if indexes.has(of(one), number)} == one
    assert indexes.common(of(one), of(two)) == len(one & two)
    free = [number for number in range(20) if number not in one]
    assert indexes.pending(of(one), count, 20) == free[:count]


def test_two_indexes_are_no_range() -> None:
    """As kube-controller-manager prints them."""
    assert indexes.text(of({1, 2, 4, 6, 7, 8})) == "1,2,4,6-8"
