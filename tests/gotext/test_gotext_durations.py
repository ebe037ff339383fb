"""Durations in texts, as Go reads and writes them."""

from __future__ import annotations

import pytest

from kubetrio.gotext.durations import duration_text, parse_duration
from kubetrio.testing.effort import calls


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("0s", 0.0),
        ("32s", 32.0),
        ("1h30m", 5400.0),
        ("-1.5s", -1.5),
        ("+2m", 120.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("250ms", 0.25),
        ("1µs", 1e-6),
        ("1ns", 1e-9),
        ("0" * 5000 + "1s", 1.0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """Parts add up."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", 'invalid duration ""'),
        ("-", 'invalid duration "-"'),
        ("x", 'invalid duration "x"'),
        (".s", 'invalid duration ".s"'),
        ("s", 'invalid duration "s"'),
        ("10", 'missing unit in duration "10"'),
        ("1s5", 'missing unit in duration "1s5"'),
        ("1d", 'unknown unit "d" in duration "1d"'),
        ("1 s", 'unknown unit " s" in duration "1 s"'),
        ("9999999h", 'invalid duration "9999999h"'),
        ("9" * 50 + "s", f'invalid duration "{"9" * 50}s"'),
    ],
)
def test_what_is_no_duration(text: str, why: str) -> None:
    """In Go's words."""
    with pytest.raises(ValueError, match="time: ") as caught:
        parse_duration(text)
    assert str(caught.value) == f"time: {why}"


def test_parts_are_bounded() -> None:
    """Nobody means a thousand of them."""
    assert parse_duration("1s" * 1000) == 1000
    with pytest.raises(ValueError, match="invalid duration"):
        parse_duration("1s" * 1001)


def test_parts_are_read_in_place() -> None:
    """A long text is not copied for each part."""
    made = calls(lambda: parse_duration("0h" * 100_000))
    assert sum(made.values()) < 20_000


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (5e-9, "5ns"),
        (1.5e-6, "1.5µs"),
        (0.000123456, "123.456µs"),
        (0.25, "250ms"),
        (0.100200300, "100.2003ms"),
        (1.0, "1s"),
        (10.0, "10s"),
        (60.0, "1m0s"),
        (3600.5, "1h0m0.5s"),
        (-0.002, "-2ms"),
    ],
)
def test_durations_are_written_as_go_does(seconds: float, text: str) -> None:
    """In the largest unit below a second, in hours, minutes and seconds above."""
    assert duration_text(seconds) == text
    assert parse_duration(text) == pytest.approx(seconds)
