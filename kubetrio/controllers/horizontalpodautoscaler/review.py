"""What comes of one look at an autoscaler: its conditions, its metrics, and its status.

Source: k8s.io/kubernetes/pkg/controller/podautoscaler/horizontal.go (``setStatus``,
``setConditionInList``).
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.podcontrol.statuses import printed
from kubetrio.machinery.timestamps import format_time

Object = dict[str, Any]

STATUS = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus"
CONDITION = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerCondition"


class Review:
    """One look.

    Args:
        autoscaler: as it is stored; it is not changed.
        now: wall clock, in seconds.

    Attributes:
        autoscaler: see above.
        now: see above.
        metrics: what the status is to say of each metric.
        current: replicas that were wanted; None where that is not known.
        desired: replicas that are to be; None for what the status says already.
        scaled: whether the number was changed.
    """

    def __init__(self, autoscaler: Object, now: float) -> None:
        self.autoscaler = autoscaler
        self.now = now
        self.metrics: list[Object] = []
        self.current: int | None = None
        self.desired: int | None = None
        self.scaled = False
        self._conditions = [dict(one) for one in self._before.get("conditions") or ()]

    @property
    def _before(self) -> Object:
        status: Object = self.autoscaler.get("status") or {}
        return status

    @property
    def spec(self) -> Object:
        """The spec of the autoscaler."""
        spec: Object = self.autoscaler["spec"]
        return spec

    @property
    def namespace(self) -> str:
        """Its namespace."""
        namespace: str = self.autoscaler["metadata"]["namespace"]
        return namespace

    @property
    def least(self) -> int:
        """The least number of replicas."""
        least: int | None = self.spec.get("minReplicas")
        return 1 if least is None else least

    def set(self, type_: str, status: str, reason: str, message: str) -> None:
        """Set a condition; its time is that of the last change of the status."""
        condition = next((one for one in self._conditions if one["type"] == type_), None)
        if condition is None:
            condition = {"type": type_}
            self._conditions.append(condition)
        if condition.get("status") != status:
            condition["lastTransitionTime"] = format_time(self.now)
        condition.update(status=status, reason=reason, message=message)

    def drop(self, type_: str) -> None:
        """Take a condition away."""
        self._conditions = [one for one in self._conditions if one["type"] != type_]

    def status(self) -> Object:
        """The status that the autoscaler is to have."""
        before = self._before
        conditions = [printed(CONDITION, one) for one in self._conditions]
        if self.current is None:  # nothing was learned but that
            return printed(STATUS, {**before, "conditions": conditions})
        desired = before.get("desiredReplicas") or 0 if self.desired is None else self.desired
        members = {
            "lastScaleTime": format_time(self.now) if self.scaled else before.get("lastScaleTime"),
            "currentReplicas": self.current,
            "desiredReplicas": desired,
            "currentMetrics": self.metrics,
            "conditions": conditions,
        }
        return {**printed(STATUS, members), "currentMetrics": self.metrics or None}


def with_status(autoscaler: Object, status: Object) -> Object:
    """An autoscaler with another status; the same where that says what the old one says."""
    if _filled(autoscaler.get("status") or {}) == _filled(status):
        return autoscaler
    return {**autoscaler, "status": status}


def _filled(status: Object) -> Object:
    """The members of a status that say something."""
    return {name: value for name, value in status.items() if value not in (None, [], 0)}
