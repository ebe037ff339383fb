"""How objects of autoscaling become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    NONE,
    UNKNOWN,
    age,
    field,
    items,
    name,
    number,
    optional,
    text,
)
from kubetrio.schema.printing import Column, Json


def scale(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Available, Age."""
    desired, available = number(obj, "spec", "replicas"), number(obj, "status", "replicas")
    return [name(obj), desired, available, age(obj, now)]


SHOWN_METRICS = 2


# Type of a metric -> the member that holds it
SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def _amount(value: Any) -> str:
    """A quantity behind a pointer, as Go prints a nil one."""
    return optional(value, "<nil>")


def _resource_metric(source: Any, current: Any) -> str:
    """A metric of containers: an average amount, or a share of what they request."""
    target = field(source, "target")
    average = field(target, "averageValue")
    if average is not None:
        seen = UNKNOWN if current is None else _amount(field(current, "averageValue"))
        return f"{text(source, 'name')}: {seen}/{average}"
    used, share = field(current, "averageUtilization"), field(target, "averageUtilization")
    seen = UNKNOWN if used is None else f"{used}%"
    aim = "<auto>" if share is None else f"{share}%"
    return f"{text(source, 'name')}: {seen}/{aim}"


def _value_metric(source: Any, current: Any) -> str:
    """A metric of an object or from outside: a value, or an average over the pods."""
    target = field(source, "target")
    average = field(target, "averageValue")
    if average is not None:
        return f"{optional(field(current, 'averageValue'), UNKNOWN)}/{average} (avg)"
    seen = UNKNOWN if current is None else _amount(field(current, "value"))
    return f"{seen}/{_amount(field(target, 'value'))}"


def _pods_metric(source: Any, current: Any) -> str:
    """An average over the pods."""
    seen = UNKNOWN if current is None else _amount(field(current, "averageValue"))
    return f"{seen}/{_amount(field(source, 'target', 'averageValue'))}"


PRINTED = {
    "ContainerResource": _resource_metric,
    "External": _value_metric,
    "Object": _value_metric,
    "Pods": _pods_metric,
    "Resource": _resource_metric,
}


def _metric(spec: Json, status: Any) -> str:
    kind = text(spec, "type")
    if kind not in SOURCES:
        return "<unknown type>"
    member = SOURCES[kind]
    seen = field(status, member)
    current = None if seen is None else field(seen, "current") or {}
    return PRINTED[kind](field(spec, member), current)


def targets(obj: Json) -> str:
    """The cell of all metrics: the first two, and how many more there are."""
    specs, statuses = items(obj, "spec", "metrics"), items(obj, "status", "currentMetrics")
    if not specs:
        return NONE
    printed = [
        _metric(spec, statuses[index] if index < len(statuses) else None)
        for index, spec in enumerate(specs)
    ]
    shown = ", ".join(printed[:SHOWN_METRICS])
    hidden = len(printed) - SHOWN_METRICS
    return f"{shown} + {hidden} more..." if hidden > 0 else shown


def horizontal_pod_autoscaler(obj: Json, now: float) -> list[Any]:
    """Name, Reference, Targets, MinPods, MaxPods, Replicas, Age."""
    reference = field(obj, "spec", "scaleTargetRef")
    return [
        name(obj),
        f"{text(reference, 'kind')}/{text(reference, 'name')}",
        targets(obj),
        optional(field(obj, "spec", "minReplicas")),
        number(obj, "spec", "maxReplicas"),
        number(obj, "status", "currentReplicas"),
        age(obj, now),
    ]


SCALE_COLUMNS = (
    Column("Name", "string"),
    Column("Desired", "integer"),
    Column("Available", "integer"),
    Column("Age", "string"),
)
