"""JSON values that are copied and compared."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.jsonvalues import copy_json, is_deeper, same_json, without_nulls

DEPTH = 10_000
SCALARS = st.none() | st.booleans() | st.integers(0, 1) | st.sampled_from([0.0, 1.0, "", "a"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("ab"), inner)
)


def nested(depth: int, leaf: Any) -> Any:
    """Objects and lists in turn, around a leaf."""
    out = leaf
    for level in range(depth):
        out = {"a": out} if level % 2 else [out]
    return out


def leaf_of(value: Any) -> Any:
    """What `nested` was made around."""
    while isinstance(value, (dict, list)) and value:
        value = value["a"] if isinstance(value, dict) else value[0]
    return value


def pruned(value: Any) -> Any:
    """The obvious way to leave out nulls."""
    if isinstance(value, dict):
        return {key: pruned(item) for key, item in value.items() if item is not None}
    return [pruned(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=60)
@given(VALUES)
def test_copies_share_nothing(value: Any) -> None:
    """They are equal, in the same order, and of other containers."""
    found = copy_json(value)
    assert repr(found) == repr(value)
    if isinstance(value, (dict, list)):
        before = repr(value)
        found.clear()
        assert repr(value) == before
    assert repr(without_nulls(value)) == repr(pruned(value))


@settings(max_examples=60)
@given(VALUES, VALUES)
def test_values_are_the_same_when_they_are_written_the_same(one: Any, two: Any) -> None:
    """But for the order of members."""
    assert same_json(one, copy.deepcopy(one))
    assert same_json(one, two) == (repr(ordered(one)) == repr(ordered(two)))


def ordered(value: Any) -> Any:
    """A value with its members by name."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("make", [copy_json, without_nulls])
def test_depth_does_not_matter(make: Any) -> None:
    """Values deeper than Python's stack are copied and compared."""
    value = nested(DEPTH, {"b": 1})
    assert same_json(make(value), value)
    assert not same_json(value, nested(DEPTH, {"b": True}))
    assert leaf_of(make(nested(DEPTH, {"a": None}))) == (None if make is copy_json else {})


@pytest.mark.parametrize(
    ("value", "depth"),
    [(1, 0), ([], 1), ({"a": 1}, 1), ({"a": [], "b": 1}, 2), ([1, [{"x": [None]}]], 4)],
)
def test_depth_counts_objects_and_lists(value: Any, depth: int) -> None:
    """A scalar has none."""
    assert not is_deeper(value, depth)
    assert is_deeper(value, depth - 1)
