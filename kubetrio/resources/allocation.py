"""Allocation of service addresses and node ports around the writes of services.

What is in use follows from the stored services and IPAddress objects: read at start, kept by the
commit stream.  A write in flight holds its values under a token of its own, so two writes never
get the same one; the token goes when the write ends, however it ends, and by then the commit
stream has noted the service itself.

Source: docs "Service" (cluster IP allocation, node ports); KEP-1880 (IPAddress objects).
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import trio

from kubetrio.env import Env
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.status import ApiError, Cause, internal_error, invalid
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.allocators import (
    Addresses,
    Full,
    Network,
    OutOfRange,
    Ports,
    Taken,
    addresses_of,
    node_ports_of,
)
from kubetrio.resources.defaults.compiling import ordered
from kubetrio.resources.defaults.strategy_services import has_health_port
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.objects import restamp, stamp
from kubetrio.resources.validation.services import cluster_ips
from kubetrio.schema import builtin
from kubetrio.store.errors import KeyExists, KeyMissing, RevisionMismatch
from kubetrio.store.model import Event, EventType, Range, Store
from kubetrio.store.scan import scan

Object = dict[str, Any]

SERVICES = "/registry/services/specs/"
IP_ADDRESSES = "/registry/ipaddresses/"
SERVICE = GroupKind("", "Service")
IP_ADDRESS = ("networking.k8s.io", "v1", "ipaddresses")
MANAGED_BY = "ipallocator.k8s.io"
MANAGER = "kube-apiserver"
DRY_RUN_PORT = 32769
START_PAGE = 1000
_SPEC = "io.k8s.api.core.v1.ServiceSpec"
_PORT = "io.k8s.api.core.v1.ServicePort"


@dataclass(slots=True, eq=False)
class _Claim:
    """What one write holds: the identity of this object is the token.

    Args:
        dry_run: whether nothing is held at all.
        service: namespace and name.
        addresses: addresses taken.
        ports: node ports taken.
    """

    dry_run: bool
    service: tuple[str, str]
    addresses: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)


class ServiceAllocator:
    """The allocator of one server.

    Args:
        store: where services live; its commit stream keeps this up to date.
        env: randomness, wall clock, identities.
        cidrs: ranges of service addresses, the primary family's first.
    """

    def __init__(self, store: Store, env: Env, cidrs: Sequence[str]) -> None:
        self._store = store
        self._env = env
        networks: list[Network] = [ipaddress.ip_network(cidr, strict=False) for cidr in cidrs]
        self._ranges = {f"IPv{network.version}": Addresses(network) for network in networks}
        self._ports = Ports()
        store.on_commit(self._committed)

    # ------------------------------------------------------------------ what is in use

    async def start(self) -> None:
        """Read what is in use; make IPAddress objects that are missing, drop those left over."""
        services = {key: value async for key, value in self._stored(SERVICES)}
        wanted: dict[str, tuple[str, str]] = {}
        for key, service in services.items():
            self._note(key, {}, service.get("spec") or {})
            meta = service["metadata"]
            for address in addresses_of(service.get("spec") or {}):
                wanted[address] = (meta["namespace"], meta["name"])
        known = {
            key.removeprefix(IP_ADDRESSES): obj async for key, obj in self._stored(IP_ADDRESSES)
        }
        for name, obj in known.items():
            self._note_address(name, present=True)
            labels = obj["metadata"].get("labels") or {}
            ours = labels.get("ipaddress.kubernetes.io/managed-by") == MANAGED_BY
            if ours and name not in wanted:
                await self._delete_address(name)
        for address, service_name in wanted.items():
            if address not in known and self._range_of(address) is not None:
                await self._create_address(address, service_name)

    async def _stored(self, prefix: str) -> AsyncIterator[tuple[str, Object]]:
        async for item in scan(self._store, Range.prefix(prefix), START_PAGE):
            yield item.key, orjson.loads(item.value)

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.key.startswith(SERVICES):
                before = orjson.loads(event.previous).get("spec") if event.previous else None
                gone = event.type is EventType.DELETED
                after = None if gone else orjson.loads(event.value).get("spec")
                self._note(event.key, before or {}, after or {})
            elif event.key.startswith(IP_ADDRESSES):
                name = event.key.removeprefix(IP_ADDRESSES)
                self._note_address(name, present=event.type is not EventType.DELETED)

    def _note(self, key: str, before: Object, after: Object) -> None:
        for port in node_ports_of(before):
            self._ports.holders.drop(port, key)
        for port in node_ports_of(after):
            self._ports.holders.hold(port, key)
        for address in addresses_of(before):
            if (values := self._range_of(address)) is not None:
                values.holders.drop(int(ipaddress.ip_address(address)), key)
        for address in addresses_of(after):
            if (values := self._range_of(address)) is not None:
                values.holders.hold(int(ipaddress.ip_address(address)), key)

    def _note_address(self, name: str, *, present: bool) -> None:
        values = self._range_of(name)
        if values is None:
            return
        number, who = int(ipaddress.ip_address(name)), IP_ADDRESSES
        if present:
            values.holders.hold(number, who)
        else:
            values.holders.drop(number, who)

    def _range_of(self, address: str) -> Addresses | None:
        """The range of an address's family, None for what is not an address."""
        try:
            return self._ranges.get(f"IPv{ipaddress.ip_address(address).version}")
        except ValueError:
            return None

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
        claim = _Claim(dry_run, (meta.get("namespace", ""), meta.get("name", "")))
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

    async def _claim(self, new: Object, old: Object | None, claim: _Claim) -> None:
        spec = new["spec"]
        self._check_families(new, old)
        if old is None:
            await self._claim_addresses(new, claim)
            self._claim_new_ports(new, claim)
        else:
            was = old["spec"]
            if self._needs_addresses(spec, was):
                await self._claim_addresses(new, claim)
            self._claim_changed_ports(new, was, claim)
        new["spec"] = ordered(_SPEC, spec)

    async def _give_back(self, claim: _Claim) -> None:
        """Undo a claim, unless the service was stored after all."""
        self._end(claim)
        await self._release(claim.addresses)

    def _end(self, claim: _Claim) -> None:
        if claim.dry_run:
            return
        for port in claim.ports:
            self._ports.holders.drop(port, claim)
        for address in claim.addresses:
            if (values := self._range_of(address)) is not None:
                values.holders.drop(int(ipaddress.ip_address(address)), claim)

    async def _release(self, addresses: Sequence[str]) -> None:
        """Drop the IPAddress objects of addresses that no service has any more."""
        for address in addresses:
            values = self._range_of(address)
            if values is None:
                continue
            # Held by its IPAddress until that is gone, nobody else can take it meanwhile.
            if values.holders.held_only_by(int(ipaddress.ip_address(address)), IP_ADDRESSES):
                await self._delete_address(address)

    # ------------------------------------------------------------------ addresses

    def _check_families(self, new: Object, old: Object | None) -> None:
        """What addresses and families say must fit together before anything is taken."""
        spec = new["spec"]
        if spec.get("type") == "ExternalName":
            return
        known = (old or {}).get("spec", {}).get("clusterIPs") or ()
        causes: list[Cause] = []
        cluster_ips(spec, causes, known)
        if not causes and old is None and spec.get("ipFamilyPolicy") == "SingleStack":
            causes = list(_too_many_families(spec))
        if not causes:
            causes = list(self._unserved_families(spec))
        if causes:
            raise invalid(SERVICE, new["metadata"].get("name") or "", causes)

    def _unserved_families(self, spec: Object) -> Iterator[Cause]:
        headless = spec.get("clusterIP") == "None"
        if headless and not spec.get("selector"):
            return
        families = spec.get("ipFamilies") or ()
        for index, family in enumerate(families):
            if family not in self._ranges:
                path = f"spec.ipFamilies[{index}]"
                yield invalid_value(path, family, "not configured on this cluster")
        if spec.get("ipFamilyPolicy") == "RequireDualStack" and len(self._ranges) < 2:
            detail = "this cluster is not configured for dual-stack services"
            yield invalid_value("spec.ipFamilyPolicy", "RequireDualStack", detail)

    @staticmethod
    def _needs_addresses(spec: Object, was: Object) -> bool:
        if spec["type"] == "ExternalName":
            return False
        if was["type"] == "ExternalName":
            return True
        if "None" in (was.get("clusterIPs") or ()):
            return False
        return len(spec.get("ipFamilies") or ()) > len(was.get("ipFamilies") or ())

    async def _claim_addresses(self, new: Object, claim: _Claim) -> None:
        spec = new["spec"]
        if spec["type"] == "ExternalName" or spec.get("clusterIP") == "None":
            return
        asked: list[str] = list(spec.get("clusterIPs") or ())
        given = []
        for index, family in enumerate(spec.get("ipFamilies") or ()):
            wanted = asked[index] if index < len(asked) else ""
            given.append(await self._claim_address(new, asked, wanted, family, claim))
        if given:
            spec["clusterIP"], spec["clusterIPs"] = given[0], given

    async def _claim_address(
        self, new: Object, asked: list[str], wanted: str, family: str, claim: _Claim
    ) -> str:
        values = self._ranges[family]
        if claim.dry_run:
            if not wanted:
                return values.placeholder
            try:
                values.check(wanted)
            except OutOfRange as error:
                raise _refused(new, asked, wanted, error) from None
            return wanted
        while True:
            try:
                if wanted:
                    values.take(wanted, claim)
                    address = wanted
                else:
                    address = values.text(values.take_any(claim, self._env.rng))
            except (OutOfRange, Taken) as error:
                raise _refused(new, asked, wanted, error) from None
            except Full as error:
                raise internal_error(f"failed to allocate a serviceIP: {error}") from None
            try:
                await self._create_address(address, claim.service)
            except KeyExists:
                values.holders.drop(number := int(ipaddress.ip_address(address)), claim)
                values.holders.hold(number, IP_ADDRESSES)
                if wanted:
                    taken = Taken("provided IP is already allocated")
                    raise _refused(new, asked, wanted, taken) from None
                continue
            except BaseException:
                values.holders.drop(int(ipaddress.ip_address(address)), claim)
                raise
            claim.addresses.append(address)
            return address

    async def _create_address(self, address: str, service: tuple[str, str]) -> None:
        family = f"IPv{ipaddress.ip_address(address).version}"
        now = format_time(self._env.now())
        obj: Object = {
            "kind": "IPAddress",
            "apiVersion": "networking.k8s.io/v1",
            "metadata": {
                "name": address,
                "uid": self._env.new_uid(),
                "creationTimestamp": now,
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": family,
                    "ipaddress.kubernetes.io/managed-by": MANAGED_BY,
                },
            },
            "spec": {
                "parentRef": {
                    "resource": "services", "namespace": service[0], "name": service[1],
                }
            },
        }  # fmt: skip
        FieldManager(builtin.registry().resources[IP_ADDRESS], MANAGER, now).created(obj)
        await self._store.create(IP_ADDRESSES + address, stamp(obj))

    async def _delete_address(self, address: str) -> None:
        key = IP_ADDRESSES + address
        while (found := await self._store.get(key)) is not None:
            try:
                await self._store.delete(key, restamp(found.value), expected=found.revision)
            except RevisionMismatch:
                continue
            except KeyMissing:
                return

    # ------------------------------------------------------------------ node ports

    def _claim_new_ports(self, new: Object, claim: _Claim) -> None:
        spec = new["spec"]
        chosen: dict[int, int] = {}
        for index, port in enumerate(spec.get("ports") or ()):
            asked = port.get("nodePort") or 0
            if not _takes_node_ports(spec) and not asked:
                continue
            known = chosen.get(port["port"], 0)
            if known and asked in (0, known):
                # One number serves both transports of a port.
                _set_node_port(spec, index, known)
                continue
            if not known:
                asked = asked or _asked_elsewhere(spec, port["port"])
            number = self._claim_port(new, index, asked, claim)
            if not known:
                chosen[port["port"]] = number
            _set_node_port(spec, index, number)
        if has_health_port(spec):
            self._claim_health_port(spec, claim)

    def _claim_changed_ports(self, new: Object, was: Object, claim: _Claim) -> None:
        spec = new["spec"]
        had = {port["nodePort"] for port in was.get("ports") or () if port.get("nodePort")}
        if was["type"] not in ("NodePort", "LoadBalancer"):
            had = set()
        if spec["type"] in ("NodePort", "LoadBalancer"):
            mine: set[int] = set()
            for index, port in enumerate(spec.get("ports") or ()):
                asked = port.get("nodePort") or 0
                if not asked and not _takes_node_ports(spec):
                    continue
                if asked and (asked in had or asked in mine):
                    continue
                number = self._claim_port(new, index, asked, claim)
                mine.add(number)
                _set_node_port(spec, index, number)
        if has_health_port(spec) and not has_health_port(was):
            self._claim_health_port(spec, claim)

    def _claim_port(self, new: Object, index: int, asked: int, claim: _Claim) -> int:
        """One node port, the one asked for or any; 422 or 500."""
        try:
            return self._take_port(asked, claim)
        except Full as error:
            raise internal_error(f"failed to allocate a nodePort: {error}") from None
        except (OutOfRange, Taken) as error:
            cause = invalid_value(f"spec.ports[{index}].nodePort", asked, str(error))
            raise invalid(SERVICE, new["metadata"].get("name") or "", [cause]) from None

    def _claim_health_port(self, spec: Object, claim: _Claim) -> None:
        asked = spec.get("healthCheckNodePort") or 0
        try:
            spec["healthCheckNodePort"] = self._take_port(asked, claim)
        except Full as error:
            why = f"failed to allocate a HealthCheck NodePort {asked}: {error}"
            raise internal_error(why) from None
        except (OutOfRange, Taken) as error:
            why = f"failed to allocate requested HealthCheck NodePort {asked}: {error}"
            raise internal_error(why) from None

    def _take_port(self, asked: int, claim: _Claim) -> int:
        ports = self._ports
        if claim.dry_run:
            if asked and (asked in ports.holders or asked in claim.ports):
                raise Taken("provided port is already allocated")
            number = asked or max([DRY_RUN_PORT - 1, *claim.ports]) + 1
        elif asked:
            ports.take(asked, claim)
            number = asked
        else:
            number = ports.take_any(claim, self._env.rng)
        claim.ports.append(number)
        return number


def _too_many_families(spec: Object) -> Iterator[Cause]:
    needed = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    for member, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if len(spec.get(member) or ()) > 1:
            detail = f"{needed} {what} are specified"
            yield invalid_value("spec.ipFamilyPolicy", "SingleStack", detail)


def _refused(new: Object, asked: list[str], wanted: str, error: Exception) -> ApiError:
    detail = f"failed to allocate IP {wanted}: {error}"
    cause = invalid_value("spec.clusterIPs", asked, detail)
    return invalid(SERVICE, new["metadata"].get("name") or "", [cause])


def _takes_node_ports(spec: Object) -> bool:
    if spec["type"] == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return bool(spec["type"] == "NodePort")


def _asked_elsewhere(spec: Object, port: int) -> int:
    """The node port asked for another transport of a port, or 0."""
    for other in spec.get("ports") or ():
        if other["port"] == port and other.get("nodePort"):
            return int(other["nodePort"])
    return 0


def _set_node_port(spec: Object, index: int, number: int) -> None:
    ports = list(spec["ports"])
    ports[index] = ordered(_PORT, {**ports[index], "nodePort": number})
    spec["ports"] = ports
