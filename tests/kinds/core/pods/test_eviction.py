"""Disruption budgets and what they mean for an eviction."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.core.pods.eviction import (
    Guard,
    budgets_of,
    delete_options_of,
    guard_of,
    take_disruption,
)
from kubetrio.machinery.status import ApiError

NOW = "2026-01-02T03:04:05Z"


def pod(ready: bool) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def budget(allowed: int, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "b", "generation": 1},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, **spec},
        "status": {
            "disruptionsAllowed": allowed,
            "observedGeneration": 1,
            "currentHealthy": 2,
            "desiredHealthy": 2,
        },
    }


def test_a_budget_guards_what_it_selects() -> None:
    """A pod without labels is guarded by none."""
    assert budgets_of(pod(True), [budget(0)]) == [budget(0)]
    assert budgets_of({"metadata": {}}, [budget(0)]) == []


def test_unhealthy_pods() -> None:
    """They count only while the budget is not met."""
    short = budget(0)
    short["status"]["currentHealthy"] = 1
    assert guard_of(pod(True), [budget(0)]) is Guard.COUNTED
    assert guard_of(pod(False), [budget(0)]) is Guard.PINNED
    assert guard_of(pod(False), [short]) is Guard.COUNTED
    always = {**short, "spec": {**short["spec"], "unhealthyPodEvictionPolicy": "AlwaysAllow"}}
    assert guard_of(pod(False), [always]) is Guard.PINNED
    with pytest.raises(ApiError, match="more than one PodDisruptionBudget"):
        guard_of(pod(True), [short, short])


def test_a_disruption_is_taken_once() -> None:
    """The last one sets the condition, the next eviction is refused."""
    after = take_disruption(budget(1), "p", NOW)
    assert after["status"]["disruptionsAllowed"] == 0
    assert after["status"]["disruptedPods"] == {"p": NOW}
    assert after["status"]["conditions"][0]["reason"] == "InsufficientPods"
    with pytest.raises(ApiError) as caught:
        take_disruption(after, "q", NOW)
    assert caught.value.code == 429
    assert caught.value.details == {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget b needs 2 healthy pods and has 2 currently",
            }
        ]
    }


def test_a_budget_that_is_not_counted_yet_refuses() -> None:
    """Its status is about an older generation."""
    stale = budget(1)
    stale["metadata"]["generation"] = 2
    with pytest.raises(ApiError, match="would violate") as caught:
        take_disruption(stale, "p", NOW)
    assert "still being processed" in str(caught.value.details)


def test_dry_run_is_asked_for_in_one_way() -> None:
    """In the query, in the body, or in both alike."""
    assert delete_options_of({}, ["All"]) == {"dryRun": ["All"]}
    both = {"deleteOptions": {"dryRun": ["All"]}}
    assert delete_options_of(both, ["All"]) == {"dryRun": ["All"]}
    with pytest.raises(ApiError, match="Non-matching dry-run"):
        delete_options_of(both, ["Some"])
