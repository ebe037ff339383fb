"""Ratings of nodes by what their pods request of chosen resources.

Source: docs "Resource Bin Packing";
k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import BEST
from kubetrio.controllers.scheduler.shapes import CPU, MEMORY, PodView

Rate = Callable[[PodView, Cluster, Sequence[NodeState]], list[int]]
Share = Callable[[int, int], int]
"""The rating of an amount that is requested of one that is there."""
ALWAYS = (CPU, MEMORY, "ephemeral-storage")
"""Resources that count for pods that request nothing of them."""


def least(requested: int, there: int) -> int:
    """Rate by what is left."""
    return max(there - requested, 0) * BEST // there


def most(requested: int, there: int) -> int:
    """Rate by what is requested."""
    return min(requested, there) * BEST // there


def by_shape(shape: Sequence[tuple[int, int]]) -> Share:
    """Rate by a line through points.

    Args:
        shape: shares in hundredths, and their ratings, in order of the shares.
    """

    def rate(requested: int, there: int) -> int:
        share = BEST if requested > there else requested * BEST // there
        before = shape[0]
        for point in shape:
            if share <= point[0]:
                if point[0] == before[0]:
                    return point[1]
                rise = (point[1] - before[1]) * (share - before[0])
                return before[1] + int(rise / (point[0] - before[0]))
            before = point
        return shape[-1][1]

    return rate


def rating(share: Share, resources: Sequence[tuple[str, int]], *, shaped: bool = False) -> Rate:
    """Make a function that rates nodes.

    Args:
        share: rates one resource.
        resources: names and weights.
        shaped: whether resources that rate nothing do not count, and ratings are rounded.
    """

    def rate(pod: PodView, _: Cluster, nodes: Sequence[NodeState]) -> list[int]:
        usual = dict(zip((CPU, MEMORY), pod.shape.usual, strict=True))
        requests = {name: usual.get(name, pod.shape.requests.get(name, 0)) for name, _ in resources}
        ratings = []
        for node in nodes:
            total = weights = 0
            taken = {CPU: node.usual_cpu, MEMORY: node.usual_memory}
            for name, weight in resources:
                there = node.facts.allocatable.get(name, 0)
                if not there or (not requests[name] and name not in ALWAYS):
                    continue
                one = share(taken.get(name, node.used.get(name, 0)) + requests[name], there)
                if one or not shaped:
                    total, weights = total + one * weight, weights + weight
            if not weights:
                ratings.append(0)
            else:
                ratings.append(floor(total / weights + 0.5) if shaped else total // weights)
        return ratings

    return rate
