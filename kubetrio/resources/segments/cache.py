"""Which collections are in memory: those that are listed again, within a bound of bytes.

A prefix is read into memory by the second list of it that comes within a minute, and kept up to
date by the commit stream.  Collections that take more than their share make room first, and forms
that can be made again before stored ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import trio

from kubetrio.observe.logs import Log
from kubetrio.resources.objects import head
from kubetrio.resources.paging import SELECT_BYTES, SELECT_KEYS
from kubetrio.resources.segments.collection import Collection, Foreign, Part, Shape
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import Registry, gone
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Event, Range, Revision, Store
from kubetrio.watch.hub import prefixes

AGAIN_WITHIN_S = 60.0
"""Two lists of a prefix within this time are worth reading it into memory."""
TOO_LARGE_S = 300.0
"""How long a prefix is not tried again that had no room."""
MEASURED_EACH = 16
"""Lists after which what a collection takes is added up in any case."""
REMEMBERED = 1024
"""Prefixes that are noted for having been listed."""

log = Log("kubetrio.lists")


class View(NamedTuple):
    """What is there of some keys at one revision.

    Args:
        collection: that has it.
        parts: the objects, in key order.
        revision: the revision.
    """

    collection: Collection
    parts: Sequence[Part]
    revision: Revision

    @property
    def objects(self) -> int:
        """How many objects."""
        return sum(part.objects for part in self.parts)

    @property
    def last_key(self) -> str:
        """The key of the last of them, empty when there is none."""
        for segment, first, last in reversed(self.parts):
            if last > first:
                return segment.keys[last - 1]
        return ""

    @property
    def changed(self) -> Revision:
        """The oldest revision at which there were just these."""
        return max(part.segment.changed for part in self.parts)


class Filling:
    """A prefix that is being read.

    Attributes:
        events: announced meanwhile.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []


