"""Cells of autoscalers and scales."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.autoscaling import printers as autoscaling


def metric(kind, source):
    return {"type": kind, autoscaling.SOURCES[kind]: source}


def hpa(specs, statuses=()):
    return {"spec": {"metrics": list(specs)}, "status": {"currentMetrics": list(statuses)}}


TARGETS = [
    (hpa([]), "<none>"),
    (hpa([{"type": "Odd"}]), "<unknown type>"),
    (
        hpa(
            [metric("Resource", {"name": "cpu", "target": {"averageUtilization": 80}})],
            [metric("Resource", {"name": "cpu", "current": {"averageUtilization": 40}})],
        ),
        "cpu: 40%/80%",
    ),
    (
        hpa(
            [metric("Resource", {"name": "cpu", "target": {"averageValue": "1"}})],
            [metric("Resource", {"name": "cpu", "current": {"averageValue": "500m"}})],
        ),
        "cpu: 500m/1",
    ),
    (hpa([metric("Resource", {"name": "cpu", "target": {}})]), "cpu: <unknown>/<auto>"),
    (
        hpa(
            [metric("Pods", {"target": {"averageValue": "5"}})],
            [metric("Pods", {"current": {"averageValue": "4"}})],
        ),
        "4/5",
    ),
    (
        hpa(
            [metric("External", {"target": {"averageValue": "5"}})],
            [metric("External", {"current": {"value": "4"}})],
        ),
        "<unknown>/5 (avg)",
    ),
    (
        hpa(
            [metric("Object", {"target": {"value": "5"}})],
            [metric("Object", {"current": {"value": "4"}})],
        ),
        "4/5",
    ),
    # A status of another type at the same place does not count.
    (
        hpa(
            [metric("Object", {"target": {"value": "5"}})],
            [metric("Pods", {"current": {"averageValue": "4"}})],
        ),
        "<unknown>/5",
    ),
    (
        hpa([metric("Pods", {"target": {"averageValue": str(n)}}) for n in range(4)]),
        "<unknown>/0, <unknown>/1 + 2 more...",
    ),
]


@pytest.mark.parametrize(("obj", "printed"), TARGETS)
def test_targets(obj, printed):
    """Current value and target of each metric."""
    assert autoscaling.targets(obj) == printed


NOW = 1_000.0


def test_scale():
    """Desired and available replicas."""
    obj = {"metadata": {"name": "d"}, "spec": {"replicas": 3}, "status": {"replicas": 2}}
    assert autoscaling.scale(obj, NOW) == ["d", 3, 2, "<unknown>"]


@pytest.mark.parametrize("sample", samples("autoscaling"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("autoscaling"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
