"""Of very many causes the first are made and told."""

from __future__ import annotations

import pytest

from kubetrio.machinery import fielderrors
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.status import MORE, MOST_CAUSES, MOST_TOLD_CHARS, invalid
from kubetrio.machinery.telling import Telling, told_enough, untell
from kubetrio.structural.values import Checker, Old
from kubetrio.structural.values import Out as Causes

KIND = GroupKind("", "Pod")


def test_only_the_first_causes_are_made() -> None:
    """Each that comes after them is one and the same."""
    with Telling():
        found = [fielderrors.required(f"a[{n}]") for n in range(MOST_CAUSES + 5)]
        assert told_enough()
    assert not told_enough()
    assert found[MOST_CAUSES:] == [MORE] * 5
    assert all(one is MORE for one in found[MOST_CAUSES:])
    assert MORE not in found[:MOST_CAUSES]


def test_causes_have_so_many_characters() -> None:
    """The one that has more than are left is made: a refusal without a word helps nobody."""
    with Telling():
        first = fielderrors.invalid("a", "x" * MOST_TOLD_CHARS, "no")
        second = fielderrors.invalid("b", "x", "no")
    assert first.field == "a"
    assert second is MORE


def test_a_refusal_tells_the_first_causes() -> None:
    """Each cause stands in the message and in the details."""
    causes = [fielderrors.required(f"a[{n}]") for n in range(3 * MOST_CAUSES)]
    error = invalid(KIND, "a", causes)
    told = (error.details or {})["causes"]
    assert len(told) == MOST_CAUSES
    assert told[-1]["field"] == f"a[{MOST_CAUSES - 1}]"
    assert error.message.count("Required value") == MOST_CAUSES
    error = invalid(KIND, "a", [fielderrors.invalid("a", "x" * 1000, "no")] * 900)
    assert len((error.details or {})["causes"]) == -(-MOST_TOLD_CHARS // 1020)


def test_what_is_not_told_is_left_out() -> None:
    """It stands there alone only where nothing else does."""
    one = fielderrors.required("a")
    many = [one, *[MORE] * MOST_CAUSES]
    assert (invalid(KIND, "a", many).details or {})["causes"] == [one.as_dict()]
    alone = invalid(KIND, "a", [MORE] * 20)
    assert (alone.details or {})["causes"] == [
        {"reason": "FieldValueInvalid", "message": "too many errors"}
    ]


def test_causes_that_turn_out_good_leave_room() -> None:
    """So that what is told of an object does not depend on what else was looked at."""
    with Telling():
        for _ in range(3):
            found = [fielderrors.required("a") for _ in range(MOST_CAUSES)]
            assert MORE not in found
            untell(found)
        assert not told_enough()


@pytest.mark.parametrize("junctor", ["anyOf", "oneOf", "not"])
def test_alternatives_that_do_not_count_leave_room(junctor: str) -> None:
    """Ten thousand values of which each is no text: the mistake behind them is told."""
    wrong = {"type": "string"}
    inner = wrong if junctor == "not" else [wrong, {"type": "integer"}]
    items = {"type": "array", "items": {junctor: inner}}
    last = {"type": "integer"}
    schema = {"type": "object", "properties": {"a": items, "b": last}}
    out = Causes()
    with Telling():
        Checker(schema).check({"a": [1] * 10 * MOST_CAUSES, "b": ""}, "", None, out)
    assert [cause.field for cause in out] == ["b"]


def test_old_mistakes_leave_room() -> None:
    """What was wrong before and did not change is let be, and what is new is told."""
    items = {"type": "array", "items": {"type": "object", "required": ["x"]}}
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["x"]},
    }
    schema = {"type": "object", "properties": {"a": keyed, "b": {"type": "integer"}, "c": items}}
    checker = Checker(schema)
    old = {"a": [{"k": n} for n in range(2 * MOST_CAUSES)], "b": 1}
    out = Causes()
    with Telling():
        checker.check({**old, "b": ""}, "", Old(checker, old), out)
    assert [cause.field for cause in out] == ["b"]
