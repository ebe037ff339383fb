"""Errors of patterns in Go's words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.common.goregexp import regexp_error


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
        ("^[[:alpha:]]+$", ""),
        (r"^\p{L}\z", ""),
    ],
)
def test_errors(pattern: str, error: str) -> None:
    """The kind of mistake and the part of the pattern are named."""
    assert regexp_error(pattern) == (f"error parsing regexp: {error}" if error else "")


@settings(max_examples=50)
@given(st.text("ab()[]*+?\\{}1-", max_size=8))
def test_any_text_gets_an_answer(pattern: str) -> None:
    """No pattern makes the check fail itself."""
    error = regexp_error(pattern)
    assert error == "" or error.startswith("error parsing regexp: ")
