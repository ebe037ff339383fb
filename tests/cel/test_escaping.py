"""Names of members that are no identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.cel.escaping import escaped, unescaped


@given(st.text("ab_./-9", min_size=1, max_size=12))
def test_what_is_escaped_is_found_again(name: str) -> None:
    """For all names that expressions can have."""
    if text := escaped(name):
        assert unescaped(text) == name


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("plain", "plain"), ("a__dot__b", "a.b"), ("__namespace__", "namespace"),
        ("a__in__b", "a__in__b"), ("a__nothing__b", "a__nothing__b"), ("__", "__"),
        ("a__underscores__b", "a__b"),
    ],
)  # fmt: skip
def test_what_is_no_escape_is_itself(written: str, meant: str) -> None:
    """Reserved words only on their own."""
    assert unescaped(written) == meant
