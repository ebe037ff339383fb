"""Values against schemas of custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.apiextensions.validation.schemavalues import check_value, has_unknown

from .helpers import Json, lines

OBJECT: Json = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string", "maxLength": 1}, "ab", "d: Too long: may not be more than 1 byte"),
        (
            {"type": "string", "minLength": 2},
            "a",
            'd: Invalid value: "a":  in body should be at least 2 chars long',
        ),
        (
            {"type": "string", "pattern": "^x"},
            "a",
            "d: Invalid value: \"a\":  in body should match '^x'",
        ),
        (
            {"type": "string", "enum": ["a"]},
            "b",
            'd: Unsupported value: "b": supported values: "a"',
        ),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            ["a", "b"],
            "d: Too many: 2: must have at most 1 item",
        ),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            'd: Invalid value: "boolean":  in body must be of type integer,string: "boolean"',
        ),
        (OBJECT, {"n": 6}, "d.n: Invalid value: 6: n in body should be less than or equal to 5"),
        ({**OBJECT, "required": ["n"]}, {}, "d.n: Required value"),
        (
            {"type": "number", "multipleOf": 0.5},
            0.7,
            "d: Invalid value: 0.7:  in body should be a multiple of 0.5",
        ),
    ],
)
def test_what_is_wrong(schema: Json, value: Any, expected: str) -> None:
    """Each keyword has its words."""
    found: list[Any] = []
    check_value(schema, value, "d", found)
    assert lines(found) == [expected]


def test_unknown_members() -> None:
    """What pruning would remove is unknown, unless the schema keeps it."""
    assert has_unknown(OBJECT, {"m": 1})
    assert not has_unknown({**OBJECT, "x-kubernetes-preserve-unknown-fields": True}, {"m": 1})
    assert has_unknown({"type": "array", "items": OBJECT}, [{"n": 1}, {"m": 1}])
