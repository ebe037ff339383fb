"""Phases and conditions of pods, from the states of their containers."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.podstatus import conditions_of, phase_of, says_as_much

Object = dict[str, Any]
RUNS: Object = {"state": {"running": {}}, "ready": True, "started": True}
WAITS: Object = {"state": {"waiting": {"reason": "ContainerCreating"}}, "ready": False}


def ended(code: int, *, again: bool = False) -> Object:
    """A container that exited; `again`: and waits to run once more."""
    last = {"terminated": {"exitCode": code}}
    if again:
        return {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last}
    return {"state": last, "ready": code == 0}


def pod(policy: str, *regular: str, init: tuple[Object, ...] = ()) -> Object:
    """A pod of some containers."""
    return {
        "metadata": {"generation": 2},
        "spec": {
            "restartPolicy": policy,
            "containers": [{"name": name} for name in regular],
            "initContainers": list(init),
        },
    }


INIT = ({"name": "i"},)
SIDE = ({"name": "s", "restartPolicy": "Always"},)


@pytest.mark.parametrize(
    ("made", "statuses", "phase", "terminal"),
    [
        (pod("Always", "a"), {"a": WAITS}, "Pending", "Pending"),
        (pod("Always", "a"), {"a": RUNS}, "Running", "Running"),
        (pod("Always", "a", "b"), {"a": RUNS, "b": WAITS}, "Pending", "Pending"),
        (pod("Always", "a"), {"a": ended(0)}, "Running", "Succeeded"),
        (pod("Always", "a"), {"a": ended(1, again=True)}, "Running", "Failed"),
        (pod("Never", "a", "b"), {"a": ended(0), "b": ended(0)}, "Succeeded", "Succeeded"),
        (pod("Never", "a", "b"), {"a": ended(0), "b": ended(1)}, "Failed", "Failed"),
        (pod("Never", "a", "b"), {"a": ended(1), "b": RUNS}, "Running", "Running"),
        (pod("OnFailure", "a"), {"a": ended(1)}, "Running", "Failed"),
        (pod("Never", "a", init=INIT), {"i": RUNS, "a": WAITS}, "Pending", "Pending"),
        (pod("Never", "a", init=INIT), {"i": ended(1), "a": WAITS}, "Failed", "Failed"),
        (pod("Always", "a", init=INIT), {"i": ended(1), "a": WAITS}, "Pending", "Pending"),
        (pod("Always", "a", init=SIDE), {"s": WAITS, "a": WAITS}, "Pending", "Pending"),
        (pod("Never", "a", init=SIDE), {"s": RUNS, "a": ended(0)}, "Running", "Running"),
        (pod("Never", "a", init=SIDE), {"s": ended(0), "a": ended(0)}, "Succeeded", "Succeeded"),
    ],
)
def test_phases(made: Object, statuses: Object, phase: str, terminal: str) -> None:
    """As a kubelet has them, while containers may start again and when they may not."""
    assert phase_of(made, statuses, terminal=False) == phase
    assert phase_of(made, statuses, terminal=True) == terminal


def told(conditions: list[Object]) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    return {
        one["type"]: (one["status"], one.get("reason", ""), one.get("message", ""))
        for one in conditions
    }


def test_conditions_say_what_is_missing() -> None:
    """The names of containers stand in brackets, as Go prints them."""
    made = pod("Always", "a", "b", init=INIT)
    found = conditions_of(made, {"i": RUNS | {"ready": False}, "a": WAITS, "b": WAITS}, "Pending",
                          "now", sandbox=True)  # fmt: skip
    assert told(found) == {
        "PodReadyToStartContainers": ("True", "", ""),
        "Initialized": ("False", "ContainersNotInitialized",
                        "containers with incomplete status: [i]"),
        "Ready": ("False", "ContainersNotReady", "containers with unready status: [a b]"),
        "ContainersReady": ("False", "ContainersNotReady", "containers with unready status: [a b]"),
        "PodScheduled": ("True", "", ""),
    }  # fmt: skip
    assert {one["observedGeneration"] for one in found} == {2}


def test_an_unknown_container_is_told_of() -> None:
    """One that has no status at all."""
    found = conditions_of(pod("Always", "a"), {}, "Pending", "now", sandbox=False)
    assert told(found)["Ready"][2] == "containers with unknown status: [a]"


def test_times_are_those_of_changes() -> None:
    """A condition that says the same was there before; those of others stay as they are."""
    made = pod("Always", "a")
    other = {"type": "example.com/x", "status": "True", "lastTransitionTime": "then"}
    first = conditions_of(made, {"a": WAITS}, "Pending", "then", sandbox=True)
    made["status"] = {"conditions": [other, *first]}
    second = conditions_of(made, {"a": RUNS}, "Running", "now", sandbox=True)
    assert {one["type"]: one["lastTransitionTime"] for one in second} == {
        "example.com/x": "then",
        "PodReadyToStartContainers": "then",
        "Initialized": "then",
        "Ready": "now",
        "ContainersReady": "now",
        "PodScheduled": "then",
    }


def test_the_order_of_conditions_says_nothing() -> None:
    """Another status, another condition or one more does."""
    one, two = {"type": "A", "status": "True"}, {"type": "B", "status": "True"}
    old: Object = {"phase": "Running", "conditions": [one, two]}
    assert says_as_much({**old, "conditions": [two, one]}, old)
    assert not says_as_much({**old, "conditions": [two, {**one, "status": "False"}]}, old)
    assert not says_as_much({**old, "conditions": [one]}, old)
    assert not says_as_much({"phase": "Failed", "conditions": [two, one]}, old)
