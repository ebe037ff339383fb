"""What simulated kubelets tell of their nodes."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.simulation.summary import Tenants, pods_of, summary_of

Object = dict[str, Any]
THEN = "2026-01-01T00:00:00Z"
NOW = 1_800_000_000.0


def pod_of(name: str, phase: str = "Running") -> bytes:
    """A pod with a container that requests something."""
    container = {"name": "c", "resources": {"requests": {"cpu": "200m", "memory": "64Mi"}}}
    state = {"running": {"startedAt": THEN}}
    return orjson.dumps({
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"nodeName": "n", "containers": [container]},
        "status": {"phase": phase, "startTime": THEN,
                   "containerStatuses": [{"name": "c", "state": state}]},
    })  # fmt: skip


def tenants(*pods: bytes) -> Tenants:
    """A node with pods."""
    meta = {
        "name": "n",
        "creationTimestamp": THEN,
        "annotations": {"simulation.kubetrio.io/cpu": "1", "simulation.kubetrio.io/node": "true"},
    }
    node = orjson.dumps({"metadata": meta, "status": {"capacity": {"memory": "65Mi"}}})
    return Tenants(node, pods, NOW)


def test_a_summary() -> None:
    """Sums of what runs, beside what the node uses itself."""
    summary: Object = orjson.loads(summary_of(tenants(pod_of("a"), pod_of("b", "Pending"))))
    node, (pod,) = summary["node"], summary["pods"]
    assert (node["nodeName"], node["startTime"]) == ("n", THEN)
    assert node["cpu"]["usageNanoCores"] == 1_100_000_000
    assert node["memory"]["workingSetBytes"] == 32 << 20
    assert node["memory"]["availableBytes"] == 33 << 20
    assert pod["podRef"] == {"name": "a", "namespace": "default", "uid": "a"}
    (container,) = pod["containers"]
    assert (container["name"], container["startTime"]) == ("c", THEN)
    assert container["cpu"] == pod["cpu"]
    assert pod["cpu"]["usageNanoCores"] == 100_000_000


def test_pods() -> None:
    """All that are on the node, as they are stored."""
    found = orjson.loads(pods_of(tenants(pod_of("a"), pod_of("b"))))
    assert (found["kind"], [one["metadata"]["name"] for one in found["items"]]) == (
        "PodList",
        ["a", "b"],
    )
    assert orjson.loads(pods_of(tenants()))["items"] == []
