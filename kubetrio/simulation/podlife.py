"""The life of a pod on a simulated node: what its kubelet would make of it at a time.

`settle` is a function of the stored pod, of the time and of a few times that are kept in memory, as
a kubelet keeps them: how long containers wait that are to start again.  It says what the status is
now, what happened, and when to ask again.

Source: docs "Pod Lifecycle", "Init Containers", "Sidecar Containers"; k8s.io/kubernetes/pkg/kubelet
(events and their words).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import floor, inf
from typing import Any, NamedTuple

from kubetrio.machinery.timestamps import format_time, parse_time
from kubetrio.simulation import containers as states
from kubetrio.simulation.annotations import number_of
from kubetrio.simulation.containers import (
    CONFIG_ERROR,
    CONFIG_WAIT_S,
    Backoff,
    first_backoff,
    reason_of,
    shown_s,
)
from kubetrio.simulation.hostports import Refusal
from kubetrio.simulation.plans import (
    EPHEMERALS,
    INITS,
    LISTS,
    REGULARS,
    Plan,
    Role,
    plan_of,
    restarts,
    role_of,
    runs_again,
    stop_code_of,
)
from kubetrio.simulation.podstatus import (
    FAILED,
    OVER,
    any_started,
    conditions_of,
    conditions_of_others,
    initialized,
    phase_of,
    says_as_much,
)

Object = dict[str, Any]

NORMAL, WARNING = "Normal", "Warning"
SHOWN_S = 2.0
"""How long a container that could not be pulled says so, before it says that it waits."""
REFUSED_S = 1.0
"""How old a pod is at least when it is refused.

A controller may replace it at once; this keeps the two from going on without a pause."""
_IMAGE = "image/"
"""Begins the name under which the back-off of a container's image is kept."""
_CONFIG = "config/"
"""Begins the name under which the wait of a container that could not be created is kept."""


class Place(NamedTuple):
    """Where a pod runs.

    Args:
        host_ip: address of the node.
        pod_ip: address for the pod if it has none.
        mounted: whether the volumes are there that its containers wait for.
        refusal: why the kubelet does not take the pod on, None if it does.
        unset: what the environment variables of containers lack, in the kubelet's words, by the
            name of the container.
    """

    host_ip: str
    pod_ip: str
    mounted: bool = True
    refusal: Refusal | None = None
    unset: Mapping[str, str] = {}


class Said(NamedTuple):
    """An event.

    Args:
        type: ``Normal`` or ``Warning``.
        reason: in one word.
        message: for people.
        path: of the container in the pod, empty for the pod.
    """

    type: str
    reason: str
    message: str
    path: str


class Held(NamedTuple):
    """What is kept of a pod in memory.

    Args:
        uid: of the pod.
        backoffs: of containers by name, and of their images.
        stopping: whether its containers were told to stop.
        stage: the stage that comes next, where stages are read from a file.
        at: when that comes, wall clock in seconds.
    """

    uid: str = ""
    backoffs: Mapping[str, Backoff] = {}
    stopping: bool = False
    stage: str = ""
    at: float = 0.0


class Step(NamedTuple):
    """What a pod comes to.

    Args:
        pod: it, with its status as it is now; the pod that was given if nothing changed.
        held: what to keep.
        events: what happened.
        again_in_s: when it changes next, in seconds; None if nothing changes by itself.
        gone: whether it is to be deleted now.
        finalizers: those that it is to have, None for the same as before.
    """

    pod: Object
    held: Held
    events: tuple[Said, ...] = ()
    again_in_s: float | None = None
    gone: bool = False
    finalizers: tuple[str, ...] | None = None


def settle(pod: Object, place: Place, held: Held, now: float) -> Step:
    """What a pod is now.

    Args:
        pod: as stored, on a simulated node; it is not changed.
        place: where it runs.
        held: what was kept of it.
        now: wall clock, in seconds.
    """
    meta = pod["metadata"]
    if held.uid != meta["uid"]:
        held = Held(meta["uid"])
    status = pod.get("status") or {}
    deleting = bool(meta.get("deletionTimestamp"))
    if status.get("phase") in OVER or (deleting and not status.get("startTime")):
        # Finalizers hold a pod that was deleted with a grace of nothing.
        gone = deleting and meta.get("deletionGracePeriodSeconds") != 0
        return Step(pod, held, gone=gone)
    if place.refusal is not None and not status.get("startTime"):
        return _refused(pod, place.refusal, held, now)
    return _Life(pod, place, held, now).settled(deleting=deleting)