class SegmentCache:
    """The collections of one server.

    Args:
        store: where they are read, and whose commit stream they follow.
        max_bytes: what they take together, about; 0 for none of them.

    Attributes:
        max_bytes: as given.
    """

    def __init__(self, store: Store, max_bytes: int) -> None:
        self._store = store
        self.max_bytes = max_bytes
        self._collections: dict[str, Collection] = {}
        self._filling: dict[str, Filling] = {}
        self._listed: OrderedDict[str, float] = OrderedDict()
        self._too_large: OrderedDict[str, float] = OrderedDict()
        self._lists = 0
        if max_bytes:
            store.on_commit(self._announced)
            store.on_gap(lambda _: self._begin_anew())

    @property
    def entries(self) -> int:
        """How many objects there are."""
        return sum(map(len, self._collections.values()))

    @property
    def bytes(self) -> int:
        """What they take, about."""
        return sum(collection.bytes for collection in self._collections.values())

    def clear(self) -> None:
        """Let go of all of them."""
        self._collections.clear()

    def follow(self, before: Registry, after: Registry) -> None:
        """Let go of collections of kinds that are served no more, and of what is known of them."""
        for kind in gone(before, after):
            prefix = kind.prefix("")
            for collections in (self._collections, self._filling):
                for name in [name for name in collections if name.startswith(prefix)]:
                    collections.pop(name)

    # ------------------------------------------------------------------ the commit stream

    def _announced(self, events: Sequence[Event]) -> None:
        if not self._collections and not self._filling:
            return
        try:
            for event in events:
                self._note(event)
        except Exception as error:  # noqa: BLE001  (logged; what is in memory is not trusted then)
            log.error(error, "lists are read from the store again", stack=True)
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Trust nothing that is in memory, nor what is being read."""
        self.clear()
        self._filling.clear()

    def _note(self, event: Event) -> None:
        for prefix in prefixes(event.key):
            collection = self._collections.get(prefix)
            if collection is not None and not collection.note(event):
                del self._collections[prefix]
            filling = self._filling.get(prefix)
            if filling is not None:
                filling.events.append(event)

    # ------------------------------------------------------------------ lists

    async def view(self, kind: Kind, prefix: str, keys: Range) -> View | None:
        """What is there of some keys now, None if that is not in memory.

        Args:
            kind: of the objects.
            prefix: of the collection, or of a namespace in it.
            keys: those that are wanted, all of this prefix.
        """
        if not self.max_bytes:
            return None
        whole = kind.prefix("")
        where = whole if whole in self._collections else prefix
        collection = self._collections.get(where)
        if collection is None:
            collection = await self._filled(kind, where)
        try:
            while collection is not None and collection.behind:
                collection.catch_up()
                await trio.lowlevel.checkpoint()
                collection = self._collections.get(where)
            if collection is None:
                return None
            parts = collection.parts(keys)
        except Foreign:
            self._collections.pop(where, None)
            return None
        except Exception:  # some of the writes that were noted may not be made
            self._collections.pop(where, None)
            raise
        self._lists += 1
        collection.used = self._lists
        return View(collection, parts, self._store.revision)

    async def _filled(self, kind: Kind, prefix: str) -> Collection | None:
        """Read a prefix into memory, if it was listed before and has room."""
        now = trio.current_time()
        before = self._listed.get(prefix)
        _remember(self._listed, prefix, now)
        if before is None or now - before > AGAIN_WITHIN_S or prefix in self._filling:
            return None
        tried = self._too_large.get(prefix)
        if tried is not None and now - tried < TOO_LARGE_S:
            return None
        filling = self._filling[prefix] = Filling()
        try:
            collection = await self._read(kind, prefix)
        except (Foreign, StoreError):  # the list itself will say what is wrong
            return None
        finally:
            there = self._filling.get(prefix) is filling
            if there:
                del self._filling[prefix]
        if collection is None:
            _remember(self._too_large, prefix, now)
        if collection is None or not there:
            return None
        for event in filling.events:
            if event.revision > collection.revision and not collection.note(event):
                return None
        for other in [name for name in self._collections if name.startswith(prefix)]:
            del self._collections[other]
        self._collections[prefix] = collection
        return collection

    async def _read(self, kind: Kind, prefix: str) -> Collection | None:
        """Read the objects of a prefix at one revision; None if there are too many.

        Raises:
            Foreign: the values are not alike.
            StoreError: they cannot be read.
        """
        shape = shape_of(kind)
        keys, at, size = Range.prefix(prefix), None, 0
        collection: Collection | None = None
        while True:
            result = await self._store.cached.range(
                keys, at=at, limit=SELECT_KEYS, max_bytes=SELECT_BYTES
            )
            if collection is None:
                at = result.revision
                collection = Collection(shape, at)
            collection.extend(result.items)
            size += sum(len(item.value) for item in result.items)
            if size > self.max_bytes * 3 // 4:
                return None
            if not result.more:
                return collection
            keys = keys.after(result.items[-1].key)
            await trio.lowlevel.checkpoint()

    def settle(self, collection: Collection, *, grew: bool) -> None:
        """Make room after a list.

        Args:
            collection: what it was cut from.
            grew: whether it has made something of it.
        """
        if not grew and not collection.grew and collection.used % MEASURED_EACH:
            return  # to add it up costs more than a small list
        collection.measure()
        if self.bytes <= self.max_bytes:
            return
        share = self.max_bytes // max(len(self._collections), 1)
        self._drop_others(collection, over=share)
        if self.bytes > self.max_bytes:  # so that this one takes more than its share
            collection.forget_forms()
            collection.measure()
            self._drop_others(collection)

    def _drop_others(self, collection: Collection, *, over: int = 0) -> None:
        """Let go of other collections until there is room, those first that were used long ago.

        Args:
            collection: what is left as it is.
            over: bytes, so that only larger ones go.
        """
        others = [
            (one.used, name)
            for name, one in self._collections.items()
            if one is not collection and one.bytes > over
        ]
        for _, name in sorted(others):
            if self.bytes <= self.max_bytes:
                return
            del self._collections[name]


def _remember(noted: OrderedDict[str, float], prefix: str, now: float) -> None:
    noted[prefix] = now
    noted.move_to_end(prefix)
    if len(noted) > REMEMBERED:
        noted.popitem(last=False)


def shape_of(kind: Kind) -> Shape:
    """How the values of a kind stand in lists: built-in ones without what they all begin with."""
    return Shape(head(kind), b",{") if kind.builtin else Shape(b"", b",")
