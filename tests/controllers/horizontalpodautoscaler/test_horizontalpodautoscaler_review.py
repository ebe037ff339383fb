"""Conditions and status of an autoscaler after a look."""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.horizontalpodautoscaler.review import Review, with_status

NOW = 1_600_000_000.0
THEN = "2020-09-13T12:26:40Z"
Object = dict[str, Any]


def autoscaler(**status: Any) -> Object:
    """One with a status."""
    meta = {"name": "h", "namespace": "ns"}
    return {"metadata": meta, "spec": {"maxReplicas": 3}, "status": status}


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    """Reason and message change; the order of conditions stays."""
    old = [
        {"type": "AbleToScale", "status": "True", "reason": "a", "lastTransitionTime": "before"},
        {"type": "ScalingActive", "status": "True", "reason": "b", "lastTransitionTime": "before"},
    ]
    review = Review(autoscaler(conditions=old, currentReplicas=2), NOW)
    review.set("AbleToScale", "True", "new", "m")
    review.set("ScalingActive", "False", "bad", "m")
    review.set("ScalingLimited", "False", "c", "m")
    review.drop("ScaledToZero")
    shown = review.status()["conditions"]
    assert [(one["type"], one["reason"], one["lastTransitionTime"]) for one in shown] == [
        ("AbleToScale", "new", "before"), ("ScalingActive", "bad", THEN),
        ("ScalingLimited", "c", THEN),
    ]  # fmt: skip
    assert old[0]["reason"] == "a"
    review.drop("ScalingLimited")
    assert len(review.status()["conditions"]) == 2


def test_a_status_keeps_what_is_not_known() -> None:
    """Without a scale all stays; without metrics the number that was desired."""
    before = {"currentReplicas": 2, "desiredReplicas": 4, "lastScaleTime": "before"}
    review = Review(autoscaler(**before), NOW)
    assert review.least == 1
    assert review.status() == before
    review.current = 3
    assert review.status()["desiredReplicas"] == 4
    review.desired, review.scaled = 5, True
    status = review.status()
    assert (status["currentReplicas"], status["desiredReplicas"]) == (3, 5)
    assert status["lastScaleTime"] == THEN


def test_the_same_status_is_not_written() -> None:
    """Empty members say nothing."""
    one = autoscaler(currentReplicas=2, desiredReplicas=2)
    assert (
        with_status(one, {"currentReplicas": 2, "desiredReplicas": 2, "currentMetrics": None})
        is one
    )
    assert with_status(one, {"currentReplicas": 3})["status"] == {"currentReplicas": 3}
