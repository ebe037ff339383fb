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


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text has what a pattern describes somewhere; the pattern is compiled when used.

    Args:
        pattern: a regular expression as Go reads it.
    """
    compiled: Any = None

    def matches(text: str) -> bool:
        nonlocal compiled
        if compiled is None:
            compiled = _compiled(pattern)
        return bool(compiled(text))

    return matches


def _compiled(pattern: str) -> Callable[[str], bool]:
    engine = _re2()
    if engine is not None:
        try:
            found = engine.compile(pattern)
        except engine.error:
            return lambda _: True
        return _quick(pattern, lambda text: found.search(text) is not None)
    # A dollar is the end of the text in Go, and may stand before a last newline in Python.
    ends = re.sub(r"(?<!\\)\$", r"\\Z", pattern)
    return lambda text: is_found(ends, text[:MOST_TEXT])


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
