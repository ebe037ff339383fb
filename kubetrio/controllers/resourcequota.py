"""Keeps the status of resource quotas: what is used goes down when objects go.

A controller manager beside this server does the same.  It goes first: the task waits a while, and
writes a status only if it is not right by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf

import orjson
import trio

from kubetrio.controllers.controller import Context, Controller
from kubetrio.informers.informer import NAMESPACE, EventHandler, Item
from kubetrio.kinds.coordination.leading import CONTROLLER_MANAGER, leads
from kubetrio.machinery.names import GroupResource
from kubetrio.quota.stored import EXPECTED_S
from kubetrio.quota.usage import CLAIMS, PODS, SERVICES, count_name, counts_otherwise
from kubetrio.schema.registry import Registry, gone
from kubetrio.store.model import Event, EventType

QUOTAS = "/registry/resourcequotas/"
# Kinds of which an update may free something.
UPDATED: Mapping[str, GroupResource] = {
    "/registry/pods/": PODS,
    "/registry/services/specs/": SERVICES,
    "/registry/persistentvolumeclaims/": CLAIMS,
}
OTHERS_S = 600.0  # who wrote a status is expected to write the next one for so long
PATIENCE_S = 3.0  # how long they are waited for
RESYNC_S = 300.0


class ResourceQuotaController(Controller):
    """The controller; its keys are namespaces.

    Args:
        context: what it is made of.
    """

    name = "resourcequota-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._dispatcher = context.informers.dispatcher
        self._quotas = context.quotas
        self._limits = context.informers.informer(QUOTAS)
        self._marked: dict[str, float] = {}  # namespaces to count again, and from when on
        self._others_until = -inf
        self._unsubscribe: Callable[[], None] | None = None
        handler = EventHandler(add=self._added, update=self._updated, delete=self._deleted)
        self.sources.append(self._limits)
        self._limits.add_event_handler(handler)
        self.beside.append(partial(self._limits.resyncing, handler, RESYNC_S))
        context.quotas.registry.subscribe(self._kinds_changed)

    def _kinds_changed(self, before: Registry, after: Registry) -> None:
        """Have quotas counted again that limit how many there are of a kind that came."""
        names = {count_name(kind.group_resource) for kind in gone(after, before)}
        for quota in self._limits.indexer.list():
            hard = (quota.object.get("spec") or {}).get("hard") or ()
            if not names.isdisjoint(hard):
                self._mark(_namespace(quota.key))

    def _added(self, quota: Item) -> None:
        # While there are quotas, anything that is written may concern one.
        if self._unsubscribe is None:
            self._unsubscribe = self._dispatcher.subscribe("/", self._committed)
        self._mark(_namespace(quota.key))

    def _updated(self, old: Item, new: Item) -> None:
        if self._quotas.of_others(old, new):
            self._others_until = trio.current_time() + OTHERS_S
        self._mark(_namespace(new.key))

    def _deleted(self, _: Item) -> None:
        if not self._limits.indexer and self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _committed(self, event: Event) -> None:
        if self._quotas.stored(event.key):
            self._mark(_namespace(event.key))
        if event.type is not EventType.CREATED and not event.key.startswith(QUOTAS):
            namespace = _namespace(event.key)
            if self._limits.indexer.by_index(NAMESPACE, namespace) and _frees(event):
                self._mark(namespace)

    def _mark(self, namespace: str) -> None:
        self._marked.setdefault(namespace, trio.current_time())
        self.queue.add(namespace)

    async def sync(self, key: str) -> None:
        """Count what is used in a namespace, if that was not done since it was marked.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same, or it cannot be read.
        """
        since = self._marked.get(key)
        if since is None:
            return
        pause = since - trio.current_time()
        if await self._beside_others():
            pause += PATIENCE_S
        if pause <= 0 and self._quotas.expecting(key):
            pause = EXPECTED_S  # what was charged for and then refused is not announced
        if pause > 0:
            self.queue.add_after(key, pause)
            return
        del self._marked[key]
        try:
            settled = await self._quotas.recount(key)
        except BaseException:
            self._marked.setdefault(key, since)
            raise
        if not settled:
            self._mark(key)

    async def _beside_others(self) -> bool:
        """Whether another writer keeps quotas too: wrote one, or leads controller managers."""
        if trio.current_time() < self._others_until:
            return True
        return await leads(self._store, CONTROLLER_MANAGER, self._env.now())


def _namespace(key: str) -> str:
    return key.rsplit("/", 2)[1]


def _frees(event: Event) -> bool:
    """Whether less may be used after a deletion or an update, or something else."""
    if event.type is EventType.DELETED or event.previous is None:
        return True
    for prefix, resource in UPDATED.items():
        if event.key.startswith(prefix):
            new, old = orjson.loads(event.value), orjson.loads(event.previous)
            return counts_otherwise(resource, new, old)
    return False
