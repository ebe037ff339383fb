"""How fast and how soon a workload is scaled, as tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.horizontalpodautoscaler.recommendations import (
    STABILIZED_S,
    Change,
    History,
    limit,
)

NOW = 1000.0
Rules = dict[str, Any]


def behavior(up: Rules | None = None, down: Rules | None = None) -> Rules:
    """A behavior with the defaults of the API."""
    usual_up = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [pods(4, 15), percent(100, 15)],
    }
    usual_down = {"selectPolicy": "Max", "policies": [percent(100, 15)]}
    return {"scaleUp": {**usual_up, **(up or {})}, "scaleDown": {**usual_down, **(down or {})}}


def pods(value: int, seconds: int) -> Rules:
    """A policy of pods."""
    return {"type": "Pods", "value": value, "periodSeconds": seconds}


def percent(value: int, seconds: int) -> Rules:
    """A policy of a percentage."""
    return {"type": "Percent", "value": value, "periodSeconds": seconds}


@pytest.mark.parametrize(
    ("current", "desired", "bounds", "replicas", "reason"),
    [
        (3, 4, (1, 10), 4, "DesiredWithinRange"),
        (3, 20, (1, 30), 6, "ScaleUpLimit"),
        (1, 20, (1, 30), 4, "ScaleUpLimit"),
        (3, 20, (1, 5), 5, "TooManyReplicas"),
        (3, 20, (1, 6), 6, "TooManyReplicas"),
        (3, 1, (2, 5), 2, "TooFewReplicas"),
        (3, 0, (0, 5), 0, "DesiredWithinRange"),
    ],
)
def test_limits(
    current: int, desired: int, bounds: tuple[int, int], replicas: int, reason: str
) -> None:
    """Without a behavior a step goes to twice as many, and at least to four."""
    found = limit(current, desired, bounds)
    assert (found.replicas, found.reason) == (replicas, reason)


@pytest.mark.parametrize(
    ("rules", "current", "desired", "replicas", "reason"),
    [
        (behavior(), 10, 30, 20, "ScaleUpLimit"),
        (behavior(), 1, 30, 5, "ScaleUpLimit"),
        (behavior({"selectPolicy": "Min"}), 10, 30, 14, "ScaleUpLimit"),
        (behavior({"selectPolicy": "Disabled"}), 10, 30, 10, "ScaleUpLimit"),
        (behavior({"policies": [pods(200, 15)]}), 10, 300, 100, "TooManyReplicas"),
        (behavior({"policies": [percent(10, 15)]}), 1, 30, 2, "ScaleUpLimit"),
        (behavior(), 10, 12, 12, "DesiredWithinRange"),
        (behavior(), 10, 10, 10, "DesiredWithinRange"),
        (behavior(), 10, 1, 2, "TooFewReplicas"),
        (behavior(None, {"policies": [pods(3, 15)]}), 10, 1, 7, "ScaleDownLimit"),
        (behavior(None, {"policies": [percent(25, 15)]}), 10, 1, 7, "ScaleDownLimit"),
        (
            behavior(None, {"selectPolicy": "Min", "policies": [pods(3, 15), percent(10, 15)]}),
            10, 1, 9, "ScaleDownLimit",
        ),
        (behavior(None, {"selectPolicy": "Disabled"}), 10, 1, 10, "ScaleDownLimit"),
    ],
)  # fmt: skip
def test_rates(rules: Rules, current: int, desired: int, replicas: int, reason: str) -> None:
    """Policies say how far a step goes; of several the one that is selected."""
    found = History().limit_by(rules, current, desired, (2, 100), NOW)
    assert (found.replicas, found.reason) == (replicas, reason)


@pytest.mark.parametrize(
    ("added", "taken", "desired", "replicas"),
    [
        ([Change(4, NOW - 10)], [], 30, 10),
        ([Change(4, NOW - 61)], [], 30, 14),
        ([Change(1, NOW - 10), Change(1, NOW - 20)], [], 30, 12),
        ([Change(9, NOW - 10)], [], 30, 10),
        ([], [Change(3, NOW - 10)], 30, 17),
        ([], [Change(4, NOW - 10)], 1, 10),
        ([Change(2, NOW - 10)], [Change(1, NOW - 10)], 1, 5),
    ],
)
def test_rates_over_a_period(
    added: list[Change], taken: list[Change], desired: int, replicas: int
) -> None:
    """What was done in the period of a policy counts."""
    rules = behavior({"policies": [pods(4, 60)]}, {"policies": [pods(4, 60)]})
    history = History(added=added, taken=taken)
    assert history.limit_by(rules, 10, desired, (1, 100), NOW).replicas == replicas


def test_the_highest_recommendation_holds() -> None:
    """A scale down waits five minutes, and what is older is forgotten."""
    history = History()
    history.begin(5, NOW)
    history.begin(9, NOW)  # the first look alone counts
    first = history.stabilize(3, NOW + 15)
    assert (first.replicas, first.reason) == (5, "ScaleDownStabilized")
    later = history.stabilize(2, NOW + STABILIZED_S + 1)
    assert (later.replicas, later.reason) == (3, "ScaleDownStabilized")
    up = history.stabilize(8, NOW + STABILIZED_S + 2)
    assert (up.replicas, up.reason) == (8, "ReadyForNewScale")
    assert [one.replicas for one in history.recommended] == [3, 2, 8]


@pytest.mark.parametrize(
    ("up_s", "down_s", "current", "desired", "replicas", "reason"),
    [
        (0, None, 5, 3, 5, "ScaleDownStabilized"),
        (0, 0, 5, 3, 3, "ReadyForNewScale"),
        (0, 30, 5, 3, 3, "ReadyForNewScale"),
        (0, 300, 5, 9, 9, "ReadyForNewScale"),
        (300, 0, 5, 9, 5, "ScaleUpStabilized"),
        (30, 0, 5, 9, 9, "ReadyForNewScale"),
    ],
)
def test_windows(
    up_s: int, down_s: int | None, current: int, desired: int, replicas: int, reason: str
) -> None:
    """Each direction has its window; that for down is five minutes unless it is said."""
    rules = behavior({"stabilizationWindowSeconds": up_s}, {"stabilizationWindowSeconds": down_s})
    history = History([Change(5, NOW - 60)])
    found = history.stabilize_by(rules, current, desired, NOW)
    assert (found.replicas, found.reason) == (replicas, reason)


def test_steps_are_noted_while_there_is_a_behavior() -> None:
    """Those older than all periods go."""
    history = History()
    history.note_scaled(None, 1, 5, NOW)
    assert not history.added
    rules = behavior({"policies": [pods(4, 60)]})
    for at, before, after in ((NOW, 1, 5), (NOW + 30, 5, 6), (NOW + 70, 6, 8), (NOW + 71, 8, 1)):
        history.note_scaled(rules, before, after, at)
    assert history.added == [Change(1, NOW + 30), Change(2, NOW + 70)]
    assert history.taken == [Change(7, NOW + 71)]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 100)), max_size=20),
    st.integers(1, 5),
    st.integers(1, 40),
)
def test_no_rate_is_broken(looks: list[tuple[int, int]], value: int, period_s: int) -> None:
    """Whatever is recommended, a policy of pods adds no more than it says in its period."""
    rules = behavior({"policies": [pods(value, period_s)]}, {"stabilizationWindowSeconds": 0})
    history, current, now = History(), 1, NOW
    steps: list[tuple[float, int]] = []
    for after_s, recommended in looks:
        now += after_s
        stable = history.stabilize_by(rules, current, recommended, now)
        new = history.limit_by(rules, current, stable.replicas, (1, 60), now).replicas
        assert 1 <= new <= 60
        if new != current:
            history.note_scaled(rules, current, new, now)
            steps.append((now, new - current))
        current = new
        recent = [step for at, step in steps if at > now - period_s]
        if all(step > 0 for step in recent):
            assert sum(recent) <= value
