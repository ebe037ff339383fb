"""Topology spread: pods that are alike are not to gather in one domain.

A pod without constraints is spread over nodes and zones with the pods of its Services and its
controller, where that costs nothing else.

Source: docs "Pod Topology Spread Constraints";
k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log

from kubetrio.controllers.podcontrol.nodeselector import selected
from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import BEST, Check, Refusal
from kubetrio.controllers.scheduler.plugins.taints import stands_all
from kubetrio.controllers.scheduler.shapes import Constraint, PodView

SKEWED = Refusal(("node(s) didn't match pod topology spread constraints",), resolvable=True)
UNLABELLED = Refusal(
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    resolvable=False,
)
HOSTNAME = "kubernetes.io/hostname"
USUAL = ((HOSTNAME, 3), ("topology.kubernetes.io/zone", 5))
"""Labels and skews by which a pod without constraints is spread."""


def _counting(pod: PodView, constraint: Constraint) -> Callable[[NodeState], bool]:
    """Return a function that says whether a node counts for a constraint."""
    spec, stands = pod.shape.spec, stands_all(pod.shape)
    picky = constraint.honors_affinity and (spec.get("nodeSelector") or spec.get("affinity"))

    def counts(node: NodeState) -> bool:
        facts = node.facts
        if picky and not selected(spec, facts.name, facts.labels):
            return False
        return not constraint.honors_taints or stands(facts.hard)

    return counts


def _labelled(node: NodeState, constraints: Sequence[Constraint]) -> bool:
    labels = node.facts.labels
    return all(one.topology in labels for one in constraints)


class _Domains:
    """The domains of a hard constraint: how many pods each has.

    Args:
        pod: to be placed.
        cluster: where.
        constraint: on it.
        nodes: those that have the labels of all constraints.
    """

    def __init__(
        self, pod: PodView, cluster: Cluster, constraint: Constraint, nodes: Sequence[NodeState]
    ) -> None:
        key, counts = constraint.topology, _counting(pod, constraint)
        matching = cluster.matching(constraint.selector, pod.shape.namespace)
        self.key = key
        self.pods: dict[str, int] = {}
        for node in nodes:
            if counts(node):
                value = node.facts.labels[key]
                self.pods[value] = self.pods.get(value, 0) + matching.get(node.facts.name, 0)
        few = len(self.pods) < constraint.fewest_domains
        fewest = 0 if few else min(self.pods.values())
        own = constraint.selector.matches(pod.shape.labels)
        self.most = constraint.most_skew + fewest - own


def skewed(pod: PodView, cluster: Cluster) -> Check | None:
    """Prepare the check that a pod on a node breaks none of its hard constraints."""
    constraints = [one for one in pod.shape.spread if one.hard]
    if not constraints:
        return None
    nodes = [node for node in cluster.order if _labelled(node, constraints)]
    domains = [_Domains(pod, cluster, one, nodes) for one in constraints]

    def check(node: NodeState) -> Refusal | None:
        labels = node.facts.labels
        for one in domains:
            value = labels.get(one.key)
            if value is None:
                return UNLABELLED
            if one.pods.get(value, 0) > one.most:
                return SKEWED
        return None

    return check


def _soft(pod: PodView, cluster: Cluster) -> list[Constraint]:
    if pod.shape.spread:
        return [one for one in pod.shape.spread if not one.hard]
    selector = cluster.owners.selector_of(pod.shape)
    if selector.empty:
        return []
    return [Constraint(key, skew, selector, hard=False) for key, skew in USUAL]


def preferred(pod: PodView, cluster: Cluster, nodes: Sequence[NodeState]) -> list[int] | None:
    """Rate nodes by how few pods that are alike their domains have."""
    constraints = _soft(pod, cluster)
    if not constraints:
        return None
    strict = bool(pod.shape.spread)
    rated = [not strict or _labelled(node, constraints) for node in nodes]
    totals = [0.0] * len(nodes)
    for one in constraints:
        _add_counts(pod, cluster, nodes, rated, one, constraints if strict else (), totals)
    scores = [floor(total + 0.5) for total in totals]
    known = [score for score, counts in zip(scores, rated, strict=True) if counts]
    most, least = max(known, default=0), min(known, default=0)
    return [
        0 if not counts else BEST if not most else BEST * (most + least - score) // most
        for score, counts in zip(scores, rated, strict=True)
    ]


def _add_counts(
    pod: PodView,
    cluster: Cluster,
    nodes: Sequence[NodeState],
    rated: Sequence[bool],
    constraint: Constraint,
    required: Sequence[Constraint],
    totals: list[float],
) -> None:
    """Add what one constraint counts of each node."""
    key, matching = constraint.topology, cluster.matching(constraint.selector, pod.shape.namespace)
    by_name = key == HOSTNAME
    domains: dict[str, int] = {}
    if by_name:
        size = sum(rated)
    else:
        domains = {
            node.facts.labels.get(key, ""): 0
            for node, counts in zip(nodes, rated, strict=True)
            if counts
        }
        size = len(domains)
        counting = _counting(pod, constraint)
        for name, count in matching.items():
            there = cluster.nodes.get(name)
            if there is None or not _labelled(there, required) or not counting(there):
                continue
            value = there.facts.labels.get(key, "")
            if value in domains:
                domains[value] += count
    weight = log(size + 2)
    for place, node in enumerate(nodes):
        own = node.facts.labels.get(key) if rated[place] else None
        if own is not None:
            count = matching.get(node.facts.name, 0) if by_name else domains[own]
            totals[place] += count * weight + constraint.most_skew - 1
