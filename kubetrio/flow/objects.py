"""How many objects there are of each resource, for the estimate of a list's width.

Counted once, at start or when a kind comes, then kept by the commit stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import trio

from kubetrio.flow.estimate import Stored, Unsure
from kubetrio.store.model import Event, EventType, Range, Store

SAMPLE = 32  # objects read at first for their average size
ATTEMPTS = 8  # at counting what others write meanwhile
_SMOOTHING = 1 / 64


class ObjectCounts:
    """Objects by key prefix of their resource."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._bytes: dict[str, float] = {}
        self._wanted: dict[str, int] = {}  # to be counted, with the commits seen meanwhile
        self._woken = trio.Event()

    async def load(self, store: Store, prefixes: Iterable[str]) -> None:
        """Count what is stored, and follow the store from now on.

        Args:
            store: where objects live.
            prefixes: key prefixes of resources, each ending with a slash.
        """
        for prefix in prefixes:
            self._counts[prefix] = 0
        store.on_commit(self.follow)
        for prefix in tuple(self._counts):
            await self._count(store, prefix)

    async def _count(self, store: Store, prefix: str) -> None:
        page = await store.range(Range.prefix(prefix), limit=SAMPLE)
        count = await store.count(Range.prefix(prefix)) if page.more else len(page.items)
        self._counts[prefix] = count
        sizes = [len(item.value) for item in page.items]
        self._bytes[prefix] = sum(sizes) / len(sizes) if sizes else 0.0

    def want(self, prefixes: Iterable[str]) -> None:
        """Have `run` count what is below more prefixes; until then they are unknown."""
        self._wanted.update(dict.fromkeys(prefixes, 0))
        self._woken.set()

    def forget(self, prefix: str) -> None:
        """Count no more what is below a prefix."""
        for table in (self._counts, self._bytes, self._wanted):
            table.pop(prefix, None)

    async def run(self, store: Store) -> None:
        """Count what is wanted, until cancelled; `load` comes first.

        Args:
            store: where objects live.
        """
        while True:
            self._woken = trio.Event()
            while self._wanted:
                await self._count_wanted(store, next(iter(self._wanted)))
            await self._woken.wait()

    async def _count_wanted(self, store: Store, prefix: str) -> None:
        """Count below one prefix, again while others write there."""
        for _ in range(ATTEMPTS):
            seen = self._wanted.get(prefix)
            if seen is None:
                return  # the kind is gone again
            await self._count(store, prefix)
            if self._wanted.get(prefix) == seen:
                break
        if self._wanted.pop(prefix, None) is None:
            self.forget(prefix)

    def follow(self, events: Sequence[Event]) -> None:
        """Note a commit."""
        for event in events:
            prefix = self._prefix(event.key)
            if not prefix:
                continue
            if prefix in self._wanted:
                self._wanted[prefix] += 1
                continue
            if event.type is EventType.DELETED:
                self._counts[prefix] -= 1
                continue
            if event.type is EventType.CREATED:
                self._counts[prefix] += 1
            size, average = len(event.value), self._bytes.get(prefix, 0.0)
            self._bytes[prefix] = average + (size - average) * _SMOOTHING if average else size

    def stored(self, prefix: str) -> Stored | Unsure:
        """What there is below a resource's prefix."""
        count = self._counts.get(prefix)
        if count is None or prefix in self._wanted:
            return Unsure.UNKNOWN
        return Stored(max(count, 0), int(self._bytes.get(prefix, 0)))

    def _prefix(self, key: str) -> str:
        at = key.find("/", 1)
        while at > 0:
            prefix = key[: at + 1]
            if prefix in self._counts or prefix in self._wanted:
                return prefix
            at = key.find("/", at + 1)
        return ""
