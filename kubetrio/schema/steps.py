"""Work that is done a little at a time, by a caller that does other work in between.

A generator that yields nothing, often, and returns its result.  The rooms that make values know no
event loop; what runs them does, and lets other tasks have their turn at each step.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]


def finish(work: Steps[T]) -> T:
    """The result of work that is done at once."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            result: T = done.value
            return result


RELEASED = 64
"""Entries of a map that are freed in a step."""


def release(large: dict[str, Any]) -> Steps[None]:
    """Empty a large map some entries at a time; no other part may need it any more.

    A million containers take 50 ms to free, if that happens at once.
    """
    while large:
        for _ in range(min(RELEASED, len(large))):
            large.popitem()
        yield
