"""Cells of pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.kinds.common.ages import enclosed
from kubetrio.kinds.common.cells import (
    NONE,
    age,
    duration,
    epoch,
    items,
    name,
)
from kubetrio.schema.printing import Json

COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


NODE_LOST = "NodeLost"


@dataclass(slots=True)
class Restarts:
    """A number of restarts and when the last one was, in seconds since the epoch (0: unknown)."""

    count: int = 0
    last: float = 0.0

    def add(self, status: Json) -> None:
        """Count the restarts of one container."""
        self.count += status.get("restartCount") or 0
        terminated = (status.get("lastState") or {}).get("terminated")
        if terminated:
            self.last = max(self.last, epoch(terminated.get("finishedAt")) or 0.0)

    def cell(self, now: float) -> str:
        """The cell: a number, and how long ago the last restart was."""
        if self.count and self.last:
            return enclosed(f"{self.count} (", duration(now - self.last), " ago)")
        return str(self.count)


def row_conditions(pod: Json) -> list[dict[str, str]]:
    """Pods that have ended are marked, so that clients may dim or hide them."""
    phase = (pod.get("status") or {}).get("phase")
    if phase not in COMPLETED:
        return []
    return [
        {"type": "Completed", "status": "True", "reason": phase, "message": COMPLETED[phase]},
    ]


def _ended(terminated: Json) -> str:
    """Why a container ended."""
    reason: str = terminated.get("reason") or ""
    if reason:
        return reason
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _sidecars(spec: Json) -> frozenset[str]:
    """Names of init containers that keep running beside the others."""
    return frozenset(
        container.get("name", "")
        for container in items(spec, "initContainers")
        if container.get("restartPolicy") == "Always"
    )


@dataclass(frozen=True, slots=True)
class Initialization:
    """What the init containers say.

    Args:
        reason: why initialization has not ended, or empty.
        ready: sidecars that are ready.
        everything: restarts of all init containers looked at.
        sidecars: restarts of the sidecars among them.
    """

    reason: str
    ready: int
    everything: Restarts
    sidecars: Restarts


def _initialization(
    spec: Json, statuses: Sequence[Json], sidecars: frozenset[str]
) -> Initialization:
    """Read the init containers up to the first that is not done."""
    ready = 0
    everything, of_sidecars = Restarts(), Restarts()
    for index, status in enumerate(statuses):
        sidecar = status.get("name") in sidecars
        everything.add(status)
        if sidecar:
            of_sidecars.add(status)
        state = status.get("state") or {}
        terminated = state.get("terminated")
        waiting = (state.get("waiting") or {}).get("reason") or ""
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if sidecar and status.get("started"):
            ready += bool(status.get("ready"))
            continue
        if terminated is not None:
            reason = _ended(terminated)
        elif waiting and waiting != "PodInitializing":
            reason = waiting
        else:
            reason = f"{index}/{len(items(spec, 'initContainers'))}"
        return Initialization(f"Init:{reason}", ready, everything, of_sidecars)
    return Initialization("", ready, everything, of_sidecars)


def _running(statuses: Sequence[Json], restarts: Restarts) -> tuple[str, int]:
    """Why the first container does not run, if one does not, and how many are ready."""
    reason, ready = "", 0
    for status in statuses:
        restarts.add(status)
        state = status.get("state") or {}
        waiting = (state.get("waiting") or {}).get("reason")
        terminated = state.get("terminated")
        if waiting:
            reason = reason or waiting
        elif terminated is not None:
            reason = reason or _ended(terminated)
        elif status.get("ready") and state.get("running") is not None:
            ready += 1
    return reason, ready


def _readiness_gates(spec: Json, conditions: Sequence[Json]) -> str:
    gates = items(spec, "readinessGates")
    if not gates:
        return NONE
    first: dict[Any, Any] = {}
    for entry in conditions:
        first.setdefault(entry.get("type"), entry.get("status"))
    true = sum(first.get(gate.get("conditionType")) == "True" for gate in gates)
    return f"{true}/{len(gates)}"


def pod(obj: Json, now: float) -> list[Any]:
    """Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    conditions = status.get("conditions") or ()
    phase = status.get("phase") or ""
    reason = status.get("reason") or phase
    initialized, is_ready = None, False
    for entry in conditions:
        kind, value = entry.get("type"), entry.get("status") == "True"
        if kind == "PodScheduled" and entry.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
        elif kind == "Initialized" and initialized is None:
            initialized = value
        elif kind == "Ready":
            is_ready = is_ready or value

    sidecars = _sidecars(spec) if spec.get("initContainers") else frozenset()
    initial = _initialization(spec, status.get("initContainerStatuses") or (), sidecars)
    reason, ready, restarts = initial.reason or reason, initial.ready, initial.everything
    if not initial.reason or initialized:
        restarts = initial.sidecars
        stopped, running = _running(status.get("containerStatuses") or (), restarts)
        ready += running
        reason = stopped or reason
        if reason == "Completed" and running:
            reason = "Running" if is_ready else "NotReady"

    if (obj.get("metadata") or {}).get("deletionTimestamp"):
        if status.get("reason") == NODE_LOST:
            reason = "Unknown"
        elif phase not in COMPLETED:
            reason = "Terminating"

    addresses: Sequence[Json] = status.get("podIPs") or ({},)
    return [
        name(obj),
        f"{ready}/{len(spec.get('containers') or ()) + len(sidecars)}",
        reason,
        restarts.cell(now),
        age(obj, now),
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, conditions),
    ]
