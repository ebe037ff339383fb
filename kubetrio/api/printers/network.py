"""Services, what they lead to, and how they are reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubetrio.api.printers.helpers import (
    NONE,
    UNKNOWN,
    age,
    field,
    items,
    name,
    number,
    optional,
    selector_cell,
    shortened,
    text,
)
from kubetrio.api.printers.helpers import labels as label_cell
from kubetrio.api.printers.model import Cells, GroupResourceKey, Json

SHOWN_HOSTS = 3


def _load_balancer(obj: Json) -> str:
    """Addresses of a load balancer, sorted, each once: an IP, or else a host name."""
    found = {
        text(ingress, "ip") or text(ingress, "hostname")
        for ingress in items(obj, "status", "loadBalancer", "ingress")
    }
    return ",".join(sorted(found - {""}))


def _external_ip(obj: Json) -> str:
    external = list(items(obj, "spec", "externalIPs"))
    match text(obj, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            balanced = _load_balancer(obj)
            return ",".join([balanced, *external] if balanced else external) or "<pending>"
        case "ExternalName":
            return text(obj, "spec", "externalName")
    return UNKNOWN


def _service_port(port: Json) -> str:
    node_port = number(port, "nodePort")
    outside = f":{node_port}" if node_port > 0 else ""
    return f"{number(port, 'port')}{outside}/{text(port, 'protocol')}"


def service(obj: Json, now: float) -> list[Any]:
    """Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector."""
    addresses = items(obj, "spec", "clusterIPs")
    return [
        name(obj),
        text(obj, "spec", "type"),
        addresses[0] if addresses else NONE,
        _external_ip(obj),
        ",".join(_service_port(port) for port in items(obj, "spec", "ports")) or NONE,
        age(obj, now),
        label_cell(field(obj, "spec", "selector")),
    ]


def _endpoint_texts(subsets: Any) -> Iterator[str]:
    for subset in subsets:
        addresses = [text(address, "ip") for address in items(subset, "addresses")]
        ports = items(subset, "ports")
        if not ports:  # a headless service needs none
            yield from addresses
        for port in ports:
            for address in addresses:
                host = f"[{address}]" if ":" in address else address
                yield f"{host}:{number(port, 'port')}"


def endpoints(obj: Json, now: float) -> list[Any]:
    """Name, Endpoints, Age."""
    subsets = items(obj, "subsets")
    found = list(_endpoint_texts(subsets))
    # Subsets without a ready address print as nothing at all.
    cell = shortened(found) if found else "" if subsets else NONE
    return [name(obj), cell, age(obj, now)]


def _slice_port(port: Json) -> str:
    return optional(field(port, "port"), optional(field(port, "name"), "*"))


def endpoint_slice(obj: Json, now: float) -> list[Any]:
    """Name, AddressType, Ports, Endpoints, Age."""
    addresses = (
        address for each in items(obj, "endpoints") for address in items(each, "addresses")
    )
    return [
        name(obj),
        text(obj, "addressType"),
        shortened(_slice_port(port) for port in items(obj, "ports")),
        shortened(addresses),
        age(obj, now),
    ]


def _ingress_hosts(rules: Any) -> str:
    """Hosts of the rules; what is left out counts the rules, also those without a host."""
    shown: list[str] = []
    for rule in rules:
        if len(shown) == SHOWN_HOSTS:
            return f"{','.join(shown)} + {len(rules) - SHOWN_HOSTS} more..."
        if text(rule, "host"):
            shown.append(text(rule, "host"))
    return ",".join(shown) or "*"


def ingress(obj: Json, now: float) -> list[Any]:
    """Name, Class, Hosts, Address, Ports, Age."""
    return [
        name(obj),
        optional(field(obj, "spec", "ingressClassName"), NONE),
        _ingress_hosts(items(obj, "spec", "rules")),
        _load_balancer(obj),
        "80, 443" if items(obj, "spec", "tls") else "80",
        age(obj, now),
    ]


def ingress_class(obj: Json, now: float) -> list[Any]:
    """Name, Controller, Parameters, Age."""
    reference = field(obj, "spec", "parameters")
    parameters = NONE
    if reference is not None:
        group = field(reference, "apiGroup")
        suffix = "" if group is None else f".{group}"
        parameters = f"{text(reference, 'kind')}{suffix}/{text(reference, 'name')}"
    return [name(obj), text(obj, "spec", "controller"), parameters, age(obj, now)]


def network_policy(obj: Json, now: float) -> list[Any]:
    """Name, Pod-Selector, Age."""
    return [name(obj), selector_cell(field(obj, "spec", "podSelector")), age(obj, now)]


def service_cidr(obj: Json, now: float) -> list[Any]:
    """Name, CIDRs, Age."""
    return [name(obj), ",".join(items(obj, "spec", "cidrs")), age(obj, now)]


def ip_address(obj: Json, now: float) -> list[Any]:
    """Name, ParentRef, and an age that kube-apiserver has no column for."""
    reference = field(obj, "spec", "parentRef")
    parent = NONE
    if reference is not None:
        group = text(reference, "group")
        resource = text(reference, "resource")
        words = (
            (f"{resource}.{group}" if group else resource).lower(),
            text(reference, "namespace"),
        )
        parent = "/".join([*filter(None, words), text(reference, "name")])
    return [name(obj), parent, age(obj, now)]


CELLS: dict[GroupResourceKey, Cells] = {
    ("", "endpoints"): endpoints,
    ("", "services"): service,
    ("discovery.k8s.io", "endpointslices"): endpoint_slice,
    ("networking.k8s.io", "ingressclasses"): ingress_class,
    ("networking.k8s.io", "ingresses"): ingress,
    ("networking.k8s.io", "ipaddresses"): ip_address,
    ("networking.k8s.io", "networkpolicies"): network_policy,
    ("networking.k8s.io", "servicecidrs"): service_cidr,
}
