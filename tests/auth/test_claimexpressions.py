"""Expressions about claims that are not what they expect."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.auth.claimexpressions import Expression, ExpressionError, inputs_of
from kubetrio.cel.engine import available

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

CLAIMS: dict[str, Any] = {"text": "abc", "list": ["a", 1], "map": {"a.b": 1}, "n": 1, "no": None}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("'a' in claims.list && 1 in claims.list && !('b' in claims.list)", True),
        ("'a.b' in claims.map && claims.map.a__dot__b == 1", True),
        ("has(claims.text) && !has(claims.zz)", True),
        ("claims.all(name, name != '')", True),
    ],
)
def test_in(source: str, *, value: bool) -> None:
    assert Expression(source, "claims").evaluate(inputs_of("claims", CLAIMS)) is value


@pytest.mark.parametrize(
    "source",
    [
        "'a' in claims.text",
        "1 in claims.n",
        "'a' in claims.no",
        "'text' in claims",
        "size(claims) == 5",
        "claims.size() == 5",
    ],
)
def test_in_what_is_no_list(source: str) -> None:
    """Claims as a whole tell of one by its name alone."""
    with pytest.raises(ExpressionError, match="no such overload"):
        Expression(source, "claims").evaluate(inputs_of("claims", CLAIMS))
