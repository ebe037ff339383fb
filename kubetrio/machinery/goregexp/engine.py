"""RE2, the one engine for patterns that clients send: its time grows with the text alone.

Its bindings are asked directly.  Their front, which looks like Python's `re`, keeps the last 128
patterns whatever their size, and takes 4 µs for a text instead of 0.7.

Source: google-re2 (``re2/_re2``); RE2's ``re2.h`` for the meaning of ``max_mem``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from kubetrio.machinery.effort import Effort
from kubetrio.machinery.goregexp.syntax import RegexpError, translated

NOT_INSTALLED = (
    "this server has no RE2, so it cannot tell what the pattern means; stop it, install google-re2 "
    "(pip install google-re2), and start it again"
)
_FRUGAL = 262_144  # bytes for the states of a pattern
_PER_INSTRUCTION = 64
_MOST_MEMORY = 8 << 20


class Missing(RegexpError):
    """RE2 is not installed, so no pattern can be compiled."""

    def __init__(self) -> None:
        Exception.__init__(self, NOT_INSTALLED)


@cache
def _load() -> Any:
    try:
        return import_module("re2._re2").RE2
    except ImportError:
        return None


def available() -> bool:
    """Whether RE2 is installed."""
    return _load() is not None


def _options(memory: int) -> Any:
    options = _load().Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = memory
    return options


def _compile(pattern: str, text: str, instructions: int) -> Any:
    if _load() is None:
        raise Missing
    octets = text.encode()
    # What is left of the memory is for states, which are made as texts are looked at.
    for memory in (min(_FRUGAL + instructions * _PER_INSTRUCTION, _MOST_MEMORY), _MOST_MEMORY):
        found = _load()(octets, _options(memory))
        if found.ok():
            return found
    raise RegexpError("expression too large", pattern)


class Regexp:
    """A pattern that is compiled.

    Args:
        pattern: a regular expression as Go reads it.
        effort: what compiling it is counted against, None for nothing.

    Raises:
        RegexpError: Go cannot compile it, or it takes more memory than RE2 may have, or there is
            no RE2 (`Missing`).
        kubetrio.machinery.effort.Exhausted: as of `Effort.spend`.

    Attributes:
        size: of how many instructions it is made.
    """

    __slots__ = ("_anywhere", "_match", "size")

    def __init__(self, pattern: str, effort: Effort | None = None) -> None:
        found = translated(pattern)
        if effort is not None:
            effort.spend(len(pattern) + found.instructions)
        compiled = _compile(pattern, found.text, found.instructions)
        self._match = compiled.Match
        self._anywhere = compiled.Anchor.UNANCHORED
        self.size: int = compiled.ProgramSize()

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


def size_of(text: str) -> int:
    """How many instructions RE2 makes of something.

    Args:
        text: as RE2 reads it.

    Raises:
        Missing: there is no RE2.
    """
    return int(_compile(text, text, 0).ProgramSize())
