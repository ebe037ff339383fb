"""Cells of the core group without pods, services and volumes."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    NONE,
    UNKNOWN,
    age,
    condition,
    containers,
    field,
    items,
    labels,
    name,
    number,
    quantity,
    replicas_of,
    since,
    text,
)
from kubetrio.schema.printing import Json

ROLE_PREFIX = "node-role.kubernetes.io/"


ROLE_LABEL = "kubernetes.io/role"


def config_map(obj: Json, now: float) -> list[Any]:
    """Name, Data, Age."""
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [name(obj), count, age(obj, now)]


def secret(obj: Json, now: float) -> list[Any]:
    """Name, Type, Data, Age."""
    return [name(obj), text(obj, "type"), len(obj.get("data") or ()), age(obj, now)]


def name_and_age(obj: Json, now: float) -> list[Any]:
    """Name, Age."""
    return [name(obj), age(obj, now)]


def namespace(obj: Json, now: float) -> list[Any]:
    """Name, Status, Age."""
    return [name(obj), text(obj, "status", "phase"), age(obj, now)]


def _node_status(obj: Json) -> str:
    # Of several conditions of one type, which the API allows, the last one counts here.
    ready = [
        entry for entry in items(obj, "status", "conditions") if text(entry, "type") == "Ready"
    ]
    words = ["Unknown"]
    if ready:
        words = ["Ready" if text(ready[-1], "status") == "True" else "NotReady"]
    if field(obj, "spec", "unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(obj: Json) -> str:
    roles = set()
    for key, value in (field(obj, "metadata", "labels") or {}).items():
        if key.startswith(ROLE_PREFIX):
            roles.add(key.removeprefix(ROLE_PREFIX))
        elif key == ROLE_LABEL:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(obj: Json, kind: str) -> str:
    for address in items(obj, "status", "addresses"):
        if text(address, "type") == kind:
            return text(address, "address")
    return NONE


def node(obj: Json, now: float) -> list[Any]:
    """Name, Status, Roles, Age, Version, two addresses, OS, kernel, runtime."""
    info = field(obj, "status", "nodeInfo")
    kernel, architecture = text(info, "kernelVersion") or UNKNOWN, text(info, "architecture")
    return [
        name(obj),
        _node_status(obj),
        _node_roles(obj),
        age(obj, now),
        text(info, "kubeletVersion"),
        _node_address(obj, "InternalIP"),
        _node_address(obj, "ExternalIP"),
        text(info, "osImage") or UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        text(info, "containerRuntimeVersion") or UNKNOWN,
    ]


def pod_template(obj: Json, _: float) -> list[Any]:
    """Name, Containers, Images, Pod Labels."""
    template = obj.get("template")
    return [
        name(obj),
        *containers(field(template, "spec")),
        labels(field(template, "metadata", "labels")),
    ]


def resource_quota(obj: Json, now: float) -> list[Any]:
    """Name, Request, Limit, Age: used and hard amounts, limits apart from the rest."""
    used = field(obj, "status", "used") or {}
    hard = field(obj, "status", "hard") or {}
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        column = limits if resource.startswith("limits.") else requests
        amounts = f"{quantity(used.get(resource))}/{quantity(hard[resource])}"
        column.append(f"{resource}: {amounts}")
    return [name(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]


def component_status(obj: Json, _: float) -> list[Any]:
    """Name, Status, Message, Error."""
    healthy = condition({"status": obj}, "Healthy")
    if healthy is None:
        return [name(obj), "Unknown", "", ""]
    status = "Healthy" if text(healthy, "status") == "True" else "Unhealthy"
    return [name(obj), status, text(healthy, "message"), text(healthy, "error")]


def _event_source(obj: Json) -> str:
    source = obj.get("source")
    component = text(source, "component") or text(obj, "reportingComponent")
    instance = text(source, "host") or text(obj, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def event(obj: Json, now: float) -> list[Any]:
    """Last Seen, Type, Reason, Object, Subobject, Source, Message, First Seen, Count, Name."""
    target = obj.get("involvedObject")
    first = since(obj.get("firstTimestamp"), now)
    if first == UNKNOWN:
        first = since(obj.get("eventTime"), now)
    last = since(obj.get("lastTimestamp"), now)
    if last == UNKNOWN:
        last = first
    count = number(obj, "count") or 1
    series = obj.get("series")
    if series is not None:
        last, count = since(field(series, "lastObservedTime"), now), number(series, "count")
    kind, target_name = text(target, "kind").lower(), text(target, "name")
    return [
        last,
        text(obj, "type"),
        text(obj, "reason"),
        f"{kind}/{target_name}" if target_name else kind,
        text(target, "fieldPath"),
        _event_source(obj),
        text(obj, "message").strip(),
        first,
        count,
        name(obj),
    ]


def replication_controller(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    return [*replicas_of(obj, now), labels(field(obj, "spec", "selector"))]
