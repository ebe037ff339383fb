"""Repairs what binds Services to their addresses while the server runs.

Each address of a Service has an IPAddress that names it, and each IPAddress of the server's own a
Service that has it.  Writes keep it so; this is for what others do to these objects, and looks at
those that were written.  kube-apiserver also looks at all of them every three minutes; nothing
can change here without being heard of.  Ports of nodes need no repair: who has which follows from
the Services alone.

Source: k8s.io/kubernetes/pkg/registry/core/service/ipallocator/controller; KEP-1880.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from typing import Any

import orjson

from kubetrio.allocation.allocation import IP_ADDRESSES, MANAGED_BY, SERVICES, ServiceAllocator
from kubetrio.allocation.allocators import addresses_of, family_of
from kubetrio.env import Env
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.reconciler import Reconciler
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_micro, parse_time
from kubetrio.observe.logs import Log
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import KeyExists
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]
log = Log("kubetrio.services")

NAME = "ipallocator-repair-controller"
GRACE_S = 60.0
"""How long an address may be there before its Service: as long as a request takes."""
MOST_KNOWN, SAME_S = 256, 360.0  # events that are not recorded again, and for how long
REFERENCE = ("group", "resource", "namespace", "name")
FAMILY = "ipaddress.kubernetes.io/ip-family"
MANAGER = "ipaddress.kubernetes.io/managed-by"


class AddressRepair(Reconciler):
    """The task; keys are storage keys of Services and IPAddresses.

    Args:
        registry: what is served.
        operations: writes events.
        dispatcher: the commit stream.
        allocator: makes and deletes IPAddresses.
        env: wall clock.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        dispatcher: Dispatcher,
        allocator: ServiceAllocator,
        env: Env,
    ) -> None:
        super().__init__(NAME)
        self._store = dispatcher.store
        self._operations = operations
        self._allocator = allocator
        self._env = env
        self._events = registry.resources["events.k8s.io", "v1", "events"]
        self._told: OrderedDict[tuple[str, str], float] = OrderedDict()
        dispatcher.subscribe(SERVICES, self._service_changed)
        dispatcher.subscribe(IP_ADDRESSES, self._address_changed)

    def _service_changed(self, event: Event) -> None:
        # What a create or a deletion needs is done by then.
        if event.type is EventType.UPDATED:
            self.queue.add(event.key)

    def _address_changed(self, event: Event) -> None:
        if event.type is EventType.CREATED:
            self.queue.add_after(event.key, GRACE_S)
            return
        self.queue.add(event.key)
        for value in (event.value, event.previous or b"{}"):
            parent = (orjson.loads(value).get("spec") or {}).get("parentRef") or {}
            if parent.get("resource") == "services":
                self.queue.add(_service_key(parent))

    async def sync(self, key: str) -> None:
        """Look at one object, and repair what it lacks.

        Raises:
            StoreError: the store cannot be read or written.
        """
        obj = await self._read(key)
        if obj is None:
            return
        if key.startswith(IP_ADDRESSES):
            await self._address(key, obj)
        else:
            for address in addresses_of(obj.get("spec") or {}):
                await self._has(obj, address)

    async def _read(self, key: str) -> Object | None:
        stored = await self._store.get(key)
        return None if stored is None else orjson.loads(stored.value)

    # ------------------------------------------------------------------ services

    async def _has(self, service: Object, text: str) -> None:
        """See that an address of a Service is its own."""
        address = str(ipaddress.ip_address(text))
        family = family_of(ipaddress.ip_address(address))
        meta = service["metadata"]
        named = f"{meta['namespace']}/{meta['name']}"
        if not self._allocator.covers(address):
            why = f"Cluster IP [{family}]: {address} is not within any configured Service CIDR; "
            await self._tell(service, "ClusterIPOutOfRange", f"{why}please recreate service")
            return
        stored = await self._read(IP_ADDRESSES + address)
        if stored is None:
            why = f"Cluster IP [{family}]: {address} is not allocated; repairing"
            await self._tell(service, "ClusterIPNotAllocated", why)
            await self._create(address, service)
            return
        parent = stored["spec"].get("parentRef") or {}
        wrong = f"the ClusterIP [{family}]: {address} for Service {named} has a wrong reference; "
        if parent.get("group") or parent.get("resource") != "services":
            await self._tell(service, "ClusterIPNotAllocated", f"{wrong}repairing")
            await self._anew(address, service)
            return
        if (parent.get("namespace"), parent.get("name")) != (meta["namespace"], meta["name"]):
            other = await self._read(_service_key(parent))
            if other is None:
                await self._tell(service, "ClusterIPNotAllocated", f"{wrong}repairing")
                await self._anew(address, service)
                return
            if address in addresses_of(other.get("spec") or {}):
                why = (
                    f"Cluster IP [{family}]:{address} was assigned to multiple services; "
                    "please recreate service"
                )
                await self._tell(service, "ClusterIPAlreadyAllocated", why)
                return
        labels = stored["metadata"].get("labels") or {}
        if labels.get(FAMILY) != family or labels.get(MANAGER) != MANAGED_BY:
            await self._anew(address, service)

    async def _anew(self, address: str, service: Object) -> None:
        await self._allocator.delete_address(address)
        await self._create(address, service)

    async def _create(self, address: str, service: Object) -> None:
        meta = service["metadata"]
        try:
            await self._allocator.create_address(address, (meta["namespace"], meta["name"]))
        except KeyExists:
            self.queue.add(_service_key(meta))  # another writer made it meanwhile: look again

    # ------------------------------------------------------------------ addresses

    async def _address(self, key: str, obj: Object) -> None:
        """See that an IPAddress of the server's own is one of a Service."""
        meta, parent = obj["metadata"], obj["spec"].get("parentRef") or {}
        name = meta["name"]
        if (meta.get("labels") or {}).get(MANAGER) != MANAGED_BY:
            return
        if parent.get("group") or parent.get("resource") != "services":
            why = (
                f"IPAddress {name} appears to have been modified, not referencing a Service "
                f"{_go_struct(parent)}: cleaning up"
            )
            await self._tell(obj, "IPAddressNotAllocated", why)
            await self._allocator.delete_address(name)
            return
        service = await self._read(_service_key(parent))
        spec = (service or {}).get("spec") or {}
        if name in addresses_of(spec):
            return
        age_s = self._env.now() - parse_time(meta["creationTimestamp"])
        if age_s < GRACE_S:
            self.queue.add_after(key, GRACE_S - age_s)
            return
        named = f"{parent.get('namespace', '')}/{parent.get('name', '')}"
        if service is None:
            why = f"IPAddress: {name} for Service {named} appears to have leaked: cleaning up"
            await self._tell(obj, "IPAddressNotAllocated", why)
        else:
            why = f"IPAddress: {name} for Service {named} has a wrong reference; cleaning up"
            await self._tell(obj, "IPAddressWrongReference", why)
        await self._allocator.delete_address(name)

    # ------------------------------------------------------------------ events

    async def _tell(self, about: Object, reason: str, note: str) -> None:
        """Record a warning about an object, unless that was done a moment ago."""
        log.warning(note)
        meta, now = about["metadata"], self._env.now()
        key = (meta["uid"], note)
        if now - self._told.pop(key, now - SAME_S) < SAME_S:
            self._told[key] = now
            return
        self._told[key] = now
        if len(self._told) > MOST_KNOWN:
            self._told.popitem(last=False)
        namespace = meta.get("namespace", "")
        regarding = {
            "kind": about["kind"],
            "namespace": namespace,
            "name": meta["name"],
            "uid": meta["uid"],
            "apiVersion": about["apiVersion"],
            "resourceVersion": meta.get("resourceVersion", ""),
        }
        where = namespace or "default"
        body: Object = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{meta['name']}.{int(now * 1e9):x}", "namespace": where},
            "eventTime": format_micro(now),
            "reportingController": NAME,
            "reportingInstance": f"{NAME}-kubetrio",
            "action": "IPAddressAllocation" if not namespace else "ClusterIPAllocation",
            "reason": reason,
            "regarding": {member: value for member, value in regarding.items() if value},
            "note": note,
            "type": "Warning",
        }
        try:
            await self._operations.create(Target(self._events, where), body, OWN)
        except ApiError as error:
            log.info("cannot record an event", reason=reason, error=str(error))


def _service_key(named: Object) -> str:
    return f"{SERVICES}{named.get('namespace', '')}/{named.get('name', '')}"


def _go_struct(parent: Object) -> str:
    """A reference as Go's ``%v`` prints a pointer to one."""
    members = (f"{key.title()}:{parent.get(key, '')}," for key in REFERENCE)
    return f"&ParentReference{{{''.join(members)}}}"
