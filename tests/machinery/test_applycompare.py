"""Comparing objects."""

import copy

import pytest
from apply_types import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.applycompare import UNCHANGED, compare
from kubetrio.machinery.applyvalues import TypedError, field_set

NAMES = st.sampled_from("abc")
MAPS = st.dictionaries(NAMES, NAMES, max_size=3)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "data": MAPS,
        "whole": MAPS,
        "count": st.integers(0, 2),
        "set": st.lists(NAMES, unique=True, max_size=3),
        "list": st.lists(NAMES, max_size=2),
        "items": st.lists(
            st.fixed_dictionaries({"name": NAMES}, optional={"v": NAMES, "deep": MAPS}),
            unique_by=lambda item: item["name"],
            max_size=3,
        ),
        "any": st.recursive(NAMES, lambda inner: st.dictionaries(NAMES, inner, max_size=2)),
    },
)
quick = settings(max_examples=80, deadline=None)


def parts(old, new):
    found = compare(old, new, ROOT)
    return tuple(s.to_fields_v1() for s in (found.added, found.modified, found.removed))


@quick
@given(OBJECTS)
def test_nothing_changes_between_equal_objects(obj):
    """An object equals itself, and its copy."""
    assert not compare(obj, copy.deepcopy(obj), ROOT)
    assert compare(obj, obj, ROOT) is UNCHANGED


@quick
@given(OBJECTS, OBJECTS)
def test_comparison_is_symmetric(old, new):
    """What is added one way is removed the other way; what is modified is the same."""
    there, back = compare(old, new, ROOT), compare(new, old, ROOT)
    assert there.added == back.removed
    assert there.removed == back.added
    assert there.modified == back.modified


@quick
@given(OBJECTS)
def test_all_claims_of_a_new_object_are_added(obj):
    """From nothing, everything that an apply would claim is added."""
    assert not field_set(obj, ROOT).difference(compare({}, obj, ROOT).added)


def test_added_parts_are_added_with_all_around_them():
    """A map that was not there is added itself; one that was is not."""
    assert parts({}, {"data": {"a": "1"}})[0] == {"f:data": {".": {}, "f:a": {}}}
    assert parts({"data": {}}, {"data": {"a": "1"}})[0] == {"f:data": {"f:a": {}}}
    assert parts({"data": None}, {"data": {"a": "1"}})[0] == {"f:data": {"f:a": {}}}


def test_empty_and_null_are_told_apart():
    """Between leaves that hold nothing there is still a change."""
    assert parts({"data": None}, {"data": {}}) == ({}, {"f:data": {}}, {})


def test_items_are_compared_by_key():
    """The order of items is nobody's."""
    old = {"items": [{"name": "a", "v": "1"}, {"name": "b"}]}
    new = {"items": [{"name": "c"}, {"name": "a", "v": "2"}]}
    assert parts(old, new) == (
        {"f:items": {'k:{"name":"c"}': {".": {}, "f:name": {}}}},
        {"f:items": {'k:{"name":"a"}': {"f:v": {}}}},
        {"f:items": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
    )


def test_wholes_are_modified():
    """Atomic values have no parts."""
    old, new = {"list": ["a"], "whole": {"a": "1"}}, {"list": ["b"], "whole": {"b": "1"}}
    assert parts(old, new) == ({}, {"f:list": {}, "f:whole": {}}, {})


def test_undeclared_values_may_change_their_form():
    """An object that becomes a scalar loses its members, and the reverse."""
    old, new = {"any": {"a": 1}}, {"any": "x"}
    assert parts(old, new) == ({}, {"f:any": {}}, {"f:any": {"f:a": {}}})
    assert parts(new, old) == ({"f:any": {"f:a": {}}}, {"f:any": {}}, {})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["a", "a"], ["a", "a", "a"], ({}, {'v:"a"': {}}, {})),
        (["a", "a"], ["a"], ({'v:"a"': {}}, {}, {'v:"a"': {}})),
        (["a"], ["a", "a"], ({'v:"a"': {}}, {}, {'v:"a"': {}})),
        (["b"], ["b", "a", "a"], ({'v:"a"': {}}, {}, {})),
        (["b", "a", "a"], ["b"], ({}, {}, {'v:"a"': {}})),
    ],
)
def test_repeated_items_are_one_field(old, new, expected):
    """Repetition is compared as a whole, and coming or going of it is a change."""
    found = parts({"set": old}, {"set": new})
    assert found == tuple({"f:set": part} if part else {} for part in expected)


@pytest.mark.parametrize("new", [["a"], -1, "a"])
def test_values_of_two_forms_cannot_be_compared(new):
    """An object that became something else, where an object is declared."""
    with pytest.raises(TypedError):
        compare({"data": {"a": "b"}}, {"data": new}, ROOT)


def test_items_without_a_key_cannot_be_compared():
    """A list that no server would store is an error."""
    with pytest.raises(TypedError):
        compare({"items": []}, {"items": [{}, {"name": "a"}]}, ROOT)
