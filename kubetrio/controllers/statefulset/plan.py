"""What a StatefulSet does next: which members are made, mended and deleted, in which order.

In order, a member is made when all before it are available, and one is deleted when all others
are; in parallel, nothing waits.

Source: k8s.io/kubernetes/pkg/controller/statefulset (``stateful_set_control.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from kubetrio.controllers.podcontrol.view import OVER, Pod
from kubetrio.controllers.statefulset.members import (
    ON_DELETE,
    REVISION,
    ROLLING,
    ordinal_of,
    partition_of,
    replicas_of,
    start_of,
    strategy_of,
)
from kubetrio.kinds.common.formats import number_or_percent

Object = dict[str, Any]


class Do(Enum):
    """What is done with a member."""

    CREATE = auto()
    DELETE = auto()
    MEND = auto()  # its labels, volumes and claims
    CLAIM = auto()  # make claims that are missing
    KEEP = auto()  # bring the owners of its claims into order


class Step(NamedTuple):
    """What is done with a member; the pod is None for one that is not there."""

    do: Do
    ordinal: int
    pod: Pod | None = None


class Members(NamedTuple):
    """The pods of a StatefulSet.

    Args:
        replicas: by ordinal from the start on; None for one that is missing.
        condemned: beyond the ordinals, the highest first.
    """

    replicas: list[Pod | None]
    condemned: list[Pod]


class Judge(NamedTuple):
    """What is to be known of pods beside themselves.

    Args:
        mends: whether a pod's labels, volumes or claims are not as they are to be.
        blocked: whether a missing member waits for a claim of its former pod to go.
    """

    mends: Callable[[Pod], bool]
    blocked: Callable[[int], bool]


def members(spec: Object, pods: Sequence[Pod]) -> Members:
    """Pods by their place."""
    start, count = start_of(spec), replicas_of(spec)
    replicas: list[Pod | None] = [None] * count
    condemned = list[Pod]()
    for pod in pods:
        place = ordinal_of(pod) - start
        if 0 <= place < count:
            replicas[place] = pod
        elif ordinal_of(pod) >= 0:
            condemned.append(pod)
    return Members(replicas, sorted(condemned, key=ordinal_of, reverse=True))


def unavailable(pod: Pod | None, min_ready_s: int, now: float) -> bool:
    """Whether a member does not serve."""
    return pod is None or pod.deleting or not pod.available(min_ready_s, now)


def _serves(pod: Pod, min_ready_s: int, now: float) -> bool:
    return pod.phase == "Running" and pod.ready and pod.available(min_ready_s, now)


class Plan(NamedTuple):
    """What is to be done.

    Args:
        steps: in order.
        complete: whether nothing holds up what comes after them.
    """

    steps: list[Step]
    complete: bool


def plan(spec: Object, found: Members, update: str, judge: Judge, now: float) -> Plan:
    """What is done next; all of it at a time only in parallel.

    Args:
        spec: of the StatefulSet.
        found: its pods.
        update: name of the newest revision.
        judge: what else is to be known of pods.
        now: wall clock, in seconds.
    """
    in_order = spec.get("podManagementPolicy") != "Parallel"
    min_ready_s = spec.get("minReadySeconds") or 0
    living = _living(spec, found, judge, in_order, now)
    if not living.complete:
        return living
    steps = [*living.steps, *(Step(Do.KEEP, ordinal_of(pod), pod) for pod in found.condemned)]
    going = _condemned(found, min_ready_s, in_order, now)
    steps += going.steps
    if not going.complete:
        return Plan(steps, complete=False)
    if any(step.do in (Do.CREATE, Do.DELETE) for step in steps):
        return Plan(steps, complete=True)
    steps += _updated(spec, found, update, now)
    return Plan(steps, complete=True)


def _living(spec: Object, found: Members, judge: Judge, in_order: bool, now: float) -> Plan:
    steps, start = list[Step](), start_of(spec)
    min_ready_s = spec.get("minReadySeconds") or 0
    for place, pod in enumerate(found.replicas):
        ordinal = start + place
        if pod is None:
            if not judge.blocked(ordinal):
                steps.append(Step(Do.CREATE, ordinal))
            if in_order:
                return Plan(steps, complete=False)
            continue
        if pod.phase in OVER:
            if not pod.deleting:
                steps.append(Step(Do.DELETE, ordinal, pod))
            if in_order:
                return Plan(steps, complete=False)
            continue
        if pod.phase == "Pending":
            steps.append(Step(Do.CLAIM, ordinal, pod))
        if in_order and (pod.deleting or not _serves(pod, min_ready_s, now)):
            return Plan(steps, complete=False)
        if judge.mends(pod):
            steps.append(Step(Do.MEND, ordinal, pod))
    return Plan(steps, complete=True)


def _condemned(found: Members, min_ready_s: int, in_order: bool, now: float) -> Plan:
    first = next(
        (
            pod
            for pod in [*found.replicas, *reversed(found.condemned)]
            if unavailable(pod, min_ready_s, now)
        ),
        None,
    )
    steps = list[Step]()
    for pod in found.condemned:
        if pod.deleting:
            if in_order:
                return Plan(steps, complete=False)
            continue
        if in_order and pod is not first and not _serves(pod, min_ready_s, now):
            return Plan(steps, complete=False)
        steps.append(Step(Do.DELETE, ordinal_of(pod), pod))
        if in_order:
            return Plan(steps, complete=False)
    return Plan(steps, complete=True)


def _updated(spec: Object, found: Members, update: str, now: float) -> list[Step]:
    """Members of older revisions that go, from the last one down."""
    if strategy_of(spec) == ON_DELETE:
        return []
    min_ready_s = spec.get("minReadySeconds") or 0
    least, start = partition_of(spec), start_of(spec)
    limit = ((spec.get("updateStrategy") or {}).get("rollingUpdate") or {}).get("maxUnavailable")
    if limit is None:
        for place in range(len(found.replicas) - 1, least - 1, -1):
            pod = found.replicas[place]
            if pod is not None and _is_old(pod, update):
                return [Step(Do.DELETE, start + place, pod)]
            if unavailable(pod, min_ready_s, now):
                return []
        return []
    missing = sum(unavailable(pod, min_ready_s, now) for pod in found.replicas)
    room = _max_unavailable(limit, len(found.replicas)) - missing
    old = [
        Step(Do.DELETE, start + place, pod)
        for place, pod in enumerate(found.replicas)
        if place >= least and pod is not None and _is_old(pod, update)
    ]
    return old[::-1][: max(room, 0)]


def _is_old(pod: Pod, update: str) -> bool:
    return pod.label_map.get(REVISION) != update and not pod.deleting


def _max_unavailable(limit: int | str, count: int) -> int:
    number = number_or_percent(limit)
    return max(number * count // 100 if isinstance(limit, str) else number, 1)


def status(spec: Object, pods: Sequence[Pod], current: str, update: str, now: float) -> Object:
    """The members of the status that follow from the pods.

    Args:
        spec: of the StatefulSet.
        pods: that it has.
        current: name of the revision of those that are not updated.
        update: name of the newest.
        now: wall clock, in seconds.
    """
    min_ready_s = spec.get("minReadySeconds") or 0
    ready = [pod for pod in pods if pod.phase == "Running" and pod.ready]
    staying = [pod.label_map.get(REVISION) for pod in pods if pod.phase and not pod.deleting]
    counts: Object = {
        "replicas": sum(bool(pod.phase) for pod in pods),
        "readyReplicas": len(ready),
        "availableReplicas": sum(pod.available(min_ready_s, now) for pod in ready),
        "currentReplicas": staying.count(current),
        "updatedReplicas": staying.count(update),
        "currentRevision": current,
        "updateRevision": update,
    }
    replicas = replicas_of(spec)
    names = ("updatedReplicas", "readyReplicas", "replicas")
    if strategy_of(spec) == ROLLING and all(counts[name] == replicas for name in names):
        counts["currentReplicas"] = counts["updatedReplicas"]
        counts["currentRevision"] = update
    return counts
