"""Single objects that admission reads again and again, remembered until a commit changes them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import orjson

from kubetrio.store.model import Event, Range, Watched
from kubetrio.store.scan import scan

Object = dict[str, Any]
REMEMBERED = (
    1000  # objects; one of 1 MiB is the largest there can be, most have a few hundred bytes
)
REMEMBERED_BYTES = 8 << 20


class ObjectCache:
    """Reads objects by their storage key.

    Args:
        store: where they live; its commit stream says what to forget.
    """

    def __init__(self, store: Watched) -> None:
        self._store = store
        self._known: OrderedDict[str, tuple[Object, int]] = OrderedDict()
        self._bytes = 0
        store.on_commit(self._committed)

    def _committed(self, events: Sequence[Event]) -> None:
        if self._known:
            for event in events:
                self._forget(event.key)

    def _forget(self, key: str) -> None:
        found = self._known.pop(key, None)
        if found is not None:
            self._bytes -= found[1]

    async def get(self, key: str) -> Object | None:
        """An object, None when there is none; it must not be changed."""
        known = self._known.get(key)
        if known is not None:
            return known[0]
        revision = self._store.revision
        found = await self._store.get(key)
        if found is None:
            return None
        obj: Object = orjson.loads(found.value)
        # A read can be ahead of the commit stream, never behind it: what a later event would
        # correct must not be remembered.
        if found.revision <= revision and len(found.value) < REMEMBERED_BYTES // 8:
            while len(self._known) >= REMEMBERED or self._bytes > REMEMBERED_BYTES:
                _, (_, size) = self._known.popitem(last=False)
                self._bytes -= size
            self._forget(key)
            self._known[key] = (obj, len(found.value))
            self._bytes += len(found.value)
        return obj

    async def under(self, prefix: str) -> list[Object]:
        """The objects below a prefix, by key; not remembered."""
        keys = Range.prefix(prefix)
        return [orjson.loads(item.value) async for item in scan(self._store, keys)]
