"""What the kubelet of a simulated node tells of the node: its pods, and what they use.

Only use at the moment is simulated: there are no totals, networks and file systems.

Source: k8s.io/kubelet/pkg/apis/stats/v1alpha1; k8s.io/kubernetes/pkg/kubelet/server (``/pods``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from kubetrio.machinery.quantity import parse
from kubetrio.machinery.timestamps import format_time
from kubetrio.simulation.answers import status_of
from kubetrio.simulation.usage import Use, metered_node, metered_pod

Object = dict[str, Any]


class Tenants(NamedTuple):
    """A node and what is on it.

    Args:
        node: as stored.
        pods: the same of the pods on it.
        now: wall clock, in seconds.
    """

    node: bytes
    pods: Sequence[bytes]
    now: float


Look = Callable[[], Awaitable[Tenants | None]]
"""Finds what is on the node of a kubelet; None for a node that is gone."""


def pods_of(tenants: Tenants) -> bytes:
    """The pods of a node, as a PodList."""
    items = b",".join(tenants.pods)
    return b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%s]}' % items


def summary_of(tenants: Tenants) -> bytes:
    """What a node and its pods use, as a Summary."""
    time, node = format_time(tenants.now), orjson.loads(tenants.node)
    uses, pods = [metered_node(tenants.node).own], []
    for value in tenants.pods:
        if shares := metered_pod(value).containers:
            uses += [use for _, use in shares]
            pods.append(_pod_stats(orjson.loads(value), shares, time))
    total = Use.total(uses)
    stats = {
        "nodeName": node["metadata"]["name"],
        "startTime": node["metadata"].get("creationTimestamp"),
        **_shown(total, time),
    }
    capacity = ((node.get("status") or {}).get("capacity") or {}).get("memory")
    if capacity is not None:
        spare = parse(capacity).value() - total.memory_bytes
        stats["memory"]["availableBytes"] = max(spare, 0)
    return orjson.dumps({"node": stats, "pods": pods}, option=orjson.OPT_INDENT_2)


def _pod_stats(pod: Object, shares: Iterable[tuple[str, Use]], time: str) -> Object:
    meta, status = pod["metadata"], pod.get("status") or {}
    containers = []
    for name, use in shares:
        running = (status_of(pod, name).get("state") or {}).get("running") or {}
        begin = running.get("startedAt") or status.get("startTime")
        containers.append({"name": name, "startTime": begin, **_shown(use, time)})
    return {
        "podRef": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
        "startTime": status.get("startTime"),
        "containers": containers,
        **_shown(Use.total(use for _, use in shares), time),
    }


def _shown(use: Use, time: str) -> Object:
    return {
        "cpu": {"time": time, "usageNanoCores": use.cpu_nano},
        "memory": {
            "time": time,
            "usageBytes": use.memory_bytes,
            "workingSetBytes": use.memory_bytes,
        },
    }
