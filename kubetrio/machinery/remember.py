"""Caches whose size is bounded in bytes, because clients choose the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Text = TypeVar("Text", str, bytes)
R = TypeVar("R")


def remembered(entries: int, longest: int) -> Callable[[Callable[[Text], R]], Callable[[Text], R]]:
    """Remember what a function of one text returns, for texts up to a length.

    Longer texts are worked out each time: a client could fill the cache with them.  A full cache
    begins anew, so that what is asked often pays for no order of use.

    Args:
        entries: how many results are kept.
        longest: characters or bytes of a text whose result is kept.
    """

    def decorate(function: Callable[[Text], R]) -> Callable[[Text], R]:
        return _Results(function, entries, longest).__getitem__  # no call of Python for a hit

    return decorate


class _Results(dict[Text, R], Generic[Text, R]):
    """Results by text, worked out when they are missing."""

    def __init__(self, function: Callable[[Text], R], entries: int, longest: int) -> None:
        super().__init__()
        self._function: Callable[[Text], R] = function
        self._entries = entries
        self._longest = longest

    def __missing__(self, text: Text) -> R:
        result = self._function(text)
        if len(text) <= self._longest:
            if len(self) >= self._entries:
                self.clear()
            self[text] = result
        return result
