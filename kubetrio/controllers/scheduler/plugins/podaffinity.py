"""Affinity between pods: which pods a pod is to be near, and which it is to keep away from.

Pods that are there may keep others away too.

Source: docs "Assigning Pods to Nodes" (inter-pod affinity and anti-affinity);
k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubetrio.controllers.scheduler.cluster import Cluster, Counts, NodeState
from kubetrio.controllers.scheduler.framework import BEST, Check, Refusal
from kubetrio.controllers.scheduler.shapes import PodShape, PodView, Term

NOT_NEAR = Refusal(("node(s) didn't match pod affinity rules",), resolvable=False)
TOO_NEAR = Refusal(("node(s) didn't match pod anti-affinity rules",), resolvable=True)
KEPT_AWAY = Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), resolvable=True)
REQUIRED_WEIGHT = 1
"""How much a pod that is there counts that requires to be near the new one."""
Pairs = dict[tuple[str, str], int]
"""How often something is true where nodes have a label of that key and value."""


def _add(pairs: Pairs, cluster: Cluster, counts: Counts, topology: str, weight: int = 1) -> None:
    """Count pods where they are."""
    for name, count in counts.items():
        node = cluster.nodes.get(name)
        value = None if node is None else node.facts.labels.get(topology)
        if value is not None:
            pair = (topology, value)
            pairs[pair] = pairs.get(pair, 0) + weight * count


def _all_select(cluster: Cluster, terms: Iterable[Term], shape: PodShape) -> bool:
    return all(cluster.selects(term, shape) for term in terms)


def _keeping_away(cluster: Cluster, shape: PodShape) -> Pairs:
    """Where pods are that keep a pod away."""
    pairs: Pairs = {}
    for other, counts in cluster.affine.items():
        for term in other.affinity.anti_required:
            if cluster.selects(term, shape):
                _add(pairs, cluster, counts, term.topology)
    return pairs


def _held(labels: Mapping[str, str], pairs: Pairs, topology: str) -> bool:
    return pairs.get((topology, labels.get(topology, "")), 0) > 0 and topology in labels


def not_allowed(pod: PodView, cluster: Cluster) -> Check | None:
    """Prepare the check that affinity allows a node, of the pod and of the pods that are there."""
    shape = pod.shape
    near, away = shape.affinity.required, shape.affinity.anti_required
    kept = _keeping_away(cluster, shape)
    if not near and not away and not kept:
        return None
    near_pairs: Pairs = {}
    away_pairs: Pairs = {}
    if near or away:
        for other, counts in cluster.shapes():
            if near and _all_select(cluster, near, other):
                for term in near:
                    _add(near_pairs, cluster, counts, term.topology)
            for term in away:
                if cluster.selects(term, other):
                    _add(away_pairs, cluster, counts, term.topology)
    # The first of pods that are to be near their like has none yet.
    first = bool(near) and not near_pairs and _all_select(cluster, near, shape)
    keys = frozenset(key for key, _ in kept)

    def check(node: NodeState) -> Refusal | None:
        labels = node.facts.labels
        for term in near:
            if term.topology not in labels:
                return NOT_NEAR
            if not first and not _held(labels, near_pairs, term.topology):
                return NOT_NEAR
        if any(_held(labels, away_pairs, term.topology) for term in away):
            return TOO_NEAR
        return KEPT_AWAY if any(_held(labels, kept, key) for key in keys) else None

    return check


def preferred(
    pod: PodView,
    cluster: Cluster,
    nodes: Sequence[NodeState],
    *,
    required_weight: int = REQUIRED_WEIGHT,
    ignores: bool = False,
) -> list[int] | None:
    """Rate nodes by the preferred terms of a pod and of the pods that are there.

    Args:
        pod: to be placed.
        cluster: as it is now.
        nodes: to be rated.
        required_weight: how much a pod that is there counts that requires to be near the new one.
        ignores: whether pods that are there do not count for a pod without such terms.
    """
    shape = pod.shape
    pairs: Pairs = {}
    own = [(term, 1) for term in shape.affinity.preferred]
    own += [(term, -1) for term in shape.affinity.anti_preferred]
    if own:
        for other, counts in cluster.shapes():
            for term, sign in own:
                if cluster.selects(term, other):
                    _add(pairs, cluster, counts, term.topology, sign * term.weight)
    for other, counts in () if ignores and not own else cluster.affine.items():
        theirs = [(term, required_weight) for term in other.affinity.required]
        theirs += [(term, term.weight) for term in other.affinity.preferred]
        theirs += [(term, -term.weight) for term in other.affinity.anti_preferred]
        for term, weight in theirs:
            if cluster.selects(term, shape):
                _add(pairs, cluster, counts, term.topology, weight)
    if not pairs:
        return None
    keys = frozenset(key for key, _ in pairs)
    scores = [
        sum(pairs.get((key, node.facts.labels.get(key, "")), 0) for key in keys) for node in nodes
    ]
    least, most = min(scores), max(scores)
    if least == most:
        return None
    return [int(BEST * ((score - least) / (most - least))) for score in scores]
