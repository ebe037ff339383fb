"""Texts with a length of time in them, which can be written again when time has passed.

A row of a ``Table`` is made of a whole object, and its age is another text each second while the
object is young.  A cell that says where its age stands lets the rest of the row be kept.
"""

from __future__ import annotations

from typing import Self


class Passed(float):
    """Seconds that have passed since a moment; `cells.duration` makes an `Age` of them.

    Args:
        seconds: how many.
        since: the moment, in seconds since the epoch.
    """

    __slots__ = ("since",)

    since: float

    def __new__(cls, seconds: float, since: float) -> Self:
        """Make one."""
        passed = super().__new__(cls, seconds)
        passed.since = since
        return passed


class Age(str):
    """A text with one length of time in it.

    Args:
        length: the length, as `cells.duration` writes it.
        since: the moment from which it counts, in seconds since the epoch.
        before: what stands in front of it.
        after: what stands behind it.
    """

    __slots__ = ("after", "before", "length", "since")

    length: str
    since: float
    before: str
    after: str

    def __new__(cls, length: str, since: float, before: str = "", after: str = "") -> Self:
        """Make one."""
        age = super().__new__(cls, before + length + after)
        age.length, age.since, age.before, age.after = length, since, before, after
        return age


def enclosed(before: str, text: str, after: str) -> str:
    """A text between others; an `Age` stays one.

    Args:
        before: what stands in front of it.
        text: the text.
        after: what stands behind it.
    """
    if type(text) is Age:
        return Age(text.length, text.since, before + text.before, text.after + after)
    return before + text + after
