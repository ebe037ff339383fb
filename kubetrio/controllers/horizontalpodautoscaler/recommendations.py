"""How fast and how soon a workload is scaled: windows of stabilisation, and limits of rates.

Source: docs "Horizontal Pod Autoscaling" (configurable scaling behavior);
k8s.io/kubernetes/pkg/controller/podautoscaler/horizontal.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Object = Mapping[str, Any]

STABILIZED_S = 300.0
"""Seconds for which the highest recommendation holds before a scale down, unless it is said."""
UP_FACTOR, UP_LEAST = 2.0, 4.0
"""How far one step up may go without a behavior: to twice as many, and at least to four."""
MOST = (1 << 31) - 1


class Limited(NamedTuple):
    """A number of replicas within limits.

    Args:
        replicas: the number.
        reason: of the condition ``ScalingLimited``.
        message: of that condition.
    """

    replicas: int
    reason: str
    message: str


class Stabilized(NamedTuple):
    """A number of replicas that regards earlier recommendations.

    Args:
        replicas: the number.
        reason: of the condition ``AbleToScale``.
        message: of that condition.
    """

    replicas: int
    reason: str
    message: str


class Change(NamedTuple):
    """Replicas at a time: a recommendation, or how many were added or taken.

    Args:
        replicas: how many.
        at: wall clock, in seconds.
    """

    replicas: int
    at: float


@dataclass(slots=True)
class History:
    """What was recommended for a workload, and what was done.

    Args:
        recommended: before it was stabilised.
        added: in steps up, while there is a behavior.
        taken: in steps down, while there is a behavior.
    """

    recommended: list[Change] = field(default_factory=list)
    added: list[Change] = field(default_factory=list)
    taken: list[Change] = field(default_factory=list)

    def begin(self, current: int, now: float) -> None:
        """Note how many replicas there were at the first look."""
        if not self.recommended:
            self.recommended.append(Change(current, now))

    def note_scaled(self, behavior: Object | None, before: int, after: int, now: float) -> None:
        """Note a step; without a behavior none is asked for later.

        Args:
            behavior: of the autoscaler.
            before: how many replicas were wanted.
            after: how many are.
            now: wall clock, in seconds.
        """
        if behavior is None:
            return
        up = after > before
        rules = behavior["scaleUp" if up else "scaleDown"]
        longest_s = max((one["periodSeconds"] for one in rules.get("policies") or ()), default=0)
        steps = [one for one in (self.added if up else self.taken) if one.at >= now - longest_s]
        steps.append(Change(abs(after - before), now))
        if up:
            self.added = steps
        else:
            self.taken = steps

    def stabilize(self, desired: int, now: float) -> Stabilized:
        """Return the highest recommendation of the last minutes, and note a new one."""
        cutoff = now - STABILIZED_S
        self.recommended = [one for one in self.recommended if one.at >= cutoff]
        highest = max([desired, *(one.replicas for one in self.recommended)])
        self.recommended.append(Change(desired, now))
        if highest != desired:
            return Stabilized(highest, "ScaleDownStabilized", _HIGHER)
        return Stabilized(highest, *_READY)

    def stabilize_by(self, behavior: Object, current: int, desired: int, now: float) -> Stabilized:
        """Return what the windows of a behavior make of a recommendation, and note that.

        Args:
            behavior: with its defaults.
            current: how many replicas are wanted now.
            desired: the recommendation.
            now: wall clock, in seconds.
        """
        up_s = behavior["scaleUp"].get("stabilizationWindowSeconds") or 0
        down_s = behavior["scaleDown"].get("stabilizationWindowSeconds")
        down_s = STABILIZED_S if down_s is None else down_s
        up = min([desired, *_since(self.recommended, now - up_s)])
        down = max([desired, *_since(self.recommended, now - down_s)])
        oldest = now - max(up_s, down_s)
        self.recommended = [one for one in self.recommended if one.at >= oldest]
        self.recommended.append(Change(desired, now))
        replicas = min(max(current, up), down)
        if replicas == desired:
            return Stabilized(replicas, *_READY)
        if desired >= current:
            return Stabilized(replicas, "ScaleUpStabilized", _LOWER)
        return Stabilized(replicas, "ScaleDownStabilized", _HIGHER)

    def limit_by(
        self, behavior: Object, current: int, desired: int, bounds: tuple[int, int], now: float
    ) -> Limited:
        """Return what the rates of a behavior leave of a number of replicas.

        Args:
            behavior: with its defaults.
            current: how many replicas are wanted now.
            desired: how many are to be.
            bounds: the least and the most there may be.
            now: wall clock, in seconds.
        """
        if desired > current:
            limit = max(self._most(behavior["scaleUp"], current, now), current)
            most = min(bounds[1], limit)
            if desired > most:
                return Limited(most, *(_TOO_FAST if bounds[1] > limit else _TOO_MANY))
        elif desired < current:
            limit = min(self._least(behavior["scaleDown"], current, now), current)
            least = max(bounds[0], limit)
            if desired < least:
                return Limited(least, *(_TOO_FAST_DOWN if bounds[0] < limit else _TOO_FEW))
        return Limited(desired, *_WITHIN)

    def _most(self, rules: Object, current: int, now: float) -> int:
        def proposal(policy: Object, start: int) -> int:
            if policy["type"] == "Pods":
                return start + int(policy["value"])
            return math.ceil(start * (1 + float(policy["value"]) / 100))

        choose: Callable[[Iterable[int]], int] = min if rules["selectPolicy"] == "Min" else max
        return self._by_policies(rules, current, now, proposal, choose)

    def _least(self, rules: Object, current: int, now: float) -> int:
        def proposal(policy: Object, start: int) -> int:
            if policy["type"] == "Pods":
                return start - int(policy["value"])
            return int(start * (1 - float(policy["value"]) / 100))

        choose: Callable[[Iterable[int]], int] = max if rules["selectPolicy"] == "Min" else min
        return self._by_policies(rules, current, now, proposal, choose)

    def _by_policies(
        self,
        rules: Object,
        current: int,
        now: float,
        proposal: Callable[[Object, int], int],
        choose: Callable[[Iterable[int]], int],
    ) -> int:
        """What the policies allow, each from how many there were when its period began."""
        if rules["selectPolicy"] == "Disabled":
            return current
        proposals: list[int] = []
        for policy in rules.get("policies") or ():
            begun = now - policy["periodSeconds"]
            start = current - sum(_since(self.added, begun)) + sum(_since(self.taken, begun))
            proposals.append(proposal(policy, start))
        return choose(proposals) if proposals else current


def limit(current: int, desired: int, bounds: tuple[int, int]) -> Limited:
    """Return what is left of a number of replicas where there is no behavior.

    Args:
        current: how many replicas are wanted now.
        desired: how many are to be.
        bounds: the least and the most there may be.
    """
    least, most = bounds
    fastest = int(max(UP_FACTOR * current, UP_LEAST))
    if desired < least:
        return Limited(least, *_TOO_FEW)
    if desired > min(most, fastest):
        return Limited(min(most, fastest), *(_TOO_FAST if most > fastest else _TOO_MANY))
    return Limited(desired, *_WITHIN)


def _since(changes: Iterable[Change], cutoff: float) -> list[int]:
    """Replicas of changes that came after a time."""
    return [one.replicas for one in changes if one.at > cutoff]


_HIGHER = (
    "recent recommendations were higher than current one, applying the highest recent "
    "recommendation"
)
_LOWER = (
    "recent recommendations were lower than current one, applying the lowest recent recommendation"
)
_READY = ("ReadyForNewScale", "recommended size matches current size")
_TOO_FAST = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
)
_TOO_FAST_DOWN = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
)
_TOO_MANY = (
    "TooManyReplicas",
    "the desired replica count is more than the maximum replica count",
)
_TOO_FEW = (
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
)
_WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
