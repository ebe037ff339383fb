"""Subsets of Endpoints: addresses that have the same ports, in one order.

Source: API reference (Endpoints); k8s.io/kubernetes/pkg/controller/endpoint and
pkg/api/v1/endpoints (``RepackSubsets``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kubetrio.controllers.endpoints.backends import (
    addresses_of,
    belongs,
    hostname_in,
    pod_reference,
    port_of,
)
from kubetrio.kinds.core.pods.digests import PodDigest

Object = dict[str, Any]
MOST_ADDRESSES = 1000
_MEMBERS = ("addresses", "notReadyAddresses")


def wanted_subsets(service: Object, pods: Iterable[tuple[str, PodDigest]]) -> list[Object]:
    """The subsets of a service's Endpoints.

    Args:
        service: with a selector.
        pods: that it selects, with their names.
    """
    spec, meta = service["spec"], service["metadata"]
    publish = bool(spec.get("publishNotReadyAddresses"))
    subsets = list[Object]()
    for name, pod in pods:
        if not belongs(pod, terminating=publish):
            continue
        texts = addresses_of(pod, six=_six(spec, pod))
        if not texts:
            continue
        address: Object = {"ip": texts[0]}
        if hostname := hostname_in(pod, service):
            address["hostname"] = hostname
        if pod.node:
            address["nodeName"] = pod.node
        address["targetRef"] = pod_reference(meta["namespace"], name, pod)
        member = _MEMBERS[not (publish or pod.ready)]
        ports = spec.get("ports") or ()
        if not ports and spec.get("clusterIP") == "None":
            subsets.append({member: [address]})
        for port in ports:
            number = port_of(pod, port)
            if number is not None:
                subsets.append({member: [address], "ports": [_port(port, number)]})
    return repacked(subsets)


def _six(spec: Object, pod: PodDigest) -> bool:
    """Whether Endpoints of a service have IPv6 addresses."""
    families = spec.get("ipFamilies")
    if families:
        return bool(families[0] == "IPv6")
    address = spec.get("clusterIP") or ""
    return ":" in (address if address not in ("", "None") else pod.ips[0])


def _port(port: Object, number: int) -> Object:
    entry: Object = {"name": port["name"]} if port.get("name") else {}
    entry["port"] = number
    entry["protocol"] = port.get("protocol") or "TCP"
    if port.get("appProtocol"):
        entry["appProtocol"] = port["appProtocol"]
    return entry


_Port = tuple[str, int, str, str]
_Group = tuple[bool, frozenset[tuple[tuple[str, str], bool]]]


def _port_key(port: Object) -> _Port:
    return (
        port.get("name") or "",
        port.get("port") or 0,
        port.get("protocol") or "TCP",
        port.get("appProtocol") or "",
    )


def _address_key(address: Object) -> tuple[str, str]:
    return address["ip"], (address.get("targetRef") or {}).get("uid") or ""


def repacked(subsets: Sequence[Object] | None) -> list[Object]:
    """Subsets with the same meaning, each address with all its ports in one of them.

    Args:
        subsets: as a client wrote them; an address that is ready in one of them for a port is not
            ready for it in none.
    """
    addresses: dict[tuple[str, str], Object] = {}
    ports: dict[_Port | None, Object | None] = {}
    ready: dict[_Port | None, dict[tuple[str, str], bool]] = {}
    for subset in subsets or ():
        # Of a headless service there may be addresses without ports.
        for port in subset.get("ports") or (None,):
            key = None if port is None else _port_key(port)
            ports.setdefault(key, port)
            known = ready.setdefault(key, {})
            # Where it is said to be not ready, it is.
            for is_ready, member in zip((True, False), _MEMBERS, strict=True):
                for address in subset.get(member) or ():
                    addresses.setdefault(_address_key(address), address)
                    name = _address_key(address)
                    known[name] = known.get(name, True) and is_ready
    grouped: dict[_Group, list[_Port | None]] = {}
    for at, known in ready.items():
        if known:
            grouped.setdefault((at is None, frozenset(known.items())), []).append(at)
    result = list[Object]()
    for (_, group), keys in grouped.items():
        subset = {}
        for is_ready, member in zip((True, False), _MEMBERS, strict=True):
            names = sorted(name for name, state in group if state is is_ready)
            if names:
                subset[member] = [addresses[name] for name in names]
        numbered = sorted(key for key in keys if key is not None)
        if numbered:
            subset["ports"] = [ports[key] for key in numbered]
        result.append(subset)
    return sorted(result, key=_subset_key)


def _subset_key(subset: Object) -> tuple[object, ...]:
    return (
        [_port_key(port) for port in subset.get("ports") or ()],
        [[_address_key(each) for each in subset.get(member) or ()] for member in _MEMBERS],
    )


def counted(subsets: Iterable[Object], member: str) -> int:
    """How many addresses the subsets have of one sort."""
    return sum(len(subset.get(member) or ()) for subset in subsets)


def truncated(subsets: Sequence[Object]) -> list[Object] | None:
    """Subsets with no more than a thousand addresses, ready ones first; None if they have not more.

    Each subset keeps its share.

    Args:
        subsets: repacked ones; they are not changed.
    """
    ready, waiting = (counted(subsets, member) for member in _MEMBERS)
    if ready + waiting <= MOST_ADDRESSES:
        return None
    of_ready = ready > MOST_ADDRESSES
    member, total = _MEMBERS[not of_ready], ready if of_ready else waiting
    most = left = MOST_ADDRESSES - (0 if of_ready else ready)
    result = list[Object]()
    for subset in subsets:
        members = {name: value for name, value in subset.items() if name not in _MEMBERS}
        entries = subset.get(member) or []
        share = min(-(-len(entries) * most // total), left)
        kept = entries[:share]
        left -= len(kept)
        whole = {} if of_ready else {_MEMBERS[0]: subset.get(_MEMBERS[0])}
        addresses = {**whole, member: kept}
        addresses = {name: addresses[name] for name in _MEMBERS if addresses.get(name)}
        if addresses:
            result.append({**addresses, **members})
    return result
