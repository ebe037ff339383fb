"""Resources: what pods request fits what nodes have, and which nodes are emptier or more even.

Source: docs "Resource Management for Pods and Containers", "Resource Bin Packing";
k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import BEST, Check, Refusal
from kubetrio.controllers.scheduler.shapes import CPU, MEMORY, PodView

TOO_MANY = "Too many pods"


def fits(
    pod: PodView,
    _: Cluster,
    *,
    ignored: frozenset[str] = frozenset(),
    groups: frozenset[str] = frozenset(),
) -> Check:
    """Prepare the check that a node has room for a pod.

    Args:
        pod: to be placed.
        ignored: extended resources that do not count.
        groups: what such names have before their slash.
    """
    requests = tuple(
        (name, amount)
        for name, amount in pod.shape.requests.items()
        if "/" not in name or not (name in ignored or name.partition("/")[0] in groups)
    )

    def check(node: NodeState) -> Refusal | None:
        facts, used = node.facts, node.used
        reasons, resolvable = [], True
        if len(node.pods) >= facts.pods:
            reasons.append(TOO_MANY)
        for name, amount in requests:
            there = facts.allocatable.get(name, 0)
            if amount > there - used.get(name, 0):
                reasons.append(f"Insufficient {name}")
                resolvable = resolvable and amount <= there
        return Refusal(tuple(reasons), resolvable) if reasons else None

    return check


def least_allocated(pod: PodView, _: Cluster, nodes: Sequence[NodeState]) -> list[int]:
    """Rate nodes by the share of CPU and memory that is left."""
    cpu, memory = pod.shape.usual
    ratings = []
    for node in nodes:
        there = node.facts.allocatable
        shares = []
        if cpus := there.get(CPU, 0):
            shares.append(max(cpus - node.usual_cpu - cpu, 0) * BEST // cpus)
        if memories := there.get(MEMORY, 0):
            shares.append(max(memories - node.usual_memory - memory, 0) * BEST // memories)
        ratings.append(sum(shares) // len(shares) if shares else 0)
    return ratings


def balanced(pod: PodView, _: Cluster, nodes: Sequence[NodeState]) -> list[int] | None:
    """Rate nodes by how much more even their use of CPU and memory becomes."""
    cpu, memory = pod.shape.requests.get(CPU, 0), pod.shape.requests.get(MEMORY, 0)
    if not cpu and not memory:
        return None
    ratings = []
    for node in nodes:
        before, after = _evenness(node, 0, 0), _evenness(node, cpu, memory)
        ratings.append(BEST // 2 + (BEST // 2 + after - before) // 2)
    return ratings


def _evenness(node: NodeState, cpu: int, memory: int) -> int:
    there, used = node.facts.allocatable, node.used
    cpus, memories = there.get(CPU, 0), there.get(MEMORY, 0)
    if not cpus or not memories:
        return BEST
    one = min((used.get(CPU, 0) + cpu) / cpus, 1.0)
    other = min((used.get(MEMORY, 0) + memory) / memories, 1.0)
    return int((1 - abs((one - other) / 2)) * BEST)
