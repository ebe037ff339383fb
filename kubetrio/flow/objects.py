"""How many objects there are of each resource, for the estimate of a list's width.

Counted once at start, then kept by the commit stream.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubetrio.flow.estimate import Stored, Unsure
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.store.model import Event, EventType, Range

SAMPLE = 32  # objects read at start for their average size
_SMOOTHING = 1 / 64


class _Collection:
    """The number of objects of one resource, and the average size of those seen, in bytes."""

    __slots__ = ("count", "size")

    def __init__(self) -> None:
        self.count = 0
        self.size = 0.0

    def note(self, event: Event) -> None:
        """Note a change of one of them."""
        if event.type is EventType.DELETED:
            self.count -= 1
            return
        if event.type is EventType.CREATED:
            self.count += 1
        size, average = len(event.value), self.size
        self.size = average + (size - average) * _SMOOTHING if average else size


class ObjectCounts:
    """Objects by key prefix of their resource."""

    def __init__(self) -> None:
        self._collections: dict[str, _Collection] = {}

    async def load(self, dispatcher: Dispatcher, prefixes: Iterable[str]) -> None:
        """Count what is stored, and follow the store from now on.

        Args:
            dispatcher: the commit stream.
            prefixes: key prefixes of resources, each ending with a slash.
        """
        store = dispatcher.store
        for prefix in prefixes:
            found = self._collections[prefix] = _Collection()
            dispatcher.subscribe(prefix, found.note)
        for prefix, found in tuple(self._collections.items()):
            page = await store.range(Range.prefix(prefix), limit=SAMPLE)
            found.count = await store.count(Range.prefix(prefix)) if page.more else len(page.items)
            sizes = [len(item.value) for item in page.items]
            found.size = sum(sizes) / len(sizes) if sizes else 0.0

    def stored(self, prefix: str) -> Stored | Unsure:
        """What there is below a resource's prefix."""
        found = self._collections.get(prefix)
        if found is None:
            return Unsure.UNKNOWN
        return Stored(max(found.count, 0), int(found.size))
