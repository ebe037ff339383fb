"""How many objects there are of each resource, for the estimate of a list's width.

Counted once, at start or when a kind comes, then kept by the commit stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import trio

from kubetrio.flow.estimate import Stored, Unsure
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.store.errors import Unreadable
from kubetrio.store.model import Event, EventType, Range, Reading

SAMPLE = 32  # objects read at first for their average size
ATTEMPTS = 8  # at counting what others write meanwhile
_SMOOTHING = 1 / 64


def _nothing() -> None:
    pass


class _Collection:
    """The number of objects of one resource, and the average size of those seen, in bytes."""

    __slots__ = ("count", "noted", "size", "unsubscribe")

    def __init__(self) -> None:
        self.count = 0
        self.size = 0.0
        self.noted = 0  # changes
        self.unsubscribe: Callable[[], None] = _nothing

    def note(self, event: Event) -> None:
        """Note a change of one of them."""
        self.noted += 1
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
        self._wanted: set[str] = set()  # to be counted
        self._woken = trio.Event()

    async def load(self, dispatcher: Dispatcher, prefixes: Iterable[str]) -> None:
        """Count what is stored, and follow the store from now on.

        Args:
            dispatcher: the commit stream.
            prefixes: key prefixes of resources, each ending with a slash.
        """
        for prefix in prefixes:
            self._follow(dispatcher, prefix)
        for prefix, collection in tuple(self._collections.items()):
            await _count(dispatcher.store, prefix, collection)

    def _follow(self, dispatcher: Dispatcher, prefix: str) -> _Collection:
        former = self._collections.pop(prefix, None)
        if former is not None:
            former.unsubscribe()
        collection = self._collections[prefix] = _Collection()
        collection.unsubscribe = dispatcher.subscribe(prefix, collection.note)
        return collection

    def want(self, prefixes: Iterable[str]) -> None:
        """Have `run` count what is below more prefixes; until then they are unknown."""
        self._wanted.update(prefixes)
        self._woken.set()

    def forget(self, prefix: str) -> None:
        """Count no more what is below a prefix."""
        self._wanted.discard(prefix)
        collection = self._collections.pop(prefix, None)
        if collection is not None:
            collection.unsubscribe()

    async def run(self, dispatcher: Dispatcher) -> None:
        """Count what is wanted, until cancelled; `load` comes first.

        Args:
            dispatcher: the commit stream.
        """
        while True:
            self._woken = trio.Event()
            while self._wanted:
                prefix = next(iter(self._wanted))
                collection = self._follow(dispatcher, prefix)
                for _ in range(ATTEMPTS):
                    before = collection.noted
                    await _count(dispatcher.store, prefix, collection)
                    if collection.noted == before:
                        break
                if self._collections.get(prefix) is collection:  # else it was forgotten meanwhile
                    self._wanted.discard(prefix)
            await self._woken.wait()

    def stored(self, prefix: str) -> Stored | Unsure:
        """What there is below a resource's prefix."""
        collection = self._collections.get(prefix)
        if collection is None or prefix in self._wanted:
            return Unsure.UNKNOWN
        return Stored(max(collection.count, 0), int(collection.size))

    def changes(self, prefix: str) -> int:
        """How many writes below a resource's prefix were seen since it is counted."""
        collection = self._collections.get(prefix)
        return 0 if collection is None else collection.noted


async def _count(store: Reading, prefix: str, found: _Collection) -> None:
    try:
        page = await store.range(Range.prefix(prefix), limit=SAMPLE)
    except Unreadable:  # a list of it will fail, too
        found.count, found.size = await store.count(Range.prefix(prefix)), 0.0
        return
    found.count = await store.count(Range.prefix(prefix)) if page.more else len(page.items)
    sizes = [len(item.value) for item in page.items]
    found.size = sum(sizes) / len(sizes) if sizes else 0.0
