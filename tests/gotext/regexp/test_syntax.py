"""Patterns as Go reads them: what is an error, and in which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.gotext.regexp.bindings import available
from kubetrio.gotext.regexp.engine import Regexp
from kubetrio.gotext.regexp.errors import RegexpError
from kubetrio.gotext.regexp.syntax import MOST_INSTRUCTIONS, regexp_error, translated
from kubetrio.runtime.effort import Effort, Exhausted

needs_re2 = pytest.mark.skipif(not available(), reason="needs google-re2")
TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "cases/patterns.json").read_text())
NOT_GO = [
    "a{1001}", "(a{30}){40}", "a++", r"\Z", r"\u0041", "(?#c)a", r"\p{IsGreek}", r"\C", "(?=a)",
    r"(a)\1", "(?>a)", r"\p{Old_Italic}", "(?x)a", "[[:foo:]]", "a**",
]  # fmt: skip
GO = [
    "^(?i)(loud|soft)?$", "a(?i)b", "(?U)a+", "(?<n>a)", r"\x{10FFFF}", "(?-i)a", r"[\w-.]",
    "(?P<n>a)(?P<n>b)", r"\p{Letter}", r"\p{ g r_e-ek}", r"[\p{Cn}]", r"\Qa.b\E+", "a(?i)*",
]  # fmt: skip


def words(pattern: str) -> str:
    try:
        Regexp(pattern)
    except RegexpError as error:
        return str(error)
    return ""


@needs_re2
def test_the_errors_are_those_of_go() -> None:
    wrong = {
        pattern: (error, found)
        for pattern, error, *_ in TABLE["patterns"]
        if (found := words(pattern)) != error
    }
    assert wrong == {}


@needs_re2
@pytest.mark.parametrize("pattern", GO)
def test_go_compiles_it(pattern: str) -> None:
    assert words(pattern) == ""


@pytest.mark.parametrize("pattern", NOT_GO)
def test_go_refuses_it(pattern: str) -> None:
    assert regexp_error(pattern).startswith("error parsing regexp: ")


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("x[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(" * 1000 + "a" + ")" * 1000, "expression nests too deeply: `"),
        ("a" * (MOST_INSTRUCTIONS + 1), "expression too large: `"),
    ],
)
def test_errors(pattern: str, error: str) -> None:
    assert regexp_error(pattern).startswith(f"error parsing regexp: {error}")


@needs_re2
@settings(max_examples=200)
@given(st.text("ab()[]*+?\\{}1-,^$|:PiQE<>é", max_size=12))
def test_re2_takes_whatever_is_good(pattern: str) -> None:
    assert words(pattern) == regexp_error(pattern)


@needs_re2
@pytest.mark.parametrize(
    "pattern",
    [
        "a?" * 300_000,
        "[a-z]{0,1000}" * 200,
        "(?:" + "|".join(f"w{at}" for at in range(20_000)) + ")*",
        r"\pL{1000}",
        "[" + "a" * 1_000_000 + "]",
        "(a)" * 200_000,
        "(?:a*)" * 100_000,
    ],
)
def test_what_takes_long_to_compile_is_too_large(pattern: str) -> None:
    """RE2 took up to 66 s for one of these, and nothing else ran meanwhile."""
    assert regexp_error(pattern).startswith("error parsing regexp: expression too large")


def test_repetitions_are_not_made_one() -> None:
    """RE2 would make ``a{0,2000}`` of it, and needs the square of that."""
    assert translated("a{0,1000}a{0,1000}").text == "a{0,1000}(?:)a{0,1000}"
    assert translated("(?:a?)(a?)").text == "(?:a?)(?:)(?:a?)"


@needs_re2
def test_compiling_takes_effort() -> None:
    effort = Effort(2_000)
    Regexp("a{900}", effort)
    with pytest.raises(Exhausted):
        Regexp("a{900}", effort)
