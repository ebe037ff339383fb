"""Cells of services and endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubetrio.kinds.common.cells import (
    NONE,
    UNKNOWN,
    age,
    field,
    items,
    load_balancer,
    name,
    number,
    shortened,
    text,
)
from kubetrio.kinds.common.cells import labels as label_cell
from kubetrio.schema.printing import Json


def _external_ip(obj: Json) -> str:
    external = list(items(obj, "spec", "externalIPs"))
    match text(obj, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            balanced = load_balancer(obj)
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
    texts = list(_endpoint_texts(subsets))
    # Subsets without a ready address print as nothing at all.
    cell = shortened(texts) if texts else "" if subsets else NONE
    return [name(obj), cell, age(obj, now)]
