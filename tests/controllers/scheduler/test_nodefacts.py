"""What is kept of nodes."""

from __future__ import annotations

from kubetrio.controllers.podcontrol.taints import Taint
from kubetrio.testing.scheduling import node


def test_amounts_and_taints() -> None:
    """CPU in thousandths, bytes, and pods apart; taints by what they do."""
    taints = [
        {"key": key, "effect": key} for key in ("NoExecute", "NoSchedule", "PreferNoSchedule")
    ]
    room = {"cpu": "1500m", "memory": "1Ki", "pods": "7"}
    found = node("n", room=room, taints=taints, unschedulable=True)
    assert (found.allocatable, found.pods) == ({"cpu": 1500, "memory": 1024}, 7)
    assert [one.key for one in found.hard] == ["NoExecute", "NoSchedule"]
    assert found.soft == (Taint("PreferNoSchedule", "", "PreferNoSchedule"),)
    assert found.unschedulable


def test_a_node_that_says_nothing_has_no_room() -> None:
    """One whose kubelet has not written its status."""
    assert node("n", room={"cpu": "1"}).pods == 0
