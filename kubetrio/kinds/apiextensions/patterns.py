"""Patterns of schemas: RE2 where it is installed, which takes linear time for any text.

Python's own engine stands in for it; with that, texts are looked at up to a bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from kubetrio.kinds.common.goregexp import is_found
from kubetrio.machinery.effort import Effort

MOST_TEXT = 4096  # characters that are matched without RE2
_SHORT_TEXT = 256
_plain = re.compile(
    r"\^?(?:(?:[A-Za-z0-9_/:@ -]|\\[.dw/-]|\[\^?[A-Za-z0-9_./:@ -]+\])"
    r"(?:[*+?]|\{\d+(?:,\d+)?\})?)*\$?"
)
"""Patterns that mean the same to both engines: no groups, few kinds of characters."""


@cache
def _re2() -> Any:
    try:
        return import_module("re2")
    except ImportError:
        return None


class Matcher:
    """Tells whether a text has what a pattern describes somewhere; it is compiled when used.

    Args:
        pattern: a regular expression as Go reads it.
    """

    __slots__ = ("_matches", "_size", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._matches: Callable[[str], bool] | None = None
        self._size = 0

    def __call__(self, text: str, effort: Effort) -> bool:
        """Whether a text has it."""
        if self._matches is None:
            self._matches, self._size = _compiled(self.pattern)
        # RE2 looks at each character with each instruction at the worst, in 10 ns each.
        effort.left -= 3 + (len(text) * self._size >> 7)
        if effort.left < 0:
            effort.look_up()
        return self._matches(text)


def _compiled(pattern: str) -> tuple[Callable[[str], bool], int]:
    """What matches a pattern, and of how many instructions that is made."""
    engine = _re2()
    if engine is not None:
        try:
            found = engine.compile(pattern)
        except engine.error:
            return lambda _: True, 0
        return _quick(pattern, lambda text: found.search(text) is not None), found.programsize
    # A dollar is the end of the text in Go, and may stand before a last newline in Python.
    ends = re.sub(r"(?<!\\)\$", r"\\Z", pattern)
    return lambda text: is_found(ends, text[:MOST_TEXT]), len(pattern)


def _quick(pattern: str, matches: Callable[[str], bool]) -> Callable[[str], bool]:
    """The same, faster for short texts where Python's engine cannot be led astray.

    It takes a fifth of the time of RE2's bindings; with one unbounded repetition its time grows
    with the square of the text at most.
    """
    if _plain.fullmatch(pattern) is None or pattern.count("*") + pattern.count("+") > 1:
        return matches
    search = re.compile(re.sub(r"\$$", r"\\Z", pattern), re.ASCII).search
    return lambda text: (
        search(text) is not None if len(text) <= _SHORT_TEXT and text.isascii() else matches(text)
    )
