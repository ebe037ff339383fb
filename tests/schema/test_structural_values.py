"""Texts with a form of their own, as Go reads and prints them."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.timestamps import normalise_micro, normalise_time
from kubetrio.schema import structural_values as values
from kubetrio.wire.gojson import Float


@pytest.mark.parametrize(
    ("text", "at"),
    [("!", 0), ("Q", 0), ("QUJDQ", 4), ("QQ", 0), ("Q=", 1), ("QQ=", 3), ("QQ=x", 2), ("QQ==Q", 4)],
)
def test_base64_is_refused_at_the_byte_at_which_go_gives_up(text: str, at: int) -> None:
    """Bad characters, bad padding and missing characters have their own positions."""
    with pytest.raises(ValueError, match=f"^illegal base64 data at input byte {at}$"):
        values.go_base64(text)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=40), st.integers(0, 60))
def test_newlines_in_base64_are_skipped(data: bytes, at: int) -> None:
    """A newline anywhere changes nothing, and canonical text needs no repair."""
    text = base64.b64encode(data).decode()
    assert values.base64_text(text) == text
    assert values.go_base64(f"{text[:at]}\r\n{text[at:]}") == text


@settings(max_examples=60, deadline=None)
@given(st.datetimes(), st.booleans())
def test_printed_times_take_a_short_cut(moment: object, micro: bool) -> None:
    """The short cut gives what the parser gives."""
    text = str(moment).replace(" ", "T")[:19]
    if micro:
        assert values.micro_time(f"{text}.000001Z") == normalise_micro(f"{text}.000001Z")
    else:
        assert values.time(f"{text}Z") == normalise_time(f"{text}Z")


@pytest.mark.parametrize("value", [True, {}, [], "", "1.5.5"])
def test_what_is_no_quantity(value: object) -> None:
    """Only strings and numbers can be quantities."""
    with pytest.raises(ValueError, match="quantities must match"):
        values.canonical_quantity(value)


def test_long_quantities_are_not_kept() -> None:
    """Texts beyond the length for the cache are parsed as well."""
    assert values.canonical_quantity("1." + "0" * 40) == "1"


@pytest.mark.parametrize("value", [Float("1e999"), 10**400])
def test_doubles_out_of_range(value: object) -> None:
    """A number that no float64 holds is a wrong type."""
    with pytest.raises(values.WrongType, match="number 1"):
        values.double(value)
