"""Values fit their schemas, as a checker from outside sees it."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.harness.schemavalues import values

SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 3, "maximum": 20, "multipleOf": 4},
    {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "maximum": 1},
    {"type": "number", "minimum": 0.5, "maximum": 1},
    {"type": "string", "minLength": 2, "maxLength": 3},
    {"type": "string", "pattern": "^[a-c]+$", "maxLength": 4},
    {"type": "boolean"},
    {"enum": ["a", 1]},
    {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
    {"type": "array", "uniqueItems": True, "items": {"type": "boolean"}},
    {"type": "object", "minProperties": 2, "additionalProperties": {"type": "string"}},
    {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {}}},
    },
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_values_fit(schema: dict[str, Any]) -> None:
    """Each that is drawn."""
    checker = jsonschema.Draft4Validator(schema)

    @settings(max_examples=30)
    @given(values(schema))
    def fits(value: Any) -> None:
        checker.validate(value)

    fits()


@given(data=st.data())
def test_null_and_numbers_or_texts(data: st.DataObject) -> None:
    """Where the schema says so."""
    port = data.draw(values({"x-kubernetes-int-or-string": True, "nullable": True}))
    assert port is None or isinstance(port, int | str)
    rows = data.draw(
        values(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"enum": ["a", "b"]}}},
            }
        )
    )
    keys = [row.get("name") for row in rows]
    assert len(keys) == len(set(keys))
