"""Collections in memory that are never out of date, with the names client-go gives them.

An informer lists a collection when it is first asked for and follows it from then on.  A writer
that has its answer finds the write here: events are noted while a commit is announced.  Reading
does not wait and makes no request.

An informer keeps the bytes of everything in its collection, and of those that a reader looked at
the parsed object too.  It is for collections of which that is little, such as classes, quotas or
namespaces; who follows pods keeps what it needs of them with a `Reflector`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import orjson
import trio

from kubetrio.informers.digests import Digests
from kubetrio.informers.dispatch import STEP_KEYS, Dispatcher
from kubetrio.informers.redelivery import Listener, Redelivery
from kubetrio.informers.reflector import Reflector
from kubetrio.observe.logs import Log
from kubetrio.schema.kind import Kind
from kubetrio.store.model import Event, EventType, Revision, Store
from kubetrio.wire.gojson import parse_printed

log = Log("kubetrio.informers")
Object = dict[str, Any]
T = TypeVar("T")
Parse = Callable[[bytes], Object]
PASSED_OVER = frozenset({
    "/registry/clusterroles/", "/registry/clusterrolebindings/", "/registry/roles/",
    "/registry/rolebindings/", "/registry/flowschemas/", "/registry/prioritylevelconfigurations/",
    "/registry/apiextensions.k8s.io/customresourcedefinitions/",
    "/registry/apiregistration.k8s.io/apiservices/", "/registry/namespaces/",
})  # fmt: skip
"""Collections that a server needs to serve anything, and in which a value that it cannot read, as
of a newer server, grants and serves nothing.  No other collection looks smaller than it is: who
fills it, or cleans up after it, would do harm."""
NAMESPACE = "namespace"
"""Index of what is in a namespace; every indexer has it."""


class Item:
    """One stored object; parsed when it is first looked at.

    Args:
        key: its storage key.
        value: its bytes.
        revision: that wrote them.
        parse: makes an object of the bytes.
    """

    __slots__ = ("_object", "_parse", "key", "revision", "value")

    def __init__(self, key: str, value: bytes, revision: Revision, parse: Parse) -> None:
        self.key = key
        self.value = value
        self.revision = revision
        self._parse = parse
        self._object: Object | None = None

    @property
    def object(self) -> Object:
        """The object; others see the same one, so it must not be changed."""
        obj = self._object
        if obj is None:
            obj = self._object = self._parse(self.value)
        return obj


IndexFunction = Callable[[Item], Iterable[str]]
"""Says under which values an item is found in an index; it may name a value more than once."""


class _Index:
    """One index; changes are looked at when a reader asks."""

    def __init__(self, values_of: IndexFunction, keys: Iterable[str]) -> None:
        self._values_of = values_of
        self._values: dict[str, tuple[str, ...]] = {}
        self._keys: dict[str, set[str]] = {}
        self.stale = set(keys)

    def keys(self, value: str, items: dict[str, Item]) -> list[str]:
        """The keys of items under a value, in order."""
        for key in self.stale:
            for old in self._values.pop(key, ()):
                keys_of_value = self._keys[old]
                keys_of_value.discard(key)
                if not keys_of_value:
                    del self._keys[old]
            if key in items:
                values = self._values[key] = self._values_for(items[key])
                for new in values:
                    self._keys.setdefault(new, set()).add(key)
        self.stale.clear()
        return sorted(self._keys.get(value, ()))

    def _values_for(self, item: Item) -> tuple[str, ...]:
        """The values of an item, each once; none of an item that the function cannot read.

        One such object must not hide all others from who asks.
        """
        try:
            return tuple(dict.fromkeys(self._values_of(item)))
        except Exception as error:  # noqa: BLE001  (logged; other items are found)
            log.error(error, "cannot index an object", stack=True, key=item.key)
            return ()


class Indexer:
    """Items by storage key, and by what index functions say of them.

    Args:
        prefix: of all keys.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._items: dict[str, Item] = {}
        self._indexes: dict[str, _Index] = {}
        self.add_index(NAMESPACE, self._namespaces_of)

    def __len__(self) -> int:
        return len(self._items)

    def _namespaces_of(self, item: Item) -> tuple[str]:
        return (item.key[len(self._prefix) :].rpartition("/")[0],)

    def add_index(self, name: str, values_of: IndexFunction) -> None:
        """Have items found by what a function says of them.

        Args:
            name: of the index.
            values_of: called again for an item only when it changed.
        """
        self._indexes[name] = _Index(values_of, self._items)

    def get(self, key: str) -> Item | None:
        """An item by its storage key."""
        return self._items.get(key)

    def list(self) -> Sequence[Item]:
        """All items, by key."""
        return [item for _, item in sorted(self._items.items())]

    def by_index(self, name: str, value: str) -> Sequence[Item]:
        """The items that an index function named a value for, by key."""
        return [self._items[key] for key in self._indexes[name].keys(value, self._items)]

    def put(self, item: Item) -> Item | None:
        """Note an item; returns the one that it replaces."""
        old = self._items.get(item.key)
        self._items[item.key] = item
        for index in self._indexes.values():
            index.stale.add(item.key)
        return old

    def drop(self, key: str) -> None:
        """Forget an item."""
        if self._items.pop(key, None) is not None:
            for index in self._indexes.values():
                index.stale.add(key)


