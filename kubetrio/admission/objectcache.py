"""Single objects that admission reads again and again, remembered until a commit changes them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.store.model import Range
from kubetrio.store.scan import scan

Object = dict[str, Any]
REMEMBERED = (
    1000  # objects; one of 1 MiB is the largest there can be, most have a few hundred bytes
)
REMEMBERED_BYTES = 8 << 20


class _Known(NamedTuple):
    """An object, its size in bytes, and what ends the subscription to its key."""

    obj: Object
    size: int
    unsubscribe: Callable[[], None]


class ObjectCache:
    """Reads objects by their storage key.

    Args:
        dispatcher: the commit stream, which says what to forget.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._store = dispatcher.store
        self._dispatcher = dispatcher
        self._known: OrderedDict[str, _Known] = OrderedDict()  # see `store.recent`
        self._bytes = 0

    def _forget(self, key: str) -> None:
        found = self._known.pop(key, None)
        if found is not None:
            self._bytes -= found.size
            found.unsubscribe()

    async def get(self, key: str) -> Object | None:
        """An object, None when there is none; it must not be changed."""
        known = self._known.get(key)
        if known is not None:
            return known.obj
        revision = self._store.revision
        found = await self._store.get(key)
        if found is None:
            return None
        obj: Object = orjson.loads(found.value)
        # A read can be ahead of the commit stream, never behind it: what a later event would
        # correct must not be remembered.
        if found.revision <= revision and len(found.value) < REMEMBERED_BYTES // 8:
            while len(self._known) >= REMEMBERED or self._bytes > REMEMBERED_BYTES:
                self._forget(next(iter(self._known)))
            self._forget(key)
            unsubscribe = self._dispatcher.subscribe(key, lambda event: self._forget(event.key))
            self._known[key] = _Known(obj, len(found.value), unsubscribe)
            self._bytes += len(found.value)
        return obj

    async def under(self, prefix: str) -> list[Object]:
        """The objects below a prefix, by key; not remembered."""
        keys = Range.prefix(prefix)
        return [orjson.loads(item.value) async for item in scan(self._store, keys)]
