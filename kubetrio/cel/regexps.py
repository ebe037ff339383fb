"""Functions of patterns, which RE2 matches."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from kubetrio.cel.budget import spend
from kubetrio.cel.spending import CALL
from kubetrio.gotext.regexp.engine import Regexp
from kubetrio.gotext.regexp.errors import RegexpError
from kubetrio.gotext.regexp.syntax import translated
from kubetrio.runtime.effort import Effort


@lru_cache(maxsize=64)
def _kept(pattern: str) -> Regexp:
    return Regexp(pattern, _Spending())


def _pattern(text: str) -> Regexp:
    """A pattern that is compiled; short ones are kept."""
    try:
        if len(text) <= _MOST_KEPT:
            return _kept(text)
        return Regexp(text, _Spending())
    except RegexpError as error:
        raise _Unreadable(str(error)) from None


class _Unreadable(RegexpError, ValueError):
    """A pattern that cannot be compiled; the text is Go's."""

    def __init__(self, text: str) -> None:
        Exception.__init__(self, text)


class _Spending(Effort):
    """Has what is compiled taken of the budget, at ten units for a step."""

    def spend(self, steps: int) -> None:
        """Take some steps."""
        spend(10 * steps)


_MOST_KEPT = 256  # characters


def regex_error(pattern: str) -> str:
    """What is wrong with a regular expression, empty for nothing."""
    try:
        _pattern(pattern)
    except ValueError as error:
        return str(error)
    return ""


def _searched(pattern: str, text: str) -> Regexp:
    """A pattern that is to be looked for in a text."""
    regexp = _pattern(pattern)
    # RE2 looks at each character with each instruction at the worst, in 10 ns each.
    spend(len(text) * min(regexp.size, _MOST_STATES) // 10)
    return regexp


_MOST_STATES = 1000  # of a pattern that RE2 is in at a time, for all but made up ones


PATTERN = "kubernetes_pattern"
"""A pattern as the engine's own RE2 reads it."""


def pattern_of(pattern: str) -> str:
    """A pattern as RE2 reads it, which is compiled and so good."""
    _pattern(pattern)
    return translated(pattern).text


def constant_pattern(pattern: str) -> tuple[str, int]:
    """A pattern that is good as RE2 reads it, and units of compiling it."""
    translation = translated(pattern)
    return translation.text, 10 * translation.instructions


def find(text: str, pattern: str) -> str:
    """The first part of a text that matches, empty for none."""
    return next(_regexp(pattern, text).found_in(text), "")


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """The parts of a text that match."""
    matches = _regexp(pattern, text).found_in(text)
    texts: list[str] = []
    for part in matches if limit < 0 else islice(matches, limit):
        spend(CALL + len(part))
        texts.append(part)
    return texts


def _regexp(pattern: str, text: str) -> Regexp:
    """Compile a pattern for the library of Kubernetes, which has words of its own."""
    try:
        return _searched(pattern, text)
    except RegexpError as error:
        raise ValueError(f"Illegal regex: {error}") from None
