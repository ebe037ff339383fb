"""The Lease by which a server says that it is there, ``kube-system/apiserver-<hash>``.

Made anew at start, renewed while the server runs, deleted when it stops; the name is a digest of
the host's, so that a server finds its own again.  Those of servers that are long gone are deleted.

kube-apiserver renews each ten seconds what is valid for an hour.  Here a renewal is a write to
flash: what is renewed each ten minutes is as valid, and where one process owns the store it need
not be renewed at all.  Then it says that it has no end, and a start deletes those of other hosts.
One that is missing is made again as soon as there.

Source: docs "Leases" (API server identity); KEP-1965.
"""

from __future__ import annotations

import struct
from base64 import b32encode
from hashlib import sha256
from math import ceil, inf, isinf
from typing import Any, NoReturn

import trio

from kubetrio.env import Env
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_micro, parse_micro
from kubetrio.observe.logs import Log
from kubetrio.resources import reading
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Store

Object = dict[str, Any]

log = Log("kubetrio.bootstrap")
NAMESPACE = "kube-system"
COMPONENT = "kube-apiserver"
IDENTITY = "apiserver.kubernetes.io/identity"
HOSTNAME = "kubernetes.io/hostname"
PEERS = "kubernetes.io/peer-advertise-address"
DURATION_S = 3600
ENDLESS_S = (1 << 31) - 1  # the longest that the field holds: 68 years
SHARED_RENEW_S = 10.0
LOOK_S = 10.0
"""Seconds after which a Lease that a client deleted, or that found no room, is made again."""
COLLECT_S = 3600.0


def identity(hostname: str) -> str:
    """Name of the Lease of the server on a host."""
    parts = (hostname.encode(), COMPONENT.encode())
    digest = sha256(b"".join(struct.pack(">H", len(part)) + part for part in parts)).digest()
    return f"apiserver-{b32encode(digest[:16]).decode().rstrip('=').lower()}"


class IdentityLease:
    """Keeps the Lease of one server.

    Args:
        registry: what is served.
        operations: writes.
        store: reads.
        env: wall clock and identities.
        hostname: of the machine.
        address: of the server, ``host:port``.
        renew_s: seconds between renewals; 0 for none where this server alone has the store.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        store: Store,
        env: Env,
        *,
        hostname: str,
        address: str,
        renew_s: float,
    ) -> None:
        kind = GroupVersionKind("coordination.k8s.io", "v1", "Lease")
        self._resource = registry.by_kind[kind]
        self._operations = operations
        self._store = store
        self._env = env
        self._labels = {IDENTITY: COMPONENT, HOSTNAME: hostname}
        self._annotations = {PEERS: address}
        name = identity(hostname)
        self._target = Target(resource=self._resource, namespace=NAMESPACE, name=name)
        self._holder = f"{name}_{env.new_uid()}"
        self._stopped = False
        self._renew_s = renew_s or (SHARED_RENEW_S if store.shared else inf)

    @property
    def _duration_s(self) -> int:
        """How long it is valid from a renewal on, in seconds."""
        return ENDLESS_S if isinf(self._renew_s) else max(DURATION_S, ceil(2 * self._renew_s))

    @property
    def key(self) -> str:
        """Under which it is stored."""
        return self._target.key

    async def start(self) -> None:
        """Put a new Lease in the place of a former one; what fails is tried again by `run`."""
        await self._collect(all_others=isinf(self._renew_s))
        await self._delete(self._target)
        await self._renew()

    async def run(self) -> NoReturn:
        """Renew until cancelled."""
        collect_at = trio.current_time() + COLLECT_S
        renew_at = trio.current_time() + self._renew_s
        while True:
            await trio.sleep(LOOK_S)
            due = trio.current_time() >= renew_at
            if due:
                renew_at += self._renew_s
            if not self._stopped:
                await self._renew(due=due)
            if trio.current_time() >= collect_at:
                collect_at += COLLECT_S
                await self._collect()

    async def stop(self) -> None:
        """Say that the server goes."""
        self._stopped = True
        await self._delete(self._target)

    async def _renew(self, *, due: bool = True) -> None:
        """Renew the Lease if that is due, and make it where it is missing."""
        try:
            stored = await self._store.get(self._target.key)
            if stored is None:
                await self._operations.create(self._target, self._lease(None), OWN)
            elif due:
                await self._operations.patch(self._target, self._lease, OWN)
        except (ApiError, StoreError) as error:
            log.warning("identity lease not renewed", name=self._target.name, reason=str(error))

    def _lease(self, stored: Object | None) -> Object:
        """Return the Lease as it should be; a holder that took it over keeps it."""
        base = stored or {
            "apiVersion": self._resource.api_version,
            "kind": self._resource.kind,
            "metadata": {"name": self._target.name, "namespace": NAMESPACE},
            "spec": {"holderIdentity": self._holder},
        }
        meta, spec = base["metadata"], base.get("spec") or {}
        return {
            **base,
            "metadata": {
                **meta,
                "labels": {**(meta.get("labels") or {}), **self._labels},
                "annotations": {**(meta.get("annotations") or {}), **self._annotations},
            },
            "spec": {
                **spec,
                "leaseDurationSeconds": self._duration_s,
                "renewTime": format_micro(self._env.now()),
            },
        }

    async def _collect(self, *, all_others: bool = False) -> None:
        """Delete the Leases of servers that no longer renew them.

        Args:
            all_others: whether no other server can have this store, so that all of them are gone.
        """
        now = self._env.now()
        for lease in await reading.read_all(self._store, self._resource, NAMESPACE):
            meta = lease["metadata"]
            if (meta.get("labels") or {}).get(IDENTITY) == COMPONENT and (
                all_others or expired(lease, now)
            ):
                await self._delete(self._target._replace(name=meta["name"]))

    async def _delete(self, target: Target) -> None:
        try:
            await self._operations.delete(target, DeleteOptions(), OWN)
        except (ApiError, StoreError) as error:
            if not isinstance(error, ApiError) or error.code != 404:
                log.warning("identity lease not deleted", name=target.name, reason=str(error))


def expired(lease: Object, now: float) -> bool:
    """Whether a Lease has run out, or says too little to be one of a server."""
    spec = lease.get("spec") or {}
    renewed, duration = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    return renewed is None or duration is None or parse_micro(renewed) + duration < now
