"""autoscaling/v1 and v2."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.kinds.common.defaulting import Call, Default, Json, Rules, within

CPU_TARGET_PERCENT = 80
OTHER_METRICS = "autoscaling.alpha.kubernetes.io/metrics"


def _policy(kind: str, value: int) -> Json:
    return {"type": kind, "value": value, "periodSeconds": 15}


def default_behavior(behavior: Json) -> None:
    """Fast up, slowly down: both directions are filled as soon as one is given."""
    up: Json = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max"}
    up["policies"] = [_policy("Pods", 4), _policy("Percent", 100)]
    down: Json = {"stabilizationWindowSeconds": None, "selectPolicy": "Max"}
    down["policies"] = [_policy("Percent", 100)]
    for name, rules in (("scaleUp", up), ("scaleDown", down)):
        merged = {**rules, **(behavior.get(name) or {})}
        behavior[name] = {key: value for key, value in merged.items() if value is not None}


def default_metrics(spec: Json) -> None:
    """Without metrics, processor use counts."""
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": CPU_TARGET_PERCENT}
        resource = {"name": "cpu", "target": target}
        spec["metrics"] = [{"type": "Resource", "resource": resource}]


def default_target(autoscaler: Json) -> None:
    """Without metrics, processor use counts; other metrics hide in an annotation."""
    spec = autoscaler.get("spec")
    annotations = (autoscaler.get("metadata") or {}).get("annotations") or {}
    if spec is None or spec.get("targetCPUUtilizationPercentage") is not None:
        return
    if not _some(annotations.get(OTHER_METRICS)):
        spec["targetCPUUtilizationPercentage"] = CPU_TARGET_PERCENT


def _some(text: str | None) -> bool:
    if text is None:
        return False
    try:
        metrics: Any = orjson.loads(text)
    except ValueError:
        return False
    return isinstance(metrics, list) and bool(metrics)


HORIZONTALPODAUTOSCALERS_V2: Rules = (
    within(
        "spec",
        Default("minReplicas", 1),
        Call(default_metrics),
        within("behavior", Call(default_behavior)),
    ),
)
HORIZONTALPODAUTOSCALERS_V1: Rules = (
    Call(default_target, grows=("spec",)),
    within("spec", Default("minReplicas", 1)),
)
