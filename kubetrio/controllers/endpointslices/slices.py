"""Endpoint slices: how the endpoints of a service are packed into few of them, with few writes.

Slices that are right stay.  Those that change anyway are filled up first; then one that has room
for all that is left; then new ones are made.  Nothing is moved to make slices fuller.

Source: docs "EndpointSlices" (distribution of EndpointSlices); k8s.io/endpointslice
(``Reconciler``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.controllers.endpoints.backends import (
    HEADLESS,
    addresses_of,
    belongs,
    has_address,
    hostname_in,
    pod_reference,
    port_of,
)
from kubetrio.controllers.owning import controller_reference
from kubetrio.kinds.core.nodedigests import NodeDigest
from kubetrio.kinds.core.pods.digests import PodDigest
from kubetrio.machinery.names_validation import dns1123_subdomain

Object = dict[str, Any]

MOST_ENDPOINTS = 100
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME = "kubernetes.io/service-name"
CONTROLLER = "endpointslice-controller.k8s.io"
RESERVED = frozenset({MANAGED_BY, SERVICE_NAME, HEADLESS})
MODES = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")
CLOSE = frozenset({"PreferClose", "PreferSameZone", "PreferSameNode"})

Ports = frozenset[tuple[str, int | None, str, str]]
Identity = tuple[tuple[str, ...], str, str, str]


class Plan:
    """What is to be written: objects to make, those as they should be, and those to delete."""

    def __init__(self) -> None:
        self.create: list[Object] = []
        self.update: list[Object] = []
        self.delete: list[Object] = []

    def __bool__(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.create or self.update or self.delete)

    def recycle(self, usable: Iterable[Object]) -> None:
        """Rather change a slice of the same family than delete it and make another.

        Args:
            usable: those that may be changed, of the ones to delete.
        """
        names = {slice_["metadata"]["name"] for slice_ in usable}
        for old in list(self.delete):
            new = next(
                (one for one in self.create if one["addressType"] == old["addressType"]), None
            )
            if new is None or old["metadata"]["name"] not in names:
                continue
            self.create.remove(new)
            self.delete.remove(old)
            kept = ("name", "namespace", "uid", "creationTimestamp", "resourceVersion",
                    "generation", "generateName", "managedFields")  # fmt: skip
            meta = {name: old["metadata"][name] for name in kept if name in old["metadata"]}
            self.update.append({**new, "metadata": {**new["metadata"], **meta}})


def ports_key(ports: Sequence[Object] | None) -> Ports:
    """Ports as what slices are grouped by; their order says nothing."""
    return frozenset(
        (
            port.get("name") or "",
            port.get("port"),
            port.get("protocol") or "TCP",
            port.get("appProtocol") or "",
        )
        for port in ports or ()
    )


def identity(endpoint: Object) -> Identity:
    """What makes an endpoint the same one."""
    target = endpoint.get("targetRef") or {}
    return (
        tuple(sorted(endpoint["addresses"])),
        endpoint.get("hostname") or "",
        target.get("namespace") or "",
        target.get("name") or "",
    )


def same_endpoint(one: Object, other: Object) -> bool:
    """Whether endpoints with one identity say the same of it."""
    conditions, others = one.get("conditions") or {}, other.get("conditions") or {}
    targets = [
        {k: v for k, v in (each.get("targetRef") or {}).items() if k != "resourceVersion"}
        for each in (one, other)
    ]
    return (
        all(one.get(name) == other.get(name) for name in ("nodeName", "zone"))
        and all(
            conditions.get(name) == others.get(name) for name in ("ready", "serving", "terminating")
        )
        and targets[0] == targets[1]
    )


class Wanted(NamedTuple):
    """Endpoints of a service with one set of ports in one family."""

    ports: list[Object]
    endpoints: dict[Identity, Object]


def families_of(service: Object) -> list[str]:
    """The address types of a service's slices."""
    spec = service["spec"]
    families: list[str] = [one for one in spec.get("ipFamilies") or () if one in ("IPv4", "IPv6")]
    if families:
        return families
    address = spec.get("clusterIP") or ""
    if has_address(service):
        return ["IPv6" if ":" in address else "IPv4"]
    return ["IPv4", "IPv6"]


def endpoint_of(
    name: str, pod: PodDigest, node: NodeDigest | None, service: Object, family: str
) -> Object:
    """A pod as an endpoint.

    Args:
        name: of the pod.
        pod: the pod.
        node: on which it is, None if that is not there.
        service: that selects it.
        family: ``IPv4`` or ``IPv6``.
    """
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    terminating = bool(pod.deleting)
    endpoint: Object = {
        "addresses": addresses_of(pod, six=family == "IPv6"),
        "conditions": {
            "ready": publish or (pod.ready and not terminating),
            "serving": pod.ready,
            "terminating": terminating,
        },
    }
    if hostname := hostname_in(pod, service):
        endpoint["hostname"] = hostname
    endpoint["targetRef"] = pod_reference(service["metadata"]["namespace"], name, pod)
    if pod.node:
        endpoint["nodeName"] = pod.node
    if node is not None and node.zone:
        endpoint["zone"] = node.zone
    return endpoint


