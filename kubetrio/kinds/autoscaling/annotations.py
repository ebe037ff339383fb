"""HorizontalPodAutoscalers between autoscaling/v1 and autoscaling/v2.

v1 has one metric, CPU use as a percentage.  Everything else is written into annotations, as texts
that older servers wrote and read: metrics and conditions in the words of v1's own types, the
behaviour with the names of Go fields.  Texts that cannot be read are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from kubetrio.kinds.autoscaling.metrics import (
    MEMBERS,
    SOURCES_TO_V1,
    SOURCES_TO_V2,
    STATUSES_TO_V1,
    STATUSES_TO_V2,
    Translation,
    translated,
)
from kubetrio.schema.structural import Report, compile_type
from kubetrio.wire.jsonwire import encode

Json = dict[str, Any]

_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS = f"{_PREFIX}metrics"
STATUSES = f"{_PREFIX}current-metrics"
CONDITIONS = f"{_PREFIX}conditions"
BEHAVIOR = f"{_PREFIX}behavior"
ANNOTATIONS = frozenset({METRICS, STATUSES, CONDITIONS, BEHAVIOR})

_V2 = "io.k8s.api.autoscaling.v2."


def to_v1(obj: Json) -> Json:
    """A v2 object as v1; members may be in any order."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metrics, statuses = spec.get("metrics") or [], status.get("currentMetrics") or []
    others = [metric for metric in metrics if _cpu_target(metric) is None]
    texts = {
        METRICS: [translated(metric, SOURCES_TO_V1) for metric in others],
        STATUSES: [translated(metric, STATUSES_TO_V1) for metric in statuses],
        CONDITIONS: status.get("conditions"),
        BEHAVIOR: _behavior_to_go(spec["behavior"]) if spec.get("behavior") is not None else None,
    }
    annotations = _other_annotations(obj)
    annotations |= {name: encode(value).decode() for name, value in texts.items() if value}
    targets = [target for metric in metrics if (target := _cpu_target(metric)) is not None]
    current = [use for metric in statuses if (use := _cpu_use(metric)) is not None]
    return {
        **obj,
        "metadata": _with_annotations(obj, annotations),
        "spec": {
            "scaleTargetRef": spec.get("scaleTargetRef"),
            "minReplicas": spec.get("minReplicas"),
            "maxReplicas": spec.get("maxReplicas"),
            "targetCPUUtilizationPercentage": targets[0] if targets else None,
        },
        "status": {
            **_common_status(status),
            "currentCPUUtilizationPercentage": current[-1] if current else None,
        },
    }


def to_v2(obj: Json) -> Json:
    """A v1 object as v2; members may be in any order."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    given = (obj.get("metadata") or {}).get("annotations") or {}
    metrics = _read_metrics(given.get(METRICS), SOURCES_TO_V2, "MetricSpec")
    target = spec.get("targetCPUUtilizationPercentage")
    if target is not None:
        metrics.append(_cpu("target", {"type": "Utilization", "averageUtilization": target}))
    statuses = _read_metrics(given.get(STATUSES), STATUSES_TO_V2, "MetricStatus")
    use = status.get("currentCPUUtilizationPercentage")
    if use is not None and not statuses:
        statuses = [_cpu("current", {"averageUtilization": use})]
    return {
        **obj,
        "metadata": _with_annotations(obj, _other_annotations(obj)),
        "spec": {
            "scaleTargetRef": spec.get("scaleTargetRef"),
            "minReplicas": spec.get("minReplicas"),
            "maxReplicas": spec.get("maxReplicas"),
            "metrics": metrics,
            "behavior": _read_behavior(given.get(BEHAVIOR)),
        },
        "status": {
            **_common_status(status),
            "currentMetrics": statuses or None,
            "conditions": _read_list(
                given.get(CONDITIONS), lambda item: item, "HorizontalPodAutoscalerCondition"
            ),
        },
    }


# ---------------------------------------------------------------- the parts both have


def _common_status(status: Json) -> Json:
    names = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
    return {name: status.get(name) for name in names}


def _other_annotations(obj: Json) -> Json:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return {name: text for name, text in annotations.items() if name not in ANNOTATIONS}


def _with_annotations(obj: Json, annotations: Json) -> Json:
    return {**(obj.get("metadata") or {}), "annotations": annotations}


def _cpu(member: str, value: Json) -> Json:
    return {"type": "Resource", "resource": {"name": "cpu", member: value}}


def _cpu_member(metric: Json, member: str) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    use: int | None = (resource.get(member) or {}).get("averageUtilization")
    return use


def _cpu_target(metric: Json) -> int | None:
    return _cpu_member(metric, "target")


def _cpu_use(metric: Json) -> int | None:
    return _cpu_member(metric, "current")


# ---------------------------------------------------------------- reading annotations


def _read_list(text: str | None, translate: Translation, type_name: str) -> list[Json]:
    """Well-formed items of a list; nothing when any of them is not."""
    if text is None:
        return []
    try:
        items = orjson.loads(text)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            return []
        decode = compile_type(_V2 + type_name).decode
        return [decode(translate(item), Report()) for item in items]
    except ValueError:  # malformed JSON, or not what the type takes
        return []


def _read_metrics(text: str | None, table: Mapping[str, Translation], type_name: str) -> list[Json]:
    def translate(item: Json) -> Json:
        for name in MEMBERS:
            if item.get(name) is not None and not isinstance(item[name], dict):
                raise ValueError(name)
        return translated(item, table)

    return _read_list(text, translate, type_name)


# ---------------------------------------------------------------- behaviour

_DIRECTIONS = ("scaleUp", "scaleDown")
_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY = ("type", "value", "periodSeconds")


def _go_names(value: Json, names: tuple[str, ...]) -> Json:
    return {name[0].upper() + name[1:]: value.get(name) for name in names}


def _behavior_to_go(behavior: Json) -> Json:
    out = _go_names(behavior, _DIRECTIONS)
    for name, rules in out.items():
        if rules is not None:
            named = _go_names(rules, _RULES)
            if named["Policies"] is not None:
                named["Policies"] = [_go_names(policy, _POLICY) for policy in named["Policies"]]
            out[name] = named
    return out


def _json_names(value: Any) -> Any:
    """First letters of member names in lower case."""
    if isinstance(value, dict):
        return {name[:1].lower() + name[1:]: _json_names(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_json_names(item) for item in value]
    return value


def _read_behavior(text: str | None) -> Json | None:
    if text is None:
        return None
    try:
        raw = _json_names(orjson.loads(text))
        decoded = compile_type(f"{_V2}HorizontalPodAutoscalerBehavior").decode(raw, Report())
    except ValueError:  # malformed JSON, or not what the type takes
        return None
    return decoded or None
