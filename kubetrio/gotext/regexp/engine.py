"""Compiled patterns of clients.

Matching is RE2's, so its time grows with the text alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubetrio.gotext.regexp.bindings import compiled
from kubetrio.gotext.regexp.syntax import translated
from kubetrio.runtime.effort import Effort


class Regexp:
    """A pattern that is compiled.

    Args:
        pattern: a regular expression as Go reads it.
        effort: what compiling it is counted against, None for nothing.

    Raises:
        RegexpError: Go cannot compile it, or it takes more memory than RE2 may have, or there is
            no RE2 (`Missing`).
        kubetrio.runtime.effort.Exhausted: as of `Effort.spend`.

    Attributes:
        size: of how many instructions it is made.
    """

    __slots__ = ("_anywhere", "_match", "size")

    def __init__(self, pattern: str, effort: Effort | None = None) -> None:
        translation = translated(pattern)
        if effort is not None:
            effort.spend(len(pattern) + translation.instructions)
        program = compiled(pattern, translation.text, translation.instructions)
        self._match = program.Match
        self._anywhere = program.Anchor.UNANCHORED
        self.size: int = program.ProgramSize()

    def is_in(self, text: str) -> bool:
        """Whether some part of a text matches."""
        octets = text.encode("utf-8", "replace")
        return bool(self._match(self._anywhere, octets, 0, len(octets))[0][0] >= 0)

    def found_in(self, text: str) -> Iterator[str]:
        """The parts of a text that match, from left to right, as Go finds them all."""
        octets = text.encode("utf-8", "replace")
        begin, last = 0, -1
        while begin <= len(octets):
            start, end = self._match(self._anywhere, octets, begin, len(octets))[0]
            if start < 0:
                return
            if start < end or start != last:  # nothing, right behind a match, is none to Go
                yield octets[start:end].decode()
            last = end
            begin = end if end > start else _after(octets, end)


def _after(octets: bytes, at: int) -> int:
    """The place behind the character at a place."""
    at += 1
    while at < len(octets) and octets[at] & 0xC0 == 0x80:
        at += 1
    return at
