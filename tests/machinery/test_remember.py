"""Caches whose size is bounded in bytes."""

from __future__ import annotations

import pytest

from kubetrio.machinery.remember import remembered


def test_short_texts_are_remembered_and_long_ones_are_not() -> None:
    """The result is the same; the function runs again only for what is not kept."""
    asked: list[str] = []

    @remembered(2, 3)
    def double(text: str) -> str:
        asked.append(text)
        return text * 2

    assert [double(text) for text in ("abc", "abc", "long", "long")] == ["abcabc"] * 2 + [
        "longlong"
    ] * 2
    assert asked == ["abc", "long", "long"]


def test_a_full_cache_begins_anew() -> None:
    """No more entries are kept than asked for."""
    asked: list[str] = []

    @remembered(2, 3)
    def same(text: str) -> str:
        asked.append(text)
        return text

    for text in ("a", "b", "b", "c", "c", "a", "b"):
        same(text)
    assert asked == ["a", "b", "c", "a", "b"]


def test_a_failure_is_not_remembered() -> None:
    """Nor changed on its way."""

    @remembered(2, 3)
    def fails(text: str) -> str:
        raise KeyError(text)

    for text in ("a", "a"):
        with pytest.raises(KeyError, match="a"):
            fails(text)
