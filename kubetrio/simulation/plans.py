"""What the containers of a pod do, as the pod's annotations and its owner say.

| annotation | meaning |
| --- | --- |
| `start-seconds` | how long the pod is made before its containers start; 0 |
| `ready-seconds` | how long a container runs before it is ready; 0 |
| `run-seconds` | how long a container runs before it exits; a Job's 1, others for ever |
| `exit-code` | with which it exits; 0 |
| `stop-seconds` | how long it goes on when it is told to stop, at most for the grace period; 0 |
| `stop-code` | with which it exits then; 0 |
| `state` | `creating`, `not-ready`, `crash-loop` or `image-pull-back-off` |

Init containers exit at once, and those that restart run for ever, unless an annotation names them.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from kubetrio.simulation.annotations import PREFIX, number_of, said_of

Object = dict[str, Any]

CREATING, NOT_READY = "creating", "not-ready"
CRASH_LOOP, IMAGE_PULL = "crash-loop", "image-pull-back-off"
SHORT_S = 1.0
"""How long a container runs that is known to exit, unless it is said."""
MOST_CODE = 255


class Role(Enum):
    """What a container is for its pod."""

    INIT = "init"
    SIDECAR = "sidecar"
    REGULAR = "regular"
    EPHEMERAL = "ephemeral"

    @property
    def path(self) -> str:
        """The list of the pod's spec that the container is in."""
        return _PATHS.get(self, INITS)

    @property
    def statuses(self) -> str:
        """The list of the pod's status that has its status."""
        return _STATUSES.get(self, "initContainerStatuses")


INITS, REGULARS, EPHEMERALS = "initContainers", "containers", "ephemeralContainers"
LISTS = (INITS, REGULARS, EPHEMERALS)
"""Lists of containers, in the order in which they start."""
_PATHS = {Role.REGULAR: REGULARS, Role.EPHEMERAL: EPHEMERALS}
_STATUSES = {
    Role.REGULAR: "containerStatuses",
    Role.EPHEMERAL: "ephemeralContainerStatuses",
}


class Plan(NamedTuple):
    """What a container does.

    Args:
        starts: whether it ever starts.
        pulls: whether its image can be had.
        run_s: for how long it runs; None for ever.
        exit_code: with which it exits.
        ready_s: after how long it is ready; None for never.
    """

    starts: bool
    pulls: bool
    run_s: float | None
    exit_code: int
    ready_s: float | None


def role_of(container: Object, path: str) -> Role:
    """What a container is.

    Args:
        container: of a pod's spec.
        path: the list that it is in.
    """
    if path == INITS:
        return Role.SIDECAR if container.get("restartPolicy") == "Always" else Role.INIT
    return Role.REGULAR if path == REGULARS else Role.EPHEMERAL


def of_a_job(pod: Object) -> bool:
    """Whether a Job made a pod."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(one.get("kind") == "Job" for one in owners)


def plan_of(pod: Object, name: str, role: Role) -> Plan:
    """What a container does.

    Args:
        pod: that it is in.
        name: of the container.
        role: what it is there.
    """
    state = said_of(pod, "state", name)
    annotations = pod["metadata"].get("annotations") or {}
    if role is Role.REGULAR:
        run_s, code = number_of(pod, "run-seconds", name), number_of(pod, "exit-code", name)
        crashes = state == CRASH_LOOP
    else:  # what is said of the pod is about what the pod is there for
        own = {
            f"{PREFIX}{what}": annotations[f"{PREFIX}{what}.{name}"]
            for what in ("run-seconds", "exit-code", "state")
            if f"{PREFIX}{what}.{name}" in annotations
        }
        alone: Object = {"metadata": {"annotations": own}}
        run_s, code = number_of(alone, "run-seconds"), number_of(alone, "exit-code")
        crashes = said_of(alone, "state") == CRASH_LOOP
    if run_s is None:
        exits = crashes or code is not None or (role is Role.REGULAR and of_a_job(pod))
        run_s = 0.0 if role is Role.INIT and not crashes else SHORT_S if exits else None
    default_code = 1 if crashes else 0
    ready_s = None if state == NOT_READY else number_of(pod, "ready-seconds", name) or 0.0
    return Plan(
        starts=state != CREATING,
        pulls=state != IMAGE_PULL,
        run_s=run_s,
        exit_code=default_code if code is None else min(int(code), MOST_CODE),
        ready_s=ready_s,
    )


def stop_code_of(pod: Object, name: str) -> int:
    """With which code a container exits that is told to stop.

    Args:
        pod: that it is in.
        name: of the container.
    """
    return min(int(number_of(pod, "stop-code", name) or 0), MOST_CODE)


def restarts(container: Object, pod: Object, code: int) -> bool:
    """Whether a container that exited is to run again.

    Args:
        container: of the pod's spec; its own rules and policy come before the pod's.
        pod: that it is in.
        code: with which it exited.
    """
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        there = code in (codes.get("values") or ())
        if there == (codes.get("operator") == "In"):
            return rule.get("action") in ("Restart", "RestartAllContainers")
    policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def runs_again(container: Object, role: Role, pod: Object, code: int) -> bool:
    """Whether a container that exited is to run again, by its role too.

    Args:
        container: of the pod's spec.
        role: what it is there.
        pod: that it is in.
        code: with which it exited.
    """
    once = role is Role.EPHEMERAL or (role is Role.INIT and code == 0)
    return not once and restarts(container, pod, code)
