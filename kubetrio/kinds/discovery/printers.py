"""How objects of discovery.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    field,
    items,
    name,
    optional,
    shortened,
    text,
)
from kubetrio.schema.printing import Json


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