def endpoint_ports(service: Object, pod: PodDigest) -> list[Object]:
    """The ports of a service at a pod; those that the pod does not have are left out."""
    ports = list[Object]()
    for port in service["spec"].get("ports") or ():
        number = port_of(pod, port)
        if number is None:
            continue
        one: Object = {"name": port.get("name") or "", "port": number}
        one["protocol"] = port.get("protocol") or "TCP"
        if port.get("appProtocol"):
            one["appProtocol"] = port["appProtocol"]
        ports.append(one)
    return ports


def wanted_endpoints(
    service: Object,
    pods: Sequence[tuple[str, PodDigest]],
    nodes: Mapping[str, NodeDigest],
    family: str,
) -> tuple[dict[Ports, Wanted], list[str]]:
    """The endpoints of a service in one family, and the names of pods whose node is not there.

    Args:
        service: with a selector.
        pods: that it selects, with their names.
        nodes: all there are.
        family: ``IPv4`` or ``IPv6``.
    """
    endpoints, lost = dict[Ports, Wanted](), list[str]()
    for name, pod in pods:
        if not belongs(pod, terminating=True):
            continue
        ports = endpoint_ports(service, pod)
        group = endpoints.setdefault(ports_key(ports), Wanted(ports, {}))
        node = nodes.get(pod.node)
        if node is None and not service["spec"].get("publishNotReadyAddresses"):
            lost.append(name)
            continue
        endpoint = endpoint_of(name, pod, node, service, family)
        if endpoint["addresses"]:
            group.endpoints[identity(endpoint)] = endpoint
    return endpoints, lost


def owned_by(slice_: Object, service: Object) -> bool:
    """Whether a slice is of this service, and not of one that had its name."""
    return any(
        (owner.get("uid"), owner.get("kind"), owner.get("apiVersion"))
        == (service["metadata"]["uid"], "Service", "v1")
        for owner in slice_["metadata"].get("ownerReferences") or ()
    )


def name_prefix(name: str) -> str:
    """The beginning of the names of slices."""
    prefix = f"{name}-"
    return name if dns1123_subdomain(prefix, prefix=True) else prefix


def new_slice(service: Object, ports: list[Object], family: str) -> Object:
    """A slice without endpoints."""
    meta = service["metadata"]
    owner = controller_reference("v1", "Service", meta)
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": name_prefix(meta["name"]),
            "namespace": meta["namespace"],
            "labels": labels_of(service),
            "ownerReferences": [owner],
        },
        "addressType": family,
        "endpoints": [],
        "ports": ports,
    }


def labels_of(service: Object) -> dict[str, str]:
    """The labels of a service's slices."""
    own = service["metadata"].get("labels") or {}
    labels = {name: value for name, value in own.items() if name not in RESERVED}
    if not has_address(service):
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: CONTROLLER}


def _labels_differ(slice_: Object, wanted: Mapping[str, str]) -> bool:
    there = slice_["metadata"].get("labels") or {}
    pair = (
        {name: value for name, value in each.items() if name not in RESERVED}
        for each in (there, wanted)
    )
    return next(pair) != next(pair)


def _changed(slice_: Object, endpoints: list[Object], labels: Mapping[str, str]) -> Object:
    meta = {**slice_["metadata"], "labels": dict(labels)}
    return {**slice_, "metadata": meta, "endpoints": endpoints}


def pack(
    service: Object, existing: Sequence[Object], wanted: Wanted, family: str, plan: Plan
) -> None:
    """Plan the slices for endpoints with one set of ports.

    Args:
        service: whose they are.
        existing: slices with these ports; they are not changed.
        wanted: the endpoints.
        family: ``IPv4`` or ``IPv6``.
        plan: takes what is to be written.
    """
    left = dict(wanted.endpoints)
    labels = labels_of(service)
    changed, right = list[Object](), list[Object]()
    for slice_ in existing:
        there, differs = list[Object](), False
        for endpoint in slice_.get("endpoints") or ():
            got = left.pop(identity(endpoint), None)
            if got is not None:
                there.append(got)
                differs = differs or not same_endpoint(got, endpoint)
        if differs or len(there) != len(slice_.get("endpoints") or ()):
            if there:
                changed.append(_changed(slice_, there, labels))
            else:
                plan.delete.append(slice_)
        elif _labels_differ(slice_, labels):
            changed.append(_changed(slice_, there, labels))
        else:
            right.append(slice_)
    rest = list(left.values())
    for slice_ in sorted(changed, key=lambda one: -len(one["endpoints"])):
        room = MOST_ENDPOINTS - len(slice_["endpoints"])
        slice_["endpoints"] += rest[:room]
        rest = rest[room:]
    while rest:
        roomy = [one for one in right if len(one["endpoints"] or ()) + len(rest) <= MOST_ENDPOINTS]
        if len(rest) < MOST_ENDPOINTS and roomy:
            best = max(roomy, key=lambda one: len(one["endpoints"] or ()))
            right.remove(best)
            changed.append(_changed(best, [*(best["endpoints"] or ()), *rest], labels))
            rest = []
        else:
            new = new_slice(service, wanted.ports, family)
            new["endpoints"] = rest[:MOST_ENDPOINTS]
            rest = rest[MOST_ENDPOINTS:]
            plan.create.append(new)
    plan.update += changed


