"""Taints and what pods stand."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.podcontrol.taints import Node, Taint, node_view, stands_for_s, tolerates

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("toleration", "found"),
    [
        ({"key": "a", "value": "b"}, True),
        ({"key": "a", "value": "c"}, False),
        ({"key": "a", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"value": "b"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoSchedule"}, False),
    ],
)
def test_tolerations(toleration: Object, found: bool) -> None:
    """By key, value and effect."""
    assert tolerates(toleration, Taint("a", "b", "NoExecute")) is found


def test_a_node_is_kept_as_little() -> None:
    """Its name, labels and taints."""
    taint = {"key": "a", "effect": "NoExecute"}
    stored = {"metadata": {"name": "n", "labels": {"x": "y"}}, "spec": {"taints": [taint]}}
    assert node_view(orjson.dumps(stored)) == Node(
        "n", (("x", "y"),), (Taint("a", "", "NoExecute"),)
    )


@pytest.mark.parametrize(
    ("tolerations", "found"),
    [
        ([], 0),
        ([{"operator": "Exists"}], None),
        ([{"key": "a", "operator": "Exists", "tolerationSeconds": 5}], 0),
        ([{"operator": "Exists", "tolerationSeconds": 5}], 5),
        ([{"operator": "Exists", "tolerationSeconds": -5}], 0),
        (
            [
                {"key": "a", "operator": "Exists", "tolerationSeconds": 5},
                {"key": "b", "operator": "Exists", "tolerationSeconds": 3},
            ],
            3,
        ),
    ],
)
def test_a_pod_stands_taints_for_a_while(tolerations: list[Object], found: float | None) -> None:
    """As long as the least of those that it needs."""
    taints = [Taint(name, "", "NoExecute") for name in "ab"]
    assert stands_for_s(tolerations, taints) == found
    assert stands_for_s(tolerations, []) is None
