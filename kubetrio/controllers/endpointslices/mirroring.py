"""Mirrors Endpoints that people write, of services without selector, to endpoint slices.

Source: docs "EndpointSlices" (mirroring); k8s.io/kubernetes/pkg/controller/endpointslicemirroring.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.endpoints.backends import TRIGGER_TIME, ServiceDigest, services_of
from kubetrio.controllers.endpoints.endpoints import ENDPOINTS, EndpointsDigest, all_endpoints
from kubetrio.controllers.endpoints.subsets import repacked
from kubetrio.controllers.endpointslices.slices import (
    MANAGED_BY,
    SERVICE_NAME,
    Identity,
    Plan,
    Ports,
    identity,
    name_prefix,
    ports_key,
    same_endpoint,
)
from kubetrio.controllers.endpointslices.slicewrites import OwnSlices, SliceWriter
from kubetrio.controllers.owning import controller_reference
from kubetrio.controllers.recorder import WARNING, EventRecorder, reference_to
from kubetrio.controllers.rivals import Rivals
from kubetrio.kinds.common.addresses import parse_ip

Object = dict[str, Any]

ACCOUNT = "endpointslicemirroring-controller"
CONTROLLER = "endpointslicemirroring-controller.k8s.io"
MOST_ADDRESSES = 1000
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
NOT_MIRRORED = (TRIGGER_TIME, LAST_APPLIED)


class Mirrored(NamedTuple):
    """What slices of Endpoints should have.

    Args:
        endpoints: by family and ports.
        ports: of these.
        invalid: how many addresses are none.
        skipped: how many were left out, those included.
    """

    endpoints: dict[tuple[str, Ports], dict[Identity, Object]]
    ports: dict[Ports, list[Object]]
    invalid: int
    skipped: int


def mirrored(subsets: list[Object] | None) -> Mirrored:
    """What slices should have of the subsets of Endpoints."""
    endpoints = dict[tuple[str, Ports], dict[Identity, Object]]()
    ports_of = dict[Ports, list[Object]]()
    invalid = skipped = 0
    for subset in repacked(subsets):
        ports = [_port(port) for port in subset.get("ports") or ()]
        key = ports_key(ports)
        ports_of[key] = ports
        listed = [(one, True) for one in subset.get("addresses") or ()]
        listed += [(one, False) for one in subset.get("notReadyAddresses") or ()]
        added = 0
        for address, ready in listed:
            if added >= MOST_ADDRESSES:
                break
            ip = parse_ip(address["ip"])
            if ip is None:
                invalid += 1
                continue
            endpoint = _endpoint(address, str(ip), ready)
            endpoints.setdefault((f"IPv{ip.version}", key), {})[identity(endpoint)] = endpoint
            added += 1
        skipped += len(listed) - added
    return Mirrored(endpoints, ports_of, invalid, skipped)


def _endpoint(address: Object, ip: str, ready: bool) -> Object:
    endpoint: Object = {"addresses": [ip], "conditions": {"ready": ready}}
    for name in ("hostname", "targetRef", "nodeName"):
        if address.get(name):
            endpoint[name] = address[name]
    return endpoint


def _port(port: Object) -> Object:
    entry = {"name": port.get("name") or "", "port": port["port"]}
    entry["protocol"] = port.get("protocol") or "TCP"
    if port.get("appProtocol"):
        entry["appProtocol"] = port["appProtocol"]
    return entry


def _new_slice(endpoints: Object, ports: list[Object], family: str) -> Object:
    meta = endpoints["metadata"]
    owner = controller_reference("v1", "Endpoints", meta)
    metadata: Object = {
        "generateName": name_prefix(meta["name"]),
        "namespace": meta["namespace"],
        "labels": {
            **(meta.get("labels") or {}),
            SERVICE_NAME: meta["name"],
            MANAGED_BY: CONTROLLER,
        },
        "ownerReferences": [owner],
    }
    if annotations := _annotations(endpoints):
        metadata["annotations"] = annotations
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": family,
        "endpoints": [],
        "ports": ports,
    }


def _annotations(obj: Object) -> dict[str, str]:
    own_annotations = obj["metadata"].get("annotations") or {}
    return {name: value for name, value in own_annotations.items() if name not in NOT_MIRRORED}


def planned(endpoints: Object, wanted: Mirrored, slices: list[Object]) -> Plan:
    """What to write so that the slices of Endpoints are right.

    Args:
        endpoints: as stored.
        wanted: what of them.
        slices: that the controller made of them.
    """
    plan = Plan()
    existing: dict[tuple[str, Ports], list[Object]] = {}
    for slice_ in slices:
        key = slice_["addressType"], ports_key(slice_.get("ports"))
        existing.setdefault(key, []).append(slice_)
    for (family, ports), found in wanted.endpoints.items():
        there = existing.pop((family, ports), [])
        plan.delete += there[1:]
        if there and _right(endpoints, there[0], found):
            continue
        new = _new_slice(endpoints, wanted.ports[ports], family)
        new["endpoints"] = list(found.values())[:MOST_ADDRESSES]
        if there:
            meta = {**there[0]["metadata"]}
            meta.pop("annotations", None)
            new["metadata"].pop("generateName")
            new["metadata"] = {**meta, **new["metadata"]}
            plan.update.append(new)
        else:
            plan.create.append(new)
    for unwanted in existing.values():
        plan.delete += unwanted
    plan.recycle(list(plan.delete))
    if "deletionTimestamp" in endpoints["metadata"]:
        plan.create.clear()
    return plan


def _right(endpoints: Object, slice_: Object, wanted: dict[Identity, Object]) -> bool:
    there = {identity(one): one for one in slice_.get("endpoints") or ()}
    own = {MANAGED_BY, SERVICE_NAME}
    labels = [
        {k: v for k, v in (each["metadata"].get("labels") or {}).items() if k not in own}
        for each in (endpoints, slice_)
    ]
    meta = endpoints["metadata"]
    owners = slice_["metadata"].get("ownerReferences") or ()
    return (
        there.keys() == wanted.keys()
        and all(same_endpoint(wanted[key], one) for key, one in there.items())
        and labels[0] == labels[1]
        and _annotations(endpoints) == (slice_["metadata"].get("annotations") or {})
        and not any(
            owner.get("kind") == "Endpoints"
            and owner.get("name") == meta["name"]
            and owner.get("uid") != meta["uid"]
            for owner in owners
        )
    )


class EndpointSliceMirroring(Controller):
    """The controller; its keys are ``namespace/name`` of Endpoints.

    Args:
        context: what it is made of.
    """

    name = "endpointslice-mirroring-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._writer = SliceWriter(ACCOUNT, context.registry, context.operations)
        self._events = EventRecorder(
            "endpoint-slice-mirroring-controller",
            ACCOUNT,
            context.registry,
            context.operations,
            context.env,
        )
        self._rivals = Rivals(self.name, "endpointslices of Endpoints")
        self._services = self.follow_digests(services_of(context.informers), self._service_changed)
        self._endpoints = self.follow_digests(
            all_endpoints(context.informers), self._endpoints_changed
        )
        self._slices = OwnSlices(CONTROLLER, context.informers, self.queue.add)
        self.sources.append(self._slices.digests)
        self.beside.append(self._events.run)

    def _service_changed(
        self, namespace: str, name: str, old: ServiceDigest | None, new: ServiceDigest | None
    ) -> None:
        states = {digest is not None and digest.selector is None for digest in (old, new)}
        if len(states) > 1:
            self.queue.add(f"{namespace}/{name}")

    def _endpoints_changed(
        self, namespace: str, name: str, old: EndpointsDigest | None, new: EndpointsDigest | None
    ) -> None:
        if any(digest is not None and digest.mirrored for digest in (old, new)):
            self.queue.add(f"{namespace}/{name}")

    async def sync(self, key: str) -> None:
        """Make slices of Endpoints, or delete those that there are.

        Raises:
            ApiError: one cannot be written.
            StoreError: the same, or something cannot be read.
        """
        namespace, _, name = key.partition("/")
        service = self._services.get(namespace, name)
        digest = self._endpoints.get(namespace, name)
        slices = await self._slices.of(key)
        item = await self._store.get(ENDPOINTS + key)
        if (
            service is None or service.selector is not None
            or digest is None or not digest.mirrored or item is None
        ):  # fmt: skip
            await self._writer.delete(slices)
            return
        endpoints: Object = orjson.loads(item.value)
        wanted = mirrored(endpoints.get("subsets"))
        about = reference_to(endpoints, "v1", "Endpoints")
        if wanted.invalid:
            message = (
                f"Skipped {wanted.invalid} invalid IP addresses when mirroring to EndpointSlices"
            )
            self._events.record(about, WARNING, "InvalidIPAddress", message)
        if wanted.skipped > wanted.invalid:
            message = (
                f"A max of {MOST_ADDRESSES} addresses can be mirrored to EndpointSlices per "
                f"Endpoints subset. {wanted.skipped} addresses were skipped"
            )
            self._events.record(about, WARNING, "TooManyAddressesToMirror", message)
        plan = planned(endpoints, wanted, slices)
        if plan and (wait_s := self._rivals.wait_s(key, item.revision)):
            self.queue.add_after(key, wait_s)
            return
        await self._writer.write(plan)
        if plan:
            self._rivals.corrected(key)
