"""Caches whose size is bounded in bytes."""

from __future__ import annotations

import pytest

from kubetrio.machinery.remember import CacheSize, fills, place_of, remembered


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


def test_how_full_a_cache_is_can_be_asked() -> None:
    """By the module of its function; long texts are not there, and so not counted."""
    double = remembered(10, 4)(lambda text: text * 2)
    place = place_of(__name__)

    def mine() -> list[CacheSize]:
        return [fill for fill in fills() if fill.place == place][-1:]

    assert mine() == [CacheSize(place, 0, 0)]
    for text in ("a", "abc", "too long"):
        double(text)
    assert mine() == [CacheSize(place, 2, 4)]


def test_places_are_modules_below_the_package() -> None:
    """As the table of caches names them."""
    assert place_of("kubetrio.api.request") == "api/request"
