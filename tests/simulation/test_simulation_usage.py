"""What pods and nodes use, by annotations and requests."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.simulation.usage import (
    MeteredNode,
    MeteredPod,
    Use,
    metered_node,
    metered_pod,
    node_metrics,
    pod_metrics,
)

NOW = 1_600_000_000.0
MIB = 1 << 20


def pod(
    requests: dict[str, str] | None = None, phase: str = "Running", **said: str
) -> dict[str, Any]:
    """A pod of one container on the node ``n``."""
    annotations = {f"simulation.kubetrio.io/{name}": text for name, text in said.items()}
    return {
        "metadata": {"name": "p", "labels": {"app": "web"}, "annotations": annotations},
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "c", "resources": {"requests": requests or {}}}],
        },
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": "c", "state": {"running": {}}}],
        },
    }


@pytest.mark.parametrize(
    ("requests", "said", "use"),
    [
        ({}, {}, Use(1_000_000, 8 * MIB)),
        ({"cpu": "1", "memory": "64Mi"}, {}, Use(500_000_000, 32 * MIB)),
        ({"cpu": "200m"}, {"cpu": "80%"}, Use(160_000_000, 8 * MIB)),
        ({"cpu": "200m"}, {"cpu": "150%", "memory": "1Gi"}, Use(300_000_000, 1024 * MIB)),
        ({}, {"cpu": "2", "cpu.c": "3"}, Use(3_000_000_000, 8 * MIB)),
        ({}, {"cpu.other": "3"}, Use(1_000_000, 8 * MIB)),
        ({"cpu": "1"}, {"cpu": "much", "memory": "-1"}, Use(500_000_000, 8 * MIB)),
        ({"cpu": "1"}, {"cpu": "x%"}, Use(500_000_000, 8 * MIB)),
        ({}, {"cpu": "80%"}, Use(1_000_000, 8 * MIB)),
        ({"cpu": "1"}, {"cpu": "0"}, Use(0, 8 * MIB)),
    ],
)
def test_use_of_a_container(requests: dict[str, str], said: dict[str, str], use: Use) -> None:
    """An annotation counts before requests; what cannot be read does not count."""
    assert metered_pod(orjson.dumps(pod(requests, **said))).containers == (("c", use),)


def test_only_what_runs_uses_anything() -> None:
    """Pods that run, and of these the containers that run; sidecars too."""
    waiting = pod()
    waiting["status"]["containerStatuses"][0]["state"] = {"waiting": {}}
    waiting["spec"]["initContainers"] = [{"name": "sidecar"}, {"name": "over"}]
    waiting["status"]["initContainerStatuses"] = [
        {"name": "sidecar", "state": {"running": {}}},
        {"name": "over", "state": {"terminated": {}}},
    ]
    assert [name for name, _ in metered_pod(orjson.dumps(waiting)).containers] == ["sidecar"]
    for phase in ("Pending", "Succeeded", "Failed"):
        assert metered_pod(orjson.dumps(pod(phase=phase))) == MeteredPod("", (), ())


def test_pods_of_stages_without_statuses() -> None:
    """All containers run, where nothing is told of any."""
    plain = pod()
    del plain["status"]["containerStatuses"]
    assert [name for name, _ in metered_pod(orjson.dumps(plain)).containers] == ["c"]


@pytest.mark.parametrize(
    ("annotations", "reports", "own"),
    [
        ({}, False, Use(0, 0)),
        ({"node": "true"}, True, Use(0, 0)),
        ({"node": "true", "state": "lost"}, False, Use(0, 0)),
        ({"node": "true", "state": "not-ready"}, True, Use(0, 0)),
        ({"node": "true", "cpu": "100m", "memory": "1Gi"}, True, Use(100_000_000, 1024 * MIB)),
        ({"node": "true", "cpu": "10%"}, True, Use(0, 0)),
    ],
)
def test_nodes(annotations: dict[str, str], reports: bool, own: Use) -> None:
    """Simulated ones report unless they are lost, and may use something themselves."""
    said = {f"simulation.kubetrio.io/{name}": text for name, text in annotations.items()}
    node = {"metadata": {"name": "n", "annotations": said, "labels": {"a": "b"}}}
    assert metered_node(orjson.dumps(node)) == MeteredNode(reports, (("a", "b"),), own)


def test_metrics_of_a_pod() -> None:
    """They are in the form of metrics-server."""
    kept = metered_pod(orjson.dumps(pod({"cpu": "100m", "memory": "100Mi"})))
    assert pod_metrics("ns", "p", kept, NOW) == {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "creationTimestamp": "2020-09-13T12:26:40Z",
            "labels": {"app": "web"},
        },
        "timestamp": "2020-09-13T12:26:40Z",
        "window": "15s",
        "containers": [{"name": "c", "usage": {"cpu": "50m", "memory": "50Mi"}}],
    }


def test_metrics_of_a_node() -> None:
    """They are the sum of its own use and that of its pods."""
    node = MeteredNode(True, (), Use(1, 1024))
    pods = [MeteredPod("n", (), (("a", Use(2, 1024)), ("b", Use(3, 0))))]
    shown = node_metrics("n", node, pods, NOW)
    assert shown["usage"] == {"cpu": "6n", "memory": "2Ki"}
    assert shown["metadata"] == {"name": "n", "creationTimestamp": "2020-09-13T12:26:40Z"}
