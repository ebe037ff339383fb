"""What the status of a disruption budget says, of its pods as they are.

Source: docs "Specifying a Disruption Budget for your Application";
k8s.io/kubernetes/pkg/controller/disruption.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.common.formats import number_or_percent
from kubetrio.kinds.core.pods.conditions import set_condition
from kubetrio.kinds.core.pods.digests import PodDigest
from kubetrio.machinery.timestamps import format_time, parse_time

Object = dict[str, Any]

DELETION_S = 120.0
"""For how long a pod whose eviction was granted is expected to be deleted, in seconds."""
_STATUS = "io.k8s.api.policy.v1.PodDisruptionBudgetStatus"
_ALLOWED = "DisruptionAllowed"


class Expected(NamedTuple):
    """How many pods there should be, and how many of them healthy."""

    pods: int
    healthy: int


def needs_scale(spec: Object) -> bool:
    """Whether how many pods are expected follows from what their controllers want."""
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def expected(spec: Object, pods: int, scale: int) -> Expected:
    """How many pods a budget expects.

    Args:
        spec: of the budget.
        pods: how many it selects.
        scale: how many their controllers want; looked at if `needs_scale` says so.
    """
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most is not None:
        return Expected(scale, max(scale - _scaled(most, scale), 0))
    if isinstance(least, str):
        return Expected(scale, _scaled(least, scale))
    return Expected(0, 0) if least is None else Expected(pods, least)


def _scaled(value: int | str, whole: int) -> int:
    """A number, or the part of a whole that a percentage means, rounded up."""
    number = number_or_percent(value)
    return -(-number * whole // 100) if isinstance(value, str) else number


class Disrupted(NamedTuple):
    """Pods whose eviction was granted and that are not on their way out yet.

    Args:
        pods: the times of these by name.
        late: names of those that were expected to be deleted by now.
        recheck_at: when the first of the others is late, in seconds; None for no others.
    """

    pods: dict[str, str]
    late: list[str]
    recheck_at: float | None


def disrupted(status: Object, pods: Mapping[str, PodDigest], now: float) -> Disrupted:
    """Which evictions that were granted still count.

    Args:
        status: of the budget.
        pods: that it selects, by name.
        now: wall clock, in seconds.
    """
    left, late, recheck = dict[str, str](), list[str](), list[float]()
    granted = status.get("disruptedPods") or {}
    for name in sorted(granted.keys() & pods.keys()):
        if pods[name].deleting:
            continue
        until = parse_time(granted[name]) + DELETION_S
        if until <= now:
            late.append(name)
        else:
            recheck.append(until)
            left[name] = granted[name]
    return Disrupted(left, late, min(recheck, default=None))


def healthy(pods: Mapping[str, PodDigest], leaving: Mapping[str, str]) -> int:
    """How many pods are ready and neither are deleted nor about to be."""
    return sum(pod.ready and not pod.deleting and name not in leaving for name, pod in pods.items())


class Counted(NamedTuple):
    """What was found out of a budget.

    Args:
        generation: of its spec.
        expected: by the spec.
        pods: that it selects, by name.
    """

    generation: int
    expected: Expected
    pods: Mapping[str, PodDigest]


def counted(budget: Object, found: Counted, now: float) -> Object:
    """A budget whose status says how its pods are; the same object if it says so already.

    Args:
        budget: as stored; it is not changed.
        found: what was found out.
        now: wall clock, in seconds.
    """
    old = budget.get("status") or {}
    leaving = disrupted(old, found.pods, now).pods
    ready = healthy(found.pods, leaving)
    more = ready - found.expected.healthy
    allowed = max(more, 0) if found.expected.pods > 0 else 0
    condition = {
        "type": _ALLOWED,
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "observedGeneration": found.generation,
    }
    numbers = {
        "observedGeneration": found.generation,
        "disruptionsAllowed": allowed,
        "currentHealthy": ready,
        "desiredHealthy": found.expected.healthy,
        "expectedPods": found.expected.pods,
    }
    conditions = list(old.get("conditions") or ())
    if (
        all((old.get(name) or 0) == number for name, number in numbers.items())
        and (old.get("disruptedPods") or {}) == leaving
        and _says(conditions, condition)
    ):
        return budget
    status: Object = {
        **numbers,
        "conditions": set_condition(conditions, condition, format_time(now)),
    }
    if leaving:
        status["disruptedPods"] = leaving
    return {**budget, "status": ordered(_STATUS, status)}


def _says(conditions: list[Object], wanted: Object) -> bool:
    return any(
        all(each.get(name) == wanted[name] for name in ("type", "status", "reason"))
        for each in conditions
    )


def failed(budget: Object, why: str, now: float) -> Object:
    """A budget that allows nothing because it could not be counted.

    Args:
        budget: as stored; it is not changed.
        why: it could not.
        now: wall clock, in seconds.
    """
    old = budget.get("status") or {}
    condition = {
        "type": _ALLOWED,
        "status": "False",
        "reason": "SyncFailed",
        "message": why,
        "observedGeneration": old.get("observedGeneration") or 0,
    }
    conditions = set_condition(list(old.get("conditions") or ()), condition, format_time(now))
    status = {
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
        **old,
        "disruptionsAllowed": 0,
        "conditions": conditions,
    }
    return {**budget, "status": ordered(_STATUS, status)}
