"""Conditions of objects: set one, and its transition time only when its status changes.

Source: API conventions ("Typical status properties").
"""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.defaulters import ordered

Object = dict[str, Any]
_STATUS = "io.k8s.api.core.v1.PodStatus"
_OPTIONAL = ("observedGeneration", "reason", "message")
_CONDITION = "io.k8s.apimachinery.pkg.apis.meta.v1.Condition"


def set_pod_condition(pod: Object, condition: Object, now: str) -> Object:
    """A pod with one condition set.

    Args:
        pod: the pod; not changed.
        condition: ``type`` and ``status``, and ``reason``, ``message`` and ``observedGeneration``
            if there are any.
        now: time of the transition, if this is one.
    """
    status = dict(pod.get("status") or {})
    conditions = list(status.get("conditions") or ())
    was = next((each for each in conditions if each["type"] == condition["type"]), None)
    same = was is not None and was["status"] == condition["status"]
    moved = was["lastTransitionTime"] if was is not None and same else now
    new: Object = {
        "type": condition["type"],
        "status": condition["status"],
        "lastProbeTime": None,
        "lastTransitionTime": moved,
        **{key: condition[key] for key in _OPTIONAL if key in condition},
    }
    if was is None:
        conditions.append(new)
    else:
        conditions[conditions.index(was)] = new
    status["conditions"] = conditions
    return {**pod, "status": ordered(_STATUS, status)}


def set_condition(conditions: list[Object], condition: Object, now: str) -> list[Object]:
    """Standard conditions with one of them set.

    Args:
        conditions: the conditions; not changed.
        condition: the whole condition but its transition time.
        now: time of the transition, if this is one.
    """
    was = next((each for each in conditions if each["type"] == condition["type"]), None)
    same = was is not None and was["status"] == condition["status"]
    moved = was["lastTransitionTime"] if was is not None and same else now
    new = ordered(_CONDITION, {"message": "", **condition, "lastTransitionTime": moved})
    if was is None:
        return [*conditions, new]
    return [new if each is was else each for each in conditions]
