"""Headers are parsed as kube-apiserver parses them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.wire.accept import media_type, names, parse_accept


def order(header: str) -> list[str]:
    """Media ranges in the order of preference."""
    return [f"{clause.type}/{clause.subtype}" for clause in parse_accept(header)]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("a/b", ["a/b"]),
        ("a/b;q=0.1, c/d;q=0.9", ["c/d", "a/b"]),
        ("a/b, c/d", ["a/b", "c/d"]),
        ("*/*, a/*, a/b", ["a/b", "a/*", "*/*"]),
        ("*", ["*/*"]),
        ("a, a/, /, a/b/c, ,c/d", ["c/d"]),
        (" a / b ;q=1", ["a/b"]),
        ("a/b;q=x, c/d;q=0.5", ["c/d", "a/b"]),
        ("a/b;q=0", ["a/b"]),
        # Less of a wildcard wins over weight, when it comes later.
        ("*/*;q=0.9, a/b;q=0.1", ["a/b", "*/*"]),
        # More weight wins over less of a wildcard, when it comes later.
        ("a/b;q=0.1, */*;q=0.9", ["*/*", "a/b"]),
    ],
)
def test_order(header: str, expected: list[str]) -> None:
    """The preferred clause is first; malformed ones are gone."""
    assert order(header) == expected


def test_many_clauses() -> None:
    """A long header is sorted by weight, then by how wild it is; its first clauses count."""
    header = ",".join(["*/*", "a/*", "a/b;q=0.5"] * 5000)
    assert order(header) == ["a/*"] * 33 + ["*/*"] * 34 + ["a/b"] * 33


def test_parameters() -> None:
    """Parameters are trimmed; malformed ones are skipped; the last of equal names counts."""
    (clause,) = parse_accept("a/b; as=Table ;v = v1;g=x=y;n;e=;as=T2")
    assert clause.parameters == {"as": "T2", "v": "v1"}


@given(st.text("ab/*;=, q.0123", max_size=60))
def test_any_header(header: str) -> None:
    """Any header is parsed."""
    for clause in parse_accept(header):
        assert clause.weight == clause.weight


def test_names() -> None:
    """The router compares names without parameters."""
    assert list(names(" a/b ;q=1,c/d")) == ["a/b", "c/d"]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("application/json", "application/json"),
        ('Application/JSON ; Charset="utf-8"', "application/json"),
        ("application/json;", "application/json"),
        ("application/json; charset", ""),
        ("application/json; a=1; a=2", ""),
        ("application/json, application/yaml", ""),
        ("application", ""),
        ("", ""),
    ],
)
def test_media_type(header: str, expected: str) -> None:
    """A media type is found without its parameters, if all is well formed."""
    assert media_type(header) == expected


def test_parameters_of_a_clause_are_bounded() -> None:
    """The first ones count."""
    (clause,) = parse_accept("a/b" + "".join(f";p{number}=1" for number in range(1000)))
    assert len(clause.parameters) == 100


def test_a_long_content_type_is_none() -> None:
    """There is no media type of thousands of characters."""
    assert media_type("application/json;" + "a=1;" * 5000) == ""
