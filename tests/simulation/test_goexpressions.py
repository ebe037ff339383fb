"""Expressions in templates."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.goexpressions import Expressions, Functions, Scope, TemplateError

FUNCTIONS: Functions = {"join": lambda *values: "-".join(map(str, values)), "one": lambda: 1}


def value_of(text: str, dot: Any = None, **variables: Any) -> Any:
    """What an expression is."""
    scope = Scope(dot, {f"${name}": [value] for name, value in variables.items()}, FUNCTIONS)
    return Expressions(text, FUNCTIONS).whole()(scope)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"a\\n"', "a\n"),
        ("`a\\n`", "a\\n"),
        ("-3", -3),
        ("1.5", 1.5),
        ("true", True),
        ("nil", None),
        (".", {"a": {"b": 2}}),
        (".a.b", 2),
        (".a.c.d", None),
        ("$x", {"y": 5}),
        ("$x.y", 5),
        ("one", 1),
        ("join 1 .a.b $x.y", "1-2-5"),
        ("join 1 one", "1-1"),
        ('"z" | join 1 | join 0', "0-1-z"),
        ("join (join 1 2) (.a).b", "1-2-2"),
    ],
)
def test_values(text: str, value: Any) -> None:
    """Constants, members, variables, and what functions make of them."""
    assert value_of(text, {"a": {"b": 2}}, x={"y": 5}) == value


def test_variables_are_declared_and_assigned() -> None:
    """Before an expression; blocks may declare two."""
    assert Expressions("$a := 1", FUNCTIONS).assigned() == ("$a", True)
    assert Expressions("$a = 1", FUNCTIONS).assigned() == ("$a", False)
    assert Expressions("$a", FUNCTIONS).assigned() == ("", False)
    assert Expressions("$i, $a := .x", FUNCTIONS).declared() == ("$i", "$a")
    assert Expressions("$a := .x", FUNCTIONS).declared() == ("$a",)
    assert Expressions(".x", FUNCTIONS).declared() == ()


def test_a_part_inside_has_its_own_variables() -> None:
    """And shares those of the parts around it."""
    outer = Scope(1, {"$a": [1]}, FUNCTIONS)
    inner = outer.inner(2, {"$b": 3})
    inner.variables["$a"][0] = 4
    assert (outer.variables, inner.dot) == ({"$a": [4]}, 2)


@pytest.mark.parametrize(
    ("text", "why"),
    [("'a'", "is not understood"), ("gone", "is not defined"), (".a .b", "unexpected .b"),
     (".a | .b", "nothing can be piped"), ("(.a", "unexpected the end"), ("", "unexpected the end"),
     ("$gone", "undefined variable")],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    """When it is read, or of a variable that there is not when it is asked."""
    with pytest.raises(TemplateError, match=why):
        value_of(text)
