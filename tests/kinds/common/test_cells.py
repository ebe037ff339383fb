"""Shared formats."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.common import cells as helpers

# Observed: age in seconds -> text
AGES = [
    (-2, "<invalid>"),
    (-1.9, "0s"),
    (-1, "0s"),
    (0, "0s"),
    (1, "1s"),
    (1.9, "1s"),
    (59, "59s"),
    (60, "60s"),
    (119, "119s"),
    (120, "2m"),
    (121, "2m1s"),
    (180, "3m"),
    (599, "9m59s"),
    (600, "10m"),
    (601, "10m"),
    (3599, "59m"),
    (3600, "60m"),
    (10799, "179m"),
    (10800, "3h"),
    (10860, "3h1m"),
    (28799, "7h59m"),
    (28800, "8h"),
    (28860, "8h"),
    (172799, "47h"),
    (172800, "2d"),
    (176400, "2d1h"),
    (259200, "3d"),
    (691199, "7d23h"),
    (691200, "8d"),
    (694800, "8d"),
    (31536000, "365d"),
    (63071999, "729d"),
    (63072000, "2y"),
    (63331200, "2y3d"),
    (252287999, "7y364d"),
    (252288000, "8y"),
    (252374400, "8y"),
]


@pytest.mark.parametrize(("seconds", "printed"), AGES)
def test_duration(seconds, printed):
    """Lengths of time print as observed."""
    assert helpers.duration(seconds) == printed


@settings(max_examples=100, deadline=None)
@given(st.floats(min_value=0, max_value=1e10))
def test_duration_never_exceeds_the_length(seconds):
    """A printed length is at most the true one: precision is cut, never rounded up."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
    total, digits = 0, ""
    for sign in helpers.duration(seconds):
        if sign.isdigit():
            digits += sign
        else:
            total, digits = total + int(digits) * units[sign], ""
    assert 0 <= total <= seconds


@pytest.mark.parametrize(
    ("timestamp", "printed"),
    [
        ("1970-01-01T00:00:10Z", "90s"),
        ("1970-01-01T00:00:10.500000Z", "89s"),
        ("1970-01-01T01:00:10+01:00", "90s"),
        ("0001-01-01T00:00:00Z", "<unknown>"),
        (None, "<unknown>"),
    ],
)
def test_since(timestamp, printed):
    """The zero time is as good as none."""
    assert helpers.since(timestamp, 100.0) == printed


@pytest.mark.parametrize(
    ("selector", "printed"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"b": "1", "a": ""}}, "a=,b=1"),
        (
            {
                "matchLabels": {"m": "1"},
                "matchExpressions": [
                    {"key": "z", "operator": "Exists"},
                    {"key": "a", "operator": "In", "values": ["y", "x"]},
                    {"key": "b", "operator": "NotIn", "values": ["x"]},
                    {"key": "c", "operator": "DoesNotExist"},
                ],
            },
            "a in (x,y),b notin (x),!c,m=1,z",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "<error>"),
        ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, "<error>"),
    ],
)
def test_selector_cell(selector, printed):
    """Selectors print sorted by key, with sorted values."""
    assert helpers.selector_cell(selector) == printed


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ([], "<unset>"),
        (["a", "b", "c"], "a,b,c"),
        (["a", "b", "c", "d", "e"], "a,b,c + 2 more..."),
    ],
)
def test_shortened(words, printed):
    """Lists longer than three are cut."""
    assert helpers.shortened(words) == printed


def test_labels_are_sorted_as_they_are_printed() -> None:
    """The equals sign stands behind dashes and dots, so that a key may follow its prolongation."""
    assert helpers.labels({"a": "0", "b": "1", "a-b": "2", "a.c": "3"}) == "a-b=2,a.c=3,a=0,b=1"
