"""What a scheduler writes: a pod's node, why it has none, and who has to go for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.controllers.controller import Context
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder, Reference
from kubetrio.controllers.scheduler.claimwrites import DeviceClaims, scheduler
from kubetrio.controllers.scheduler.preemption import Candidate
from kubetrio.controllers.scheduler.shapes import NAMED, PREEMPTED, PodView
from kubetrio.controllers.scheduler.volumes import SELECTED_NODE
from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.core.pods.binding import bound
from kubetrio.kinds.core.pods.conditions import set_pod_condition
from kubetrio.kinds.core.pods.digests import DISRUPTION_TARGET
from kubetrio.machinery.status import ApiError, not_found
from kubetrio.machinery.timestamps import format_time
from kubetrio.plugins.topology import topology_of
from kubetrio.resources.serverwrites import update_as_server
from kubetrio.resources.writes import DeleteOptions, Target

Object = dict[str, Any]

MOST_EVENTS = 20_000
LONGEST_NOTE = 1024
SCHEDULED, NOMINATED = "PodScheduled", "nominatedNodeName"
MAKES_ROOM = "preempting to accommodate a higher priority pod"
_STATUS = "io.k8s.api.core.v1.PodStatus"


class SchedulerWriter:
    """Writes what was decided.

    Args:
        context: what its controller is made of.
        names: of the profiles of the scheduler.

    Attributes:
        claims: writes claims of devices.
        events: recorders, by the names of the profiles.
    """

    def __init__(self, context: Context, names: Sequence[str] = (NAMED,)) -> None:
        self._kind = context.registry.resources["", "v1", "pods"]
        self._claims = context.registry.resources["", "v1", "persistentvolumeclaims"]
        self._operations = context.operations
        self._store = context.informers.store
        self._env = context.env
        self.claims = DeviceClaims(context)
        self.events = {
            name: EventRecorder(
                name,
                scheduler,
                context.registry,
                context.operations,
                context.env,
                most_waiting=MOST_EVENTS,
            )
            for name in names
        }

    async def bind(self, pod: PodView, node: str, labels: Mapping[str, str]) -> None:
        """Give a pod a node; without admission, which has no say in what a server does.

        Args:
            pod: without a node.
            node: name of the node.
            labels: of the node.

        Raises:
            ApiError: it is gone or has a node.
            StoreError: it cannot be written.
        """
        namespace, now = pod.shape.namespace, format_time(self._env.now())
        binding: Object = {
            "metadata": {"labels": topology_of(labels)},
            "target": {"kind": "Node", "name": node},
        }

        def with_node(old: Object) -> Object:
            return bound(self._same(old, pod), binding, now)

        await update_as_server(self._store, self._kind, namespace, pod.name, with_node)
        text = f"Successfully assigned {pod.key} to {node}"
        self.events[pod.scheduler].record(_reference(pod), NORMAL, "Scheduled", text)

    def _same(self, old: Object, pod: PodView) -> Object:
        """Return a stored pod if it is the one that is meant.

        Raises:
            ApiError: 404, it is another one of that name.
        """
        if old["metadata"].get("uid") != pod.uid:
            raise not_found(self._kind.group_resource, pod.name)
        return old

    async def fail(self, pod: PodView, message: str, nominated: str | None) -> None:
        """Say why a pod has no node.

        Args:
            pod: without a node.
            message: why.
            nominated: node that is being cleared for it, empty for none, None for no change.

        Raises:
            ApiError: it is gone, or cannot be written.
            StoreError: the same.
        """
        now = format_time(self._env.now())

        def failed(old: Object) -> Object:
            condition = {
                "type": SCHEDULED,
                "status": "False",
                "reason": "Unschedulable",
                "message": message,
            }
            return self._with(old, pod, condition, nominated, now)

        note = message if len(message) <= LONGEST_NOTE else f"{message[: LONGEST_NOTE - 4]} ..."
        self.events[pod.scheduler].record(_reference(pod), WARNING, "FailedScheduling", note)
        target = Target(self._kind, pod.shape.namespace, pod.name, "status")
        await self._operations.patch(target, failed, scheduler())

    def _with(
        self, old: Object, pod: PodView, condition: Object, nominated: str | None, now: str
    ) -> Object:
        generation = self._same(old, pod)["metadata"].get("generation")
        if generation:
            condition = {**condition, "observedGeneration": generation}
        known = (old.get("status") or {}).get("conditions") or ()
        told = any(condition.items() <= one.items() for one in known)
        new = old if told else set_pod_condition(old, condition, now)
        if nominated is None or nominated == (new.get("status") or {}).get(NOMINATED, ""):
            return new
        status = {name: value for name, value in new["status"].items() if name != NOMINATED}
        if nominated:
            status[NOMINATED] = nominated
        return {**new, "status": ordered(_STATUS, status)}

    async def preempt(self, pod: PodView, candidate: Candidate) -> None:
        """Have pods go for another.

        Args:
            pod: that gets the room.
            candidate: the node and the pods.

        Raises:
            ApiError: one cannot be written.
            StoreError: the same.
        """
        text = f"Preempted by pod {pod.uid} on node {candidate.node}"
        for victim in candidate.victims:
            if not victim.terminating:
                await self._remove(victim, pod.scheduler, text)

    async def _remove(self, victim: PodView, name: str, text: str) -> None:
        condition = {
            "type": DISRUPTION_TARGET,
            "status": "True",
            "reason": PREEMPTED,
            "message": f"{name}: {MAKES_ROOM}",
        }
        now = format_time(self._env.now())
        target = Target(self._kind, victim.shape.namespace, victim.name)
        try:
            await self._operations.patch(
                target._replace(subresource="status"),
                lambda old: self._with(old, victim, condition, None, now),
                scheduler(),
            )
            await self._operations.delete(target, DeleteOptions(uid=victim.uid), scheduler())
        except ApiError as error:
            if error.code != 404:
                raise
            return
        self.events[name].record(_reference(victim), NORMAL, "Preempted", text)

    async def choose_for_claims(self, pod: PodView, node: str, names: list[str]) -> None:
        """Have volumes made for the claims of a pod.

        Args:
            pod: without a node.
            node: for which it is.
            names: of its claims.

        Raises:
            ApiError: one is gone, or cannot be written.
            StoreError: the same.
        """
        for name in names:
            target = Target(self._claims, pod.shape.namespace, name)
            await self._operations.patch(target, lambda old: _for_node(old, node), scheduler())


def _for_node(claim: Object, node: str) -> Object:
    meta = claim["metadata"]
    annotations = {**(meta.get("annotations") or {}), SELECTED_NODE: node}
    return {**claim, "metadata": {**meta, "annotations": dict(sorted(annotations.items()))}}


def _reference(pod: PodView) -> Reference:
    return Reference("v1", "Pod", pod.shape.namespace, pod.name, pod.uid)