def planned(
    service: Object,
    pods: Sequence[tuple[str, PodDigest]],
    nodes: Mapping[str, NodeDigest],
    slices: Sequence[Object],
) -> tuple[Plan, list[str]]:
    """What to write so that a service's slices are right.

    Args:
        service: with a selector.
        pods: that it selects, with their names.
        nodes: all there are.
        slices: that the controller made for it.

    Returns:
        The plan, and the names of pods that are left out because their node is not there.
    """
    plan, lost = Plan(), list[str]()
    families = families_of(service)
    plan.delete += [one for one in slices if one["addressType"] not in families]
    for family in families:
        there = [one for one in slices if one["addressType"] == family]
        part, missing = _of_family(service, pods, nodes, there, family)
        part.recycle(one for one in part.delete if owned_by(one, service))
        plan.create += part.create
        plan.update += part.update
        plan.delete += part.delete
        lost = missing
    if "deletionTimestamp" in service["metadata"]:
        plan.create.clear()
    return plan, lost


def _of_family(
    service: Object,
    pods: Sequence[tuple[str, PodDigest]],
    nodes: Mapping[str, NodeDigest],
    slices: Sequence[Object],
    family: str,
) -> tuple[Plan, list[str]]:
    plan = Plan()
    by_ports: dict[Ports, list[Object]] = {}
    for slice_ in slices:
        if owned_by(slice_, service):
            by_ports.setdefault(ports_key(slice_.get("ports")), []).append(slice_)
        else:
            plan.delete.append(slice_)
    wanted, lost = wanted_endpoints(service, pods, nodes, family)
    for key, group in wanted.items():
        pack(service, by_ports.pop(key, []), group, family, plan)
    for unwanted in by_ports.values():
        plan.delete += unwanted
    if len(slices) == len(plan.delete) and not plan.create:
        # A service without endpoints has an empty slice, so that others know that it was seen.
        empty = new_slice(service, [], family)
        if len(plan.delete) == 1 and _is_empty(plan.delete[0], empty):
            plan.delete.clear()
        else:
            plan.create.append(empty)
    gone = {one["metadata"]["name"] for one in (*plan.delete, *plan.update)}
    unchanged = [one for one in slices if one["metadata"]["name"] not in gone]
    _hint(service, plan, unchanged)
    return plan, lost


def _is_empty(slice_: Object, empty: Object) -> bool:
    """Whether a slice is the one that a service without endpoints has."""
    own, expected = slice_["metadata"], empty["metadata"]
    return (
        not slice_.get("endpoints")
        and not slice_.get("ports")
        and (own.get("labels") or {}) == expected["labels"]
        and own.get("ownerReferences") == expected["ownerReferences"]
    )


# ------------------------------------------------------------------------------------ hints


def _hint(service: Object, plan: Plan, unchanged: Iterable[Object]) -> None:
    """Set or remove hints for zones, as the service's traffic distribution wants."""
    annotations = service["metadata"].get("annotations") or {}
    mode = next((annotations[name] for name in MODES if name in annotations), "")
    distribution = service["spec"].get("trafficDistribution")
    if mode in ("Auto", "auto") or distribution not in CLOSE:
        distribution = ""  # hints by the processors of zones are not given
    for slice_ in unchanged:
        hinted = [_hinted(one, distribution) for one in slice_.get("endpoints") or ()]
        if hinted != (slice_.get("endpoints") or []):
            plan.update.append({**slice_, "endpoints": hinted})
    for slice_ in (*plan.create, *plan.update):
        slice_["endpoints"] = [_hinted(one, distribution) for one in slice_["endpoints"] or ()]


def _hinted(endpoint: Object, distribution: str) -> Object:
    if distribution and not (endpoint.get("conditions") or {}).get("ready"):
        return endpoint
    bare = {name: value for name, value in endpoint.items() if name != "hints"}
    hints: Object = {}
    if distribution and endpoint.get("zone"):
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if distribution == "PreferSameNode" and endpoint.get("nodeName"):
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    return {**bare, "hints": hints} if hints else bare
