"""Patterns of schemas, which RE2 matches in time that grows with the text alone."""

from __future__ import annotations

from kubetrio.gotext.regexp.engine import Regexp
from kubetrio.gotext.regexp.errors import RegexpError
from kubetrio.runtime.effort import Effort


def pattern_error(pattern: str, effort: Effort) -> str:
    """What is wrong with a pattern, empty where it can be used.

    Args:
        pattern: a regular expression as Go reads it.
        effort: of the check.

    Raises:
        kubetrio.runtime.effort.Exhausted: it takes too much effort.
    """
    try:
        Regexp(pattern, effort)
    except RegexpError as error:
        return str(error)
    return ""


class Matcher:
    """Tells whether a text has what a pattern describes somewhere; it is compiled when used.

    Args:
        pattern: a regular expression as Go reads it.
    """

    __slots__ = ("_regexp", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._regexp: Regexp | None = None

    def __call__(self, text: str, effort: Effort) -> bool:
        """Whether a text has it.

        Raises:
            RegexpError: nothing can be told, as the pattern cannot be compiled.
            kubetrio.runtime.effort.Exhausted: it takes too much effort.
        """
        regexp = self._regexp
        if regexp is None:
            regexp = self._regexp = Regexp(self.pattern, effort)
        # RE2 looks at each character with each instruction at the worst, in 10 ns each.
        effort.left -= 3 + (len(text) * regexp.size >> 7)
        if effort.left < 0:
            effort.look_up()
        return regexp.is_in(text)
