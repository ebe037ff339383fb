"""Numbers in texts, as Go's strconv reads them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubetrio.gotext.numbers import parse_int, parse_uint


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_int, "7", 7),
        (parse_int, "+7", 7),
        (parse_int, "-0007", -7),
        (parse_int, "-9223372036854775808", -(2**63)),
        (parse_uint, "0", 0),
        (parse_uint, "0" * 5000 + "9", 9),
        (parse_uint, "18446744073709551615", 2**64 - 1),
    ],
)
def test_numbers(parse: Callable[[str], int], text: str, value: int) -> None:
    """Leading zeros do not count."""
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "why"),
    [
        (parse_int, "", 'ParseInt: parsing "": invalid syntax'),
        (parse_int, "+", 'ParseInt: parsing "+": invalid syntax'),
        (parse_int, "1_0", 'ParseInt: parsing "1_0": invalid syntax'),
        (parse_int, 'a"', 'ParseInt: parsing "a\\"": invalid syntax'),
        (
            parse_int,
            "9223372036854775808",
            'ParseInt: parsing "9223372036854775808": value out of range',
        ),
        (parse_uint, "-1", 'ParseUint: parsing "-1": invalid syntax'),
        (parse_uint, "+1", 'ParseUint: parsing "+1": invalid syntax'),
        (parse_uint, "1" * 30, f'ParseUint: parsing "{"1" * 30}": value out of range'),
    ],
)
def test_what_is_no_number(parse: Callable[[str], int], text: str, why: str) -> None:
    """In the words of strconv."""
    with pytest.raises(ValueError, match="strconv") as caught:
        parse(text)
    assert str(caught.value) == f"strconv.{why}"


@pytest.mark.parametrize("parse", [parse_int, parse_uint])
def test_very_long_numbers_are_out_of_range(parse: Callable[[str], int]) -> None:
    """And are not read."""
    with pytest.raises(ValueError, match="value out of range"):
        parse("9" * 100_000)
