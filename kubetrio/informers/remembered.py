"""What single objects say, read again and again and remembered until a commit changes them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from kubetrio.informers.dispatch import Dispatcher

T = TypeVar("T")
LARGE = 8
"""One object takes at most this part of the memory of all of them."""


class _Known(NamedTuple, Generic[T]):
    """What an object says, its size in bytes, and what ends the subscription to its key."""

    said: T
    size: int
    unsubscribe: Callable[[], None]


class Remembered(Generic[T]):
    """Reads objects by their storage key; the next one who asks after a commit reads again.

    Args:
        dispatcher: the commit stream, which says what to forget.
        parse: makes of stored bytes what is remembered.
        most: objects remembered at a time.
        most_bytes: what they have, by `size`.
        size: of what is remembered, in bytes, told the stored bytes and what was made of them.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        parse: Callable[[bytes], T],
        *,
        most: int,
        most_bytes: int,
        size: Callable[[bytes, T], int] = lambda value, _: len(value),
    ) -> None:
        self.store = dispatcher.store
        self._dispatcher = dispatcher
        self._parse = parse
        self._most = most
        self._most_bytes = most_bytes
        self._size = size
        self._known: OrderedDict[str, _Known[T]] = OrderedDict()  # see `store.recent`
        self._bytes = 0

    def remembered(self) -> tuple[int, int]:
        """How many objects are remembered, and their bytes."""
        return len(self._known), self._bytes

    def _forget(self, key: str) -> None:
        entry = self._known.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size
            entry.unsubscribe()

    def known(self, key: str) -> T | None:
        """What an object says, as far as that is remembered; it must not be changed."""
        known = self._known.get(key)
        return None if known is None else known.said

    async def get(self, key: str) -> T | None:
        """What an object says, None when there is none; it must not be changed.

        Raises:
            StoreError: it cannot be read.
        """
        known = self._known.get(key)
        if known is not None:
            return known.said
        revision = self.store.revision
        stored = await self.store.get(key)
        if stored is None:
            return None
        value = self._parse(stored.value)
        size = self._size(stored.value, value)
        # A read can be ahead of the commit stream, never behind it: what a later event would
        # correct must not be remembered.
        if stored.revision <= revision and size < self._most_bytes // LARGE:
            while len(self._known) >= self._most or self._bytes > self._most_bytes:
                self._forget(next(iter(self._known)))
            self._forget(key)
            unsubscribe = self._dispatcher.subscribe(key, lambda event: self._forget(event.key))
            self._known[key] = _Known(value, size, unsubscribe)
            self._bytes += size
        return value
