"""What a kubelet says of a pod from the states of its containers: phase and conditions.

Source: k8s.io/kubernetes/pkg/kubelet (``getPhase``), pkg/kubelet/status (conditions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.simulation.plans import INITS, Role, restarts, role_of

Object = dict[str, Any]
Statuses = Mapping[str, Object]
"""Statuses of containers by name."""

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
OVER = frozenset({SUCCEEDED, FAILED})
READY_TO_START, INITIALIZED = "PodReadyToStartContainers", "Initialized"
READY, CONTAINERS_READY, SCHEDULED = "Ready", "ContainersReady", "PodScheduled"
Condition = tuple[str, str, str]
"""Status, reason and message."""
TRUE: Condition = ("True", "", "")


_OF_KUBELETS = frozenset({READY_TO_START, INITIALIZED, READY, CONTAINERS_READY, SCHEDULED})


def conditions_of_others(status: Object) -> list[Object]:
    """The conditions of a status that are not a kubelet's."""
    conditions: list[Object] = status.get("conditions") or []
    return [one for one in conditions if one["type"] not in _OF_KUBELETS]


def says_as_much(status: Object, old: Object) -> bool:
    """Whether two statuses differ in nothing but the order of their conditions.

    A kubelet does not write a status for that.  An eviction notes its condition in a pod and then
    deletes this version of it: a write in between would have it refused.
    """
    if status == old:
        return True
    rows, before = status.get("conditions") or [], old.get("conditions") or []
    if len(rows) != len(before) or {**status, "conditions": before} != old:
        return False
    return {one["type"]: one for one in rows} == {one["type"]: one for one in before}


def code_of(status: Object) -> int | None:
    """The code with which a container exited; None while it runs and when it never did."""
    state = status.get("state") or {}
    ended = state.get("terminated")
    if ended is None and "waiting" in state:
        ended = (status.get("lastState") or {}).get("terminated")
    return None if ended is None else int(ended.get("exitCode") or 0)


def initialized(container: Object, status: Object | None) -> bool:
    """Whether an init container has done its part."""
    if status is None:
        return False
    if role_of(container, INITS) is Role.SIDECAR:
        return bool(status.get("started"))
    return bool(status.get("ready"))


def any_started(spec: Object, statuses: Statuses) -> bool:
    """Whether a regular container has ever started."""
    return any(
        status is not None and ("running" in status["state"] or code_of(status) is not None)
        for status in (statuses.get(one["name"]) for one in spec["containers"])
    )


def phase_of(pod: Object, statuses: Statuses, *, terminal: bool) -> str:
    """The phase of a pod.

    Args:
        pod: its spec counts.
        statuses: of its containers.
        terminal: whether nothing of it is started again.
    """
    spec = pod["spec"]
    begun = any_started(spec, statuses)
    pending = running = 0
    for container in spec.get("initContainers") or ():
        status = statuses.get(container["name"]) or {"state": {}}
        code, runs = code_of(status), "running" in status["state"]
        if role_of(container, INITS) is Role.SIDECAR:
            running += runs
            pending += code is None and not status.get("started") and not begun
        elif code is not None and code != 0:
            if not restarts(container, pod, code):
                return FAILED
        elif code is None:
            pending += 1
    codes: list[tuple[Object, int]] = []
    for container in spec["containers"]:
        status = statuses.get(container["name"]) or {"state": {}}
        code = code_of(status)
        if "running" in status["state"]:
            running += 1
        elif code is None:
            pending += 1
        else:
            codes.append((container, code))
    if pending:
        return PENDING
    if running or not codes:
        return RUNNING if running else PENDING
    if not terminal and any(restarts(one, pod, code) for one, code in codes):
        return RUNNING
    return FAILED if any(code for _, code in codes) else SUCCEEDED


def _names(names: Sequence[str]) -> str:
    return f"[{' '.join(names)}]"


def _over(phase: str) -> Condition:
    return ("False", "PodCompleted" if phase == SUCCEEDED else "PodFailed", "")


def _containers_ready(spec: Object, statuses: Statuses, phase: str) -> Condition:
    if phase in OVER:
        return _over(phase)
    sidecars = (
        one for one in spec.get("initContainers") or () if role_of(one, INITS) is Role.SIDECAR
    )
    names = [one["name"] for one in (*sidecars, *spec["containers"])]
    unknown = [name for name in names if name not in statuses]
    unready = [name for name in names if name in statuses and not statuses[name].get("ready")]
    told = [f"containers with unknown status: {_names(unknown)}"] if unknown else []
    told += [f"containers with unready status: {_names(unready)}"] if unready else []
    return ("False", "ContainersNotReady", ", ".join(told)) if told else TRUE


def _initialized(spec: Object, statuses: Statuses, phase: str) -> Condition:
    if phase == SUCCEEDED:
        return ("True", "PodCompleted", "")
    if any_started(spec, statuses):
        return TRUE
    missing = [
        one["name"]
        for one in spec.get("initContainers") or ()
        if not initialized(one, statuses.get(one["name"]))
    ]
    if not missing:
        return TRUE
    text = f"containers with incomplete status: {_names(missing)}"
    return ("False", "ContainersNotInitialized", text)


def _ready(pod: Object, containers: Condition) -> Condition:
    if containers[0] != "True":
        return containers
    known = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    told = []
    for gate in pod["spec"].get("readinessGates") or ():
        name = gate["conditionType"]
        if name not in known:
            told.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif (status := known[name].get("status")) != "True":
            told.append(f'the status of pod readiness gate "{name}" is not "True", but {status}')
    return ("False", "ReadinessGatesNotReady", ", ".join(told)) if told else TRUE


def conditions_of(
    pod: Object, statuses: Statuses, phase: str, now: str, *, sandbox: bool
) -> list[Object]:
    """The conditions of a pod, those of others among them.

    Args:
        pod: with the conditions that it has.
        statuses: of its containers, as they are now.
        phase: as it is now.
        now: time of the transitions.
        sandbox: whether its containers may start.
    """
    spec, generation = pod["spec"], pod["metadata"].get("generation")
    containers = _containers_ready(spec, statuses, phase)
    rows = (
        (READY_TO_START, TRUE if sandbox else ("False", "", "")),
        (INITIALIZED, _initialized(spec, statuses, phase)),
        (READY, _ready(pod, containers)),
        (CONTAINERS_READY, containers),
        (SCHEDULED, TRUE),
    )
    known = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    conditions = []
    for type_, (status, reason, message) in rows:
        was = known.pop(type_, None)
        same = was is not None and was.get("status") == status
        condition: Object = {
            "type": type_,
            **({"observedGeneration": generation} if generation else {}),
            "status": status,
            "lastProbeTime": None,
            "lastTransitionTime": was["lastTransitionTime"] if was and same else now,
        }
        if reason:
            condition["reason"] = reason
        if message:
            condition["message"] = message
        conditions.append(condition)
    return [*known.values(), *conditions]
