"""Preemption: which pods of lower priority have to go so that a pod has a node.

Source: docs "Pod Priority and Preemption"; k8s.io/kubernetes/pkg/scheduler/framework
(``preemption``, ``plugins/defaultpreemption``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import Filter, Refusal
from kubetrio.controllers.scheduler.plugins import devices
from kubetrio.controllers.scheduler.plugins.profile import FILTERS
from kubetrio.controllers.scheduler.search import Judge, Search, histogram
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.machinery.labels import NOTHING, Selector, from_label_selector

Object = dict[str, Any]
NO_CLAIMS = "no new claims to deallocate"
"""What the plugin for devices says before preemption is tried, of every pod without claims."""
STILL_NOT, FREED = "still not schedulable", "deallocation of ResourceClaim completed"
"""What it says of pods with claims: nothing helps, or devices were taken back."""
NO_STATE = "not found"
"""What it says where another plugin had rejected the pod before it was asked."""
NEVER = "not eligible due to preemptionPolicy=Never."
ON_ITS_WAY = "not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = Refusal(("No preemption victims found for incoming pod",), resolvable=False)


class Budget(NamedTuple):
    """What is kept of a PodDisruptionBudget.

    Args:
        selector: of pods in its namespace.
        allowed: how many may be disrupted now.
        disrupted: names of those whose eviction was granted.
    """

    selector: Selector
    allowed: int
    disrupted: frozenset[str]


def budget_view(value: bytes) -> Budget:
    """What is kept of a budget.

    Args:
        value: the stored budget.
    """
    budget: Object = orjson.loads(value)
    status = budget.get("status") or {}
    try:
        selector = from_label_selector((budget.get("spec") or {}).get("selector"))
    except ValueError:
        selector = NOTHING
    return Budget(
        selector,
        status.get("disruptionsAllowed") or 0,
        frozenset(status.get("disruptedPods") or ()),
    )


class Candidate(NamedTuple):
    """A node, and who would have to go from it.

    Args:
        node: its name.
        victims: the most important first.
        violations: how many of them a budget would keep.
    """

    node: str
    victims: tuple[PodView, ...]
    violations: int

    def cost(self) -> tuple[object, ...]:
        """Order of candidates, the best of which is the least."""
        priorities = [victim.shape.priority for victim in self.victims]
        highest = max(priorities)
        first = min(v.started for v in self.victims if v.shape.priority == highest)
        total = sum(priority + (1 << 31) for priority in priorities)
        return self.violations, highest, total, len(self.victims), _Latest(first)


class _Latest(str):
    """A time that is less than the times before it."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def not_eligible(pod: PodView, cluster: Cluster, refusals: dict[str, Refusal]) -> str:
    """Why a pod may not have others removed, empty if it may.

    Args:
        pod: that fits on no node.
        cluster: as it is now.
        refusals: of nodes, by name.
    """
    if pod.shape.spec.get("preemptionPolicy") == "Never":
        return NEVER
    node = cluster.nodes.get(pod.nominated)
    refusal = refusals.get(pod.nominated)
    if node is None or (refusal is not None and not refusal.resolvable):
        return ""
    leaving = any(
        other.preempted and other.shape.priority < pod.shape.priority
        for other in node.pods.values()
    )
    return ON_ITS_WAY if leaving else ""


