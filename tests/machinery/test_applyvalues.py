"""Values seen through their type."""

import pytest
from apply_types import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.applyvalues import TypedError, field_set, step_of, validate
from kubetrio.machinery.fieldset import FieldSet
from kubetrio.machinery.typeschema import OPAQUE, TypeKind, TypeSchema
from kubetrio.wire.goscan import Float


def fields(value):
    return field_set(value, ROOT).to_fields_v1()


def test_claims_are_leaves_items_and_undeclared_members():
    """Declared objects around a claim are not claimed; items and members of maps are."""
    assert fields({"data": {"a": "1"}, "items": [{"name": "x", "deep": {"k": "v"}}]}) == {
        "f:data": {"f:a": {}},
        "f:items": {'k:{"name":"x"}': {".": {}, "f:deep": {"f:k": {}}, "f:name": {}}},
    }


@pytest.mark.parametrize(
    "value",
    [
        {"data": {}},
        {"data": None},
        {"items": None},
        {"whole": {"a": "1"}},
        {"list": ["a"]},
        {"list": []},
    ],
)
def test_wholes_are_claimed_as_such(value):
    """Empty maps, null and atomic values are leaves."""
    (name,) = value
    assert fields(value) == {f"f:{name}": {}}


def test_an_empty_list_of_items_is_nobodys():
    """What is owned of such a list is its items."""
    assert fields({"items": [], "data": {"a": "1"}}) == {"f:data": {"f:a": {}}}


def test_a_struct_of_empty_lists_is_nobodys():
    """Of a declared object its members are owned, and here there is none."""
    assert fields({"spec": {"deep": {"sets": []}}, "data": {"a": "1"}}) == {"f:data": {"f:a": {}}}
    assert fields({"spec": {"deep": {}}}) == {"f:spec": {"f:deep": {}}}


def test_undeclared_parts_are_deduced():
    """Where nothing is declared, members are claimed one by one, lists as a whole."""
    assert fields({"any": {"m": {"x": 1}, "l": [{"y": 1}]}}) == {
        "f:any": {"f:l": {}, "f:m": {".": {}, "f:x": {}}}
    }


def test_repeated_items_are_one_claim():
    """Items that share a key have no parts of their own."""
    items = [{"name": "x", "v": "1"}, {"name": "x"}, {"name": "y"}]
    assert fields({"items": items, "set": ["a", "a"]}) == {
        "f:items": {'k:{"name":"x"}': {}, 'k:{"name":"y"}': {".": {}, "f:name": {}}},
        "f:set": {'v:"a"': {}},
    }


def test_key_defaults_are_filled_in():
    """A port without a protocol is the TCP port."""
    assert step_of({"port": 80}, ROOT.fields["ports"]) == 'k:{"port":80,"protocol":"TCP"}'


def test_an_optional_key_makes_another_item():
    """Items are told apart by the keys that they have."""
    assert step_of({"protocol": "UDP"}, ROOT.fields["ports"]) == 'k:{"protocol":"UDP"}'
    assert fields({"ports": [{"protocol": "UDP"}, {"port": 1, "protocol": "UDP"}]}) == {
        "f:ports": {
            'k:{"port":1,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}},
            'k:{"protocol":"UDP"}': {".": {}, "f:protocol": {}},
        }
    }


@pytest.mark.parametrize(
    ("key", "shown"),
    [({}, ""), ({"a": 1.5}, "a=1.5"), (["x", 2], '["x",2]'), (Float("80.0"), "80"), (None, "null")],
)
def test_keys_of_the_wrong_form_are_named_too(key, shown):
    """Whatever stands in a key field, the message says where."""
    with pytest.raises(TypedError) as caught:
        validate({"ports": [{"port": key, "name": 1}]}, ROOT)
    assert str(caught.value).find(f'.ports[port={shown},protocol="TCP"].name: expected string') >= 0


def test_lists_of_what_is_not_declared_may_hold_nulls():
    """They are atomic, whatever is around them."""
    validate({"any": {"l": [None, {"a": None}, [None]]}, "whole": {}}, ROOT)


def test_what_is_opaque_is_one_claim():
    """Also a map of many members."""
    schema = TypeSchema(kind=TypeKind.MAP, load_fields=lambda: {"data": OPAQUE})
    value = {"data": {"a": {"b": 1}, "l": [None]}}
    validate(value, schema)
    assert field_set(value, schema).to_fields_v1() == {"f:data": {}}


def test_empty_object_claims_nothing():
    """An object of nothing has no fields."""
    assert field_set({}, ROOT) == FieldSet({})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"bogus": 1}, ".bogus: field not declared in schema"),
        ({"metadata": {"x": 1}}, ".metadata.x: field not declared in schema"),
        ({"data": 1}, ".data: expected map, got &{1}"),
        ({"data": 1e7 + 0.125}, ".data: expected map, got &{1.0000000125e+07}"),
        ({"data": -(2**64)}, ".data: expected map, got &{-1.8446744073709552e+19}"),
        ({"items": {}}, ".items: expected list, got &{map[]}"),
        ({"count": "1"}, ".count: expected numeric (int or float), got string"),
        ({"on": 1}, ".on: expected boolean, got &{1}"),
        ({"data": {"a": 1}}, ".data.a: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]},
            '.ports: duplicate entries for key [port=80,protocol="TCP"]',
        ),
        ({"set": ["a", "a"]}, '.set: duplicate entries for key [="a"]'),
        (
            {"items": [{"v": "1"}]},
            (
                ".items: element 0: associative list with keys has an element that omits all key "
                'fields ["name"] (and doesn\'t have default values for any key fields)'
            ),
        ),
        (
            {"items": [None]},
            ".items: element 0: associative list with keys may not have a null element",
        ),
        (
            {"items": [1]},
            ".items: element 0: associative list with keys may not have non-map elements",
        ),
        (
            {"set": [{}]},
            ".set: element 0: associative list without keys has an element that's a map type",
        ),
        (
            {"set": [[]]},
            ".set: element 0: not supported: associative list with lists as elements",
        ),
        (
            {"set": [None]},
            ".set: element 0: associative list without keys has an element that's an explicit null",
        ),
        (
            {"list": ["a", 1], "items": [{"name": "x", "v": 2}]},
            (
                "errors:\n"
                "  .list[1]: expected string, got &value.valueUnstructured{Value:1}\n"
                '  .items[name="x"].v: expected string, got &value.valueUnstructured{Value:2}'
            ),
        ),
    ],
)
def test_what_does_not_fit_is_named(value, message):
    """Problems carry the path and kube-apiserver's words."""
    with pytest.raises(TypedError) as caught:
        validate(value, ROOT)
    assert str(caught.value) == message


def test_null_fits_everywhere():
    """Null is a value of every type but an item's."""
    validate({"data": None, "items": None, "count": None, "any": None, "list": [None]}, ROOT)


NAMES = st.sampled_from(
    ["name", "v", "port", "protocol", "data", "items", "ports", "set", "any", "count", "spec"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.just("x") | st.just(1.5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_the_quick_look_finds_what_the_careful_one_finds(value):
    """All but items with one key, which may be where they are let."""
    problems = ()
    try:
        validate(value, ROOT)
    except TypedError as error:
        problems = tuple(one for one in error.problems if not one[1].startswith("duplicate"))
    found = ()
    try:
        validate(value, ROOT, duplicates=True)
    except TypedError as error:
        found = error.problems
    assert found == problems
