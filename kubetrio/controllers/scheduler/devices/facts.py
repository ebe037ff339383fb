"""What a scheduler knows of devices: claims, classes, and slices that tell of devices.

Source: docs "Dynamic Resource Allocation"; k8s.io/api/resource/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.podcontrol.nodeselector import any_term

Object = dict[str, Any]

MOST_CONSUMERS = 256
"""Consumers for which a claim may be reserved at a time."""
FINALIZER = "resource.kubernetes.io/delete-protection"
"""Finalizer of claims that have devices."""


class DeviceId(NamedTuple):
    """The names by which a device is known."""

    driver: str
    pool: str
    device: str


class Nodes(NamedTuple):
    """Nodes that can use devices.

    Args:
        name: of the only one, empty where it is not that simple.
        every: whether all can.
        terms: of a selector, None for none.
    """

    name: str
    every: bool
    terms: list[Object] | None

    def have(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node is one of them."""
        if self.name:
            return self.name == name
        return self.every or (self.terms is not None and any_term(self.terms, name, labels))


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device.

    Args:
        id: its names.
        attributes: by name, as stored.
        capacity: the same.
        taints: the same.
        nodes: that can use it.
        usable: whether it needs nothing that this scheduler does not know.
        known: what selectors say of it, by their texts; an error is a text.
    """

    id: DeviceId
    attributes: Mapping[str, Object]
    capacity: Mapping[str, Object]
    taints: tuple[Object, ...]
    nodes: Nodes
    usable: bool
    known: dict[str, bool | str] = field(default_factory=dict)


class Slice(NamedTuple):
    """What is kept of a ResourceSlice.

    Args:
        driver: of the devices.
        pool: of which it is a part.
        generation: of the pool.
        parts: slices that the pool has in that generation.
        devices: in order.
    """

    driver: str
    pool: str
    generation: int
    parts: int
    devices: tuple[Device, ...]


class Class(NamedTuple):
    """What is kept of a DeviceClass.

    Args:
        selectors: expressions that devices meet.
        config: for drivers, as stored.
    """

    selectors: tuple[str, ...]
    config: tuple[Object, ...]


class Request(NamedTuple):
    """A request of a claim.

    Args:
        name: of the request.
        known: whether it asks for devices of one class.
        class_name: of that class.
        selectors: expressions that devices meet.
        amount: how many are wanted, 0 for all there are.
        admin: whether devices in use count too.
        tolerations: of taints of devices, as stored.
    """

    name: str
    known: bool
    class_name: str
    selectors: tuple[str, ...]
    amount: int
    admin: bool
    tolerations: tuple[Object, ...]


class Claim(NamedTuple):
    """What is kept of a ResourceClaim.

    Args:
        uid: of the claim.
        owner: uid of its controller, empty for none.
        deleting: whether it is to be gone.
        requests: what it asks for.
        constraints: on the devices together, as stored.
        config: for drivers, as stored.
        allocated: whether it has devices.
        terms: of the nodes that can use them, None for all.
        devices: that no other claim may have.
        consumers: uids of the pods it is reserved for.
    """

    uid: str
    owner: str
    deleting: bool
    requests: tuple[Request, ...]
    constraints: tuple[Object, ...]
    config: tuple[Object, ...]
    allocated: bool
    terms: list[Object] | None
    devices: frozenset[DeviceId]
    consumers: frozenset[str]

    def serves(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node can use the devices that it has."""
        return self.terms is None or any_term(self.terms, name, labels)


@dataclass(frozen=True, slots=True)
class Devices:
    """All there are.

    Args:
        claims: by namespace and name.
        classes: by name.
        slices: by name.
        given: devices of claims, by namespace and name, that are about to be written.
    """

    claims: dict[str, Claim] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    slices: dict[str, Slice] = field(default_factory=dict)
    given: dict[str, frozenset[DeviceId]] = field(default_factory=dict)

    def in_use(self) -> set[DeviceId]:
        """Devices that a claim has or is about to have."""
        used: set[DeviceId] = set()
        for claim in self.claims.values():
            used |= claim.devices
        return used.union(*self.given.values())


def _nodes(spec: Object) -> Nodes:
    selector = spec.get("nodeSelector")
    terms = None if selector is None else list(selector.get("nodeSelectorTerms") or ())
    return Nodes(spec.get("nodeName") or "", bool(spec.get("allNodes")), terms)


def _expressions(selectors: Any) -> tuple[str, ...]:
    return tuple((one.get("cel") or {}).get("expression") or "" for one in selectors or ())


def slice_facts(value: bytes) -> Slice:
    """What is kept of a slice.

    Args:
        value: the stored ResourceSlice.
    """
    spec = orjson.loads(value)["spec"]
    pool, driver = spec["pool"], spec["driver"]
    each = bool(spec.get("perDeviceNodeSelection"))
    return Slice(
        driver,
        pool["name"],
        pool.get("generation") or 0,
        pool.get("resourceSliceCount") or 0,
        tuple(
            Device(
                DeviceId(driver, pool["name"], one["name"]),
                one.get("attributes") or {},
                one.get("capacity") or {},
                tuple(one.get("taints") or ()),
                _nodes(one if each else spec),
                not any(
                    one.get(member)
                    for member in (
                        "bindingConditions",
                        "consumesCounters",
                        "allowMultipleAllocations",
                    )
                ),
            )
            for one in spec.get("devices") or ()
        ),
    )


def device_class_facts(value: bytes) -> Class:
    """What is kept of a class.

    Args:
        value: the stored DeviceClass.
    """
    spec = orjson.loads(value).get("spec") or {}
    return Class(_expressions(spec.get("selectors")), tuple(spec.get("config") or ()))


def _request(request: Object) -> Request:
    exactly = request.get("exactly")
    known, spec = exactly is not None, exactly or {}
    return Request(
        name=request["name"],
        known=known,
        class_name=spec.get("deviceClassName") or "",
        selectors=_expressions(spec.get("selectors")),
        amount=0 if spec.get("allocationMode") == "All" else spec.get("count") or 1,
        admin=bool(spec.get("adminAccess")),
        tolerations=tuple(spec.get("tolerations") or ()),
    )


def device_claim_facts(value: bytes) -> Claim:
    """What is kept of a claim.

    Args:
        value: the stored ResourceClaim.
    """
    claim: Object = orjson.loads(value)
    meta, status = claim["metadata"], claim.get("status") or {}
    asked = (claim.get("spec") or {}).get("devices") or {}
    allocation = status.get("allocation")
    selector = (allocation or {}).get("nodeSelector")
    owners = meta.get("ownerReferences") or ()
    return Claim(
        uid=meta["uid"],
        owner=next((one["uid"] for one in owners if one.get("controller")), ""),
        deleting="deletionTimestamp" in meta,
        requests=tuple(_request(one) for one in asked.get("requests") or ()),
        constraints=tuple(asked.get("constraints") or ()),
        config=tuple(asked.get("config") or ()),
        allocated=allocation is not None,
        terms=None if selector is None else list(selector.get("nodeSelectorTerms") or ()),
        devices=frozenset(
            DeviceId(one["driver"], one["pool"], one["device"])
            for one in ((allocation or {}).get("devices") or {}).get("results") or ()
            if not one.get("adminAccess")
        ),
        consumers=frozenset(one["uid"] for one in status.get("reservedFor") or ()),
    )
