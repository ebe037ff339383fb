"""What plugins of a scheduler are: values that say how a node is refused and how it is rated.

A plugin is prepared for a pod, which may find that it has nothing to say of it; what it is made of
is asked for each node.

Source: docs "Scheduling Framework"; k8s.io/kube-scheduler/framework.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.shapes import PodView

BEST = 100
"""The most that a plugin gives a node."""


class Happening(Enum):
    """What may make a node fit that did not."""

    NODE = "a node came or changed"
    PLACED = "a pod came to a node, or its labels changed"
    GONE = "a pod left its node"
    VOLUME = "a claim, a volume or a class came or changed"
    DEVICE = "a claim of devices, a class or a slice of them came, changed or went"


class Refusal(NamedTuple):
    """Why a node is refused.

    Args:
        reasons: in kube-scheduler's words.
        resolvable: whether it may help to remove pods from the node.
    """

    reasons: tuple[str, ...]
    resolvable: bool


class Rejected(NamedTuple):
    """Why a pod cannot be on any node.

    Args:
        reason: in kube-scheduler's words.
    """

    reason: str


Check = Callable[[NodeState], Refusal | None]


class Filter(NamedTuple):
    """A plugin that refuses nodes.

    Args:
        name: kube-scheduler's.
        prepare: makes the check of nodes for a pod; None if it would refuse none.
        helped_by: what may change its mind.
    """

    name: str
    prepare: Callable[[PodView, Cluster], Check | Rejected | None]
    helped_by: frozenset[Happening]


def rejecting(plugin: Filter) -> Filter:
    """Make a plugin that says only whether a pod can be on any node, and refuses no node.

    In kube-scheduler it is on at ``preFilter`` and off at ``filter``.
    """

    def prepare(pod: PodView, cluster: Cluster) -> Rejected | None:
        state = plugin.prepare(pod, cluster)
        return state if isinstance(state, Rejected) else None

    return plugin._replace(prepare=prepare)


class Score(NamedTuple):
    """A plugin that rates nodes.

    Args:
        name: kube-scheduler's.
        weight: by which its ratings count.
        rate: rates nodes from 0 to `BEST`; None if it would give all of them the same.
    """

    name: str
    weight: int
    rate: Callable[[PodView, Cluster, Sequence[NodeState]], Sequence[int] | None]


def normalized(counts: Sequence[int], *, reverse: bool = False) -> list[int]:
    """Ratings of counts, the highest of which is the best.

    Args:
        counts: from 0.
        reverse: whether the lowest is the best.
    """
    most = max(counts, default=0)
    if not most:
        return [BEST if reverse else 0] * len(counts)
    ratings = [BEST * count // most for count in counts]
    return [BEST - rating for rating in ratings] if reverse else ratings
