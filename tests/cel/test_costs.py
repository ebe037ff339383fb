"""Estimates of cost: those of a kube-apiserver, and how long they take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.cel.costs import Estimator
from kubetrio.cel.engine import available
from kubetrio.cel.expressions import CompileError
from kubetrio.cel.places import Compiling, Place
from kubetrio.cel.ranges import MOST, Range
from kubetrio.cel.ruleproblems import RULE_LIMIT, excess
from kubetrio.cel.schemas import SchemaTypes
from kubetrio.cel.sizes import Sized, size_of
from kubetrio.cel.syntax import Node

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

RECORDED = json.loads((Path(__file__).parent / "cases/rulecosts.json").read_text())
"""What a kube-apiserver 1.36 answered: schema, rule, how often the schema can be there, by what
factor the rule is too dear."""


class Rules:
    """Rules of one schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        schema = {**schema, "x-kubernetes-validations": [{"rule": "true"}]}
        types = SchemaTypes(schema, whole=False)
        [place] = [place for place in types.places if not place.path]
        self._compiling = Compiling(types.messages, [Place(place.kind)])
        size = size_of(schema, whole=False)
        assert size is not None
        self._size: Sized = size

    def cost(self, rule: str) -> Range:
        return self._compiling.estimate(rule, 0, self._size, optional_old=False).cost


@pytest.mark.parametrize("name", ["bounded", "unbounded"])
def test_recorded_costs(name: str) -> None:
    """Each rule exceeds the limit by the factor that kube-apiserver tells, to the last digit."""
    rules = Rules(RECORDED[name])
    rows = [row[1:] for row in RECORDED["rows"] if row[0] == name]
    assert len(rows) > 300
    wrong = {}
    for rule, count, factor in rows:
        found = excess("it", rules.cost(rule).most * count, RULE_LIMIT)
        if not found.startswith(f"it exceeds budget by factor of {factor} ("):
            wrong[rule] = (factor, found)
    assert wrong == {}


TEXT = {"type": "string", "maxLength": 5}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "number": {"type": "integer"},
        "texts": {"type": "array", "items": TEXT, "maxItems": 3},
        "lists": {"type": "array", "items": {"type": "array", "items": TEXT, "maxItems": 2}},
        "map": {"type": "object", "additionalProperties": TEXT, "maxProperties": 4},
    },
}


@pytest.mark.parametrize(
    ("rule", "least", "most"),
    [
        ("true", 0, 0),
        ("self.number > 3", 3, 3),
        ("has(self.text)", 1, 1),
        ("self.number > 3 && self.number < 9", 3, 6),  # the second may not be looked at
        ("self.number > 3 || self.text == 'abc'", 3, 6),
        ("self.number > 3 ? true : self.text == 'abc'", 3, 6),
        ("self.text == 'abc'", 3, 3),  # a tenth of what is shorter, rounded up
        ("self.text.startsWith('a')", 3, 3),
        ("self.text.contains('abc')", 2, 4),  # no text is too short to have none of it
        ("self.text.matches('abcd')", 3, 5),
        ("self.texts.all(x, true)", 3, 3 + 3 * 3),
        ("self.texts.all(i, x, x == 'b')", 3, 3 + 3 * 5),
        ("self.lists[0].isSorted()", 3, 3 + 2 * 3),
        ("size([1, 2, 3]) == 3", 12, 12),
        ("'a' in {'a': 1}", 31, 31),
    ],
)  # fmt: skip
def test_what_parts_cost(rule: str, least: int, most: int) -> None:
    """A text of five characters can be of twenty bytes, and each turn of a loop costs two more."""
    assert Rules(SCHEMA).cost(rule) == Range(least, most)


def test_paths_that_share_their_end() -> None:
    """A list that a loop goes over has the size of what is selected last from the same place.

    kube-apiserver has it so, and refuses or accepts rules by it.
    """
    item = {
        "type": "object",
        "properties": {
            "few": {"type": "array", "items": TEXT, "maxItems": 2},
            "many": {"type": "array", "items": TEXT, "maxItems": 1000},
        },
    }
    schema = {"type": "object", "properties": {"all": {"type": "array", "items": item}}}
    rules = Rules(schema)
    few = rules.cost("self.all.all(x, x.few.all(y, y == 'a'))").most
    many = rules.cost("self.all.all(x, x.few.all(y, y == 'a' || x.many.size() == 0))").most
    assert many > 100 * few


def _nested(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(parts, parts).map(lambda two: f"({two[0]} + {two[1]})"),
        st.tuples(parts, parts).map(lambda two: f"[{two[0]}, {two[1]}]"),
        st.tuples(parts, parts).map(lambda two: f"{two[0]}.map(x, {two[1]})"),
        st.tuples(parts, parts).map(lambda two: f"{two[0]}.filter(y, {two[1]} == y)"),
        st.tuples(parts, parts).map(lambda two: f"{two[0]}.all(k, v, {two[1]} == v)"),
        st.tuples(parts, parts).map(lambda two: f"{two[0]}.transformMap(k, v, {two[1]})"),
        st.tuples(parts, parts).map(lambda two: f"(self.number > 1 ? {two[0]} : {two[1]})"),
        parts.map(lambda one: f"dyn({one})"),
        parts.map(lambda one: f"{{'a': {one}}}"),
        parts.map(lambda one: f"{one}[0]"),
        parts.map(lambda one: f"{one}.?a.orValue({one})"),
        parts.map(lambda one: f"{one}.replace('', {one})"),
        parts.map(lambda one: f"{one}.join({one})"),
        parts.map(lambda one: f"{one}.split('')"),
    )


EXPRESSIONS = st.recursive(
    st.sampled_from(
        ["self.texts", "self.lists", "self.map", "self.text", "self.number", "'a'", "x", "v", "[]"]
    ),
    _nested,
    max_leaves=20,
)


@shortened(200)
@given(EXPRESSIONS)
def test_any_expression_has_a_cost(source: str) -> None:
    """Whatever compiles has a range of costs in 64 bits."""
    try:
        cost = Rules(SCHEMA).cost(source)
    except CompileError:
        return
    assert 0 <= cost.least <= cost.most <= MOST


@pytest.mark.parametrize(
    "source",
    [
        "&&".join(["self.texts.all(x,x=='b')"] * 800),
        "[" + ",".join(["self.number"] * 3000) + "] == []",
        "self.texts" + ".map(x, x)" * 25 + " == []",
        "".join(f"self.texts.all(x{n}, " for n in range(14)) + "true" + ")" * 14,
        "".join(f"self.texts.all(x{n}, y{n}, " for n in range(14)) + "true" + ")" * 14,
    ],
    ids=["wide", "long", "chain", "loops", "loops of two"],
)  # fmt: skip
def test_large_expressions(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is looked at once: time goes by the length of an expression."""
    looked = 0
    cost = Estimator.cost

    def counting(self: Estimator, node: Node) -> Range:
        nonlocal looked
        looked += 1
        return cost(self, node)

    monkeypatch.setattr(Estimator, "cost", counting)
    assert Rules(SCHEMA).cost(source).most > 0
    assert looked < len(source)
