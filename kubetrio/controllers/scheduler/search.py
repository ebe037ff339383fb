"""The search for a node: those that fit a pod, and the best of them.

A share of the nodes is enough where there are many, and each search goes on where the one before
it ended.

Source: docs "Scheduler Performance Tuning"; k8s.io/kubernetes/pkg/scheduler (``schedule_one.go``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import Check, Filter, Refusal, Rejected, Score
from kubetrio.controllers.scheduler.plugins.nodeaffinity import NAME, named_nodes
from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES
from kubetrio.controllers.scheduler.profiles import Profile
from kubetrio.controllers.scheduler.shapes import PodView

STEP_NODES = 64
Checks = list[tuple[Filter, Check]]


class Judge:
    """Says which nodes fit a pod.

    Args:
        pod: to be placed.
        cluster: as it is now.
        filters: plugins that are asked.

    Attributes:
        rejected: why no node can fit, in kube-scheduler's words; empty if one may.
        blamed: names of the plugins that refused something.
    """

    def __init__(self, pod: PodView, cluster: Cluster, filters: Sequence[Filter] = FILTERS) -> None:
        self._pod = pod
        self._cluster = cluster
        self._filters = filters
        self.rejected = ""
        self.blamed: set[str] = set()
        self._checks = self._prepared()

    def _prepared(self) -> Checks:
        checks: Checks = []
        for plugin in self._filters:
            state = plugin.prepare(self._pod, self._cluster)
            if isinstance(state, Rejected):
                self.rejected = state.reason
                self.blamed.add(plugin.name)
                return []
            if state is not None:
                checks.append((plugin, state))
        return checks

    def refusal(self, node: NodeState) -> Refusal | None:
        """Why a node does not fit; None if it does.

        It must fit with the pods for which it is being cleared, and without them.
        """
        if not self._cluster.nominated:
            return self._first(node, self._checks)
        key, priority = self._pod.key, self._pod.shape.priority
        others = [
            other
            for name, other in self._cluster.nominated.get(node.facts.name, {}).items()
            if name != key and other.shape.priority >= priority
        ]
        if others:
            with self._cluster.supposing(others, node.facts.name):
                refusal = self._first(node, self._prepared())
            if refusal is not None:
                return refusal
        return self._first(node, self._checks)

    def _first(self, node: NodeState, checks: Checks) -> Refusal | None:
        for plugin, check in checks:
            refusal = check(node)
            if refusal is not None:
                self.blamed.add(plugin.name)
                return refusal
        return None


class Search:
    """The search for the nodes that fit one pod.

    Args:
        pod: to be placed.
        cluster: as it is now.
        start: place in the order of nodes at which it begins.
        profile: plugins that are asked, and how many nodes are enough.

    Attributes:
        feasible: nodes that fit.
        refusals: why others do not, by name.
        passed: how many nodes were looked at.
        left_out: whether the pod's affinity names the only nodes that were looked at.
    """

    def __init__(
        self, pod: PodView, cluster: Cluster, start: int = 0, profile: Profile | None = None
    ) -> None:
        self.pod = pod
        self.profile = profile or Profile()
        self.judge = Judge(pod, cluster, self.profile.filters)
        self.feasible: list[NodeState] = []
        self.refusals: dict[str, Refusal] = {}
        self.passed = 0
        self._cluster = cluster
        self._start = start
        names = named_nodes(pod.shape) if self.profile.names_nodes else None
        self.left_out = names is not None
        order = cluster.order
        if names is None:
            self._nodes = order[start:] + order[:start]
        else:
            self._nodes = [cluster.nodes[name] for name in sorted(names) if name in cluster.nodes]
        self._enough = self.profile.enough(len(self._nodes))

    def run(self) -> Iterator[None]:
        """Search; yields every few nodes, when something else may be done."""
        if self.judge.rejected:
            return
        nominated = self._cluster.nodes.get(self.pod.nominated)
        if nominated is not None and self.judge.refusal(nominated) is None:
            self.feasible.append(nominated)
            return
        for node in self._nodes:
            self.passed += 1
            refusal = self.judge.refusal(node)
            if refusal is not None:
                self.refusals[node.facts.name] = refusal
            else:
                self.feasible.append(node)
                if len(self.feasible) >= self._enough:
                    return
            if not self.passed % STEP_NODES:
                yield

    def explain(self) -> str:
        """Say why no node fits, in kube-scheduler's words."""
        count = len(self._cluster.order)
        if not count:
            return "no nodes available to schedule pods"
        if self.judge.rejected:
            return f"0/{count} nodes are available: {self.judge.rejected}."
        absent = f"node(s) didn't satisfy plugin(s) [{NAME}]" if self.left_out else ""
        return f"{histogram(self.refusals, count, absent)}."


def histogram(refusals: dict[str, Refusal], count: int, absent: str) -> str:
    """How many nodes are refused for which reasons, in kube-scheduler's words.

    Args:
        refusals: by names of nodes.
        count: how many nodes there are.
        absent: why those without a refusal are not available.
    """
    reasons: dict[str, int] = {}
    for refusal in refusals.values():
        for reason in refusal.reasons:
            reasons[reason] = reasons.get(reason, 0) + 1
    if absent and len(refusals) < count:
        reasons[absent] = reasons.get(absent, 0) + count - len(refusals)
    told = ", ".join(sorted(f"{number} {reason}" for reason, number in reasons.items()))
    return f"0/{count} nodes are available: {told}"


class Rating:
    """The rating of nodes that fit.

    Args:
        pod: to be placed.
        cluster: as it is now.
        nodes: that fit, at least one.
        scores: plugins that are asked.
    """

    def __init__(
        self,
        pod: PodView,
        cluster: Cluster,
        nodes: Sequence[NodeState],
        scores: Sequence[Score] = SCORES,
    ) -> None:
        self._scores = scores
        self._pod = pod
        self._cluster = cluster
        self._nodes = nodes
        self._totals = [0] * len(nodes)

    def run(self) -> Iterator[None]:
        """Rate; yields after each plugin, when something else may be done."""
        if len(self._nodes) == 1:
            return
        for plugin in self._scores:
            ratings = plugin.rate(self._pod, self._cluster, self._nodes)
            if ratings is not None:
                weight = plugin.weight
                self._totals = [
                    total + weight * rating
                    for total, rating in zip(self._totals, ratings, strict=True)
                ]
            yield

    def best(self) -> list[NodeState]:
        """Return the best of them, several if they are as good."""
        most = max(self._totals)
        return [
            node for node, total in zip(self._nodes, self._totals, strict=True) if total == most
        ]
