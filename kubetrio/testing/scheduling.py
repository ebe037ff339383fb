"""Nodes, pods and clusters of them as a scheduler sees them, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import Check, Refusal, Rejected
from kubetrio.controllers.scheduler.nodefacts import NodeFacts, node_facts
from kubetrio.controllers.scheduler.shapes import PodView, pod_view

Object = dict[str, Any]

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ROOM = {"cpu": "4", "memory": "8Gi", "pods": "10"}


def node(
    name: str,
    labels: Mapping[str, str] | None = None,
    room: Mapping[str, str] | None = None,
    **spec: Any,
) -> NodeFacts:
    """A node with its name as a label.

    Args:
        name: of the node.
        labels: more of them.
        room: allocatable amounts in place of `ROOM`.
        spec: members of its spec.
    """
    node = {
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": dict(room or ROOM)},
    }
    return node_facts(orjson.dumps(node))


def pod(
    name: str,
    node: str = "",
    labels: Mapping[str, str] | None = None,
    requests: Mapping[str, str] | None = None,
    **spec: Any,
) -> PodView:
    """A pod with one container.

    Args:
        name: of the pod; with its namespace before a slash, if that is not ``default``.
        node: that it is on, empty for none.
        labels: of the pod.
        requests: of its container.
        spec: more members of its spec.
    """
    namespace, _, own = name.rpartition("/")
    container: Object = {"name": "c", "resources": {"requests": dict(requests or {})}}
    meta = {"name": own, "namespace": namespace or "default", "uid": name}
    given = {"schedulerName": "default-scheduler", "containers": [container], **spec}
    if node:
        given["nodeName"] = node
    pod = {"metadata": {**meta, "labels": dict(labels or {})}, "spec": given}
    return pod_view(orjson.dumps(pod))


def cluster(nodes: Sequence[NodeFacts], *pods: PodView) -> Cluster:
    """A cluster with pods on its nodes."""
    cluster = Cluster()
    for one in nodes:
        cluster.set_node(one.name, one)
    for there in pods:
        cluster.put(there.key, there)
    return cluster


def reasons(check: Check | Rejected | None, state: Cluster) -> dict[str, tuple[str, ...]]:
    """Why a prepared check refuses nodes, by their names; all it does not refuse are left out.

    Raises:
        TypeError: the whole pod is rejected.
    """
    if isinstance(check, Rejected):
        raise TypeError(check.reason)
    refusals: dict[str, Refusal | None] = {
        name: check(one) if check is not None else None for name, one in state.nodes.items()
    }
    return {name: one.reasons for name, one in refusals.items() if one is not None}


def states(state: Cluster) -> list[NodeState]:
    """The nodes of a cluster in order."""
    return list(state.order)
