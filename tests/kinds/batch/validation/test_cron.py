"""Schedules of CronJobs, and their zones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.batch.validation.cron import schedule_problem, zone_problem

PANIC = "invalid schedule format: runtime error: slice bounds out of range [:-1]"


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/15 0-5 1,15 jan-MAR sun",
        "5/10 ? * * 1-5/2",
        "@hourly",
        "@every 1h30m",
        "TZ=UTC 0 0 * * *",
        "CRON_TZ=UTC @daily",
    ],
)
def test_good(text: str) -> None:
    """Lists, ranges, steps, names and descriptors are read."""
    assert schedule_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("@never", "unrecognized descriptor: @never"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("0 0 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("0 24 * * *", "end of range (24) above maximum (23): 24"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        (
            "x * * * *",
            'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
        ),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("TZ=UTC", PANIC),
        ("TZ=0", PANIC),
        ("CRON_TZ=No/Where", PANIC),
        ("TZ=No/Where * * * * *", "provided bad location No/Where: unknown time zone No/Where"),
    ],
)
def test_bad(text: str, expected: str) -> None:
    """The first mistake is told."""
    assert schedule_problem(text) == expected


@given(st.integers(0, 59), st.integers(0, 23), st.integers(1, 31), st.integers(1, 12))
@settings(max_examples=30)
def test_numbers_in_range(minute: int, hour: int, day: int, month: int) -> None:
    """Every number that a field may have is read."""
    assert schedule_problem(f"{minute} {hour} {day} {month} *") == ""


@given(st.text(max_size=30))
@settings(max_examples=100)
def test_any_text_has_an_answer(text: str) -> None:
    """No text is too odd to be refused."""
    assert isinstance(schedule_problem(text), str)


@pytest.mark.parametrize("name", ["UTC", "Local", ""])
def test_zones_that_are_always_there(name: str) -> None:
    """Go knows these without data."""
    assert zone_problem(name) == ""


@pytest.mark.parametrize("name", ["..", "a//b", "/UTC", "-x", "a b"])
def test_names_that_are_no_zones(name: str) -> None:
    """What would leave the folder of zones is refused."""
    assert zone_problem(name) == f"unknown time zone {name}"
