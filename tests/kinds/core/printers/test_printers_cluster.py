"""Cells of nodes, quotas, events and other small kinds."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.core.printers import cluster as core_others

NOW = 1_000.0


def at(seconds_ago):
    minutes, seconds = divmod(int(NOW) - seconds_ago, 60)
    return f"1970-01-01T00:{minutes:02d}:{seconds:02d}Z"


@pytest.mark.parametrize(
    ("conditions", "unschedulable", "status"),
    [
        ([], False, "Unknown"),
        ([{"type": "Ready", "status": "True"}], False, "Ready"),
        ([{"type": "Ready", "status": "Unknown"}], True, "NotReady,SchedulingDisabled"),
    ],
)
def test_node_status(conditions, unschedulable, status):
    """Readiness and whether pods may be put there."""
    node = {"spec": {"unschedulable": unschedulable}, "status": {"conditions": conditions}}
    assert core_others.node(node, NOW)[1] == status


def test_node_roles():
    """Roles come from two kinds of labels, sorted, each once."""
    labels = {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io/control-plane": "",
        "node-role.kubernetes.io/": "",
        "kubernetes.io/role": "worker",
    }
    assert core_others.node({"metadata": {"labels": labels}}, NOW)[2] == "control-plane,worker"


@pytest.mark.parametrize(
    ("info", "printed"),
    [
        ({}, "<unknown>"),
        ({"kernelVersion": "6.1"}, "6.1"),
        ({"kernelVersion": "6.1", "architecture": "amd64"}, "6.1 (amd64)"),
        ({"architecture": "arm64"}, "<unknown> (arm64)"),
    ],
)
def test_node_kernel(info, printed):
    """The kernel is followed by the architecture, when the node tells it."""
    assert core_others.node({"status": {"nodeInfo": info}}, NOW)[8] == printed


def test_resource_quota():
    """Limits are apart from the rest; what is not used is zero."""
    hard = {"requests.cpu": "1", "limits.cpu": "2", "pods": "5", "limits": "1"}
    quota = {"status": {"hard": hard, "used": {"pods": "3"}}}
    printed = core_others.resource_quota(quota, NOW)[1:3]
    assert printed == ["limits: 0/1, pods: 3/5, requests.cpu: 0/1", "limits.cpu: 0/2"]


EVENTS = {
    "old": (
        {
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.x"},
            "source": {"component": "c", "host": "h"},
            "firstTimestamp": at(100),
            "lastTimestamp": at(50),
            "count": 2,
            "message": " m\n",
        },
        ["50s", "pod/p", "spec.x", "c, h", "m", "100s", 2],
    ),
    "single": (
        {"involvedObject": {"kind": "Pod"}, "eventTime": at(30), "reportingComponent": "c"},
        ["30s", "pod", "", "c", "", "30s", 1],
    ),
    "series": (
        {
            "involvedObject": {},
            "eventTime": at(30),
            "series": {"count": 7, "lastObservedTime": at(10)},
            "reportingComponent": "c",
            "reportingInstance": "i",
        },
        ["10s", "", "", "c, i", "", "30s", 7],
    ),
}


@pytest.mark.parametrize(("event", "cells"), EVENTS.values(), ids=EVENTS)
def test_event(event, cells):
    """Events as they are stored, of both groups."""
    printed = core_others.event(event, NOW)
    assert [printed[0], *printed[3:9]] == cells


@pytest.mark.parametrize(
    ("conditions", "cells"),
    [
        ([], ["Unknown", "", ""]),
        ([{"type": "Healthy", "status": "True", "message": "ok"}], ["Healthy", "ok", ""]),
        ([{"type": "Healthy", "status": "False", "error": "e"}], ["Unhealthy", "", "e"]),
    ],
)
def test_component_status(conditions, cells):
    """Health of a component."""
    assert core_others.component_status({"conditions": conditions}, NOW)[1:] == cells


@pytest.mark.parametrize(
    "sample",
    samples(
        "",
        "componentstatuses",
        "configmaps",
        "events",
        "limitranges",
        "namespaces",
        "nodes",
        "podtemplates",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "serviceaccounts",
    ),
)
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize(
    "resource",
    tables(
        "",
        "componentstatuses",
        "configmaps",
        "events",
        "limitranges",
        "namespaces",
        "nodes",
        "podtemplates",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "serviceaccounts",
    ),
)
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
