"""Work that several tasks need at the same moment, and that one of them does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import trio

T = TypeVar("T")


class _UnderWay(Generic[T]):
    """Work that a task is at.

    Attributes:
        ended: set when it has ended, well or not.
        outcome: what came of it, in a tuple; None when nothing did.
    """

    __slots__ = ("ended", "outcome")

    def __init__(self) -> None:
        self.ended = trio.Event()
        self.outcome: tuple[T] | None = None


class Shared(Generic[T]):
    """Work by key, done once for all who ask while it is under way; nothing is kept after that."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _UnderWay[T]] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """What comes of some work.

        Args:
            key: says which work it is.
            make: does it, in the task of who asked first.  If that task is cancelled or fails,
                the next one begins again.

        Raises:
            BaseException: what `make` raises, in the task that called it.
        """
        while (other := self._under_way.get(key)) is not None:
            await other.ended.wait()
            if other.outcome is not None:
                return other.outcome[0]
        mine = self._under_way[key] = _UnderWay()
        try:
            mine.outcome = (await make(),)
            return mine.outcome[0]
        finally:
            del self._under_way[key]
            mine.ended.set()
