"""Informers over a client: a local copy of a collection that follows the server.

An informer lists, then watches from there; where the watch ends it goes on from the last revision
it was told of, and where that is gone (410) it lists again.  Handlers are told of each change in
order, on the event loop; a list that replaces the copy is told as the changes that it means.

Source: client-go, ``tools/cache`` (Reflector, SharedIndexInformer) for the words and the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, NoReturn

import trio

from kubetrio.client import Client, Event
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.schema.kind import Kind, ObjectT

log = Log("kubetrio.embedding")
FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.8, 30.0
PAGE = 500
GONE = 410


def key_of(obj: Mapping[str, object]) -> str:
    """``NAMESPACE/NAME`` of an object, or ``NAME`` where it is in no namespace."""
    meta: Any = obj["metadata"]
    namespace = meta.get("namespace")
    return f"{namespace}/{meta['name']}" if namespace else str(meta["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects of a kind an informer follows.

    Args:
        namespace: in which; empty for all of them.
        label_selector: as in ``labelSelector``.
        field_selector: as in ``fieldSelector``.
    """

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""


EVERYTHING = Selection()


class Informer(Generic[ObjectT]):
    """A local copy of a collection; `run` keeps it up to date.

    Objects are shared between all that read them: copy one before changing it.

    Args:
        client: lists and watches.
        kind: of what.
        selection: which of them.
        resync_s: seconds after which handlers are told of all objects again, as unchanged; 0 for
            never.

    Attributes:
        synced: set as soon as the first list is in the copy.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind[ObjectT],
        selection: Selection = EVERYTHING,
        *,
        resync_s: float = 0.0,
    ) -> None:
        self._client = client
        self._kind = kind
        self._selection = selection
        self._resync_s = resync_s or inf
        self._objects: dict[str, ObjectT] = {}
        self._handlers: list[Callable[[ObjectT | None, ObjectT | None], None]] = []
        self._revision = ""
        self.synced = trio.Event()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectT]:
        return iter(list(self._objects.values()))

    @property
    def kind(self) -> Kind[ObjectT]:
        """Of what."""
        return self._kind

    def get(self, name: str, namespace: str = "") -> ObjectT | None:
        """An object of the copy, None where there is none."""
        return self._objects.get(f"{namespace}/{name}" if namespace else name)

    def on_change(self, handler: Callable[[ObjectT | None, ObjectT | None], None]) -> None:
        """Have a function told of each change, and now of all objects that are there.

        Args:
            handler: takes the object before the change (None: it is new) and after it (None: it is
                gone); must not wait, and must not change what it is given.
        """
        self._handlers.append(handler)
        for obj in list(self._objects.values()):
            handler(None, obj)

    async def run(self) -> NoReturn:
        """Follow the collection until cancelled; failures are tried again, later and later."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._resync)
            backoff_s = FIRST_BACKOFF_S
            while True:
                try:
                    if not self._revision:
                        await self._list()
                    await self._watch()
                    backoff_s = FIRST_BACKOFF_S
                except ApiError as error:
                    if error.code == GONE:
                        self._revision = ""  # the history that the watch needs is gone
                        continue
                    log.warning("informer tries again", kind=self._kind.kind, reason=error.message)
                    await trio.sleep(max(backoff_s, error.retry_after or 0))
                    backoff_s = min(backoff_s * 2, LONGEST_BACKOFF_S)
        raise AssertionError("an informer ends by being cancelled")

    async def _resync(self) -> None:
        while True:
            await trio.sleep(self._resync_s)
            for obj in list(self._objects.values()):
                self._tell(obj, obj)

    async def _list(self) -> None:
        found: dict[str, ObjectT] = {}
        token = ""
        while True:
            page = await self._client.list(
                self._kind,
                self._selection.namespace,
                label_selector=self._selection.label_selector,
                field_selector=self._selection.field_selector,
                limit=PAGE,
                token=token,
            )
            found.update((key_of(item), item) for item in page.items)
            token = page.token
            if not token:
                break
        for key in [key for key in self._objects if key not in found]:
            self._put(key, None)
        for key, obj in found.items():
            self._put(key, obj)
        self._revision = page.resource_version
        self.synced.set()

    async def _watch(self) -> None:
        async with self._client.watch(
            self._kind,
            self._selection.namespace,
            resource_version=self._revision,
            label_selector=self._selection.label_selector,
            field_selector=self._selection.field_selector,
            bookmarks=True,
        ) as events:
            async for event in events:
                self._take(event)

    def _take(self, event: Event[ObjectT]) -> None:
        obj = event.object
        if event.type != "BOOKMARK":
            self._put(key_of(obj), None if event.type == "DELETED" else obj)
        self._revision = _revision(obj)

    def _put(self, key: str, new: ObjectT | None) -> None:
        old = self._objects.get(key)
        if new is None:
            self._objects.pop(key, None)
        else:
            self._objects[key] = new
        if old is not new and (old is None or new is None or _revision(old) != _revision(new)):
            self._tell(old, new)

    def _tell(self, old: ObjectT | None, new: ObjectT | None) -> None:
        for handler in self._handlers:
            handler(old, new)


def _revision(obj: Mapping[str, object]) -> str:
    meta: Any = obj["metadata"]
    return str(meta.get("resourceVersion", ""))
