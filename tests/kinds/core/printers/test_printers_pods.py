"""Cells of pods."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.core.printers import pods as core_pods

NOW = 1_000.0
RAN = {"terminated": {"finishedAt": "1970-01-01T00:10:00Z"}}  # 400 s ago
RAN_LATER = {"terminated": {"finishedAt": "1970-01-01T00:15:00Z"}}  # 100 s ago


def running(name="c", *, ready=True, **more):
    return {"name": name, "ready": ready, "state": {"running": {}}, **more}


def waiting(reason, name="c", **more):
    return {"name": name, "state": {"waiting": {"reason": reason}}, **more}


def ended(name="c", code=0, **more):
    return {"name": name, "state": {"terminated": {"exitCode": code, **more}}}


def pod(status, *, containers=1, init=(), metadata=(), **spec):
    return {
        "metadata": {"name": "p", **dict(metadata)},
        "spec": {"containers": [{}] * containers, "initContainers": list(init), **spec},
        "status": status,
    }


def cells(obj):
    return core_pods.pod(obj, NOW)


PLAIN = {"name": "i"}
SIDECAR = {"name": "s", "restartPolicy": "Always"}
DELETED = {"deletionTimestamp": "1970-01-01T00:00:00Z"}
READY = [{"type": "Ready", "status": "True"}]
STATES = {
    "phase": (pod({"phase": "Pending"}), "0/1", "Pending"),
    "reason": (pod({"phase": "Failed", "reason": "Evicted"}), "0/1", "Evicted"),
    "gated": (
        pod(
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}],
            }
        ),
        "0/1",
        "SchedulingGated",
    ),
    "first container wins": (
        pod({"containerStatuses": [waiting("A"), waiting("B")]}, containers=2),
        "0/2",
        "A",
    ),
    "one of two ended": (
        pod({"phase": "Running", "containerStatuses": [running(), ended(code=3)]}, containers=2),
        "1/2",
        "ExitCode:3",
    ),
    "completed but another runs": (
        pod(
            {"containerStatuses": [ended(reason="Completed"), running()], "conditions": READY},
            containers=2,
        ),
        "1/2",
        "Running",
    ),
    "completed, another runs, not ready": (
        pod({"containerStatuses": [ended(reason="Completed"), running()]}, containers=2),
        "1/2",
        "NotReady",
    ),
    "init waits for the kubelet": (
        pod(
            {"initContainerStatuses": [waiting("PodInitializing", "i")]},
            init=[PLAIN, PLAIN],
        ),
        "0/1",
        "Init:0/2",
    ),
    "second init container": (
        pod({"initContainerStatuses": [ended("i"), running("j")]}, init=[PLAIN, {"name": "j"}]),
        "0/1",
        "Init:1/2",
    ),
    "init signal": (
        pod({"initContainerStatuses": [ended("i", 137, signal=9)]}, init=[PLAIN]),
        "0/1",
        "Init:Signal:9",
    ),
    "init exit code": (
        pod({"initContainerStatuses": [ended("i", 2)]}, init=[PLAIN]),
        "0/1",
        "Init:ExitCode:2",
    ),
    "restarted init of an initialized pod": (
        pod(
            {
                "phase": "Running",
                "conditions": [{"type": "Initialized", "status": "True"}],
                "initContainerStatuses": [running("i", ready=False)],
                "containerStatuses": [running()],
            },
            init=[PLAIN],
        ),
        "1/1",
        "Init:0/1",
    ),
    "sidecar not started": (
        pod({"initContainerStatuses": [running("s", started=False)]}, init=[SIDECAR]),
        "0/2",
        "Init:0/1",
    ),
    "sidecar started": (
        pod(
            {
                "phase": "Running",
                "initContainerStatuses": [running("s", started=True)],
                "containerStatuses": [running()],
            },
            init=[SIDECAR],
        ),
        "2/2",
        "Running",
    ),
    "terminating": (
        pod({"phase": "Running", "containerStatuses": [running()]}, metadata=DELETED),
        "1/1",
        "Terminating",
    ),
    "ended before deletion": (
        pod({"phase": "Succeeded", "reason": "Done"}, metadata=DELETED),
        "0/1",
        "Done",
    ),
    "node lost": (
        pod({"phase": "Running", "reason": "NodeLost"}, metadata=DELETED),
        "0/1",
        "Unknown",
    ),
}


@pytest.mark.parametrize(("obj", "ready", "status"), STATES.values(), ids=STATES)
def test_state(obj, ready, status):
    """Ready and Status of a pod."""
    assert cells(obj)[1:3] == [ready, status]


def test_restarts_of_an_initialized_pod():
    """Init containers that are done no longer count; sidecars do; the last restart is shown."""
    done = {**ended("i"), "restartCount": 5, "lastState": RAN_LATER}
    sidecar = running("s", started=True, restartCount=1, lastState=RAN)
    obj = pod(
        {
            "initContainerStatuses": [done, sidecar],
            "containerStatuses": [running(restartCount=2)],
        },
        init=[PLAIN, SIDECAR],
    )
    assert cells(obj)[3] == "3 (6m40s ago)"


def test_restarts_while_initializing():
    """Before that, init containers are what restarts."""
    failing = waiting("CrashLoopBackOff", "i", restartCount=4, lastState=RAN_LATER)
    status = {"initContainerStatuses": [failing], "containerStatuses": [running(restartCount=9)]}
    assert cells(pod(status, init=[PLAIN]))[3] == "4 (100s ago)"


def test_readiness_gates():
    """Gates count their first condition of the type."""
    conditions = [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]
    gates = [{"conditionType": "a"}, {"conditionType": "b"}, {"conditionType": "c"}]
    assert cells(pod({"conditions": conditions}, readinessGates=gates))[8] == "1/3"


@pytest.mark.parametrize(
    ("phase", "reasons"), [("Running", []), ("Failed", ["Failed"]), ("Succeeded", ["Succeeded"])]
)
def test_row_conditions(phase, reasons):
    """Only pods that have ended are marked."""
    assert [each["reason"] for each in core_pods.row_conditions(pod({"phase": phase}))] == reasons


@pytest.mark.parametrize("sample", samples("", "pods"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("", "pods"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
