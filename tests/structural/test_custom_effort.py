"""No schema and no object, however hostile, costs more than its size: counted in calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubetrio.machinery.status import Cause
from kubetrio.structural import structure
from kubetrio.structural.causes import MOST, Out
from kubetrio.structural.celrules import check_rules, compiled
from kubetrio.structural.listtypes import check_lists
from kubetrio.structural.structure import Node
from kubetrio.structural.values import Checker, Old
from kubetrio.testing.effort import calls

Object = dict[str, Any]
KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {
        "type": "object",
        "properties": {"k": {"type": "integer"}, "v": {"type": "integer", "maximum": 0}},
    },
}
RULE = {"rule": "self.v < 1"}


def lists(size: int) -> tuple[Object, Any, Any]:
    """A long list with keys in which everything is wrong, and was, in another order."""
    items = [{"k": index, "v": 1} for index in range(size)]
    return {"type": "object", "properties": {"a": KEYED}}, {"a": items}, {"a": items[::-1]}


def enums(size: int) -> tuple[Object, Any, Any]:
    """Many values, and many that are allowed and no texts."""
    allowed = [{"n": index} for index in range(size)]
    schema = {"type": "array", "items": {"type": "object", "enum": allowed}}
    return schema, allowed[::-1], None


def refused_by_enums(size: int) -> tuple[Object, Any, Any]:
    """Many values, none of many that are allowed: the message for each names them all."""
    schema = {
        "type": "array",
        "items": {"type": "string", "enum": [f"x{at}" for at in range(size)]},
    }
    return schema, [str(at) for at in range(size)], None


def alternatives(size: int) -> tuple[Object, Any, Any]:
    """Alternatives inside of alternatives, the last of which fits."""
    schema: Object = {"type": "integer"}
    for _ in range(size // 20):
        schema = {"anyOf": [{"minimum": 1}, schema], "allOf": [schema]} if _ < 4 else {
            "anyOf": [{"minimum": 1}, {"maximum": -1}, schema]
        }  # fmt: skip
    return schema, 0, None


def required(size: int) -> tuple[Object, Any, Any]:
    """Many members that must be there, in many objects that have none."""
    item = {"type": "object", "required": [f"m{at}" for at in range(200)]}
    return {"type": "array", "items": item}, [{} for _ in range(size)], None


def deep(size: int) -> tuple[Object, Any, Any]:
    """Something wrong far down, which was wrong before."""
    schema: Object = {"type": "integer", "maximum": 0}
    value: Any = 1
    for _ in range(min(size, 160)):
        schema, value = {"type": "object", "properties": {"a": schema}}, {"a": value}
    return schema, value, value


SHAPES = [lists, enums, refused_by_enums, alternatives, required, deep]


@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_checked_in_linear_effort(
    shape: Callable[[int], tuple[Object, Any, Any]],
) -> None:
    """Four times as much takes five times as many calls at most."""

    def effort(size: int) -> int:
        schema, value, before = shape(size)
        checker = Checker(schema)

        def check() -> None:
            old = None if before is None else Old(checker, before)
            checker.check(value, "", old, Out())
            check_lists(checker, value, "", [])

        return calls(check).total()

    assert effort(800) < 5 * effort(200) + 1000


@pytest.mark.parametrize("what", [enums, lists])
def test_pruning_and_defaulting_are_linear(
    what: Callable[[int], tuple[Object, Any, Any]],
) -> None:
    """Each part is visited once by each of the three."""

    def effort(size: int) -> int:
        schema, value, _ = what(size)
        node = Node(schema, root=True)

        def keep() -> None:
            whole = {"a": value} if type(value) is list else value
            structure.prune(node, whole)
            structure.drop_nulls(node, whole)
            structure.fill_in(node, whole)

        return calls(keep).total()

    assert effort(800) < 5 * effort(200) + 1000


@pytest.mark.parametrize("atomic", [False, True])
def test_rules_look_at_what_was_in_linear_effort(*, atomic: bool) -> None:
    """Of a long list with keys, or of one without, whose items are wrong as they were before."""
    pytest.importorskip("cel_expr_python")
    item = {**KEYED["items"], "x-kubernetes-validations": [RULE]}  # type: ignore[dict-item]
    listed = {"type": "array", "items": item} if atomic else {**KEYED, "items": item}
    schema = {"type": "object", "properties": {"a": listed}}
    place = compiled(schema)
    assert place is not None

    def effort(size: int) -> int:
        _, new, old = lists(size)
        old = {"a": new["a"][:]} if atomic else old
        out: list[Cause] = []
        count = calls(lambda: check_rules(place, new, old, Checker(schema), out)).total()
        assert out == []
        return count

    effort(10)  # what is made once is made
    assert effort(400) < 5 * effort(100) + 1000


def test_of_many_causes_some_are_told() -> None:
    """A refusal names no more than anybody reads, however much is wrong."""
    out = Out()
    schema, value, _ = required(100)
    Checker(schema).check(value, "", None, out)
    assert len(out) == MOST


def test_members_in_another_order_are_no_change() -> None:
    """What was wrong is let be, whichever way a client prints its objects."""
    schema = {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "maxItems": 0,
                "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }
        },
    }
    checker, out = Checker(schema), Out()
    checker.check({"a": [{"x": 1, "y": 2}]}, "", Old(checker, {"a": [{"y": 2, "x": 1}]}), out)
    assert out == []


def test_rules_inside_of_each_other_share_what_makes_their_values() -> None:
    """Each part of a schema is looked at once, however many rules are above it."""
    pytest.importorskip("cel_expr_python")

    def effort(depth: int) -> int:
        schema: Object = {"type": "object", "properties": {"n": {"type": "number"}}}
        value: Object = {"n": 1}
        for _ in range(depth):
            more = {f"b{at}": {"type": "number"} for at in range(50)}
            schema = {
                "type": "object",
                "properties": {"a": schema, **more},
                "x-kubernetes-validations": [{"rule": "true"}],
            }
            value = {"a": value}

        def first() -> None:
            place = compiled(schema)
            assert place is not None
            check_rules(place, value, None, Checker(schema), [])

        return calls(first).total()

    effort(1)  # what is made once is made
    assert effort(40) < 6 * effort(10)


def test_rules_of_a_large_schema_have_environments_of_their_own() -> None:
    """The first object of a kind does not pay for the rules of members that it does not have."""
    pytest.importorskip("cel_expr_python")

    def declared(count: int) -> int:
        rules = [{"rule": "self > 1"}]
        part = {"type": "integer", "x-kubernetes-validations": rules}
        schema = {"type": "object", "properties": {f"p{at:04}": dict(part) for at in range(count)}}

        def first() -> None:
            place = compiled(schema)
            assert place is not None
            check_rules(place, {"p0003": 2}, None, Checker(schema), [])

        return calls(first)["_old_self"]

    assert declared(2000) == declared(64)
