"""Small groups: aggregation, leases, runtime classes, devices."""

from __future__ import annotations

from typing import Any

from kubetrio.api.printers.core import name_and_age
from kubetrio.api.printers.helpers import age, condition, deleting, field, items, name, text
from kubetrio.api.printers.model import Cells, GroupResourceKey, Json

DEVICES = "resource.k8s.io"


def _available(obj: Json) -> str:
    found = condition(obj, "Available")
    if found is None:
        return "Unknown"
    status, reason = text(found, "status"), text(found, "reason")
    return f"{status} ({reason})" if status != "True" and reason else status


def api_service(obj: Json, now: float) -> list[Any]:
    """Name, Service, Available, Age."""
    service = field(obj, "spec", "service")
    local = "Local" if service is None else f"{text(service, 'namespace')}/{text(service, 'name')}"
    return [name(obj), local, _available(obj), age(obj, now)]


def lease(obj: Json, now: float) -> list[Any]:
    """Name, Holder, Age."""
    return [name(obj), text(obj, "spec", "holderIdentity"), age(obj, now)]


def runtime_class(obj: Json, now: float) -> list[Any]:
    """Name, Handler, Age."""
    return [name(obj), text(obj, "handler"), age(obj, now)]


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


CELLS: dict[GroupResourceKey, Cells] = {
    ("apiregistration.k8s.io", "apiservices"): api_service,
    ("coordination.k8s.io", "leases"): lease,
    ("node.k8s.io", "runtimeclasses"): runtime_class,
    (DEVICES, "deviceclasses"): name_and_age,
    (DEVICES, "resourceclaims"): resource_claim,
    (DEVICES, "resourceclaimtemplates"): name_and_age,
    (DEVICES, "resourceslices"): resource_slice,
}
