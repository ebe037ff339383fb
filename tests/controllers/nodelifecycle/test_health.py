"""How nodes and zones are."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.nodelifecycle.health import (
    NOT_READY,
    UNREACHABLE,
    UNSCHEDULABLE,
    Probe,
    ZoneState,
    all_fully_disrupted,
    health_of,
    health_view,
    heard,
    silent,
    with_taints,
    with_unknown,
    zone_state,
)

Object = dict[str, Any]


def node(
    ready: str = "", taints: list[Object] | None = None, unschedulable: bool = False, **labels: str
) -> Object:
    """A node."""
    conditions = [
        {"type": "Ready", "status": ready, "lastHeartbeatTime": "1970-01-01T00:00:05Z"},
        {"type": "MemoryPressure", "status": "True"},
    ]
    meta = {"name": "n", "uid": "u", "creationTimestamp": "1970-01-01T00:00:02Z", "labels": labels}
    spec = {"taints": taints or [], "unschedulable": unschedulable}
    return {"metadata": meta, "spec": spec, "status": {"conditions": conditions if ready else []}}


def test_conditions_mean_taints() -> None:
    """Only those of the controller are compared."""
    mine, other = {"key": NOT_READY, "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}
    found = health_of(node("Unknown", [mine, other], unschedulable=True))
    assert found.schedules == {NOT_READY}
    assert found.wanted == {UNREACHABLE, UNSCHEDULABLE, "node.kubernetes.io/memory-pressure"}
    assert health_of(node()).wanted == frozenset()
    evicted = health_view(orjson.dumps(node("True", [{**mine, "effect": "NoExecute"}])))
    assert (evicted.executes, evicted.schedules) == ({NOT_READY}, frozenset())


def test_labels_and_zones() -> None:
    """Older names of labels follow, and tell the zone too."""
    labels = {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "x",
              "topology.kubernetes.io/region": "r"}  # fmt: skip
    found = health_of(node(**labels))
    assert found.labels == (("beta.kubernetes.io/os", "linux"),)
    assert found.zone == "r:\0:"
    assert health_of(node()).zone == ""


@pytest.mark.parametrize(
    ("known", "ready", "lease", "at"),
    [
        (None, "True", "", 100),
        (None, "", "", 2),
        (None, "", "b", 100),
        (Probe(50, "1970-01-01T00:00:05Z", "b"), "True", "b", 50),
        (Probe(50, "1970-01-01T00:00:05Z", "b"), "True", "c", 100),
        (Probe(50, "1970-01-01T00:00:04Z", "b"), "True", "b", 100),
    ],
)
def test_a_node_is_heard_of(known: Probe | None, ready: str, lease: str, at: float) -> None:
    """By its condition and its Lease."""
    assert heard(known, health_of(node(ready)), lease, 100).at == at


@pytest.mark.parametrize(("ready", "grace_s"), [("True", 50), ("", 60)])
def test_a_node_may_be_silent_for_a_while(ready: str, grace_s: float) -> None:
    """Longer before it has said anything."""
    health = health_of(node(ready))
    assert not silent(Probe(100, "", ""), health, 100 + grace_s)
    assert silent(Probe(100, "", ""), health, 101 + grace_s)


def test_conditions_become_unknown() -> None:
    """Those that a kubelet tells; once."""
    found = with_unknown(node("True"), 100)
    told = {one["type"]: one["reason"] for one in found["status"]["conditions"]}
    assert told == {
        "Ready": "NodeStatusUnknown", "MemoryPressure": "NodeStatusUnknown",
        "DiskPressure": "NodeStatusNeverUpdated", "PIDPressure": "NodeStatusNeverUpdated",
    }  # fmt: skip
    assert with_unknown(found, 200) is found


def test_taints_change_by_effect() -> None:
    """Others stay."""
    kept = {"key": NOT_READY, "effect": "NoSchedule"}
    found = with_taints(node("True", [kept, {"key": NOT_READY, "effect": "NoExecute"}]),
                        {UNREACHABLE}, {NOT_READY}, "NoExecute", 100)  # fmt: skip
    assert found["spec"]["taints"] == [
        kept, {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": "1970-01-01T00:01:40Z"},
    ]  # fmt: skip
    assert "taints" not in with_taints(node(), set(), set(), "NoExecute", 0)["spec"]


@pytest.mark.parametrize(
    ("ready", "found"),
    [
        ([], ZoneState.NORMAL),
        ([True], ZoneState.NORMAL),
        ([False], ZoneState.FULL),
        ([False] * 3 + [True] * 2, ZoneState.PARTIAL),
        ([False] * 2 + [True], ZoneState.NORMAL),
        ([False] * 3 + [True] * 3, ZoneState.NORMAL),
    ],
)
def test_zones(ready: list[bool], found: ZoneState) -> None:
    """Disrupted in part from three nodes and 55 in a hundred on."""
    assert zone_state(ready) is found
    assert all_fully_disrupted({"a": found}) is (found is ZoneState.FULL)
