"""Numbers of replicas at the paths of a definition."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.common.replicapaths import (
    check_replicas,
    replicas_at,
    text_at,
    with_replicas,
)
from kubetrio.machinery.status import Cause


@pytest.mark.parametrize(
    ("obj", "found"),
    [({"spec": {"n": 3}}, 3), ({"spec": {}}, None), ({}, None), ({"spec": None}, None)],
)
def test_what_is_there(obj: Any, found: int | None) -> None:
    """Or None, where anything on the way is missing."""
    assert replicas_at(obj, ".spec.n") == found


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (
            {"spec": {"n": "3"}},
            ".spec.n accessor error: 3 is of the type string, expected int64",
        ),
        (
            {"spec": True},
            ".spec.n accessor error: true is of the type bool, expected map[string]interface{}",
        ),
        (
            {"spec": [{"b": None, "a": 1.5}]},
            (
                ".spec.n accessor error: [map[a:1.5 b:<nil>]] is of the type []interface {}, "
                "expected map[string]interface{}"
            ),
        ),
    ],
)
def test_what_is_something_else(obj: Any, words: str) -> None:
    """In the words of Go's accessors."""
    with pytest.raises(ValueError, match="accessor error") as wrong:
        replicas_at(obj, ".spec.n")
    assert str(wrong.value) == words


def test_another_number() -> None:
    """What is on the way is made, and the object that was given stays."""
    obj = {"spec": {"a": 1}}
    assert with_replicas(obj, ".spec.b.n", 2) == {"spec": {"a": 1, "b": {"n": 2}}}
    assert obj == {"spec": {"a": 1}}


def test_texts() -> None:
    """Of selectors."""
    assert text_at({"status": {"s": "a=b"}}, ".status.s") == "a=b"
    assert text_at({}, ".status.s") == ""


@pytest.mark.parametrize("number", [-1, 1 << 31])
def test_numbers_no_scale_can_show(number: int) -> None:
    """Are refused by the path, as it is written."""
    causes: list[Cause] = []
    check_replicas({"spec": {"n": number}}, ".spec.n", causes)
    assert [cause.field for cause in causes] == [".spec.n"]
