"""The library of checks."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.common.checks import (
    Check,
    between,
    each,
    each_value,
    go_struct,
    immutable,
    is_missing,
    matches,
    minimum,
    one_of,
    row,
    same,
    table,
    union,
    unique,
    until,
)
from kubetrio.machinery.status import Cause


def found(check: Check, value: Any) -> list[str]:
    out: list[Cause] = []
    check(value, "p", out)
    return [f"{cause.field}: {cause.message}" for cause in out]


TABLE = table(
    row("a", minimum(1), missing="why"),
    lambda obj, path, out: None,
    row("b", one_of("x", "y")),
    row("c", minimum(1), zero=0),
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1, "b": "x", "c": 1}, []),
        ({"c": 1}, ["p.a: Required value: why"]),
        ({"a": 0, "c": 1}, ["p.a: Invalid value: 0: must be greater than or equal to 1"]),
        ({"a": 1, "b": "", "c": 1}, ['p.b: Unsupported value: "": supported values: "x", "y"']),
        ({"a": 1, "b": "z", "c": 1}, ['p.b: Unsupported value: "z": supported values: "x", "y"']),
        ({"a": 1}, ["p.c: Invalid value: 0: must be greater than or equal to 1"]),
    ],
)
def test_table(value: Any, expected: list[str]) -> None:
    """Rows look at members; a missing one has its own check."""
    assert found(TABLE, value) == expected


def test_each_names_places() -> None:
    """Items are named by their places, values of maps by their keys."""
    assert found(each(minimum(1)), [1, 0])[0].startswith("p[1]: ")
    assert found(each_value(minimum(1)), {"k": 0})[0].startswith("p[k]: ")


def test_unique() -> None:
    """Only later items are told."""
    assert found(unique(by="n", at="n"), [{"n": "a"}, {"n": "a"}]) == [
        'p[1].n: Duplicate value: "a"'
    ]
    assert found(unique(by="n"), [{}, {}]) == []


def test_union() -> None:
    """The first member is looked into, the others are forbidden."""
    check = union({"a": minimum(1), "b": minimum(1)}, more="one only", none="one of them")
    assert found(check, {"a": 0, "b": 0}) == [
        "p.a: Invalid value: 0: must be greater than or equal to 1",
        "p.b: Forbidden: one only",
    ]
    assert found(check, {}) == ["p: Required value: one of them"]


def test_until() -> None:
    """Later checks do not run after a cause."""
    check = until(between(1, 2), minimum(9))
    assert found(check, 3) == ["p: Invalid value: 3: must be between 1 and 2, inclusive"]


def test_formats() -> None:
    """Messages of a format become causes."""
    assert found(matches(lambda text: ["bad"]), "x") == ['p: Invalid value: "x": bad']


def test_immutable() -> None:
    """No list and an empty one are equal."""
    out: list[Cause] = []
    immutable("a.b")({"a": {"b": []}}, {}, out)
    assert out == []
    immutable("a.b")({"a": {"b": 1}}, {}, out)
    assert [cause.field for cause in out] == ["a.b"]


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_missing(value: Any) -> None:
    """Empty is missing; zero and false are not."""
    assert is_missing(value)
    assert not is_missing(0)
    assert not is_missing(False)


@pytest.mark.parametrize(
    ("value", "equal"), [(None, True), ([], True), ("", False), ({}, False), (0, False)]
)
def test_an_empty_list_is_none(value: Any, equal: bool) -> None:
    """An object or a text that is set is not missing, even when it is empty."""
    assert same(value, None) is equal
    assert same(None, value) is equal


def test_go_struct() -> None:
    """Structures print under Go's names, whole."""
    assert go_struct(Key=("key", ""), Value=("value", None))({"key": "a"}) == {
        "Key": "a",
        "Value": None,
    }
