"""Ends containers of simulated pods as their kubelet would: writes that they have ended.

The controller of simulated pods sees that and does what follows: restarts, phase, conditions.
"""

from __future__ import annotations

from typing import Any

from kubetrio.env import Env
from kubetrio.machinery.status import ApiError
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import Target
from kubetrio.schema.kind import Kind
from kubetrio.simulation.answers import LISTS, status_of
from kubetrio.simulation.containers import terminated
from kubetrio.simulation.nodeobjects import kubelet_of

Object = dict[str, Any]
NOT_FOUND = 404


class Endings:
    """Ends containers; see `kubetrio.simulation.standardinput.End`.

    Args:
        operations: writes.
        pods: the kind of pods.
        env: wall clock.
    """

    def __init__(self, operations: Operations, pods: Kind, env: Env) -> None:
        self._operations = operations
        self._pods = pods
        self._env = env

    async def __call__(self, pod: Object, container: str, code: int, /) -> None:
        """End a container if it runs.

        Args:
            pod: as it was when the container was found; one that started since goes on.
            container: its name.
            code: with which it exits.

        Raises:
            ApiError: the status cannot be written.
            StoreError: the same.
        """
        meta, known = pod["metadata"], status_of(pod, container).get("containerID")

        def made(old: Object) -> Object:
            now_there = status_of(old, container).get("containerID")
            if old["metadata"]["uid"] != meta["uid"] or now_there != known:
                return old
            return ended(old, container, code, self._env.now())

        target = Target(self._pods, meta["namespace"], meta["name"], "status")
        try:
            await self._operations.patch(target, made, kubelet_of(pod["spec"]["nodeName"]))
        except ApiError as error:
            if error.code != NOT_FOUND:  # a pod that is gone has ended
                raise


def ended(pod: Object, container: str, code: int, now: float) -> Object:
    """A pod in which a container has ended; the pod itself if that does not run.

    Args:
        pod: it; it is not changed.
        container: its name.
        code: with which it exits.
        now: wall clock, in seconds.
    """
    status: Object = pod.get("status") or {}
    for member in LISTS:
        rows = status.get(member) or []
        for place, one in enumerate(rows):
            if one["name"] == container and "running" in (one.get("state") or {}):
                new = [*rows[:place], terminated(one, code, now), *rows[place + 1 :]]
                return {**pod, "status": {**status, member: new}}
    return pod
