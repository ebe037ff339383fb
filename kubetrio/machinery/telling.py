"""How much is told of what is wrong with one object.

A list of a hundred thousand bad items would make a hundred thousand causes, of which each takes
more memory than its item.  Inside of a `Telling` the first causes are made, and `MORE` stands for
each that comes after them: so checks go on as they are, an object that is wrong stays wrong, and
nothing grows but by a reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar, Token

from kubetrio.machinery.status import MORE, MOST_CAUSES, MOST_TOLD_CHARS, Cause

__all__ = ["Telling", "cause", "told_enough", "untell"]


class Telling:
    """A block inside of which so many causes are made and no more.

    Attributes:
        count: causes that may still be made.
        chars: characters that these may still have.
    """

    __slots__ = ("_token", "chars", "count")

    def __init__(self) -> None:
        self.count = MOST_CAUSES
        self.chars = MOST_TOLD_CHARS

    def __enter__(self) -> None:
        self._token: Token[Telling | None] = _current.set(self)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


_current: ContextVar[Telling | None] = ContextVar("telling", default=None)


def told_enough() -> bool:
    """Whether `MORE` stands for all that is wrong besides."""
    telling = _current.get()
    return telling is not None and (telling.count <= 0 or telling.chars <= 0)


def cause(reason: str, message: str, field: str) -> Cause:
    """Make a cause, if there is room for it.

    Args:
        reason: see `Cause`.
        message: see `Cause`.
        field: see `Cause`.
    """
    telling = _current.get()
    if telling is not None:
        if telling.count <= 0 or telling.chars <= 0:
            return MORE
        telling.count -= 1
        telling.chars -= len(message) + len(field)
    return Cause(reason, message, field)


def untell(causes: Iterable[Cause]) -> None:
    """Make room again: these causes are not told after all.

    Args:
        causes: each of them stands for something that is not wrong.
    """
    telling = _current.get()
    if telling is None:
        return
    for one in causes:
        if one is not MORE:
            telling.count += 1
            telling.chars += len(one.message) + len(one.field)
