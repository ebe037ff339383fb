"""Rules of a schema that are too dear, alone or together."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.cel.engine import available
from kubetrio.cel.ruleproblems import Finding, excess, rule_problems
from kubetrio.testing.effort import calls

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

Json = dict[str, Any]
HINT = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


def places(*counts: int, **rule: str) -> Json:
    """A schema with a rule that costs 3, in objects that can be there so often."""
    item = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.n > 3", **rule}],
    }
    return {
        "type": "object",
        "properties": {
            f"p{at}": {"type": "object", "maxProperties": count, "additionalProperties": item}
            for at, count in enumerate(counts)
        },
    }


def shown(found: Finding) -> tuple[str, str, str]:
    place = "" if found.place is None else found.place.path.split("]")[0].rpartition("[")[2]
    return place, found.member, found.text.partition(" (")[0]


@pytest.mark.parametrize(
    ("cost", "factor"),
    [
        (101, "1.010000x"),
        (149, "1.490000x"),
        (150, "1.5x"),
        (10_000, "100.0x"),
        (10_001, "more than 100x"),
        (2**64 - 1, "more than 100x"),
    ],
)
def test_factors(cost: int, factor: str) -> None:
    """Near the limit there are six digits, far from it one or none."""
    assert excess("it", cost, 100) == f"it exceeds budget by factor of {factor} {HINT}"


def test_a_rule_at_its_limit() -> None:
    """Ten million is allowed, more is not."""
    assert list(rule_problems(places(3_333_333))) == []
    [found] = rule_problems(places(3_333_334))
    assert found.too_dear
    assert shown(found) == (
        "p0",
        "rule",
        "estimated rule cost exceeds budget by factor of 1.000000x",
    )


def test_rules_together() -> None:
    """The four dearest are named, the dearest first, and of equal ones the first."""
    counts = (5_000_000, 9_000_000, 7_000_000, 6_000_000, 9_000_000, 100)
    found = [shown(one) for one in rule_problems(places(*counts))]
    part = (
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    )
    total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    assert [one[0] for one in found[:5]] == ["p0", "p1", "p2", "p3", "p4"]
    assert found[5:] == [
        ("p1", "rule", part),
        ("p4", "rule", part),
        ("p2", "rule", part),
        ("p3", "rule", part),
        ("", "", f"{total} exceeds budget by factor of 1.080003x"),
    ]


def test_a_stored_schema() -> None:
    """What a stored rule costs is no reason to refuse it; what all cost together is."""
    assert list(rule_problems(places(9_000_000), stored=True)) == []
    found = list(rule_problems(places(9_000_000, 9_000_000, 9_000_000, 9_000_000), stored=True))
    assert [one.text.startswith("contributed") for one in found] == [True] * 4 + [False]


def test_messages_count_once() -> None:
    """A message is made for one refusal, however often its place can be there."""
    texts = f"'{'many letters ' * 20}' + 'and some more'"  # costs 28
    assert list(rule_problems(places(1_000_000, messageExpression=texts))) == []
    long = {"type": "array", "items": {"type": "string"}}
    schema: Json = {
        "type": "object",
        "properties": {"l": long},
        "x-kubernetes-validations": [
            {"rule": "true", "messageExpression": "self.l.map(x, x + x).join(',')"}
        ],
    }
    first = next(iter(rule_problems(schema)))
    assert shown(first) == (
        "",
        "messageExpression",
        "estimated messageExpression cost exceeds budget by factor of more than 100x",
    )


def test_an_optional_old_value_that_is_not_asked_for() -> None:
    """The member is wrong then, whether or not the rule compiles."""
    for rule in ("true", "zz"):
        schema = {
            "type": "object",
            "x-kubernetes-validations": [{"rule": rule, "optionalOldSelf": True}],
        }
        *_, found = rule_problems(schema)
        assert (found.member, found.text) == (
            "optionalOldSelf",
            "may not be set if oldSelf is not used in rule",
        )


def test_counts_without_bounds() -> None:
    """A place without bounds above it can be there as often as a request of 3 MiB can hold it."""
    schema = places(1)
    del schema["properties"]["p0"]["maxProperties"]
    assert list(rule_problems(schema)) == []  # 3 * 3,145,728 / 3
    schema["properties"]["p0"]["additionalProperties"]["x-kubernetes-validations"] = [
        {"rule": " && ".join(["self.n > 3"] * 4)}
    ]
    [found] = rule_problems(schema)
    assert shown(found)[2] == "estimated rule cost exceeds budget by factor of 1.258291x"


def copies(count: int, **members: Json) -> Json:
    """A schema with equal parts, each with a rule."""
    part = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, **members},
        "x-kubernetes-validations": [{"rule": "self.n > 3 && self.n < 30"}],
    }
    return {
        "type": "object",
        "properties": {f"p{at}": {**part, "description": f"number {at}"} for at in range(count)},
    }


def test_equal_rules_of_equal_places_are_compiled_once() -> None:
    """What a schema repeats costs little."""
    assert calls(lambda: list(rule_problems(copies(40))))["estimate"] == 1


@pytest.mark.parametrize(
    ("other", "wrong"),
    [
        ({"properties": {"n": {"type": "string"}}}, "rule"),
        ({"maxProperties": 3, "properties": {"n": {"type": "integer"}}}, ""),
    ],
)
def test_equal_rules_of_other_places_are_compiled_for_each(other: Json, wrong: str) -> None:
    """They may be wrong there."""
    schema = copies(2)
    schema["properties"]["p1"].update(other)
    assert [found.member for found in rule_problems(schema)] == [wrong] * bool(wrong)


def test_sizes_of_nested_places_are_found_out_once() -> None:
    """However deep rules are in each other."""

    def effort(depth: int) -> int:
        schema: Json = {"type": "object", "properties": {"n": {"type": "integer"}}}
        for _ in range(depth):
            schema = {
                "type": "object",
                "properties": {"a": schema, **{f"b{at}": {"type": "string"} for at in range(20)}},
                "x-kubernetes-validations": [{"rule": "true"}],
            }
        return calls(lambda: list(rule_problems(schema))).total()

    effort(1)  # what is made once is made
    assert effort(80) < 5 * effort(20)
