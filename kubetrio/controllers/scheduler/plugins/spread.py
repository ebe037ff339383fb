"""Topology spread: pods that are alike are not to gather in one domain.

A pod without constraints is spread over nodes and zones with the pods of its Services and its
controller, where that costs nothing else.

Source: docs "Pod Topology Spread Constraints";
k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log
from typing import NamedTuple

from kubetrio.controllers.podcontrol.nodeselector import REQUIRED, node_affinity, selected
from kubetrio.controllers.scheduler.cluster import Cluster, Counts, NodeState
from kubetrio.controllers.scheduler.framework import BEST, Check, Refusal
from kubetrio.controllers.scheduler.plugins.taints import stands_all
from kubetrio.controllers.scheduler.shapes import Constraint, PodView
from kubetrio.machinery.labels import NOTHING, Selector

SKEWED = Refusal(("node(s) didn't match pod topology spread constraints",), resolvable=True)
UNLABELLED = Refusal(
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    resolvable=False,
)
HOSTNAME = "kubernetes.io/hostname"


class Usual(NamedTuple):
    """By what a pod without constraints is spread.

    Args:
        constraints: on the pods of its owners.
        system: whether nodes without their labels count too.
    """

    constraints: tuple[Constraint, ...]
    system: bool


USUAL = Usual(
    (
        Constraint(HOSTNAME, 3, NOTHING, hard=False),
        Constraint("topology.kubernetes.io/zone", 5, NOTHING, hard=False),
    ),
    system=True,
)
"""What holds where nothing else is configured."""


def _counting(pod: PodView, constraint: Constraint) -> Callable[[NodeState], bool] | None:
    """Return a function that says whether a node counts for a constraint; None if all do."""
    spec = pod.shape.spec
    picky = constraint.honors_affinity and (
        spec.get("nodeSelector") or node_affinity(spec).get(REQUIRED) is not None
    )
    if not picky and not constraint.honors_taints:
        return None
    stands = stands_all(pod.shape)

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
            if counts is None or counts(node):
                facts = node.facts
                value = facts.labels[key]
                self.pods[value] = self.pods.get(value, 0) + matching.get(facts.name, 0)
        few = len(self.pods) < constraint.fewest_domains
        fewest = 0 if few else min(self.pods.values())
        own = constraint.selector.matches(pod.shape.labels)
        self.most = constraint.most_skew + fewest - own


def skewed(pod: PodView, cluster: Cluster, *, usual: Usual = USUAL) -> Check | None:
    """Prepare the check that a pod on a node breaks none of its hard constraints."""
    constraints = _constraints(pod, cluster, usual, hard=True)
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


def _constraints(pod: PodView, cluster: Cluster, usual: Usual, *, hard: bool) -> list[Constraint]:
    """The constraints of a pod, or those that hold for pods without any."""
    if pod.shape.spread:
        return [one for one in pod.shape.spread if one.hard is hard]
    constraints = [one for one in usual.constraints if one.hard is hard]
    selector = cluster.owners.selector_of(pod.shape) if constraints else NOTHING
    if selector.empty or selector.nothing:
        return []
    return [one._replace(selector=selector) for one in constraints]


def preferred(
    pod: PodView, cluster: Cluster, nodes: Sequence[NodeState], *, usual: Usual = USUAL
) -> list[int] | None:
    """Rate nodes by how few pods that are alike their domains have."""
    constraints = _constraints(pod, cluster, usual, hard=False)
    if not constraints:
        return None
    required = constraints if pod.shape.spread or not usual.system else ()
    rated = [node for node in nodes if _labelled(node, required)] if required else nodes
    totals = [0.0] * len(rated)
    known: dict[Selector, Counts] = {}
    for one in constraints:
        matching = known.get(one.selector)
        if matching is None:
            matching = known[one.selector] = cluster.matching(one.selector, pod.shape.namespace)
        if one.topology == HOSTNAME:
            counts = [matching.get(node.facts.name, 0) for node in rated]
            size = len(rated)
        else:
            domains = _domains(pod, cluster, rated, one, required, matching)
            counts = [domains[node.facts.labels.get(one.topology)] for node in rated]
            size = len(domains)
        weight = log(size + 2)
        for place, (node, count) in enumerate(zip(rated, counts, strict=True)):
            if one.topology in node.facts.labels:
                totals[place] += count * weight + one.most_skew - 1
    scores = [floor(total + 0.5) for total in totals]
    most, least = max(scores, default=0), min(scores, default=0)
    ratings = {
        node.facts.name: BEST * (most + least - score) // most if most else BEST
        for node, score in zip(rated, scores, strict=True)
    }
    return [ratings.get(node.facts.name, 0) for node in nodes]


def _domains(
    pod: PodView,
    cluster: Cluster,
    rated: Sequence[NodeState],
    constraint: Constraint,
    required: Sequence[Constraint],
    matching: Counts,
) -> dict[str | None, int]:
    """How many pods the domains of a constraint have in which nodes are rated; None is no label."""
    key, counting = constraint.topology, _counting(pod, constraint)
    domains: dict[str | None, int] = dict.fromkeys(
        (node.facts.labels.get(key) for node in rated), 0
    )
    nodes = cluster.nodes
    for name, count in matching.items():
        there = nodes.get(name)
        if there is None:
            continue
        value = there.facts.labels.get(key)
        if value not in domains or (required and not _labelled(there, required)):
            continue
        if counting is None or counting(there):
            domains[value] += count
    return domains
