"""Metrics of HorizontalPodAutoscalers in the words of autoscaling/v1 and of autoscaling/v2.

v1 has these types for annotations only.  Where it cannot leave out a quantity, zero stands for it.
Members are written in the order of the Go structs, which is the order of the annotation's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]

_ZERO = "0"

Translation = Callable[[Json], Json]
MEMBERS = ("object", "pods", "resource", "containerResource", "external")


def translated(metric: Json, table: Mapping[str, Translation]) -> Json:
    """A metric, or the status of one, in the words of another version.

    Args:
        metric: a struct with a type and one member of ``MEMBERS``.
        table: one of the four tables of this module.
    """
    out: Json = {"type": metric.get("type", "")}
    for name in MEMBERS:
        if metric.get(name) is not None:
            out[name] = table[name](metric[name])
    return out


def _filled(members: Json) -> Json:
    return {name: value for name, value in members.items() if value is not None}


def _identifier(name: Any, selector: Any) -> Json:
    return _filled({"name": name, "selector": selector})


def _object_to_v1(source: Json) -> Json:
    metric, target = source["metric"], source["target"]
    return _filled(
        {
            "target": source["describedObject"],
            "metricName": metric["name"],
            "targetValue": target.get("value", _ZERO),
            "selector": metric.get("selector"),
            "averageValue": target.get("averageValue"),
        }
    )


def _object_to_v2(source: Json) -> Json:
    value, average = source.get("targetValue"), source.get("averageValue")
    if average is not None and value == _ZERO:
        value = None  # v1 cannot leave it out
    kind = "Value" if average is None else "AverageValue"
    return {
        "describedObject": source.get("target"),
        "target": _filled({"type": kind, "value": value, "averageValue": average}),
        "metric": _identifier(source.get("metricName"), source.get("selector")),
    }


def _pods_to_v1(source: Json) -> Json:
    metric = source["metric"]
    return _filled(
        {
            "metricName": metric["name"],
            "targetAverageValue": source["target"].get("averageValue", _ZERO),
            "selector": metric.get("selector"),
        }
    )


def _pods_to_v2(source: Json) -> Json:
    target = {"type": "AverageValue", "averageValue": source.get("targetAverageValue", _ZERO)}
    return {
        "metric": _identifier(source.get("metricName"), source.get("selector")),
        "target": target,
    }


def _resource_to_v1(source: Json) -> Json:
    target = source["target"]
    return _filled(
        {
            "name": source["name"],
            "targetAverageUtilization": target.get("averageUtilization"),
            "targetAverageValue": target.get("averageValue"),
            "container": source.get("container"),
        }
    )


def _resource_to_v2(source: Json) -> Json:
    use, value = source.get("targetAverageUtilization"), source.get("targetAverageValue")
    kind = "AverageValue" if use is None else "Utilization"
    target = _filled({"type": kind, "averageValue": value, "averageUtilization": use})
    return _filled(
        {"name": source.get("name"), "target": target, "container": source.get("container")}
    )


def _external_to_v1(source: Json) -> Json:
    metric, target = source["metric"], source["target"]
    return _filled(
        {
            "metricName": metric["name"],
            "metricSelector": metric.get("selector"),
            "targetValue": target.get("value"),
            "targetAverageValue": target.get("averageValue"),
        }
    )


def _external_to_v2(source: Json) -> Json:
    value, average = source.get("targetValue"), source.get("targetAverageValue")
    kind = "AverageValue" if value is None else "Value"
    return {
        "metric": _identifier(source.get("metricName"), source.get("metricSelector")),
        "target": _filled({"type": kind, "value": value, "averageValue": average}),
    }


def _object_status_to_v1(status: Json) -> Json:
    metric, current = status["metric"], status["current"]
    return _filled(
        {
            "target": status["describedObject"],
            "metricName": metric["name"],
            "currentValue": current.get("value", _ZERO),
            "selector": metric.get("selector"),
            "averageValue": current.get("averageValue"),
        }
    )


def _object_status_to_v2(status: Json) -> Json:
    value, average = status.get("currentValue"), status.get("averageValue")
    return {
        "metric": _identifier(status.get("metricName"), status.get("selector")),
        "current": _filled({"value": value, "averageValue": average}),
        "describedObject": status.get("target"),
    }


def _pods_status_to_v1(status: Json) -> Json:
    metric = status["metric"]
    return _filled(
        {
            "metricName": metric["name"],
            "currentAverageValue": status["current"].get("averageValue", _ZERO),
            "selector": metric.get("selector"),
        }
    )


def _pods_status_to_v2(status: Json) -> Json:
    return {
        "metric": _identifier(status.get("metricName"), status.get("selector")),
        "current": _filled({"averageValue": status.get("currentAverageValue")}),
    }


def _resource_status_to_v1(status: Json) -> Json:
    current = status["current"]
    return _filled(
        {
            "name": status["name"],
            "currentAverageUtilization": current.get("averageUtilization"),
            "currentAverageValue": current.get("averageValue", _ZERO),
            "container": status.get("container"),
        }
    )


def _resource_status_to_v2(status: Json) -> Json:
    value, use = status.get("currentAverageValue"), status.get("currentAverageUtilization")
    current = _filled({"averageValue": value, "averageUtilization": use})
    return _filled(
        {"name": status.get("name"), "current": current, "container": status.get("container")}
    )


def _external_status_to_v1(status: Json) -> Json:
    metric, current = status["metric"], status["current"]
    return _filled(
        {
            "metricName": metric["name"],
            "metricSelector": metric.get("selector"),
            "currentValue": current.get("value", _ZERO),
            "currentAverageValue": current.get("averageValue"),
        }
    )


def _external_status_to_v2(status: Json) -> Json:
    value, average = status.get("currentValue"), status.get("currentAverageValue")
    return {
        "metric": _identifier(status.get("metricName"), status.get("metricSelector")),
        "current": _filled({"value": value, "averageValue": average}),
    }


SOURCES_TO_V1: Mapping[str, Translation] = {
    "object": _object_to_v1,
    "pods": _pods_to_v1,
    "resource": _resource_to_v1,
    "containerResource": _resource_to_v1,
    "external": _external_to_v1,
}
SOURCES_TO_V2: Mapping[str, Translation] = {
    "object": _object_to_v2,
    "pods": _pods_to_v2,
    "resource": _resource_to_v2,
    "containerResource": _resource_to_v2,
    "external": _external_to_v2,
}
STATUSES_TO_V1: Mapping[str, Translation] = {
    "object": _object_status_to_v1,
    "pods": _pods_status_to_v1,
    "resource": _resource_status_to_v1,
    "containerResource": _resource_status_to_v1,
    "external": _external_status_to_v1,
}
STATUSES_TO_V2: Mapping[str, Translation] = {
    "object": _object_status_to_v2,
    "pods": _pods_status_to_v2,
    "resource": _resource_status_to_v2,
    "containerResource": _resource_status_to_v2,
    "external": _external_status_to_v2,
}
