"""How many objects there are of each resource, for the estimate of a list's width.

Counted once at start, then kept by the commit stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubetrio.flow.estimate import Stored, Unsure
from kubetrio.store.model import Event, EventType, Range, Watched

SAMPLE = 32  # objects read at start for their average size
_SMOOTHING = 1 / 64


class ObjectCounts:
    """Objects by key prefix of their resource."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._bytes: dict[str, float] = {}

    async def load(self, store: Watched, prefixes: Iterable[str]) -> None:
        """Count what is stored, and follow the store from now on.

        Args:
            store: where objects live.
            prefixes: key prefixes of resources, each ending with a slash.
        """
        for prefix in prefixes:
            self._counts[prefix] = 0
        store.on_commit(self.follow)
        for prefix in tuple(self._counts):
            page = await store.range(Range.prefix(prefix), limit=SAMPLE)
            self._counts[prefix] = (
                await store.count(Range.prefix(prefix)) if page.more else len(page.items)
            )
            sizes = [len(item.value) for item in page.items]
            self._bytes[prefix] = sum(sizes) / len(sizes) if sizes else 0.0

    def follow(self, events: Sequence[Event]) -> None:
        """Note a commit."""
        for event in events:
            prefix = self._prefix(event.key)
            if not prefix:
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
        if count is None:
            return Unsure.UNKNOWN
        return Stored(max(count, 0), int(self._bytes.get(prefix, 0)))

    def _prefix(self, key: str) -> str:
        at = key.find("/", 1)
        while at > 0:
            prefix = key[: at + 1]
            if prefix in self._counts:
                return prefix
            at = key.find("/", at + 1)
        return ""
