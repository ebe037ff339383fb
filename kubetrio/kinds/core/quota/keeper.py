"""Keeps the status of resource quotas: what is used goes down when objects go.

A controller manager beside this server does the same.  It goes first: the task waits a while, and
writes a status only if it is not right by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import orjson
import trio

from kubetrio.env import Env
from kubetrio.kinds.core.quota.stored import EXPECTED_S, StoredQuotas
from kubetrio.kinds.core.quota.usage import (
    CLAIMS,
    PODS,
    SERVICES,
    count_name,
    counts_otherwise,
)
from kubetrio.logs import Log
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import parse_micro
from kubetrio.schema.registry import Registry, gone
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Event, EventType, Store

log = Log("kubetrio.bootstrap")
QUOTAS = "/registry/resourcequotas/"
# Kinds of which an update may free something.
UPDATED: Mapping[str, GroupResource] = {
    "/registry/pods/": PODS,
    "/registry/services/specs/": SERVICES,
    "/registry/persistentvolumeclaims/": CLAIMS,
}
MANAGER_LEASE = "/registry/leases/kube-system/kube-controller-manager"
LEASED_S = 60.0  # a lease that was not renewed for so long is nobody's
OTHERS_S = 600.0  # who wrote a status is expected to write the next one for so long
PATIENCE_S = 3.0  # how long they are waited for
RESYNC_S = 300.0
RETRY_S = 5.0


class QuotaKeeper:
    """The reconciler, from the server's nursery.

    Args:
        store: its commit stream says what to count again.
        quotas: counts and writes.
        env: wall clock.
    """

    def __init__(self, store: Store, quotas: StoredQuotas, env: Env) -> None:
        self._store = store
        self._quotas = quotas
        self._env = env
        self._limited: set[str] = set()  # namespaces that have quotas
        self._dirty: dict[str, float] = {}  # namespaces to count again, and from when on
        self._others_until = -inf
        self._woken = trio.Event()
        self._new: set[GroupResource] = set()  # kinds that came, of which quotas may speak
        store.on_commit(self._committed)
        quotas.registry.subscribe(self._kinds_changed)

    def _kinds_changed(self, before: Registry, after: Registry) -> None:
        self._new |= {kind.group_resource for kind in gone(after, before)}
        if self._new:
            self._woken.set()

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            if self._quotas.stored(event.key):
                self._mark(event.key.rsplit("/", 2)[1])
            if event.key.startswith(QUOTAS):
                namespace = event.key.removeprefix(QUOTAS).partition("/")[0]
                self._limited.add(namespace)
                if self._quotas.of_others(event):
                    self._others_until = trio.current_time() + OTHERS_S
                self._mark(namespace)
            elif self._limited:
                namespace = event.key.rsplit("/", 2)[1]
                if namespace in self._limited and _frees(event):
                    self._mark(namespace)

    def _mark(self, namespace: str) -> None:
        if namespace in self._limited:
            self._dirty.setdefault(namespace, trio.current_time())
            self._woken.set()

    async def run(self) -> None:
        """Count everything at start and now and then, else what changed."""
        while True:
            try:
                found = await self._quotas.of("")
            except StoreError as error:
                log.warning("cannot read quotas", error=str(error))
                await trio.sleep(RETRY_S)
                continue
            self._limited = {quota["metadata"]["namespace"] for quota in found}
            for namespace in self._limited:
                self._mark(namespace)
            with trio.move_on_after(RESYNC_S):
                while True:
                    pause = await self._recount()
                    with trio.move_on_after(pause):
                        await self._woken.wait()

    async def _recount(self) -> float:
        """Count what has waited long enough; seconds until more will have."""
        self._woken = trio.Event()
        if self._new:
            await self._mark_concerned()
        patience = PATIENCE_S if self._dirty and await self._beside_others() else 0.0
        now, pause = trio.current_time(), inf
        for namespace, since in sorted(self._dirty.items()):
            if since + patience > now:
                pause = min(pause, since + patience - now)
                continue
            if self._quotas.expecting(namespace):
                # Of what was charged for and then refused nobody hears.
                pause = min(pause, EXPECTED_S)
                continue
            del self._dirty[namespace]
            try:
                settled = await self._quotas.recount(namespace)
            except (ApiError, StoreError) as error:
                log.warning("cannot count", namespace=namespace, error=str(error))
                continue
            if not settled:
                self._mark(namespace)
        return pause

    async def _mark_concerned(self) -> None:
        """Have the quotas counted again that limit how many there are of a kind that came."""
        names = {count_name(each) for each in self._new}
        self._new.clear()
        try:
            quotas = await self._quotas.of("")
        except StoreError as error:
            log.warning("cannot read quotas", error=str(error))
            return
        for quota in quotas:
            if not names.isdisjoint((quota.get("spec") or {}).get("hard") or ()):
                self._mark(quota["metadata"]["namespace"])

    async def _beside_others(self) -> bool:
        """Whether somebody else keeps quotas too: wrote one, or leads controller managers."""
        if trio.current_time() < self._others_until:
            return True
        found = await self._store.get(MANAGER_LEASE)
        if found is None:
            return False
        renewed: str = (orjson.loads(found.value).get("spec") or {}).get("renewTime") or ""
        return bool(renewed) and self._env.now() - parse_micro(renewed) < LEASED_S


def _frees(event: Event) -> bool:
    """Whether less may be used after an event, or something else."""
    if event.type is EventType.DELETED:
        return True
    if event.type is EventType.CREATED or event.previous is None:
        return False
    for prefix, resource in UPDATED.items():
        if event.key.startswith(prefix):
            new, old = orjson.loads(event.value), orjson.loads(event.previous)
            return counts_otherwise(resource, new, old)
    return False
