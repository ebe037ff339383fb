"""Values seen through their type."""

import pytest
from apply_types import ROOT

from kubetrio.machinery.applyvalues import TypedError, field_set, step_of, validate
from kubetrio.machinery.fieldset import FieldSet


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
    [{"data": {}}, {"data": None}, {"items": []}, {"whole": {"a": "1"}}, {"list": ["a"]}],
)
def test_wholes_are_claimed_as_such(value):
    """Empty values, null and atomic ones are leaves."""
    (name,) = value
    assert fields(value) == {f"f:{name}": {}}


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


def test_empty_object_claims_nothing():
    """An object of nothing has no fields."""
    assert field_set({}, ROOT) == FieldSet({})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"bogus": 1}, ".bogus: field not declared in schema"),
        ({"metadata": {"x": 1}}, ".metadata.x: field not declared in schema"),
        ({"data": 1}, ".data: expected map, got &{1}"),
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
                ".items: element 0: associative list with keys has an element that omits key field"
                ' "name" (and doesn\'t have default value)'
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
