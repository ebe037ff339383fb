"""Many keys are sorted as few are, some at a time."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.machinery import sorting
from kubetrio.machinery.sorting import KEYS_AT_ONCE, sorted_in_steps


@given(st.lists(st.tuples(st.text(max_size=3), st.integers())), st.integers(1, 9))
def test_the_order_is_that_of_one_call(keys: list[tuple[str, int]], at_once: int) -> None:
    """Also of those that compare equal, and by what is compared instead."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "KEYS_AT_ONCE", at_once)
        assert sorted_in_steps(keys) == sorted(keys)
        assert sorted_in_steps(keys, lambda key: key[0]) == sorted(keys, key=lambda key: key[0])
        assert sorted_in_steps(dict(keys)) == sorted(dict(keys))


def test_no_call_sorts_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would let no other thread run."""
    sizes = []

    def noted(keys: Any, **options: Any) -> list[Any]:
        found = builtins.sorted(keys, **options)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(sorting, "sorted", noted, raising=False)
    keys = [str(number * 7919 % 100_003) for number in range(100_003)]
    assert sorted_in_steps(keys) == sorted(keys)
    assert max(sizes) == KEYS_AT_ONCE
