"""Values fit their schemas, with all members, some, or those that are required."""

from __future__ import annotations

import random  # noqa: TID251  (seeded)
from typing import Any

import jsonschema
import pytest

from kubetrio.harness.operators.sampling import Members, Sampler

TEXT = {"type": "string"}
KEYED: dict[str, Any] = {
    "type": "array",
    "minItems": 2,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "required": ["name"], "properties": {"name": TEXT}},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name", "port"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]{4}$"},
        "port": {"type": "integer", "minimum": 9092, "maximum": 9999},
        "fraction": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 0.5},
        "steps": {"type": "integer", "multipleOf": 7, "minimum": 7},
        "form": {"enum": ["x", "y"]},
        "short": {"type": "string", "minLength": 2, "maxLength": 2},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "several": {"type": "object", "minProperties": 1, "properties": {"a": TEXT, "b": TEXT}},
        "on": {"type": "boolean"},
        "mask": {"type": "string", "format": "ipv4"},
        "rows": KEYED,
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"enum": ["a"]}},
    },
}


@pytest.mark.parametrize("members", ["all", "some", "needed"])
def test_values_fit(members: Members) -> None:
    """As a checker from outside sees it."""
    sampler = Sampler(random.Random(0))
    for _ in range(20):
        jsonschema.Draft4Validator(SCHEMA).validate(sampler.value(SCHEMA, members))


def test_which_members_there_are() -> None:
    """All have a value or an item in them; needed are those that are required."""
    sampler = Sampler(random.Random(0))
    whole = sampler.value(SCHEMA, "all")
    assert whole.keys() == SCHEMA["properties"].keys()
    assert whole["labels"]
    assert whole["rows"]
    assert sampler.value(SCHEMA, "needed").keys() == {"name", "port"}


def test_items_differ_where_they_have_to() -> None:
    """By their keys, or as a whole."""
    sampler = Sampler(random.Random(1))
    for _ in range(20):
        rows = [row["name"] for row in sampler.value(KEYED, "all")]
        assert len(rows) == len(set(rows)) == 2
        assert sampler.value(SCHEMA["properties"]["set"], "all") == ["a"]


def test_a_pattern_of_go_alone() -> None:
    """Has a plain text."""
    sampler = Sampler(random.Random(0))
    assert sampler.value({"type": "string", "pattern": r"^\p{L}+$"}, "all")


def test_a_rule_has_texts_of_many_forms() -> None:
    """For one of them may keep it."""
    sampler = Sampler(random.Random(0))
    ruled = {**TEXT, "x-kubernetes-validations": [{"rule": "isURL(self)"}]}
    assert any(sampler.value(ruled, "all").startswith("https:") for _ in range(200))


def test_a_seed_decides() -> None:
    """All values."""
    one, other = (
        [Sampler(random.Random(3)).value(SCHEMA, "some") for _ in range(5)] for _ in range(2)
    )
    assert one == other