def _refused(pod: Object, refusal: Refusal, held: Held, now: float) -> Step:
    """A pod that its kubelet does not take on: it has failed, without containers."""
    wait_s = parse_time(pod["metadata"]["creationTimestamp"]) + REFUSED_S - now
    if wait_s > 0:
        return Step(pod, held, again_in_s=wait_s)
    old: Object = pod.get("status") or {}
    status = {
        **{name: value for name, value in old.items() if name != "conditions"},
        "phase": FAILED,
        "reason": refusal.reason,
        "message": f"Pod was rejected: {refusal.message}",
        "startTime": format_time(now),
    }
    if conditions := conditions_of_others(old):
        status["conditions"] = conditions
    told = Said(WARNING, refusal.reason, refusal.message, "")
    return Step({**pod, "status": status}, held, (told,))


class _Life:
    """One look at a pod; for the arguments see `settle`."""

    def __init__(self, pod: Object, place: Place, held: Held, now: float) -> None:
        self._pod = pod
        self._meta, self._spec = pod["metadata"], pod["spec"]
        self._old: Object = pod.get("status") or {}
        self._place = place
        self._held = held
        self._backoffs = dict(held.backoffs)
        self._now = now
        self._events: list[Said] = []
        self._next = inf
        self._statuses: dict[str, Object] = {
            one["name"]: one
            for path in (Role.INIT, Role.REGULAR, Role.EPHEMERAL)
            for one in self._old.get(path.statuses) or ()
        }  # fmt: skip

    def settled(self, *, deleting: bool) -> Step:
        """See `settle`."""
        if begun := self._old.get("startTime"):
            start = parse_time(begun)
        else:  # what need not wait starts in the same step: a write less for each pod
            self._create()
            start = floor(self._now)  # as it is stored
        if deleting:
            return self._stop()
        limit = self._spec.get("activeDeadlineSeconds")
        if limit is not None and not self._wait_until(start + limit):
            return self._out_of_time()
        start_s = number_of(self._pod, "start-seconds") or 0.0
        waits = self._wait_until(start + start_s)
        if not waits and (self._place.mounted or any_started(self._spec, self._statuses)):
            self._advance()
        return self._step(self._next)

    # ------------------------------------------------------------------ steps

    def _create(self) -> None:
        reason = "PodInitializing" if self._spec.get("initContainers") else "ContainerCreating"
        for container, _ in self._containers():
            self._statuses[container["name"]] = states.new_status(container, reason)

    def _advance(self) -> None:
        """Bring all containers to where they are now."""
        ready = True
        begun = any_started(self._spec, self._statuses)
        for container, role in self._containers(INITS):
            if not (begun and role is Role.INIT):
                self._drive(container, role)
            if not begun and not initialized(container, self._statuses[container["name"]]):
                ready = False
                break
        if ready:
            for container, role in self._containers(REGULARS):
                self._drive(container, role)
        for container, role in self._containers(EPHEMERALS):
            self._drive(container, role)
        if phase_of(self._pod, self._statuses, terminal=False) in OVER or self._done():
            self._end_all(0)

    def _done(self) -> bool:
        """Whether all regular containers have ended for good."""
        for container in self._spec["containers"]:
            ended = (self._statuses.get(container["name"]) or {"state": {}})["state"]
            code = (ended.get("terminated") or {}).get("exitCode")
            if code is None or restarts(container, self._pod, int(code)):
                return False
        return True

    def _stop(self) -> Step:
        grace = self._meta.get("deletionGracePeriodSeconds") or 0
        asked = parse_time(self._meta["deletionTimestamp"]) - grace
        stop_s = number_of(self._pod, "stop-seconds") or 0.0
        if not self._held.stopping:
            for container, role in self._containers():
                if "running" in (self._statuses.get(container["name"]) or {"state": {}})["state"]:
                    text = f"Stopping container {container['name']}"
                    self._tell(container, role, NORMAL, "Killing", text)
            self._held = self._held._replace(stopping=True)
        if self._wait_until(asked + min(stop_s, float(grace))):
            return self._step(self._next)
        self._end_all(states.KILLED if stop_s > grace else None)
        phase = phase_of(self._pod, self._statuses, terminal=True)
        step = self._step(inf, phase=phase if phase in OVER else FAILED)
        return step._replace(gone=grace != 0)

    def _out_of_time(self) -> Step:
        self._end_all(states.KILLED)
        text = "Pod was active on the node longer than the specified deadline"
        self._events.append(Said(NORMAL, "DeadlineExceeded", text, ""))
        return self._step(inf, phase=FAILED, reason="DeadlineExceeded", message=text)

    def _end_all(self, code: int | None) -> None:
        """End the containers that run, with a code or with those that annotations say."""
        for name, status in self._statuses.items():
            if "running" in status["state"]:
                own = stop_code_of(self._pod, name) if code is None else code
                self._statuses[name] = states.terminated(status, own, self._now)

    # ------------------------------------------------------------------ containers

    def _containers(self, path: str = "") -> Iterator[tuple[Object, Role]]:
        """Containers of the pod in the order in which they start, or those of one list."""
        for one in LISTS:
            if path in ("", one):
                for container in self._spec.get(one) or ():
                    yield container, role_of(container, one)

    def _drive(self, container: Object, role: Role) -> None:
        """Bring one container to where it is now."""
        name = container["name"]
        plan = plan_of(self._pod, name, role)
        status = self._statuses.get(name) or states.new_status(container, "ContainerCreating")
        while (new := self._moved(container, role, plan, status)) is not status:
            status = new
        if "running" in status["state"]:
            judged = status if role is Role.INIT else self._judged(status, plan)
            status = states.with_resources(judged, container)
        elif role is Role.INIT and (status["state"].get("terminated") or {}).get("exitCode") == 0:
            status = {**status, "ready": True}
        self._statuses[name] = status

    def _moved(self, container: Object, role: Role, plan: Plan, status: Object) -> Object:
        """The next state of a container; the same status where none has come yet."""
        state = status["state"]
        if "running" in state:
            if plan.run_s is None or self._wait_until(states.started_at(status) + plan.run_s):
                return status
            return states.terminated(status, plan.exit_code, self._now)
        if "terminated" in state:
            code = int(state["terminated"].get("exitCode") or 0)
            if not runs_again(container, role, self._pod, code):
                return status
            return self._again(container, role, status)
        reason = reason_of(status)
        if reason == CONFIG_ERROR and self._lacks_variables(status["name"]):
            return status
        if reason == states.CRASH_LOOP or (reason == CONFIG_ERROR and states.finished_at(status)):
            return self._again(container, role, status)
        if not plan.starts:
            return status
        if not plan.pulls:
            return self._pulled_in_vain(container, role, status)
        return self._started(container, role, status)

    def _judged(self, status: Object, plan: Plan) -> Object:
        """A container that runs, ready or not."""
        ready = plan.ready_s is not None and not self._wait_until(
            states.started_at(status) + plan.ready_s
        )
        return status if status.get("ready") == ready else {**status, "ready": ready}

    def _started(self, container: Object, role: Role, status: Object) -> Object:
        image = container.get("image") or ""
        self._backoffs.pop(_IMAGE + status["name"], None)
        text = (
            f'Container image "{image}" already present on machine and can be accessed by the pod'
        )
        self._tell(container, role, NORMAL, "Pulled", text)
        if problem := self._place.unset.get(status["name"]):
            self._backoffs[_CONFIG + status["name"]] = Backoff(CONFIG_WAIT_S, self._now)
            self._tell(container, role, WARNING, "Failed", f"Error: {problem}")
            return states.waiting(status, CONFIG_ERROR, problem)
        self._backoffs.pop(_CONFIG + status["name"], None)
        self._tell(container, role, NORMAL, "Created", "Container created")
        self._tell(container, role, NORMAL, "Started", "Container started")
        return states.running(status, container, self._meta["uid"], self._now)

    def _lacks_variables(self, name: str) -> bool:
        """Whether a container that could not be created is not tried again yet."""
        tried = self._backoffs.get(_CONFIG + name)
        if tried is None or name not in self._place.unset:
            return False
        return self._wait_until(tried.at + tried.delay_s)

    def _again(self, container: Object, role: Role, status: Object) -> Object:
        """A container that ended: it starts again, or waits for that."""
        name = status["name"]
        finished = states.finished_at(status) or self._now
        known = self._backoffs.get(name)
        if known is not None and finished - known.at > states.FORGOTTEN_S:
            known = None
        if known is None:
            self._backoffs[name] = first_backoff(self._now)
            return self._started(container, role, status)
        if not self._wait_until(finished + known.delay_s):
            self._backoffs[name] = known.next(self._now)
            return self._started(container, role, status)
        if reason_of(status) == states.CRASH_LOOP:
            return status
        pod = f"{self._meta['name']}_{self._meta.get('namespace', '')}({self._meta['uid']})"
        told = f"Back-off restarting failed container {name} in pod {pod}"
        self._tell(container, role, WARNING, "BackOff", told)
        text = f"back-off {shown_s(known.delay_s)} restarting failed container={name} pod={pod}"
        return states.waiting(status, states.CRASH_LOOP, text)

    def _pulled_in_vain(self, container: Object, role: Role, status: Object) -> Object:
        """A container whose image cannot be had: it says so, and then waits for another try."""
        key, image = _IMAGE + status["name"], container.get("image") or ""
        why = f'failed to pull and unpack image "{image}": simulated by an annotation'
        known, reason = self._backoffs.get(key), reason_of(status)
        if known is None or not self._wait_until(known.at + known.delay_s):
            again = known.next(self._now) if known else first_backoff(self._now)
            self._backoffs[key] = again
            self._tell(container, role, NORMAL, "Pulling", f'Pulling image "{image}"')
            failed = f'Failed to pull image "{image}": {why}'
            self._tell(container, role, WARNING, "Failed", failed)
            self._tell(container, role, WARNING, "Failed", f"Error: {states.PULL_FAILED}")
            return states.waiting(status, states.PULL_FAILED, why)
        if reason == states.PULL_BACKOFF or self._wait_until(known.at + SHOWN_S):
            return status
        told = f'Back-off pulling image "{image}"'
        self._tell(container, role, NORMAL, "BackOff", told)
        self._tell(container, role, WARNING, "Failed", f"Error: {states.PULL_BACKOFF}")
        text = f"{told}: {states.PULL_FAILED}: {why}"
        return states.waiting(status, states.PULL_BACKOFF, text)

    # ------------------------------------------------------------------ what comes of it

    def _wait_until(self, at: float) -> bool:
        """Whether a time has not come yet; if so, the pod is looked at again then."""
        if at <= self._now:
            return False
        self._next = min(self._next, at)
        return True

    def _tell(self, container: Object, role: Role, type_: str, reason: str, message: str) -> None:
        path = f"spec.{role.path}{{{container['name']}}}"
        self._events.append(Said(type_, reason, message, path))

    def _step(self, at: float, *, phase: str = "", reason: str = "", message: str = "") -> Step:
        status = self._status(phase or phase_of(self._pod, self._statuses, terminal=False))
        if reason:
            status |= {"reason": reason, "message": message}
        pod = self._pod if says_as_much(status, self._old) else {**self._pod, "status": status}
        return Step(
            pod,
            self._held._replace(backoffs=self._backoffs),
            tuple(self._events),
            None if at == inf else max(at - self._now, 0.0),
        )

    def _status(self, phase: str) -> Object:
        old, now = self._old, format_time(self._now)
        begun = any(
            "waiting" not in one["state"] or one.get("lastState") or reason_of(one) == CONFIG_ERROR
            for one in self._statuses.values()
        )
        sandbox = (begun or bool(old.get("podIP"))) and phase not in OVER
        status: Object = {**old, "phase": phase}
        if generation := self._meta.get("generation"):
            status["observedGeneration"] = generation
        status["conditions"] = conditions_of(self._pod, self._statuses, phase, now, sandbox=sandbox)
        if self._place.host_ip:
            status.setdefault("hostIP", self._place.host_ip)
            status.setdefault("hostIPs", [{"ip": self._place.host_ip}])
        network = self._spec.get("hostNetwork")
        address = self._place.host_ip if network else self._place.pod_ip
        if address and (begun or network) and not old.get("podIP"):
            status |= {"podIP": address, "podIPs": [{"ip": address}]}
        status.setdefault("startTime", now)
        for path in (Role.INIT, Role.REGULAR, Role.EPHEMERAL):
            rows = [
                self._statuses[one["name"]]
                for one in self._spec.get(path.path) or ()
                if one["name"] in self._statuses
            ]
            if rows:
                status[path.statuses] = rows
        return status
