"""Cells of workloads."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.apps import printers as apps

NOW = 1_000.0


@pytest.mark.parametrize(
    ("owner", "controller"),
    [
        ({"apiVersion": "apps/v1", "kind": "DaemonSet"}, "daemonset.apps/o"),
        ({"apiVersion": "v1", "kind": "Node"}, "node/o"),
        ({"apiVersion": "v1", "kind": "Node", "controller": False}, "<none>"),
    ],
)
def test_controller_revision(owner, controller):
    """Who made the revision."""
    owner = {"name": "o", "controller": True, **owner}
    obj = {"metadata": {"ownerReferences": [owner]}, "revision": 4}
    assert apps.controller_revision(obj, NOW)[1:3] == [controller, 4]


def test_deployment_selector():
    """Of all workloads, deployments print an empty or bad selector in their own way."""
    bad = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    cells = [
        apps.deployment({"spec": {"selector": each}}, NOW)[-1]
        for each in ({}, {"matchLabels": {"a": "b"}}, bad)
    ]
    assert cells == ["", "a=b", "<invalid>"]


def test_daemon_set_node_selector():
    """Node selector as labels."""
    spec = {"template": {"spec": {"nodeSelector": {"b": "2", "a": "1"}}}}
    assert apps.daemon_set({"spec": spec}, NOW)[6] == "a=1,b=2"


@pytest.mark.parametrize("sample", samples("apps"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("apps"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
