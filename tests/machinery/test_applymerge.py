"""Merging and taking out."""

import copy

import pytest
from apply_types import ROOT
from hypothesis import example, given, settings
from test_applycompare import OBJECTS

from kubetrio.machinery.applycompare import compare
from kubetrio.machinery.applymerge import merge, without
from kubetrio.machinery.applyvalues import TypedError, field_set
from kubetrio.machinery.fieldset import EMPTY, FieldSet

quick = settings(max_examples=80, deadline=None)


@quick
@given(OBJECTS, OBJECTS)
def test_merged_objects_have_what_was_applied(live, config):
    """All claims of the applied object are in the result, with their values; nothing is changed."""
    before = copy.deepcopy((live, config))
    merged = merge(live, config, ROOT)
    assert (live, config) == before
    change = compare(config, merged, ROOT)
    empty = field_set(config, ROOT).leaves()
    assert not change.modified.intersection(empty)
    assert merge(merged, config, ROOT) == merged


@quick
@given(OBJECTS, OBJECTS)
@example({"data": {}, "any": "a"}, {"data": {}, "any": {"a": "a"}})
def test_merging_only_touches_what_is_claimed(live, config):
    """What changes is claimed by the applied object, or holds only what it claims.

    Empty lists aside: of a list whose items are owned, an empty one is nobody's.
    """
    merged = merge(live, config, ROOT)
    changed = compare(live, merged, ROOT)
    claimed = field_set(config, ROOT)
    # A scalar that gives way to a map is modified itself, while the claims are below it.
    outside = changed.modified.difference(claimed)
    for path in outside:
        below = claimed
        for step in path:
            below = below.below(step)
        assert list(below)
    empty = [(f"f:{name}",) for name in ("items", "ports", "set") if config.get(name) == []]
    assert not changed.added.leaves().difference(field_set(config, ROOT).union(FieldSet.of(*empty)))


@quick
@given(OBJECTS)
def test_merging_the_same_is_the_same_object(obj):
    """A merge without effect gives back the live object."""
    assert merge(obj, copy.deepcopy(obj), ROOT) is obj
    assert merge(obj, {}, ROOT) is obj


@pytest.mark.parametrize(
    ("live", "config", "merged"),
    [
        ("ab", "cd", "abcd"),
        ("abc", "ca", "bca"),
        ("abcd", "bx", "abcdx"),
        ("abcd", "xb", "axbcd"),
        ("ab", "xby", "axby"),
        ("", "ab", "ab"),
        ("ab", "", "ab"),
        ("abc", "bac", "bac"),
        ("azb", "bxa", "zbxa"),
    ],
)
def test_order_of_items(live, config, merged):
    """Applied items come in their order; others stay before the next that both have."""
    assert merge({"set": list(live)}, {"set": list(config)}, ROOT)["set"] == list(merged)


def test_repeated_live_items_give_way():
    """One applied item replaces all that have its key."""
    live = {"items": [{"name": "a", "v": "1"}, {"name": "a", "v": "2"}, {"name": "b"}]}
    config = {"items": [{"name": "a"}, {"name": "x"}]}
    names = [item["name"] for item in merge(live, config, ROOT)["items"]]
    assert names == ["a", "x", "b"]
    assert merge(live, config, ROOT)["items"][0] == {"name": "a"}


def test_repeated_applied_items_are_refused():
    """An applied list cannot mean two things by one key."""
    with pytest.raises(TypedError, match=r'duplicate entries for key \[="a"\]'):
        merge({"set": ["b"]}, {"set": ["a", "a"]}, ROOT)


def test_null_replaces_leaves_only():
    """Applied null does not empty a map that has members."""
    live = {"data": {"a": "1"}, "count": 1, "list": ["a"]}
    config = {"data": None, "count": None, "list": None}
    merged = merge(live, config, ROOT)
    assert merged == {"data": {"a": "1"}, "count": None, "list": None}


def test_undeclared_values_may_change_their_form():
    """Where nothing is declared, the applied form wins."""
    assert merge({"any": {"a": 1}}, {"any": "x"}, ROOT) == {"any": "x"}
    assert merge({"any": "x"}, {"any": {"a": 1}}, ROOT) == {"any": {"a": 1}}


@quick
@given(OBJECTS)
def test_taking_out_nothing_is_the_same_object(obj):
    """No fields, no copy."""
    assert without(obj, EMPTY, ROOT) is obj


def test_taking_out():
    """Fields go with what is below them; what gets empty stays empty; all else stays."""
    obj = {"data": {"a": "1"}, "items": [{"name": "x", "v": "1"}, {"name": "y"}], "set": ["a", "b"]}
    gone = FieldSet.of(
        ("f:data", "f:a"),
        ("f:items", 'k:{"name":"x"}', "f:v"),
        ("f:items", 'k:{"name":"y"}'),
        ("f:set", 'v:"a"'),
        ("f:nothing", "f:there"),
    )
    assert without(obj, gone, ROOT) == {"data": {}, "items": [{"name": "x"}], "set": ["b"]}
