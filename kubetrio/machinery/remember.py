"""Caches whose size is bounded in bytes, because clients choose the keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Text = TypeVar("Text", str, bytes)
R = TypeVar("R")


def remembered(entries: int, longest: int) -> Callable[[Callable[[Text], R]], Callable[[Text], R]]:
    """Remember what a function of one text returns, for texts up to a length.

    Longer texts are worked out each time: a client could fill the cache with them.

    Args:
        entries: how many results are kept.
        longest: characters or bytes of a text whose result is kept.
    """

    def decorate(function: Callable[[Text], R]) -> Callable[[Text], R]:
        cached = lru_cache(entries)(function)

        @wraps(function)
        def call(text: Text) -> R:
            return cached(text) if len(text) <= longest else function(text)

        return call

    return decorate
