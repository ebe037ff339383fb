"""The kinds of metrics.k8s.io, as rows of a table and as a role."""

from __future__ import annotations

from kubetrio.simulation.metricskinds import ROLE, metrics_kinds
from kubetrio.simulation.usage import MeteredNode, MeteredPod, Use, node_metrics, pod_metrics


def test_rows() -> None:
    """A pod's row adds its containers up; the columns are those of metrics-server."""
    nodes, pods = metrics_kinds()
    assert [(one.name, one.format) for one in pods.printer.columns] == [
        ("Name", "name"), ("cpu", "quantity"), ("memory", "quantity"), ("Window", "duration"),
    ]  # fmt: skip
    two = MeteredPod("n", (), (("a", Use(10**9, 1024)), ("b", Use(5 * 10**8, 1024))))
    cells = pods.printer.cells(pod_metrics("ns", "p", two, 0.0), 0.0)
    assert cells == ["p", "1500m", "2Ki", "15s"]
    cells = nodes.printer.cells(node_metrics("n", MeteredNode(True, (), Use(0, 0)), [], 0.0), 0.0)
    assert cells == ["n", "0", "0", "15s"]


def test_what_they_are() -> None:
    """They are read alone, by those whom the role's rules name."""
    kinds = metrics_kinds()
    assert [(one.resource, one.kind, one.namespaced) for one in kinds] == [
        ("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True),
    ]  # fmt: skip
    (rule,) = ROLE["rules"]
    for kind in kinds:
        assert kind.verbs == {"get", "list"} <= set(rule["verbs"])
        assert kind.resource in rule["resources"]