class Lister:
    """Reads objects of a collection by their names.

    Args:
        indexer: where they are.
        prefix: of their keys.
    """

    def __init__(self, indexer: Indexer, prefix: str) -> None:
        self._indexer = indexer
        self._prefix = prefix

    def get(self, name: str, namespace: str = "") -> Object | None:
        """An object, None when there is none."""
        rest = f"{namespace}/{name}" if namespace else name
        item = self._indexer.get(self._prefix + rest)
        return None if item is None else item.object

    def list(self, namespace: str = "") -> list[Object]:
        """The objects of a namespace, by name; of the whole collection when that is empty."""
        items = self._indexer.by_index(NAMESPACE, namespace) if namespace else self._indexer.list()
        return [item.object for item in items]


def _nothing(*_: Item) -> None:
    """What a handler does that was not told what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHandler:
    """Functions that are told of changes while a commit is announced; they must return at once.

    Args:
        add: an item that was not there, also each that there is when the handler comes.
        update: an item as it was and as it is; the same one twice for a resync.
        delete: the last state of one that is gone.
    """

    add: Callable[[Item], None] = _nothing
    update: Callable[[Item, Item], None] = _nothing
    delete: Callable[[Item], None] = _nothing


class _Handled(Listener):
    """An event handler, and the items of which it missed a change because it raised.

    Args:
        collection: that it follows.
        handler: the functions.
        indexer: the items as they are.
        redelivery: tells again.
    """

    def __init__(
        self, collection: str, handler: EventHandler, indexer: Indexer, redelivery: Redelivery
    ) -> None:
        super().__init__(collection)
        self.handler = handler
        self._indexer = indexer
        self._redelivery = redelivery
        self._missed: dict[str, Item | None] = {}  # as they were when it was told last

    def tell(self, key: str, old: Item | None, new: Item | None) -> None:
        """Tell of a change; of a deletion `old` is the last state."""
        before = old
        if self._missed and key in self._missed:
            before = self._missed.pop(key)
        try:
            if new is None:
                if old is not None:
                    self.handler.delete(old)
            elif before is None:
                self.handler.add(new)
            else:
                self.handler.update(before, new)
        except Exception as error:  # noqa: BLE001  (logged and told again; others must go on)
            self._missed[key] = before if new is not None else old
            self._redelivery.failed(self, error, key)

    @property
    def behind(self) -> bool:
        """See `Listener`."""
        return bool(self._missed)

    async def catch_up(self) -> None:
        """Tell again of what was missed, as it is now; see `Listener`."""
        for number, key in enumerate(tuple(self._missed), 1):
            if key in self._missed:
                self.tell(key, self._missed[key], self._indexer.get(key))
            if number % STEP_KEYS == 0:
                await trio.lowlevel.checkpoint()


class Informer:
    """A collection in memory; empty until `sync`.

    Args:
        dispatcher: the commit stream.
        prefix: of the collection's keys, a folder.
        parse: makes objects of stored bytes.
        around: see `Reflector`.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        prefix: str,
        parse: Parse = orjson.loads,
        *,
        around: bool = False,
    ) -> None:
        self.indexer = Indexer(prefix)
        self.lister = Lister(self.indexer, prefix)
        self._parse = parse
        self._reflector = Reflector(dispatcher, prefix, self._changed, around=around)
        self._redelivery = dispatcher.redelivery
        self._handlers: list[_Handled] = []

    @property
    def synced(self) -> bool:
        """Whether all that is stored is here."""
        return self._reflector.synced

    async def sync(self) -> None:
        """Wait until all that is stored is here.

        Raises:
            StoreError: it cannot be read; the next call tries again.
        """
        if not self._reflector.synced:
            await self._reflector.sync()

    def add_event_handler(self, handler: EventHandler) -> None:
        """Have changes told, and before them what there is already.

        What a handler raises is logged, and it is told again of that item a moment later.
        """
        handled = _Handled(self._reflector.prefix, handler, self.indexer, self._redelivery)
        self._handlers.append(handled)
        for item in self.indexer.list():
            handled.tell(item.key, None, item)

    def resync(self, handler: EventHandler) -> None:
        """Tell a handler of everything once more, as of updates that changed nothing."""
        for one in self._handlers:
            if one.handler is handler:
                for item in self.indexer.list():
                    one.tell(item.key, item, item)

    async def resyncing(self, handler: EventHandler, period_s: float) -> None:
        """Tell a handler of everything now and then, until cancelled.

        Args:
            handler: who is told.
            period_s: how often, in seconds.
        """
        while True:
            await trio.sleep(period_s)
            self.resync(handler)

    def _changed(self, event: Event) -> None:
        item = Item(event.key, event.value, event.revision, self._parse)
        if event.type is EventType.DELETED:
            self.indexer.drop(event.key)
            for handler in self._handlers:
                handler.tell(event.key, item, None)
            return
        old = self.indexer.put(item)
        for handler in self._handlers:
            handler.tell(event.key, old, item)


