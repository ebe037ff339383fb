"""The states of one container, and how it comes from one to the next.

A container waits, runs, has ended, and perhaps waits to run again.  Each function makes a new
status from the old one; nothing here knows of pods.

Source: docs "Pod Lifecycle" (container states, restarts); k8s.io/kubernetes/pkg/kubelet.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from kubetrio.machinery.timestamps import format_time, parse_time

Object = dict[str, Any]

CRASH_LOOP, PULL_FAILED, PULL_BACKOFF = "CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff"
CONFIG_ERROR = "CreateContainerConfigError"
CONFIG_WAIT_S = 10.0
"""How long a kubelet waits before it tries again to create a container that lacks something."""
FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 10.0, 300.0
FORGOTTEN_S = 2 * LONGEST_BACKOFF_S
"""A container that ran for longer than that starts with the first back-off again."""
KILLED = 137


class Backoff(NamedTuple):
    """How long a container waits that is to start again.

    Args:
        delay_s: how long it waits.
        at: when that was decided, wall clock in seconds.
    """

    delay_s: float
    at: float

    def next(self, at: float) -> Backoff:
        """Return what holds after another failure."""
        return Backoff(min(2 * self.delay_s, LONGEST_BACKOFF_S), at)


def first_backoff(at: float) -> Backoff:
    """Return what holds after a first failure."""
    return Backoff(FIRST_BACKOFF_S, at)


def shown_s(seconds: float) -> str:
    """A time as Go prints it: ``10s``, ``1m20s``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def new_status(container: Object, reason: str) -> Object:
    """The status of a container that has not started.

    Args:
        container: of the pod's spec.
        reason: why it waits.
    """
    return {
        "name": container["name"],
        "state": {"waiting": {"reason": reason}},
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": container.get("image") or "",
        "imageID": "",
        "started": False,
    }


def waiting(status: Object, reason: str, message: str = "") -> Object:
    """A container that waits, for another reason than before.

    Args:
        status: it; it is not changed.
        reason: in one word.
        message: for people.
    """
    state: Object = {"reason": reason}
    if message:
        state["message"] = message
    ended = status["state"].get("terminated")
    return {
        **status,
        "state": {"waiting": state},
        "lastState": {"terminated": ended} if ended else status.get("lastState") or {},
        "ready": False,
        "started": False,
    }


def running(status: Object, container: Object, uid: str, now: float) -> Object:
    """A container that has just started.

    Args:
        status: it; it is not changed.
        container: of the pod's spec.
        uid: of the pod.
        now: wall clock, in seconds.
    """
    ended = status["state"].get("terminated")
    last = {"terminated": ended} if ended else status.get("lastState") or {}
    count = int(status.get("restartCount") or 0) + bool(last)
    image = container.get("image") or ""
    return {
        **status,
        "state": {"running": {"startedAt": format_time(now)}},
        "lastState": last,
        "ready": False,
        "restartCount": count,
        "image": image,
        "imageID": f"simulated/{image}@sha256:{sha256(image.encode()).hexdigest()}",
        "containerID": f"simulated://{_digest(uid, status['name'], count)}",
        "started": True,
    }


def terminated(status: Object, code: int, now: float) -> Object:
    """A container that has just ended.

    Args:
        status: it; it is not changed.
        code: with which it exits.
        now: wall clock, in seconds.
    """
    state = {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": status["state"]["running"]["startedAt"],
        "finishedAt": format_time(now),
        "containerID": status.get("containerID") or "",
    }
    return {**status, "state": {"terminated": state}, "ready": False, "started": False}


def with_resources(status: Object, container: Object) -> Object:
    """A container that has what its spec gives it.

    Args:
        status: it; it is not changed.
        container: of the pod's spec.
    """
    resources = container.get("resources") or {}
    if not resources or status.get("resources") == resources:
        return status
    new = {**status, "resources": resources}
    if resources.get("requests"):
        new["allocatedResources"] = resources["requests"]
    return new


def started_at(status: Object) -> float:
    """When a container that runs was started, in seconds; by whole ones."""
    return parse_time(status["state"]["running"]["startedAt"])


def finished_at(status: Object) -> float | None:
    """When a container ended last, in seconds; None for one that never did."""
    ended = status["state"].get("terminated") or (status.get("lastState") or {}).get("terminated")
    text = (ended or {}).get("finishedAt")
    return parse_time(text) if text else None


def reason_of(status: Object) -> str:
    """Why a container waits; empty for one that does not."""
    return str((status["state"].get("waiting") or {}).get("reason") or "")


def _digest(*parts: object) -> str:
    return sha256("/".join(map(str, parts)).encode()).hexdigest()
