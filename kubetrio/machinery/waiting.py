"""Functions that wait for something in rare cases only, and are plain calls in all others.

Such a function is a generator that yields what has to be awaited and gets the result back.  `run`
goes through it without an event loop for as long as it yields nothing, so that the usual case costs
no coroutine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Walk = Generator[Awaitable[Any], Any, T]
"""Yields what is awaited, gets its result, returns a `T`."""


def run(walk: Walk[T]) -> T | Awaitable[T]:
    """The result of a walk; where it has to wait, what gives the result.

    Args:
        walk: at its beginning.

    Raises:
        Exception: as the walk does.
    """
    try:
        waiting = next(walk)
    except StopIteration as done:
        result: T = done.value
        return result
    return _rest(walk, waiting)


async def _rest(walk: Walk[T], waiting: Awaitable[Any]) -> T:
    while True:
        try:
            try:
                result = await waiting
            except Exception as error:  # noqa: BLE001  (the walk decides)
                waiting = walk.throw(error)
            else:
                waiting = walk.send(result)
        except StopIteration as done:
            value: T = done.value
            return value
