"""Nodes by how even the use of chosen resources becomes."""

from __future__ import annotations

from kubetrio.controllers.scheduler.plugins import resources
from kubetrio.controllers.scheduler.plugins.balance import balanced
from kubetrio.testing.scheduling import cluster, node, pod, states

GPU = "example.com/gpu"
ROOM = {"cpu": "4", "memory": "8Gi", "pods": "10", GPU: "4"}


def test_two_resources_are_as_the_usual_two() -> None:
    """For CPU and memory it is the plugin without arguments."""
    state = cluster([node("a"), node("b")], pod("there", "a", requests={"memory": "4Gi"}))
    asked = pod("p", requests={"cpu": "2"})
    usual = resources.balanced(asked, state, states(state))
    assert balanced(asked, state, states(state), names=("cpu", "memory")) == usual


def test_devices_count() -> None:
    """A pod that needs devices is good for a node whose CPU is used."""
    state = cluster([node("a", room=ROOM), node("b", room=ROOM)],
                    pod("there", "a", requests={"cpu": "2"}))  # fmt: skip
    names = ("cpu", GPU)
    asked = pod("p", requests={GPU: "2"})
    assert balanced(asked, state, states(state), names=names) == [87, 62]


def test_three_resources() -> None:
    """The standard deviation of their shares counts: of 0.5, 0 and 0 it is 0.2357."""
    state = cluster([node("a", room=ROOM)])
    asked = pod("p", requests={"cpu": "2", GPU: "2"})
    names = ("cpu", "memory", GPU)
    assert balanced(asked, state, states(state), names=names) == [50 + (50 + 76 - 100) // 2]
    assert balanced(pod("p", requests={"example.com/x": "1"}), state, states(state),
                    names=names) is None  # fmt: skip
