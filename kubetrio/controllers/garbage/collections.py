"""All collections that can be collected from: those that are served, as they come and go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf

import trio

from kubetrio.informers.dispatch import Callback, Dispatcher
from kubetrio.informers.follower import Follower
from kubetrio.machinery.names import GroupResource
from kubetrio.observe.logs import Log
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry, Registry
from kubetrio.store.errors import StoreError
from kubetrio.store.model import KeyValue

log = Log("kubetrio.controllers")
AGAIN_S = 30.0  # until what cannot be read is tried again
IGNORED = frozenset({GroupResource("", "events"), GroupResource("events.k8s.io", "events")})
"""Resources that the garbage collector leaves alone; kube-controller-manager's list."""


class Collections:
    """Follows each collection once, whatever the versions and groups in which it is served.

    Args:
        registry: what is served.
        dispatcher: the commit stream.
        found: told of each object that is stored.
        changed: told of each event of one of them.

    Attributes:
        synced: whether all that is stored and can be read was told.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        dispatcher: Dispatcher,
        found: Callable[[KeyValue], object],
        changed: Callback,
    ) -> None:
        self._registry = registry
        self._dispatcher = dispatcher
        self._found = found
        self._changed = changed
        self._kinds = _collected(registry.current)
        self.synced = False
        self._followers: dict[str, Follower] = {}
        self._failing: frozenset[str] = frozenset()  # prefixes of what cannot be read
        self._syncing = trio.Lock()
        self._news = trio.Event()
        registry.subscribe(self._kinds_changed)

    def _kinds_changed(self, *_: Registry) -> None:
        self.synced = False
        self._news.set()

    def kind_of(self, key: str) -> Kind | None:
        """The kind of what is stored under a key; None where that is not followed."""
        folder = key[: key.find("/", key.find("/", 1) + 1) + 1]
        kind = self._kinds.get(folder)
        if kind is None:  # one folder for the group and one for the resource
            kind = self._kinds.get(key[: key.find("/", len(folder)) + 1])
        return kind

    async def sync(self) -> None:
        """Wait until all that is stored was told; what cannot be read is tried again by `keep`.

        Raises:
            StoreError: nothing can be read.
        """
        async with self._syncing:
            failures: dict[str, StoreError] = {}
            snapshot = self._registry.current
            kinds = self._kinds = _collected(snapshot)
            for prefix in kinds:
                follower = self._followers.get(prefix)
                if follower is None:
                    follower = Follower(self._dispatcher, prefix, self._found, self._changed)
                    self._followers[prefix] = follower
                if not follower.synced:
                    try:
                        await follower.sync()
                    except StoreError as error:
                        failures[prefix] = error
            if failures.keys() == kinds.keys():
                raise next(iter(failures.values()))
            for prefix, why in failures.items():
                if prefix not in self._failing:
                    log.warning("cannot follow a collection", prefix=prefix, error=str(why))
            self._failing = frozenset(failures)
            self.synced = self._registry.current is snapshot

    async def keep(
        self, gone: Callable[[str], object], came: Callable[[], Awaitable[object]]
    ) -> None:
        """Follow kinds that come, and let go of those that go, until cancelled.

        Args:
            gone: told of the key prefix of a collection that is not followed any more.
            came: called when everything is followed that is served now.

        Raises:
            StoreError: a collection cannot be read.
        """
        while True:
            with trio.move_on_after(AGAIN_S if self._failing else inf):
                await self._news.wait()
            self._news = trio.Event()
            try:
                await self.sync()
                for prefix in [one for one in self._followers if one not in self._kinds]:
                    self._followers.pop(prefix).stop()
                    gone(prefix)
            except BaseException:
                self._news.set()  # the next run does it
                raise
            await came()


def _collected(registry: Registry) -> dict[str, Kind]:
    """Kinds by key prefix, each in the version in which it is written best."""
    kinds: dict[str, Kind] = {}
    for kind in registry.preferred("delete", "list", "watch"):
        if kind.storage_prefix and kind.group_resource not in IGNORED:
            kinds.setdefault(kind.storage_prefix, kind.stored)
    return kinds