class SharedInformerFactory:
    """The informers of one server: one for each collection, shared by all readers.

    Args:
        store: where objects live.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.dispatcher = Dispatcher(store)
        self._informers: dict[str, Informer] = {}
        self._digests: dict[tuple[str, Callable[[bytes], Any]], Digests[Any]] = {}

    def informer(self, prefix: str, parse: Parse = orjson.loads) -> Informer:
        """The informer of a collection.

        Args:
            prefix: of its keys, a folder.
            parse: makes objects of stored bytes; who asks first says how.
        """
        shared = self._informers.get(prefix)
        if shared is None:
            shared = self._informers[prefix] = Informer(
                self.dispatcher, prefix, parse, around=prefix in PASSED_OVER
            )
        return shared

    def informer_for(self, kind: Kind) -> Informer:
        """The informer of a kind's objects, in the version in which they are stored."""
        # Numbers of opaque parts keep their text, where it is to be kept.
        parse: Parse = parse_printed if kind.type.free_form else orjson.loads
        return self.informer(kind.storage_prefix, parse)

    def digests(self, prefix: str, make: Callable[[bytes], T]) -> Digests[T]:
        """What is kept of a large collection, the same for all who ask with one function.

        Args:
            prefix: of its keys, a folder.
            make: what is kept of an object, from its bytes.
        """
        shared = self._digests.get((prefix, make))
        if shared is None:
            shared = self._digests[prefix, make] = Digests(self.dispatcher, prefix, make)
        return cast("Digests[T]", shared)
