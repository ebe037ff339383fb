"""Sizes of values by their schema, and how often they can be there."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.cel.sizes import REQUEST, most_below, size_of

Json = dict[str, Any]
TEXT: Json = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "most", "shortest"),
    [
        (TEXT, REQUEST - 2, 2),
        ({"type": "string", "maxLength": 10}, 40, 2),
        ({"type": "string", "maxLength": -1}, 0, 2),
        ({"type": "string", "enum": ["a", "äöü"]}, 6, 2),
        ({"type": "string", "enum": ["a"], "maxLength": 3}, 12, 2),
        ({"type": "string", "format": "byte", "maxLength": 10}, 10, 2),
        ({"type": "string", "format": "duration", "maxLength": 10}, 32, 3),
        ({"type": "string", "format": "date"}, 12, 12),
        ({"type": "string", "format": "date-time"}, 32, 21),
        ({"x-kubernetes-int-or-string": True}, REQUEST - 2, 1),
        ({"x-kubernetes-int-or-string": True, "maxLength": 2}, 8, 1),
        ({"type": "integer"}, 0, 1),
        ({"type": "boolean"}, 0, 4),
        ({"type": "array", "items": TEXT}, (REQUEST - 2) // 3, 2),
        ({"type": "array", "items": TEXT, "maxItems": 4}, 4, 2),
        ({"type": "object", "additionalProperties": TEXT}, (REQUEST - 2) // 8, 2),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 4}, 4, 2),
        ({"type": "object", "properties": {"ab": TEXT}, "required": ["ab"]}, 0, 2 + 2 + 2 + 4),
        ({"type": "object", "properties": {"ab": TEXT}}, 0, 2),
        (
            {"type": "object", "properties": {"a": {**TEXT, "default": ""}}, "required": ["a"]},
            0,
            2,
        ),
    ],
)  # fmt: skip
def test_sizes(schema: Json, most: int, shortest: int) -> None:
    """A value has as much as its schema allows, or as a request can hold."""
    size = size_of(schema, whole=False)
    assert size is not None
    assert (size.most, size.shortest) == (most, shortest)


@pytest.mark.parametrize(
    "schema",
    [{}, {"x-kubernetes-preserve-unknown-fields": True}, {"type": "array", "items": {}}],
)
def test_values_that_are_not_seen(schema: Json) -> None:
    """What has no type is hidden from expressions."""
    assert size_of(schema, whole=False) is None


def test_a_resource_has_names_of_any_length() -> None:
    """Its bounds hold only where it declares all that is declared for it."""
    meta = {"type": "object", "properties": {"name": {**TEXT, "maxLength": 1}}}
    some: Json = {"type": "object", "properties": {"metadata": meta}}
    size = size_of(some, whole=True)
    assert size is not None
    name = size.at(["metadata", "name"])
    assert name is not None
    assert name.most == REQUEST - 2
    meta["properties"]["generateName"] = TEXT  # type: ignore[index]
    size = size_of({**some, "properties": {**some["properties"], "kind": TEXT, "apiVersion": TEXT}},
                   whole=True)  # fmt: skip
    assert size is not None
    name = size.at(["metadata", "name"])
    assert name is not None
    assert name.most == 4


def test_paths() -> None:
    """Parts go by their names in expressions."""
    schema = {
        "type": "object",
        "properties": {"a-b": {"type": "object", "additionalProperties": {**TEXT, "maxLength": 1}}},
    }
    size = size_of(schema, whole=False)
    assert size is not None
    value, key = size.at(["a__dash__b", "@values"]), size.at(["a__dash__b", "@keys"])
    assert value is not None
    assert key is not None
    assert (value.most, key.most) == (4, 0)
    assert size.at(["a-b"]) is None
    assert size.at(["a__dash__b", "@indices"]) is None


def test_how_often_a_part_can_be_there() -> None:
    """Bounds multiply; one list without a bound leaves only that of the request."""
    bounded: Json = {"type": "array", "maxItems": 3, "items": {}}
    members: Json = {"type": "object", "maxProperties": 4, "additionalProperties": {}}
    assert most_below(bounded, 2) == 6
    assert most_below(members, 2) == 8
    assert most_below({"type": "object", "properties": {}}, 2) == 2
    assert most_below({"type": "array", "items": {}}, 2) is None
    assert most_below(bounded, None) is None
