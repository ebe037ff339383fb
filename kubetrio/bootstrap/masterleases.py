"""The servers of a shared store: each says by a key with a time to live that it is there.

The keys and what they hold are those of kube-apiserver, ``/registry/masterleases/<IP>`` with an
Endpoints object, so that servers of both kinds find each other.  The endpoints of the Service
``kubernetes`` lead to all of them (`ownservice`).

Source: k8s.io/kubernetes/pkg/controlplane/reconcilers/lease.go, pkg/controlplane/instance.go.
"""

from __future__ import annotations

from typing import Any

import orjson
import trio

from kubetrio.observe.logs import Log
from kubetrio.resources.objects import stamp
from kubetrio.resources.storing import insert, remove, replace
from kubetrio.store.errors import LostCompareAndSwap, StoreError
from kubetrio.store.model import Range, Store

Object = dict[str, Any]

log = Log("kubetrio.bootstrap")
PREFIX = "/registry/masterleases/"
TTL_S = 15.0
RENEW_S = 10.0


class MasterLeases:
    """The keys, and the one of this server.

    Args:
        store: where they are.
        address: IP address of this server.
    """

    def __init__(self, store: Store, address: str) -> None:
        self._store = store
        self._address = address
        self._key = PREFIX + address
        self._renew_at = 0.0
        self._stopped = False

    async def renew(self) -> None:
        """Say that this server is there, where that is missing or was said a while ago.

        Raises:
            StoreError: the store takes no writes.
        """
        stored = await self._store.cached.get(self._key)
        while not self._stopped:
            now = trio.current_time()
            if stored is not None and now < self._renew_at:
                return
            generation = 0
            if stored is not None:
                generation = orjson.loads(stored.value)["metadata"].get("generation", 0)
            value = stamp(self._object(generation + 1))
            try:
                if stored is None:
                    await insert(self._store, self._key, value, ttl_s=TTL_S)
                else:
                    revision = stored.revision
                    await replace(self._store, self._key, value, revision, ttl_s=TTL_S)
            except LostCompareAndSwap:
                stored = await self._store.get(self._key)
                continue
            self._renew_at = now + RENEW_S
            return

    def _object(self, generation: int) -> Object:
        return {
            "kind": "Endpoints",
            "apiVersion": "v1",
            "metadata": {"generation": generation},
            "subsets": [{"addresses": [{"ip": self._address}]}],
        }

    async def addresses(self) -> list[str]:
        """Return the addresses of all servers that are there, this one among them, in order."""
        addresses = {self._address}
        for item in (await self._store.cached.range(Range.prefix(PREFIX))).items:
            for subset in orjson.loads(item.value).get("subsets") or ():
                addresses.update(each["ip"] for each in subset.get("addresses") or ())
        return sorted(addresses)

    async def stop(self) -> None:
        """Say that this server goes; what fails is left to the time to live."""
        self._stopped = True
        try:
            stored = await self._store.get(self._key)
            if stored is not None:
                await remove(self._store, stored)
        except StoreError as error:
            log.warning("a server's lease is not removed", key=self._key, reason=str(error))
