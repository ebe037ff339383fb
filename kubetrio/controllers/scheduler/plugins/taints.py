"""Taints: nodes that keep pods away, or would rather not have them, and nodes that are cordoned.

Source: docs "Taints and Tolerations";
k8s.io/kubernetes/pkg/scheduler/framework/plugins (``tainttoleration``, ``nodeunschedulable``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubetrio.controllers.podcontrol.taints import NO_SCHEDULE, Taint, tolerates
from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import Check, Refusal, normalized
from kubetrio.controllers.scheduler.nodefacts import PREFER_NO_SCHEDULE
from kubetrio.controllers.scheduler.shapes import PodShape, PodView

UNTOLERATED = Refusal(("node(s) had untolerated taint(s)",), resolvable=False)
UNSCHEDULABLE = Refusal(("node(s) were unschedulable",), resolvable=False)
CORDONED = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


def stands_all(shape: PodShape) -> Callable[[tuple[Taint, ...]], bool]:
    """Return a function that says whether a pod tolerates all of some taints."""
    tolerations = shape.spec.get("tolerations") or ()
    known: dict[tuple[Taint, ...], bool] = {(): True}

    def stands(taints: tuple[Taint, ...]) -> bool:
        answer = known.get(taints)
        if answer is None:
            answer = known[taints] = all(
                any(tolerates(one, taint) for one in tolerations) for taint in taints
            )
        return answer

    return stands


def untolerated(pod: PodView, _: Cluster) -> Check:
    """Prepare the check that a pod tolerates a node's taints."""
    stands = stands_all(pod.shape)
    return lambda node: None if stands(node.facts.hard) else UNTOLERATED


def unschedulable(pod: PodView, _: Cluster) -> Check | None:
    """Prepare the check that a node is not cordoned."""
    if stands_all(pod.shape)((CORDONED,)):
        return None
    return lambda node: UNSCHEDULABLE if node.facts.unschedulable else None


def preferred(pod: PodView, _: Cluster, nodes: Sequence[NodeState]) -> list[int] | None:
    """Rate nodes by how many of their taints would rather not have the pod."""
    if not any(node.facts.soft for node in nodes):
        return None
    tolerations = [
        one
        for one in pod.shape.spec.get("tolerations") or ()
        if one.get("effect") in (None, "", PREFER_NO_SCHEDULE)
    ]
    counts = [
        sum(not any(tolerates(one, taint) for one in tolerations) for taint in node.facts.soft)
        for node in nodes
    ]
    return normalized(counts, reverse=True)
