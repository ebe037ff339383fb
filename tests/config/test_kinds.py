"""Kinds of values: how flags are read, and how their values are shown."""

from __future__ import annotations

import pytest

from kubetrio.config.kinds import (
    ADDRESS,
    BOOLEAN,
    COUNT,
    GATES,
    INT64,
    PORT,
    duration,
    duration_text,
    names,
    size,
    size_text,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("30s", 30.0),
        ("1m30s", 90.0),
        ("1.5h", 5400.0),
        ("0s", 0.0),
        ("0", 0.0),
        ("-0s", 0.0),
        ("-1s", -1.0),
        ("+2us", 2e-6),
    ],
)
def test_durations_are_gos(text: str, seconds: float) -> None:
    """As Go's `time.ParseDuration` reads them."""
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "1x", "1m5", ".s", "--1s", "1..5s", "1 s"])
def test_other_texts_are_no_durations(text: str) -> None:
    """A number without a unit is a mistake, and so is nothing."""
    with pytest.raises(ValueError, match="invalid duration"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("-7", -7), ("+5", 5), ("0x10", 16), ("0b11", 3), ("0o17", 15), ("010", 8),
     ("1_000", 1000), ("0", 0)],
)  # fmt: skip
def test_whole_numbers_are_gos(text: str, number: int) -> None:
    """As ``strconv.ParseInt`` reads them: a leading zero means base eight."""
    assert INT64.parse(text) == number


@pytest.mark.parametrize("text", ["", " 7", "7 ", "1.5", "09", "0x", "\u0667", "1__0", "x"])
def test_other_texts_are_no_whole_numbers(text: str) -> None:
    """Blanks too, which a variable of the shell may bring."""
    with pytest.raises(ValueError, match="invalid int value"):
        INT64.parse(text)


def test_the_command_line_takes_addresses_where_embedders_may_give_names() -> None:
    """As kube-apiserver does."""
    assert ADDRESS.parse("::1") == "::1"
    assert ADDRESS.parse("") == ""
    assert not ADDRESS.check("localhost")
    for text in ("x", "localhost", "10.0.0.300", "1.2.3.4/5"):
        with pytest.raises(ValueError, match="failed to parse IP"):
            ADDRESS.parse(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0s"), (0.25, "250ms"), (90.0, "1m30s"), (300.0, "5m"), (3600.5, "1h500ms")],
)
def test_a_duration_is_shown_as_it_is_read(seconds: float, text: str) -> None:
    """In the largest units."""
    assert duration_text(seconds) == text
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("4096", 4096), ("512Ki", 1 << 19), ("64Mi", 1 << 26), ("1Gi", 1 << 30)],
)
def test_sizes_have_units(text: str, number: int) -> None:
    """Those of quantities, powers of two; what is shown is read as the same."""
    assert size(text) == number
    assert size(size_text(number)) == number


@pytest.mark.parametrize("text", ["", "Mi", "-1", "1.5Gi", "64M", "64 Mi", "0x10"])
def test_other_texts_are_no_sizes(text: str) -> None:
    """A unit that is not there might be meant as another."""
    with pytest.raises(ValueError, match="invalid size"):
        size(text)


def test_gates_are_names_with_booleans() -> None:
    """Blanks and empty entries do not matter."""
    assert GATES.parse("A=true, B=false,") == {"A": True, "B": False}
    assert GATES.show({"A": True, "B": False}) == "A=true,B=false"


def test_lists_have_no_empty_names() -> None:
    """A comma too many is none."""
    assert names("a, b,,") == ("a", "b")


@pytest.mark.parametrize(
    ("kind", "text"), [(BOOLEAN, "maybe"), (COUNT, "x"), (PORT, "-1"), (PORT, "70000")]
)
def test_what_cannot_be_read_is_told(kind: object, text: str) -> None:
    """With the text that was given."""
    with pytest.raises(ValueError, match=repr(text)):
        kind.parse(text)  # type: ignore[attr-defined]
