"""The model of structural schemas says what the documentation says."""

from __future__ import annotations

from typing import Any

import pytest

from fuzz.schema_model import PRESERVE, pruned, schema, settled, valid, value
from kubetrio.env import seeded

TEXT = {"type": "string"}
FILLED = {"type": "string", "default": "x"}
NULLABLE = {"type": "string", "default": "x", "nullable": True}


def of(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


LIST = {"type": "array", "items": of(b=TEXT)}


@pytest.mark.parametrize(
    ("schema", "given", "wanted"),
    [
        (of(a=TEXT), {"a": "1", "b": 2}, {"a": "1"}),
        ({**of(a=of()), PRESERVE: True}, {"a": {"c": 1}, "b": [1]}, {"a": {}, "b": [1]}),
        ({"type": "object", "additionalProperties": of()}, {"k": {"c": 1}}, {"k": {}}),
        (of(a=LIST), {"a": [{"b": "", "c": 1}]}, {"a": [{"b": ""}]}),
    ],
)  # fmt: skip
def test_what_is_unknown_goes(schema: Any, given: Any, wanted: Any) -> None:
    found, gone = pruned(schema, given)
    assert found == wanted
    assert gone == (given != wanted)


@pytest.mark.parametrize(
    ("schema", "given", "wanted"),
    [
        (of(a=FILLED), {}, {"a": "x"}),
        (of(a=FILLED), {"a": None}, {"a": "x"}),
        (of(a=NULLABLE), {"a": None}, {"a": None}),
        (of(a=TEXT), {"a": None}, {}),
        (of(a={**of(b=FILLED), "default": {}}), {}, {"a": {"b": "x"}}),
        (of(a={"type": "array", "items": FILLED}), {"a": [None]}, {"a": ["x"]}),
        ({"type": "object", "additionalProperties": FILLED}, {"k": None}, {"k": "x"}),
    ],
)
def test_what_is_missing_is_filled_in(schema: Any, given: Any, wanted: Any) -> None:
    """And nulls that are not allowed go."""
    assert settled(schema, given) == wanted


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "minimum": 0, "multipleOf": 2}, 4, 3),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, 0.5, 0),
        ({"type": "string", "maxLength": 1}, "\u00e9", "ab"),
        ({"type": "string", "pattern": "^[a-c]*$"}, "abc", "zz"),
        ({"type": "string", "enum": ["a"]}, "a", "b"),
        ({"type": "boolean"}, True, 1),
        ({"x-kubernetes-int-or-string": True}, 1, True),
        ({**of(a=TEXT), "required": ["a"]}, {"a": ""}, {}),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a"], ["a", "a"]),
        ({"type": "string", "nullable": True}, None, 1),
        (TEXT, "", None),
    ],
)
def test_what_is_valid(schema: Any, good: Any, bad: Any) -> None:
    assert valid(schema, good)
    assert not valid(schema, bad)


def test_defaults_are_values_of_their_schemas() -> None:
    """Of all schemas that are drawn."""

    def look(one: Any) -> int:
        below = [*one.get("properties", {}).values()]
        below += [one[name] for name in ("items", "additionalProperties") if name in one]
        if "default" in one:
            assert valid(one, one["default"])
            assert settled(one, one["default"]) == one["default"]
        return ("default" in one) + sum(map(look, below))

    assert sum(look(schema(seeded(seed).rng)) for seed in range(100)) > 20


def test_values_are_of_both_kinds() -> None:
    """Most are valid, so that writes are made, and many are not."""
    good = 0
    for seed in range(300):
        rng = seeded(seed).rng
        one = schema(rng)
        given = value(rng, one)
        good += valid(one, settled(one, pruned(one, given)[0]))
    assert 100 < good < 290
