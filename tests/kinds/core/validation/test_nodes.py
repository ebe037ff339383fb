"""Checks of nodes."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    refused,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

NODES = resource("nodes")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            "spec.podCIDRs",
            ["10.1.0.0/24"],
            [
                (
                    "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "
                    '"" to '
                    "valid"
                )
            ],
        ),
        (
            "status.addresses",
            [{"type": "a", "address": "b"}, {"type": "a", "address": "b"}],
            ['status.addresses[1]: Duplicate value: {"Type":"a","Address":"b"}'],
        ),
        (
            "status.capacity",
            {"cpu": "-1"},
            ['status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        ("spec.unschedulable", True, []),
        (
            "spec.configSource",
            {"configMap": {"name": "n", "namespace": "s"}},
            [("spec.configSource.configMap.kubeletConfigKey: Required value")],
        ),
    ],
)
def test_node_update(path: str, value: Any, expected: list[str]) -> None:
    """Ranges and identity of a node stay once set."""
    old = made(NODES, {"spec": {"podCIDRs": ["10.0.0.0/24"], "podCIDR": "10.0.0.0/24"}})
    part = "status" if path.startswith("status") else ""
    assert refused_change(NODES, old, changed(old, path, value), part) == expected


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (["10.0.0.0/24", "fd00::/64"], []),
        (
            ["10.0.0.0/24", "10.0.1.0/24"],
            [
                (
                    'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no '
                    "more than "
                    "one CIDR for each IP family"
                )
            ],
        ),
        (
            ["10.0.0.1/24"],
            [
                (
                    'spec.podCIDRs[0]: Invalid value: "10.0.0.1/24": must not have bits set '
                    "beyond the "
                    "prefix length"
                )
            ],
        ),
    ],
)
def test_node_ranges(ranges: list[str], expected: list[str]) -> None:
    """One range for each family."""
    assert refused(NODES, {"spec": {"podCIDRs": ranges}}) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"declaredFeatures": ["A", "B/c"]}, []),
        (
            {"declaredFeatures": ["B", "A", "A", "a"]},
            [
                (
                    'status.declaredFeatures[1]: Invalid value: "A": list must be sorted '
                    "alphabetically"
                ),
                'status.declaredFeatures[2]: Duplicate value: "A"',
                (
                    'status.declaredFeatures[3]: Invalid value: "a": invalid feature name "a": '
                    "must start with an UpperCamelCase segment, with subsequent segments "
                    "separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain "
                    "only alphanumeric characters and slashes"
                ),
            ],
        ),
        (
            {"nodeInfo": {"swap": {"capacity": 0}}},
            ["metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"],
        ),
    ],
)
def test_status_of_a_new_node(status: Json, expected: list[str]) -> None:
    """Nodes register with a status."""
    assert refused(NODES, {"status": status}) == expected


def test_node_is_checked_by_itself_and_as_a_change() -> None:
    """What both look at stands twice in the details."""
    old = made(NODES, {"spec": {}})
    new = changed(old, "spec.taints", [{"key": "k"}])
    assert refused_change(NODES, old, new) == ["metadata.taints[0].effect: Required value"] * 2


def test_ranges_of_a_node_that_cannot_be_read() -> None:
    """They are told of alone, and where they would be a pair."""
    found = refused(NODES, {"spec": {"podCIDR": "10.0.0.0/8", "podCIDRs": ["10.0.0.0/8", "a"]}})
    assert found[0] == (
        "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with "
        "error:invalid CIDR[1]: <nil> (invalid CIDR address: a)"
    )


@pytest.mark.parametrize("case", recorded("", "nodes"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
