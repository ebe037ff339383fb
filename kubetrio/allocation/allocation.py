"""Allocation of service addresses and node ports around the writes of services.

What is in use follows from the stored services and IPAddress objects, the ranges from ServiceCIDR
objects: read at start, kept by reflectors.  A write in flight holds its values under a token
of its own, so two writes never get the same one; the token goes when the write ends, however it
ends, and by then the commit stream has noted the service itself.

Source: docs "Service" (cluster IP allocation, node ports); KEP-1880 (IPAddress objects).
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from typing import Any, NoReturn

import orjson
import trio

from kubetrio.allocation.allocators import (
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
from kubetrio.allocation.counts import DYNAMIC, STATIC, AllocationCounts
from kubetrio.allocation.families import HEADLESS, complete_families, stays_preferred
from kubetrio.allocation.nodeports import SERVICE, NodePorts
from kubetrio.allocation.ranges import ServiceRanges
from kubetrio.allocation.storedports import KEY as PORTS_KEY
from kubetrio.allocation.storedports import StoredPorts
from kubetrio.env import Env
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.reflector import Reflector
from kubetrio.kinds.common.defaulters import ordered
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.status import ApiError, internal_error, invalid
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.observe.series import Timings, gauges
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.serverwrites import create_as_server, delete_as_server
from kubetrio.resources.writes import Allocator
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import KeyExists, StoreError
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]

log = Log("kubetrio.services")
SERVICES = "/registry/services/specs/"
IP_ADDRESSES = "/registry/ipaddresses/"
RANGES = "/registry/servicecidrs/"
MANAGED_BY = "ipallocator.k8s.io"
MANAGER = "kube-apiserver"
_ADDRESSES = "kube_apiserver_clusterip_allocator_"
_PORTS = "kube_apiserver_nodeport_allocator_"
_WITH_PORTS = ("ports", "healthCheckNodePort")
_SPEC = "io.k8s.api.core.v1.ServiceSpec"


class ServiceAllocator:
    """The allocator of one server.

    Args:
        dispatcher: the commit stream, which keeps this up to date.
        registry: what is served.
        env: randomness, wall clock, identities.
        cidrs: ranges that the server was started with; they say which families there are, the
            primary one first.

    Raises:
        ValueError: not a range.
    """

    def __init__(
        self, dispatcher: Dispatcher, registry: LiveRegistry, env: Env, cidrs: Sequence[str]
    ) -> None:
        self._store = dispatcher.store
        self._env = env
        self._families = tuple(
            family_of(ipaddress.ip_network(cidr, strict=False)) for cidr in cidrs
        )
        self._ranges = ServiceRanges()
        self._ports = Ports()
        self._counts = AllocationCounts("clusterip", "cidr")
        self._times = Timings(
            f"{_ADDRESSES}allocation_duration_seconds", "Seconds that an address took.", "cidr"
        )
        self._node_ports = NodePorts(self._ports, env)
        self._shared = dispatcher.store.shared
        self._stored_ports = StoredPorts(
            dispatcher, self._ports.first, self._ports.last, self._note_ports
        )
        self._address_type = registry.resources["networking.k8s.io", "v1", "ipaddresses"]
        self._followed = {
            prefix: Reflector(dispatcher, prefix, noted)
            for prefix, noted in (
                (RANGES, self._note_range),
                (SERVICES, self._note_service),
                (IP_ADDRESSES, self._note_address),
            )
        }

    def families(self) -> Iterator[prometheus.Metric]:
        """What is given and what is free, as metrics."""
        ranges = [((cidr,), one.held(), one.size) for cidr, one in self._ranges.ready()]
        for name, text, rows in (
            ("allocated_ips", "Addresses that Services have.", [(at, n) for at, n, _ in ranges]),
            ("available_ips", "Free addresses.", [(at, size - n) for at, n, size in ranges]),
        ):
            yield gauges(_ADDRESSES + name, text, ("cidr",), rows)
        yield from self._counts.families()
        yield from self._times.families()
        used = len(self._ports.holders)
        free = self._ports.size - used
        yield gauges(f"{_PORTS}allocated_ports", "Node ports in use.", (), [((), used)])
        yield gauges(f"{_PORTS}available_ports", "Free node ports.", (), [((), free)])
        yield from self._ports.counts.families()

    # ------------------------------------------------------------------ what is in use

    async def start(self) -> None:
        """Read what is in use; make IPAddress objects that are missing, drop those left over."""
        stored = {prefix: await one.sync() for prefix, one in self._followed.items()}
        if self._shared:
            await self._stored_ports.followed.sync()
            await self._stored_ports.repair(self._used_ports)
        owners: dict[str, tuple[str, str]] = {}
        for item in stored[SERVICES]:
            service = orjson.loads(item.value)
            meta = service["metadata"]
            for address in addresses_of(service.get("spec") or {}):
                owners[_named(address)] = (meta["namespace"], meta["name"])
        known = {item.key.removeprefix(IP_ADDRESSES): item for item in stored[IP_ADDRESSES]}
        for name, item in known.items():
            labels = orjson.loads(item.value)["metadata"].get("labels") or {}
            ours = labels.get("ipaddress.kubernetes.io/managed-by") == MANAGED_BY
            # Where others write too, one of them may be about to store its Service.
            if ours and name not in owners and not self._shared:
                await self.delete_address(name)
        for address, service_name in owners.items():
            if address not in known and self._ranges.covers(address):
                with suppress(KeyExists):  # another server has made it by now
                    await self.create_address(address, service_name)

    def _note_range(self, event: Event) -> None:
        obj = None if event.type is EventType.DELETED else orjson.loads(event.value)
        self._ranges.note(event.key.removeprefix(RANGES), obj)

    def _note_address(self, event: Event) -> None:
        gone = event.type is EventType.DELETED
        change = self._ranges.drop if gone else self._ranges.hold
        change(event.key.removeprefix(IP_ADDRESSES), IP_ADDRESSES)

    def _note_ports(self, before: Collection[int], now: Collection[int]) -> None:
        """Note the ports that are taken in the store, by whichever server."""
        for port in before:
            if port not in now:
                self._ports.holders.drop(port, PORTS_KEY)
        for port in now:
            self._ports.holders.hold(port, PORTS_KEY)

    def _used_ports(self) -> Collection[int]:
        return self._ports.holders.beside(PORTS_KEY)

    async def keep_ports(self) -> NoReturn:
        """Compare the ports that are taken in the store with Services, until cancelled."""
        await self._stored_ports.keep(self._used_ports)

    def _note_service(self, event: Event) -> None:
        gone = event.type is EventType.DELETED
        before = orjson.loads(event.previous).get("spec") if event.previous else None
        after = None if gone else orjson.loads(event.value).get("spec")
        self._note(event.key, before or {}, after or {})

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
            await self._release_ports(node_ports_of(old["spec"]) - node_ports_of(new["spec"]))

    async def deleted(self, service: Object) -> None:
        """Release what a service that is gone had."""
        await self._release(addresses_of(service.get("spec") or {}))
        await self._release_ports(node_ports_of(service.get("spec") or {}))

    async def _claim(self, new: Object, old: Object | None, claim: Claim) -> None:
        spec = new["spec"]
        was = None if old is None else old["spec"]
        causes = complete_families(spec, was, self._families)
        if causes:
            raise invalid(SERVICE, new["metadata"].get("name") or "", causes)
        await self._claim_addresses(new, _first_wanted(spec, was), claim)
        await self._claim_ports(new, was, claim)
        new["spec"] = ordered(_SPEC, spec)

    async def _claim_ports(self, new: Object, was: Object | None, claim: Claim) -> None:
        """Give a service its node ports; again, when another server has taken one meanwhile."""
        spec = new["spec"]
        asked = {key: deepcopy(spec[key]) for key in _WITH_PORTS if self._shared and key in spec}
        while True:
            if was is None:
                self._node_ports.claim_new(new, claim)
            else:
                self._node_ports.claim_changed(new, was, claim)
            if not self._shared or claim.dry_run or not claim.ports:
                return
            if not await self._stored_ports.take(claim.ports):
                claim.shared_ports.update(claim.ports)
                return
            for port in claim.ports:
                self._ports.holders.drop(port, claim)
            claim.ports.clear()
            for key in _WITH_PORTS:
                spec.pop(key, None)
            spec.update(deepcopy(asked))

    async def _give_back(self, claim: Claim) -> None:
        """Undo a claim, unless the service was stored after all."""
        self._end(claim)
        if self._shared and (claim.addresses or claim.shared_ports):
            try:
                # A write that was cancelled may be stored, and not have come here yet.
                await self._store.caught_up(await self._store.newest())
            except StoreError as error:
                log.warning("what a service was given is left to the repair", reason=str(error))
                return
        await self._release(claim.addresses)
        await self._release_ports(claim.shared_ports)

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
            # Held by its IPAddress until that is gone: no other object can take it meanwhile.
            if self._ranges.held_only_by(address, IP_ADDRESSES):
                await self.delete_address(address)

    async def _release_ports(self, ports: Iterable[int]) -> None:
        """Let go of ports that no service has any more, where several servers share them."""
        if self._shared:
            holders = self._ports.holders
            await self._stored_ports.release(
                {port for port in ports if holders.held_only_by(port, PORTS_KEY)}
            )

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
            scope, cidr = STATIC if wanted else DYNAMIC, self._ranges.label(family, wanted)
            with self._counts.counted(scope, cidr):
                if not wanted:
                    return self._ranges.take_any(family, claim, self._env.rng)
                self._ranges.take(wanted, claim)
                return wanted

        if claim.dry_run:
            return attempt(lambda: self._ranges.tried(family, wanted))
        begun = trio.current_time()
        while True:
            address = attempt(take)
            try:
                await self.create_address(address, claim.service)
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
            took = trio.current_time() - begun
            self._times[self._ranges.label(family, address),].observe(took)
            return address

    def covers(self, address: str) -> bool:
        """Whether an address is in a range, ready or not."""
        return self._ranges.covers(address)

    async def create_address(self, address: str, service: tuple[str, str]) -> None:
        """Store the IPAddress of an address.

        Args:
            address: in any spelling.
            service: namespace and name of the Service that has it.

        Raises:
            KeyExists: there is one.
            StoreError: it cannot be written.
        """
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
        fields = FieldManager(self._address_type, MANAGER, now)
        await create_as_server(self._store, IP_ADDRESSES + name, obj, fields)

    async def delete_address(self, address: str) -> None:
        """Delete the IPAddress of an address, if there is one.

        Raises:
            StoreError: it cannot be written.
        """
        await delete_as_server(self._store, IP_ADDRESSES + _named(address))


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


def by_resource(allocator: ServiceAllocator) -> dict[tuple[str, str], Allocator]:
    """Return the allocators of a server, by group and plural name of what they give something to.

    Args:
        allocator: that of Services.
    """
    return {("", "services"): allocator}
