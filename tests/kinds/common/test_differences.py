"""Differences between objects, as text."""

from __future__ import annotations

from kubetrio.kinds.common.differences import difference


def test_difference() -> None:
    """A diff has hunks and no file names."""
    text = difference({"a": 1}, {"a": 2})
    assert text.startswith("@@ ")
    assert '-  "a": 1' in text
    assert difference({}, {}) == "@@ @@"
