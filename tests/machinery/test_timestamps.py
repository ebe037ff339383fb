"""Times of API objects."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery import timestamps as ts

LAYOUT = "2006-01-02T15:04:05Z07:00"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"),
        ("2024-01-01T01:00:00+01:00", "2024-01-01T00:00:00Z"),
        ("2023-12-31T23:30:00-00:30", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.999999999Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T1:02:03Z", "2024-01-01T01:02:03Z"),
        ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_times_print_in_utc_without_a_fraction(text: str, printed: str | None) -> None:
    """What Go reads is printed as metav1.Time prints it."""
    assert ts.normalise_time(text) == printed


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("yesterday", ' as "{layout}": cannot parse "yesterday" as "2006"'),
        ("", ' as "{layout}": cannot parse "" as "2006"'),
        ("2024", ' as "{layout}": cannot parse "" as "-"'),
        ("2024-1-01T00:00:00Z", ' as "{layout}": cannot parse "1-01T00:00:00Z" as "01"'),
        ("2024-01-01 00:00:00Z", ' as "{layout}": cannot parse " 00:00:00Z" as "T"'),
        ("2024-01-01T00:00:00", ' as "{layout}": cannot parse "" as "Z07:00"'),
        ("2024-01-01T00:00:00+0100", ' as "{layout}": cannot parse "+0100" as "Z07:00"'),
        ("2024-01-01T00:00:00x01:00", ' as "{layout}": cannot parse "x01:00" as "Z07:00"'),
        ("2024-13-01T00:00:00Z", ": month out of range"),
        ("2024-01-01T24:00:00Z", ": hour out of range"),
        ("2024-01-01T00:60:00Z", ": minute out of range"),
        ("2024-01-01T00:00:60Z", ": second out of range"),
        ("2023-02-29T00:00:00Z", ": day out of range"),
        ("2024-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2024-01-01T00:00:00+00:61", ": time zone offset minute out of range"),
        ("2024-01-01T00:00:00Zjunk", ': extra text: "junk"'),
    ],
)
def test_refusals_have_the_words_of_go(text: str, what: str) -> None:
    """Each refusal names the element of the layout that did not fit."""
    with pytest.raises(ValueError) as error:
        ts.parse_time(text)
    assert str(error.value) == f'parsing time "{text}"' + what.replace("{layout}", LAYOUT)


def test_refusals_escape_bytes() -> None:
    """Quotes, control characters and anything not ASCII are escaped in messages."""
    with pytest.raises(ValueError, match=r'parsing time "\\"\\\\\\x0a\\xc5\\xbe" as'):
        ts.parse_time('"\\\nž')


@pytest.mark.parametrize(
    ("text", "element"),
    [
        ("2024-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
        ("2024-01-01T00:00:00.12345Z", 'cannot parse ".12345Z" as ".000000"'),
        ("2024-01-01T00:00:00.1234567Z", 'cannot parse "7Z" as "Z07:00"'),
    ],
)
def test_micro_times_have_exactly_six_decimals(text: str, element: str) -> None:
    """MicroTime refuses any other fraction."""
    with pytest.raises(ValueError) as error:
        ts.parse_micro(text)
    assert str(error.value) == (
        f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00": {element}'
    )


def test_micro_times_print_in_utc() -> None:
    """MicroTime keeps its six decimals; the zero time is null."""
    printed = ts.normalise_micro("2024-01-01T01:00:00.000120+01:00")
    assert printed == "2024-01-01T00:00:00.000120Z"
    assert ts.normalise_micro("0001-01-01T00:00:00.000000Z") is None


def test_points_in_time_print_both_ways() -> None:
    """Seconds are cut off, microseconds are rounded."""
    assert ts.format_time(1_700_000_000.99) == "2023-11-14T22:13:20Z"
    assert ts.format_time(-0.5) == "1969-12-31T23:59:59Z"
    assert ts.format_micro(1_700_000_000.25) == "2023-11-14T22:13:20.250000Z"
    assert ts.format_micro(0.9999999) == "1970-01-01T00:00:01.000000Z"


@pytest.mark.parametrize("year", [2023, 2024])
def test_times_that_were_printed_are_recognised(year: int) -> None:
    """Every day of a year but a leap day, and no day that there is not."""
    recognised = re.compile(ts.PRINTED).fullmatch
    for month in range(14):
        for day in range(33):
            try:
                there = datetime(year, month, day, tzinfo=UTC)
            except ValueError:
                there = None
            text = f"{year}-{month:02d}-{day:02d}T23:59:09"
            leap = there is not None and (there.month, there.day) == (2, 29)
            assert bool(recognised(text)) == (there is not None and not leap), text


@settings(max_examples=100, deadline=None)
@given(
    st.integers(-62_135_000_000, 253_402_000_000),
    st.integers(0, 999_999),
    st.integers(-24 * 60 + 1, 24 * 60 - 1),
)
def test_times_agree_with_datetime(seconds: int, micros: int, minutes: int) -> None:
    """The calendar is that of the standard library, in any zone."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=micros)
    aware = moment.astimezone(timezone(timedelta(minutes=minutes)))
    utc = moment.replace(tzinfo=None)
    whole = aware.isoformat(timespec="seconds")
    assert ts.normalise_time(whole) == f"{utc.isoformat(timespec='seconds')}Z"
    micro = aware.isoformat(timespec="microseconds")
    assert ts.normalise_micro(micro) == f"{utc.isoformat(timespec='microseconds')}Z"
    assert ts.format_time(ts.parse_time(whole)) == ts.normalise_time(whole)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 4_000_000_000), st.integers(0, 999_999))
def test_micro_times_survive_floats(seconds: int, micros: int) -> None:
    """A float of seconds keeps its microseconds through print and parse."""
    text = ts.format_micro(seconds + micros / 1e6)
    assert text.endswith(f".{micros:06d}Z")
    assert ts.format_micro(ts.parse_micro(text)) == text
