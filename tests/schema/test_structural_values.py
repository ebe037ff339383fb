"""Texts with a form of their own, as Go reads and prints them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.timestamps import normalise_micro, normalise_time
from kubetrio.schema import structural_values as values
from kubetrio.wire.gojson import Float
from kubetrio.wire.jsonwire import encode


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


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ({"b": 1, "a": {"d": None, "c": []}}, b'{"a":{"c":[],"d":null},"b":1}'),
        ([Float("1.50"), Float("1e3"), Float("1E21"), 2**63, 2**63 - 1],
         b"[1.5,1000,1e+21,9223372036854776000,9223372036854775807]"),
        (Float("-0.0"), b"-0"),
    ],
)  # fmt: skip
def test_what_go_prints_anew(value: Any, printed: bytes) -> None:
    """Sorted keys, and numbers that are int64 or float64."""
    assert encode(values.reprinted(value)) == printed


def test_raw_json_keeps_its_numbers() -> None:
    """Those that were written; one that was not gets Go's text, and none is too large."""
    value = {"b": Float("1.50"), "a": [Float("1e3")]}
    assert values.raw(value) is value
    assert encode(values.raw([1e21, Float("1.0"), 0.5, 2.0])) == b"[1e+21,1.0,0.5,2]"
    with pytest.raises(values.WrongType, match="number 1E400"):
        values.raw([Float("1E400")])