class Preemption:
    """The search for pods that have to go.

    Args:
        search: that found no node.
        cluster: as it is now.
        budgets: with their namespaces.
        start: number that says at which node it begins.
        freed: name of a claim whose devices are taken back, empty for none.

    Attributes:
        candidate: the best; None if there is none.
        message: why there is none, in kube-scheduler's words; empty if there is one.
        keeps: whether the pod keeps the node that was being cleared for it.
    """

    def __init__(
        self,
        search: Search,
        cluster: Cluster,
        budgets: Collection[tuple[str, Budget]],
        start: int = 0,
        freed: str = "",
    ) -> None:
        self._search = search
        self._cluster = cluster
        self._budgets = budgets
        self._start = start
        frees = search.profile.frees_devices
        self.freed = freed if frees else ""
        self._before = NO_CLAIMS if frees else ""
        if frees and search.pod.shape.spec.get("resourceClaims") and not search.judge.rejected:
            self._before = FREED if freed else STILL_NOT
        self.candidate: Candidate | None = None
        self.message = ""
        self.keeps = False

    def run(self) -> Iterator[None]:
        """Search; yields after each node that was tried, when something else may be done."""
        pod, cluster = self._search.pod, self._cluster
        judge = self._search.judge
        frees = self._search.profile.frees_devices
        if frees and judge.rejected and judge.blamed != {devices.NAME}:
            self.message, self.keeps = NO_STATE, True
            return
        if not self._search.profile.preempts:
            self.message, self.keeps = self._before, True
            return
        reason = not_eligible(pod, cluster, self._search.refusals)
        if reason:
            self.message, self.keeps = self._with_reason(reason), True
            return
        names = [name for name, one in self._search.refusals.items() if one.resolvable]
        begin = self._start % len(names) if names else 0
        profile = self._search.profile
        enough = max(profile.candidates, len(names) * profile.candidate_share // 100)
        candidates: list[Candidate] = []
        refusals: dict[str, Refusal] = {}
        for name in names[begin:] + names[:begin]:
            node = cluster.nodes.get(name)
            if node is None:
                continue
            result = victims_on(pod, node, cluster, self._budgets, profile.filters)
            if isinstance(result, Refusal):
                refusals[name] = result
            else:
                candidates.append(result)
                if len(candidates) >= enough and any(not one.violations for one in candidates):
                    break
            yield
        if candidates:
            self.candidate = min(candidates, key=Candidate.cost)
        else:
            told = histogram(refusals, len(cluster.order), NOT_HELPFUL)
            self.message = self._with_reason(f"{told}.")

    def _with_reason(self, reason: str) -> str:
        """What is said where no pod goes: of devices, if the profile takes them back, and why."""
        return ", ".join(filter(None, (self._before, f"preemption: {reason}")))


def victims_on(
    pod: PodView,
    node: NodeState,
    cluster: Cluster,
    budgets: Collection[tuple[str, Budget]],
    filters: Sequence[Filter] = FILTERS,
) -> Candidate | Refusal:
    """Who would have to go from a node, or why that does not help.

    Args:
        pod: that is to have the node.
        node: the node.
        cluster: as it is now; it is changed meanwhile.
        budgets: with their namespaces.
        filters: plugins that are asked.
    """
    priority, name = pod.shape.priority, node.facts.name
    if not any(one < priority for one in node.priorities):
        return NO_VICTIMS
    lower = sorted(
        (one for one in node.pods.values() if one.shape.priority < priority), key=_importance
    )
    for one in lower:
        cluster.put(one.key, None)
    try:
        refusal = Judge(pod, cluster, filters).refusal(node)
        if refusal is not None:
            return refusal
        kept, free = by_budgets(lower, budgets)
        victims: list[PodView] = []
        violations = 0
        for one in (*kept, *free):
            cluster.put(one.key, one)
            if Judge(pod, cluster, filters).refusal(node) is not None:
                cluster.put(one.key, None)
                victims.append(one)
                violations += one in kept
    finally:
        for one in lower:
            cluster.put(one.key, one)
    return Candidate(name, tuple(sorted(victims, key=_importance)), violations)


def _importance(pod: PodView) -> tuple[int, str, str]:
    """Order of pods, the most important first: high priority, early start."""
    return -pod.shape.priority, pod.started, pod.key


def by_budgets(
    pods: Iterable[PodView], budgets: Collection[tuple[str, Budget]]
) -> tuple[Sequence[PodView], Sequence[PodView]]:
    """Pods whose removal breaks a budget, and others; each in order.

    Args:
        pods: that would go, one after the other.
        budgets: with their namespaces.
    """
    left = [budget.allowed for _, budget in budgets]
    kept: list[PodView] = []
    free: list[PodView] = []
    for pod in pods:
        broken = False
        for place, (namespace, budget) in enumerate(budgets):
            shape = pod.shape
            if namespace != shape.namespace or not shape.labels or budget.selector.empty:
                continue
            if not budget.selector.matches(shape.labels) or pod.name in budget.disrupted:
                continue
            left[place] -= 1
            broken = broken or left[place] < 0
        (kept if broken else free).append(pod)
    return kept, free
