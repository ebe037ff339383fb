"""Allocation of service addresses and node ports around the writes of services.

What is in use follows from the stored services and IPAddress objects, the ranges from ServiceCIDR
objects: read at start, kept by the commit stream.  A write in flight holds its values under a token
of its own, so two writes never get the same one; the token goes when the write ends, however it
ends, and by then the commit stream has noted the service itself.

Source: docs "Service" (cluster IP allocation, node ports); KEP-1880 (IPAddress objects).
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
import trio

from kubetrio.env import Env
from kubetrio.kinds.common.compiling import ordered
from kubetrio.kinds.core.services.allocators import (
    Claim,
    Full,
    NotReady,
    OutOfRange,
    Ports,
    Taken,
    addresses_of,
    family_of,
    node_ports_of,
)
from kubetrio.kinds.core.services.families import HEADLESS, complete_families, stays_preferred
from kubetrio.kinds.core.services.nodeports import SERVICE, NodePorts
from kubetrio.kinds.core.services.ranges import ServiceRanges
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.status import ApiError, internal_error, invalid
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.objects import restamp, stamp
from kubetrio.resources.writes import Allocator
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import KeyExists, KeyMissing, RevisionMismatch
from kubetrio.store.model import Event, EventType, Range, Store
from kubetrio.store.scan import scan

Object = dict[str, Any]

SERVICES = "/registry/services/specs/"
IP_ADDRESSES = "/registry/ipaddresses/"
RANGES = "/registry/servicecidrs/"
MANAGED_BY = "ipallocator.k8s.io"
MANAGER = "kube-apiserver"
START_PAGE = 1000
_SPEC = "io.k8s.api.core.v1.ServiceSpec"


class ServiceAllocator:
    """The allocator of one server.

    Args:
        store: where services live; its commit stream keeps this up to date.
        registry: what is served.
        env: randomness, wall clock, identities.
        cidrs: ranges that the server was started with; they say which families there are, the
            primary one first.

    Raises:
        ValueError: not a range.
    """

    def __init__(
        self, store: Store, registry: LiveRegistry, env: Env, cidrs: Sequence[str]
    ) -> None:
        self._store = store
        self._env = env
        self._families = tuple(
            family_of(ipaddress.ip_network(cidr, strict=False)) for cidr in cidrs
        )
        self._ranges = ServiceRanges()
        self._ports = Ports()
        self._node_ports = NodePorts(self._ports, env)
        self._address_type = registry.resources["networking.k8s.io", "v1", "ipaddresses"]
        store.on_commit(self._committed)

    # ------------------------------------------------------------------ what is in use

    async def start(self) -> None:
        """Read what is in use; make IPAddress objects that are missing, drop those left over."""
        async for key, obj in self._stored(RANGES):
            self._ranges.note(key.removeprefix(RANGES), obj)
        services = {key: value async for key, value in self._stored(SERVICES)}
        wanted: dict[str, tuple[str, str]] = {}
        for key, service in services.items():
            self._note(key, {}, service.get("spec") or {})
            meta = service["metadata"]
            for address in addresses_of(service.get("spec") or {}):
                wanted[_named(address)] = (meta["namespace"], meta["name"])
        known = {
            key.removeprefix(IP_ADDRESSES): obj async for key, obj in self._stored(IP_ADDRESSES)
        }
        for name, obj in known.items():
            self._ranges.hold(name, IP_ADDRESSES)
            labels = obj["metadata"].get("labels") or {}
            ours = labels.get("ipaddress.kubernetes.io/managed-by") == MANAGED_BY
            if ours and name not in wanted:
                await self._delete_address(name)
        for address, service_name in wanted.items():
            if address not in known and self._ranges.covers(address):
                await self._create_address(address, service_name)

    async def _stored(self, prefix: str) -> AsyncIterator[tuple[str, Object]]:
        async for item in scan(self._store, Range.prefix(prefix), START_PAGE):
            yield item.key, orjson.loads(item.value)

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            gone = event.type is EventType.DELETED
            if event.key.startswith(SERVICES):
                before = orjson.loads(event.previous).get("spec") if event.previous else None
                after = None if gone else orjson.loads(event.value).get("spec")
                self._note(event.key, before or {}, after or {})
            elif event.key.startswith(IP_ADDRESSES):
                change = self._ranges.drop if gone else self._ranges.hold
                change(event.key.removeprefix(IP_ADDRESSES), IP_ADDRESSES)
            elif event.key.startswith(RANGES):
                obj = None if gone else orjson.loads(event.value)
                self._ranges.note(event.key.removeprefix(RANGES), obj)

    def _note(self, key: str, before: Object, after: Object) -> None:
        for port in node_ports_of(before):
            self._ports.holders.drop(port, key)
        for port in node_ports_of(after):
            self._ports.holders.hold(port, key)
        for address in addresses_of(before):
            self._ranges.drop(address, key)
        for address in addresses_of(after):
            self._ranges.hold(address, key)

    # ------------------------------------------------------------------ around writes

    @asynccontextmanager
    async def writing(
        self, new: Object, old: Object | None, *, dry_run: bool
    ) -> AsyncIterator[None]:
        """Give a service what it needs, for the time that its write takes.

        Args:
            new: the service to be stored; changed.
            old: the stored service, None for a create.
            dry_run: take nothing, show what could be.

        Raises:
            ApiError: 422, 500.
        """
        meta = new["metadata"]
        claim = Claim(dry_run, (meta.get("namespace", ""), meta.get("name", "")))
        try:
            await self._claim(new, old, claim)
            yield
        except BaseException:
            with trio.CancelScope(shield=True):
                await self._give_back(claim)
            raise
        self._end(claim)
        if old is not None and not dry_run:
            kept = set(addresses_of(new["spec"]))
            await self._release([each for each in addresses_of(old["spec"]) if each not in kept])

    async def deleted(self, service: Object) -> None:
        """Release what a service that is gone had."""
        await self._release(addresses_of(service.get("spec") or {}))

    async def _claim(self, new: Object, old: Object | None, claim: Claim) -> None:
        spec = new["spec"]
        was = None if old is None else old["spec"]
        causes = complete_families(spec, was, self._families)
        if causes:
            raise invalid(SERVICE, new["metadata"].get("name") or "", causes)
        await self._claim_addresses(new, _first_wanted(spec, was), claim)
        if was is None:
            self._node_ports.claim_new(new, claim)
        else:
            self._node_ports.claim_changed(new, was, claim)
        new["spec"] = ordered(_SPEC, spec)

    async def _give_back(self, claim: Claim) -> None:
        """Undo a claim, unless the service was stored after all."""
        self._end(claim)
        await self._release(claim.addresses)

    def _end(self, claim: Claim) -> None:
        if claim.dry_run:
            return
        for port in claim.ports:
            self._ports.holders.drop(port, claim)
        for address in claim.addresses:
            self._ranges.drop(address, claim)

    async def _release(self, addresses: Sequence[str]) -> None:
        """Drop the IPAddress objects of addresses that no service has any more."""
        for address in addresses:
            # Held by its IPAddress until that is gone, nobody else can take it meanwhile.
            if self._ranges.held_only_by(address, IP_ADDRESSES):
                await self._delete_address(address)

    # ------------------------------------------------------------------ addresses

    async def _claim_addresses(self, new: Object, first: int, claim: Claim) -> None:
        """Give a service the addresses of its families from one on."""
        spec = new["spec"]
        families = spec.get("ipFamilies") or ()
        if first >= len(families):
            return
        addresses = list(spec.get("clusterIPs") or ())
        addresses += [""] * (len(families) - len(addresses))
        asked = list(addresses)
        for index in range(first, len(families)):
            addresses[index] = await self._claim_address(new, asked, index, claim)
        spec["clusterIP"], spec["clusterIPs"] = addresses[0], addresses

    async def _claim_address(self, new: Object, asked: list[str], index: int, claim: Claim) -> str:
        wanted, family = asked[index], new["spec"]["ipFamilies"][index]

        def attempt(take: Callable[[], str]) -> str:
            try:
                return take()
            except (NotReady, OutOfRange, Taken) as error:
                raise _refused(new, asked, wanted, error) from None
            except Full as error:
                name = quote(new["metadata"].get("name") or "")
                why = f"failed to allocate a serviceIP for Service {name}: {error}"
                raise internal_error(why) from None

        def take() -> str:
            if not wanted:
                return self._ranges.take_any(family, claim, self._env.rng)
            self._ranges.take(wanted, claim)
            return wanted

        if claim.dry_run:
            return attempt(lambda: self._ranges.tried(family, wanted))
        while True:
            address = attempt(take)
            try:
                await self._create_address(address, claim.service)
            except KeyExists:
                self._ranges.drop(address, claim)
                self._ranges.hold(address, IP_ADDRESSES)
                if wanted:
                    taken = Taken("provided IP is already allocated")
                    raise _refused(new, asked, wanted, taken) from None
                continue
            except BaseException:
                self._ranges.drop(address, claim)
                raise
            claim.addresses.append(address)
            return address

    async def _create_address(self, address: str, service: tuple[str, str]) -> None:
        name = _named(address)
        now = format_time(self._env.now())
        obj = {
            "kind": "IPAddress",
            "apiVersion": "networking.k8s.io/v1",
            "metadata": {
                "name": name,
                "uid": self._env.new_uid(),
                "creationTimestamp": now,
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": family_of(ipaddress.ip_address(name)),
                    "ipaddress.kubernetes.io/managed-by": MANAGED_BY,
                },
            },
            "spec": {
                "parentRef": {
                    "resource": "services", "namespace": service[0], "name": service[1],
                }
            },
        }  # fmt: skip
        FieldManager(self._address_type, MANAGER, now).created(obj)
        await self._store.create(IP_ADDRESSES + name, stamp(obj))

    async def _delete_address(self, address: str) -> None:
        key = IP_ADDRESSES + _named(address)
        while (found := await self._store.get(key)) is not None:
            try:
                await self._store.delete(key, restamp(found.value), expected=found.revision)
            except RevisionMismatch:
                continue
            except KeyMissing:
                return


def _first_wanted(spec: Object, was: Object | None) -> int:
    """From which of its families on a service needs addresses."""
    families = nothing = len(spec.get("ipFamilies") or ())
    if spec["type"] == "ExternalName":
        return nothing
    if was is None or was["type"] == "ExternalName":
        return nothing if spec.get("clusterIP") == HEADLESS else 0
    if stays_preferred(spec, was) or HEADLESS in (was.get("clusterIPs") or ())[:1]:
        return nothing
    return 1 if families == 2 and len(was.get("ipFamilies") or ()) == 1 else nothing


def _named(address: str) -> str:
    """The name of an address: there is one only, in however many ways it can be written."""
    return str(ipaddress.ip_address(address))


def _refused(new: Object, asked: list[str], wanted: str, error: Exception) -> ApiError:
    what = f"failed to allocate IP {wanted}" if wanted else "failed to allocate IP"
    cause = invalid_value("spec.clusterIPs", asked, f"{what}: {error}")
    return invalid(SERVICE, new["metadata"].get("name") or "", [cause])


def allocators(
    store: Store, registry: LiveRegistry, env: Env, cidrs: Sequence[str]
) -> dict[tuple[str, str], Allocator]:
    """The allocators of a server, by group and plural name of what they give something to.

    Args:
        store: where Services live.
        registry: what is served.
        env: randomness, wall clock, identities.
        cidrs: ranges of cluster addresses, the primary one first.
    """
    return {("", "services"): ServiceAllocator(store, registry, env, cidrs)}
