"""Small collections that plugins ask for on every write, kept in memory until a commit says no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from kubetrio.store.model import Event, Range, Watched
from kubetrio.store.scan import scan

Object = dict[str, Any]


class Lookup:
    """Reads whole collections and remembers them.

    Args:
        store: where they live; its commit stream says what to forget.
        collections: plural names as they are in storage keys.
    """

    def __init__(self, store: Watched, collections: Sequence[str]) -> None:
        self._store = store
        # Counts commits, so that a read that a commit overtook is not remembered.
        self._changes = dict.fromkeys(collections, 0)
        self._known: dict[str, Mapping[str, Object]] = {}
        store.on_commit(self._committed)

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            collection = event.key.split("/", 3)[2]
            if collection in self._changes:
                self._changes[collection] += 1
                self._known.pop(collection, None)

    def known(self, collection: str) -> Mapping[str, Object] | None:
        """What `all` would return if it need not wait, else None; the same until a commit."""
        return self._known.get(collection)

    async def all(self, collection: str) -> Mapping[str, Object]:
        """Every object of a collection by the rest of its key (``name`` or ``namespace/name``)."""
        known = self._known.get(collection)
        if known is not None:
            return known
        changes = self._changes[collection]
        prefix = f"/registry/{collection}/"
        found = {
            item.key.removeprefix(prefix): orjson.loads(item.value)
            async for item in scan(self._store, Range.prefix(prefix))
        }
        if changes == self._changes[collection]:
            self._known[collection] = found
        return found

    async def of_namespace(self, collection: str, namespace: str) -> list[Object]:
        """The objects of a collection in one namespace, by name."""
        found = await self.all(collection)
        if not found:
            return []
        prefix = f"{namespace}/"
        return [obj for key, obj in found.items() if key.startswith(prefix)]

    async def get(self, key: str) -> Object | None:
        """One object by its storage key, not remembered."""
        found = await self._store.get(key)
        return None if found is None else orjson.loads(found.value)


def newest_default(objects: Mapping[str, Object], annotations: Sequence[str]) -> Object | None:
    """The default of classes that are marked by an annotation: the newest, then by name."""
    marked = [
        obj
        for obj in objects.values()
        if any(
            (obj["metadata"].get("annotations") or {}).get(name) == "true" for name in annotations
        )
    ]
    if not marked:
        return None
    marked.sort(key=lambda obj: str(obj["metadata"]["name"]))
    return max(marked, key=lambda obj: str(obj["metadata"]["creationTimestamp"]))
