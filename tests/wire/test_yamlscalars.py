"""Meaning of plain scalars."""

from typing import Any

import pytest

from kubetrio.wire.yamlscalars import json_number, needs_quotes, number_text, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True), ("No", False), ("off", False), ("on", True), ("~", None), ("", None),
        ("null", None), ("nULL", "nULL"), ("12", 12), ("+12", 12), ("-0x1F", -31), ("010", 8),
        ("0o17", 15), ("0b101", 5), ("08", 8.0), ("1_000", 1000), ("1e3", 1000.0), (".5", 0.5),
        ("1.", 1.0), ("1.5e-3", 0.0015), ("1:30", "1:30"), ("2024-01-01", "2024-01-01"),
        ("1.2.3", "1.2.3"), ("18446744073709551615", 2**64 - 1), ("18446744073709551616", 2.0**64),
        ("1e999", "1e999"), (".", "."), ("-", "-"), ("0x", "0x"), ("1a", "1a"), ("._5", "._5"),
        (".inf", float("inf")), ("9" * 500, "9" * 500),
    ],
)  # fmt: skip
def test_resolve(text: str, value: Any) -> None:
    """Scalars mean what they mean to Go's library."""
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("yes", True), ("1", True), ("1.5", True), ("", True), ("null", True), ("1:30", True),
        ("2024-01-01", True), ("2024-01-01T00:00:00Z", True), ("2024-1-1 1:02:03", True),
        ("2024-13-01", False), ("2024-01-01T00:00", False), ("a", False), ("1a", False),
        (".nan", True), ("<<", True), ("v1.2", False), ("10.0.0.1", False),
    ],
)  # fmt: skip
def test_needs_quotes(text: str, quoted: bool) -> None:
    """Strings that would be something else are quoted, dates included."""
    assert needs_quotes(text) is quoted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"), (-(2**63), str(-(2**63))), (2**64, "1.8446744073709552e+19"), (0.5, "0.5"),
        (1.0, "1"), (100000.0, "100000"), (1000000.0, "1e+06"), (1234567.5, "1.2345675e+06"),
        (0.0001, "0.0001"), (0.00001, "1e-05"), (1e21, "1e+21"), (-0.0, "-0"), (12.25, "12.25"),
        (1.5e300, "1.5e+300"),
    ],
)  # fmt: skip
def test_number_text(value: float, text: str) -> None:
    """Numbers are printed by Go's rules for the shortest form."""
    assert number_text(value) == text


def test_json_number() -> None:
    """Whole floats are integers where they fit, large integers floats."""
    found = [json_number(number) for number in (1e3, 1e20, 2**63, -0.0)]
    assert list(map(repr, found)) == ["1000", "1e+20", "9.223372036854776e+18", "0"]
    with pytest.raises(ValueError, match=r"unsupported value: -Inf"):
        json_number(float("-inf"))
