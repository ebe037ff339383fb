"""How even the use of a node's resources is, of resources that are chosen.

Source: docs "Resource Bin Packing"; k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources
(``balanced_allocation.go``).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import BEST
from kubetrio.controllers.scheduler.plugins.scoring import ALWAYS
from kubetrio.controllers.scheduler.shapes import CPU, MEMORY, PodView

USUAL = ((CPU, 1), (MEMORY, 1))
"""The resources that count where none are chosen, and their weights."""


def balanced(
    pod: PodView, _: Cluster, nodes: Sequence[NodeState], *, names: Sequence[str]
) -> list[int] | None:
    """Rate nodes by how much more even the use of resources becomes.

    Args:
        pod: to be placed.
        nodes: to be rated.
        names: of resources; those that a pod does not request count only if they are usual.
    """
    requests = {name: pod.shape.requests.get(name, 0) for name in names}
    if not any(requests.values()):
        return None
    counted = [name for name in names if requests[name] or name in ALWAYS]
    ratings = []
    for node in nodes:
        there = node.facts.allocatable
        both = [(node.used.get(name, 0), there[name], requests[name]) for name in counted
                if there.get(name, 0)]  # fmt: skip
        before = _evenness([used / room for used, room, _ in both])
        after = _evenness([(used + more) / room for used, room, more in both])
        ratings.append(BEST // 2 + (BEST // 2 + after - before) // 2)
    return ratings


def _evenness(shares: Sequence[float]) -> int:
    """Rate shares by their standard deviation: `BEST` if they are equal."""
    capped = [min(share, 1.0) for share in shares]
    deviation = 0.0
    if len(capped) == 2:
        deviation = abs((capped[0] - capped[1]) / 2)
    elif len(capped) > 2:
        mean = sum(capped) / len(capped)
        deviation = sqrt(sum((share - mean) ** 2 for share in capped) / len(capped))
    return int((1 - deviation) * BEST)
