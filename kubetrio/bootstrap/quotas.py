"""Keeps the status of resource quotas: what is used goes down when objects go."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import trio

from kubetrio.logs import Log
from kubetrio.machinery.status import ApiError
from kubetrio.resources.quotas import EXPECTED_S, StoredQuotas
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Event, EventType, Store

log = Log("kubetrio.bootstrap")
QUOTAS = "/registry/resourcequotas/"
PODS = "/registry/pods/"
RESYNC_S = 300.0
RETRY_S = 5.0
ENDED = (b'"phase":"Succeeded"', b'"phase":"Failed"')


class QuotaKeeper:
    """The reconciler, from the server's nursery.

    Args:
        store: its commit stream says what to count again.
        quotas: counts and writes.
    """

    def __init__(self, store: Store, quotas: StoredQuotas) -> None:
        self._quotas = quotas
        self._limited: set[str] = set()  # namespaces that have quotas
        self._dirty: set[str] = set()
        self._woken = trio.Event()
        store.on_commit(self._committed)

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            if self._quotas.stored(event.key):
                self._mark(event.key.rsplit("/", 2)[1])
            if event.key.startswith(QUOTAS):
                namespace = event.key.removeprefix(QUOTAS).partition("/")[0]
                self._limited.add(namespace)
                self._mark(namespace)
            elif self._limited:
                gone = event.type is EventType.DELETED
                ended = event.key.startswith(PODS) and any(p in event.value for p in ENDED)
                if gone or ended:
                    self._mark(event.key.rsplit("/", 2)[1])

    def _mark(self, namespace: str) -> None:
        if namespace in self._limited:
            self._dirty.add(namespace)
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
            self._dirty |= self._limited
            with trio.move_on_after(RESYNC_S):
                while True:
                    await self._recount()
                    # Of what was charged for and then refused nobody hears.
                    with trio.move_on_after(EXPECTED_S if self._dirty else inf):
                        await self._woken.wait()

    async def _recount(self) -> None:
        self._woken = trio.Event()
        dirty, self._dirty = self._dirty, set()
        for namespace in sorted(dirty):
            if self._quotas.expecting(namespace):
                self._dirty.add(namespace)
                continue
            try:
                settled = await self._quotas.recount(namespace)
            except (ApiError, StoreError) as error:
                log.warning("cannot count", namespace=namespace, error=str(error))
                continue
            if not settled:
                self._mark(namespace)
