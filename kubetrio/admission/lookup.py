"""Small collections that plugins ask for on every write, from informers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from kubetrio.informers.informer import EventHandler, Informer, SharedInformerFactory

Object = dict[str, Any]


class Lookup:
    """Reads whole collections; the same mapping until something in it changes.

    Args:
        informers: of the server.
        collections: plural names as they are in storage keys.

    Attributes:
        empty: collections that are known to have no objects.
    """

    def __init__(self, informers: SharedInformerFactory, collections: Sequence[str]) -> None:
        self._store = informers.store
        self._informers: dict[str, Informer] = {}
        self._known: dict[str, Mapping[str, Object]] = {}
        self.empty: set[str] = set()
        for collection in collections:
            self._follow(collection, informers.informer(_prefix(collection)))

    def _follow(self, collection: str, informer: Informer) -> None:
        def forget(*_: object) -> None:
            self._known.pop(collection, None)
            self.empty.discard(collection)

        informer.add_event_handler(EventHandler(add=forget, update=forget, delete=forget))
        self._informers[collection] = informer

    async def all(self, collection: str) -> Mapping[str, Object]:
        """Every object of a collection by the rest of its key (``name`` or ``namespace/name``)."""
        known = self._known.get(collection)
        if known is None:
            informer = self._informers[collection]
            await informer.sync()
            skip = len(_prefix(collection))
            known = {item.key[skip:]: item.object for item in informer.indexer.list()}
            self._known[collection] = known
            if not known:
                self.empty.add(collection)
        return known

    async def of_namespace(self, collection: str, namespace: str) -> list[Object]:
        """The objects of a collection in one namespace, by name."""
        informer = self._informers[collection]
        if not informer.synced:
            await informer.sync()
        return informer.lister.list(namespace) if informer.indexer else []

    async def get(self, key: str) -> Object | None:
        """One object by its storage key, not remembered."""
        stored = await self._store.get(key)
        return None if stored is None else orjson.loads(stored.value)


def _prefix(collection: str) -> str:
    return f"/registry/{collection}/"


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
