"""Lists that are sets or maps."""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.status import Cause
from kubetrio.structural.listtypes import check_lists
from kubetrio.structural.values import Checker

Object = dict[str, Any]


def texts(found: list[Cause]) -> list[str]:
    """Causes as messages show them."""
    return [f"{cause.field}: {cause.message}" for cause in found]


def inside(spec: Object) -> Object:
    """A schema of an object with a member ``a``."""
    return {"type": "object", "properties": {"a": spec}}


def test_sets_and_maps() -> None:
    """The second of two equal items is told, once."""
    schema = Checker({
        "type": "object",
        "properties": {
            "s": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "m": {
                "type": "array", "items": inside({"type": "string"}),
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
            },
        },
    })  # fmt: skip
    out: list[Cause] = []
    check_lists(schema, {"s": ["x", "x", "x"], "m": [{"a": "1"}, {"a": "1", "b": 2}]}, "", out)
    assert texts(out) == ['s[1]: Duplicate value: "x"', 'm[1]: Duplicate value: {"a":"1"}']
