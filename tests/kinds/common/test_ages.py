"""Texts with a length of time in them."""

from __future__ import annotations

import orjson

from kubetrio.kinds.common.ages import Age, Passed, enclosed
from kubetrio.kinds.common.cells import duration


def test_a_length_knows_from_when_it_counts() -> None:
    """It is an ordinary text for all others; a plain number of seconds makes a plain text."""
    age = duration(Passed(61.5, 1000.0))
    assert type(age) is Age
    assert (age, age.length, age.since, age.before, age.after) == ("61s", "61s", 1000.0, "", "")
    assert orjson.dumps([age]) == b'["61s"]'
    assert type(duration(61.5)) is str


def test_text_around_a_length() -> None:
    """Tells where the length stands."""
    age = enclosed("(", enclosed("3 (", duration(Passed(5.0, 7.0)), " ago)"), ")")
    assert type(age) is Age
    assert (age, age.length, age.since) == ("(3 (5s ago))", "5s", 7.0)
    assert (age.before, age.after) == ("(3 (", " ago))")
    assert type(enclosed("a", "b", "c")) is str
    assert enclosed("a", "b", "c") == "abc"
