"""How objects of resource.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    deleting,
    field,
    items,
    name,
    text,
)
from kubetrio.schema.printing import Json


def resource_claim(obj: Json, now: float) -> list[Any]:
    """Name, State, Age."""
    words = ["deleted"] if deleting(obj) else []
    if field(obj, "status", "allocation") is not None:
        words.append("allocated")
        if items(obj, "status", "reservedFor"):
            words.append("reserved")
    return [name(obj), ",".join(words) or "pending", age(obj, now)]


def resource_slice(obj: Json, now: float) -> list[Any]:
    """Name, Node, Driver, Pool, Age."""
    spec = obj.get("spec")
    return [
        name(obj),
        text(spec, "nodeName"),
        text(spec, "driver"),
        text(spec, "pool", "name"),
        age(obj, now),
    ]
