"""HorizontalPodAutoscalers, in every version.

Source: "Horizontal Pod Autoscaling" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    maximum,
    member,
    minimum,
    one_of,
    row,
    table,
)
from kubetrio.kinds.common.formats import LABEL, SEGMENT
from kubetrio.kinds.common.quantities import (
    ZERO,
    amount_of,
    container_resource_name,
    not_negative_quantity,
)
from kubetrio.kinds.common.replicas import counts
from kubetrio.machinery.fielderrors import Named, forbidden, invalid, not_supported, required
from kubetrio.machinery.names import GroupVersion

_MAX_PERIOD = 1800
_MAX_WINDOW = 3600
_POSITIVE = minimum(1, "must be greater than zero")
_NO_GROUP = "apiVersion must specify API group"
_POPULATE = "must populate information for the given metric source"
_ONLY = "must populate the given metric source only"
_BOTH = "may not set both a target raw value and a target utilization"
_NEITHER = "must set either a target raw value or a target utilization"
_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TYPES = tuple(sorted(_SOURCES))


# --- references ---


def _reference(value: Mapping[str, Any], path: str, out: Causes) -> None:
    for name in ("kind", "name"):
        if text := value.get(name):
            SEGMENT(text, f"{path}.{name}", out)
        else:
            out.append(required(f"{path}.{name}"))


def _api_version(value: Mapping[str, Any], path: str, out: Causes, *, grouped: bool) -> None:
    text = value.get("apiVersion") or ""
    try:
        group = GroupVersion.parse(text).group
    except ValueError as error:
        out.append(invalid(f"{path}.apiVersion", text, str(error)))
        return
    # a ReplicationController is the one thing of the core group that scales
    if grouped and not group and value.get("kind") != "ReplicationController":
        out.append(invalid(f"{path}.apiVersion", text, _NO_GROUP))


# --- metrics ---


def _target(value: Mapping[str, Any], path: str, out: Causes) -> None:
    kind = value.get("type") or ""
    if not kind:
        out.append(required(f"{path}.type", "must specify a metric target type"))
    if kind not in ("Utilization", "Value", "AverageValue"):
        detail = "must be either Utilization, Value, or AverageValue"
        out.append(invalid(f"{path}.type", Named(kind), detail))
    for name in ("value", "averageValue"):
        amount = value.get(name)
        if amount is not None and amount_of(amount) <= ZERO:
            out.append(invalid(f"{path}.{name}", amount, "must be positive"))
    share = value.get("averageUtilization")
    if share is not None and share < 1:
        out.append(invalid(f"{path}.averageUtilization", share, "must be greater than 0"))


def _metric(source: Json, path: str, out: Causes) -> None:
    if name := member(source, "metric").get("name"):
        SEGMENT(name, f"{path}.metric.name", out)
    else:
        out.append(required(f"{path}.metric.name", "must specify a metric name"))
    _target(member(source, "target"), f"{path}.target", out)


def _object(source: Json, path: str, out: Causes) -> None:
    described = member(source, "describedObject")
    _reference(described, f"{path}.describedObject", out)
    _api_version(described, f"{path}.describedObject", out, grouped=False)
    _metric(source, path, out)
    target = member(source, "target")
    if target.get("value") is None and target.get("averageValue") is None:
        detail = "must set either a target value or averageValue"
        out.append(required(f"{path}.target.averageValue", detail))


def _external(source: Json, path: str, out: Causes) -> None:
    _metric(source, path, out)
    target = member(source, "target")
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        detail = "must set either a target value for metric or a per-pod target"
        out.append(required(f"{path}.target.averageValue", detail))
    if value is not None and average is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        out.append(forbidden(f"{path}.target.value", detail))


def _pods(source: Json, path: str, out: Causes) -> None:
    _metric(source, path, out)
    if member(source, "target").get("averageValue") is None:
        detail = "must specify a positive target averageValue"
        out.append(required(f"{path}.target.averageValue", detail))


def _share(source: Json, path: str, out: Causes) -> None:
    target = member(source, "target")
    _target(target, f"{path}.target", out)
    share, average = target.get("averageUtilization"), target.get("averageValue")
    if share is None and average is None:
        out.append(required(f"{path}.target.averageUtilization", _NEITHER))
    if share is not None and average is not None:
        out.append(forbidden(f"{path}.target.averageValue", _BOTH))


def _resource(source: Json, path: str, out: Causes) -> None:
    if not source.get("name"):
        out.append(required(f"{path}.name", "must specify a resource name"))
    _share(source, path, out)


def _container_resource(source: Json, path: str, out: Causes) -> None:
    if name := source.get("name"):
        container_resource_name(name, f"{path}.name", out)
    else:
        out.append(required(f"{path}.name", "must specify a resource name"))
    if container := source.get("container"):
        LABEL(container, f"{path}.container", out)
    else:
        out.append(required(f"{path}.container", "must specify a container"))
    _share(source, path, out)


_CHECKS = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}


def _metric_spec(metric: Json, path: str, out: Causes) -> None:
    kind = metric.get("type") or ""
    if not kind:
        out.append(required(f"{path}.type", "must specify a metric source type"))
    expected = _SOURCES.get(kind, "")
    if not expected:
        # upstream tells it twice
        cause = not_supported(f"{path}.type", kind, _TYPES)
        out.extend((cause, cause))
    present = [name for name in _CHECKS if metric.get(name) is not None]
    if present:
        _CHECKS[present[0]](metric[present[0]], f"{path}.{present[0]}", out)
    if expected and expected not in present:
        out.append(required(f"{path}.{expected}", _POPULATE))
    if len(present) != 1:
        out.extend(forbidden(f"{path}.{name}", _ONLY) for name in present if name != expected)


# --- behaviour ---

_POLICY = table(
    row("type", one_of("Percent", "Pods"), zero=""),
    row("value", _POSITIVE, zero=0),
    row("periodSeconds", _POSITIVE, maximum(_MAX_PERIOD), zero=0),
)


def _policies(policies: list[Json], path: str, out: Causes) -> None:
    for index, policy in enumerate(policies):
        _POLICY(policy, f"{path}[{index}]", out)


_RULES = table(
    row(
        "stabilizationWindowSeconds",
        minimum(0, "must be greater than or equal to zero"),
        maximum(_MAX_WINDOW),
    ),
    row("selectPolicy", one_of("Disabled", "Max", "Min")),
    row("policies", _policies, missing="must specify at least one Policy"),
    row("tolerance", not_negative_quantity),
)


# --- whole ---


def _spec(spec: Mapping[str, Any], out: Causes, *, least: int) -> None:
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < least:
        detail = f"must be greater than or equal to {least}"
        out.append(invalid("spec.minReplicas", low, detail))
    if not high:
        out.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif high < 0:
        out.append(invalid("spec.maxReplicas", high, "must be greater than or equal to 1"))
    if low is not None and high < low:
        detail = "must be greater than or equal to `minReplicas`"
        out.append(invalid("spec.maxReplicas", high, detail))
    _reference(member(spec, "scaleTargetRef"), "spec.scaleTargetRef", out)
    metrics = spec.get("metrics") or ()
    for index, metric in enumerate(metrics):
        _metric_spec(metric, f"spec.metrics[{index}]", out)
    if low == 0 and not any(item.get("type") in ("Object", "External") for item in metrics):
        detail = (
            "must specify at least one Object or External metric to support scaling to zero "
            "replicas"
        )
        out.append(forbidden("spec.metrics", detail))
    for name in ("scaleUp", "scaleDown"):
        rules = member(spec, "behavior").get(name)
        if rules is not None:
            _RULES(rules, f"spec.behavior.{name}", out)


def _create(obj: Json, _path: str, out: Causes) -> None:
    spec = member(obj, "spec")
    target = member(spec, "scaleTargetRef")
    _api_version(target, "spec.scaleTargetRef", out, grouped=True)
    _spec(spec, out, least=1)


def _update(new: Json, old: Json, out: Causes) -> None:
    mine, theirs = member(new, "spec"), member(old, "spec")
    target, path = member(mine, "scaleTargetRef"), "spec.scaleTargetRef"
    before = member(theirs, "scaleTargetRef")
    # what was accepted once may stay
    if target.get("apiVersion") != before.get("apiVersion"):
        _api_version(target, path, out, grouped=True)
    _spec(mine, out, least=0 if theirs.get("minReplicas") == 0 else 1)


def _status(new: Json, _: Json, out: Causes) -> None:
    counts(dict(member(new, "status")), ("currentReplicas", "desiredReplicas"), out)


def as_v2(autoscaler: Json) -> Json:
    """An autoscaler of v1 in the words of v2, as far as its spec goes.

    Args:
        autoscaler: the autoscaler.
    """
    spec = dict(member(autoscaler, "spec"))
    share = spec.pop("targetCPUUtilizationPercentage", None)
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return {**autoscaler, "spec": spec}


HORIZONTALPODAUTOSCALERS = Validation(
    create=_create,
    update=_update,
    revalidate=False,
    subresources={"status": _status},
    adapt={"v1": as_v2},
)
