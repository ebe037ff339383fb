"""Gives pods simulated nodes where no scheduler does: the node with the fewest pods that fits.

What fits is what a DaemonSet would run on, with room for one more pod: selectors and affinity of
nodes, taints and the number of pods count, nothing else does.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.podcontrol.nodeselector import selected
from kubetrio.controllers.podcontrol.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    Node,
    node_view,
    tolerates,
)
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder, Reference
from kubetrio.kinds.common.quantities import amount_of
from kubetrio.kinds.core import nodedigests
from kubetrio.kinds.core.pods.binding import bound
from kubetrio.kinds.core.pods.conditions import set_pod_condition
from kubetrio.kinds.core.pods.digests import PREFIX
from kubetrio.machinery.identity import AUTHENTICATED, UserInfo
from kubetrio.machinery.status import not_found
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.serverwrites import update_as_server
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.simulation.annotations import NODE
from kubetrio.simulation.placedpods import SCHEDULER, PlacedPod, placed_view
from kubetrio.simulation.podstatus import SCHEDULED

Object = dict[str, Any]

ACCOUNT = "node-controller"
MOST_EVENTS = 20_000
TOPOLOGY = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
"""Labels that a pod takes over from its node."""


class Room(NamedTuple):
    """What is kept of a node.

    Args:
        node: its labels and taints.
        pods: how many it has room for; 0 for a node that is not simulated.
    """

    node: Node
    pods: int


def room_view(value: bytes) -> Room:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    node: Object = orjson.loads(value)
    simulated = (node["metadata"].get("annotations") or {}).get(NODE) == "true"
    pods = ((node.get("status") or {}).get("allocatable") or {}).get("pods") or "0"
    return Room(node_view(value), amount_of(pods).value() if simulated else 0)


def scheduler(_: str = "") -> WriteOptions:
    """How a scheduler writes."""
    user = UserInfo("system:kube-scheduler", groups=(AUTHENTICATED,))
    return WriteOptions(user=user, field_manager="kube-scheduler")


class Seats:
    """How many pods nodes have, and those with the fewest first."""

    def __init__(self) -> None:
        self._where: dict[str, str] = {}  # nodes of pods, by their keys
        self._counts: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []  # some of it is out of date

    def add_node(self, name: str) -> None:
        """Note a node, or that it may fit now."""
        count = self._counts.setdefault(name, 0)
        heapq.heappush(self._heap, (count, name))

    def remove_node(self, name: str) -> None:
        """Note that a node is gone."""
        self._counts.pop(name, None)

    def put(self, pod: str, node: str) -> None:
        """Note on which node a pod is.

        Args:
            pod: its key.
            node: name of the node, empty for none.
        """
        before = self._where.get(pod, "")
        if before == node:
            return
        self._where.pop(pod, None)
        if node:
            self._where[pod] = node
        for name, change in ((before, -1), (node, 1)):
            if name in self._counts:
                self._counts[name] += change
                heapq.heappush(self._heap, (self._counts[name], name))

    def choose(self, fits: Callable[[str, int], bool]) -> str:
        """Return the node with the fewest pods that fits, empty for none.

        Args:
            fits: takes the name of a node and how many pods it has.
        """
        passed: list[tuple[int, str]] = []
        seen: set[str] = set()
        chosen = ""
        while self._heap and not chosen:
            count, name = heapq.heappop(self._heap)
            if self._counts.get(name) != count or name in seen:
                continue
            seen.add(name)
            passed.append((count, name))
            if fits(name, count):
                chosen = name
        for one in passed:
            heapq.heappush(self._heap, one)
        return chosen


class SimulatedBinding(Controller):
    """The controller; its keys are namespaces and names of pods.

    Args:
        context: what it is made of.
    """

    name = "simulated-binding-controller"
    workers = 8

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "pods"]
        self._events = EventRecorder(
            SCHEDULER,
            ACCOUNT,
            context.registry,
            context.operations,
            context.env,
            writes_as=scheduler,
            most_waiting=MOST_EVENTS,
        )
        self._seats = Seats()
        self._stranded: set[str] = set()  # keys of pods for which no node was found
        nodes = context.informers.digests(nodedigests.PREFIX, room_view)
        self._nodes = self.follow_digests(nodes, self._node_changed)
        pods = context.informers.digests(PREFIX, placed_view)
        self._pods = self.follow_digests(pods, self._pod_changed)
        self.beside.append(self._events.run)

    def _node_changed(self, _: str, name: str, old: Room | None, new: Room | None) -> None:
        if new is None or not new.pods:
            self._seats.remove_node(name)
        elif new != old:
            self._seats.add_node(name)
            self._try_again()

    def _pod_changed(
        self, namespace: str, name: str, old: PlacedPod | None, new: PlacedPod | None
    ) -> None:
        key = f"{namespace}/{name}"
        if new is None or not new.waits:
            self._stranded.discard(key)
        if new is not None and new.waits:
            if old is None or not old.waits or old.uid != new.uid:
                self.queue.add(key)
            return  # it may be about to be bound, and is counted then
        self._seats.put(key, new.node if new is not None and new.counts else "")
        if old is not None and old.counts and (new is None or not new.counts):
            self._try_again()

    def _try_again(self) -> None:
        for key in sorted(self._stranded):
            self.queue.add(key)
        self._stranded.clear()

    async def sync(self, key: str) -> None:
        """Give a pod a node, or say that there is none for it.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        waiting = self._pods.get(namespace, name)
        stored = await self._store.get(self._kind.key(namespace, name))
        if waiting is None or not waiting.waits or stored is None:
            return
        pod: Object = orjson.loads(stored.value)
        node = self._seats.choose(lambda name, count: self._fits(pod["spec"], name, count))
        about = Reference("v1", "Pod", namespace, name, pod["metadata"].get("uid") or "")
        if not node:
            await self._strand(key, pod, about)
            return
        self._seats.put(key, node)
        try:
            await self._bind(namespace, name, node, about.uid)
        except BaseException:
            now = self._pods.get(namespace, name)
            self._seats.put(key, now.node if now is not None and now.counts else "")
            raise
        text = f"Successfully assigned {key} to {node}"
        self._events.record(about, NORMAL, "Scheduled", text)

    def _fits(self, spec: Object, name: str, count: int) -> bool:
        room = self._nodes.get("", name)
        if room is None or count >= room.pods or not selected(spec, name, dict(room.node.labels)):
            return False
        tolerations = spec.get("tolerations") or ()
        return not any(
            taint.effect in (NO_SCHEDULE, NO_EXECUTE)
            and not any(tolerates(one, taint) for one in tolerations)
            for taint in room.node.taints
        )

    async def _bind(self, namespace: str, name: str, node: str, uid: str) -> None:
        room, now = self._nodes.get("", node), format_time(self._env.now())
        labels = {} if room is None else dict(room.node.labels)
        binding: Object = {
            "metadata": {"labels": {key: labels[key] for key in TOPOLOGY if key in labels}},
            "target": {"kind": "Node", "name": node},
        }

        def with_node(pod: Object) -> Object:
            if pod["metadata"].get("uid") != uid:
                raise not_found(self._kind.group_resource, name)
            return bound(pod, binding, now)

        await update_as_server(self._store, self._kind, namespace, name, with_node)

    async def _strand(self, key: str, pod: Object, about: Reference) -> None:
        """Say that there is no node for a pod, and look again when that may have changed."""
        self._stranded.add(key)
        count = len(self._nodes.within(""))
        text = f"0/{count} nodes are available: none that is simulated fits and has room."
        condition = {
            "type": SCHEDULED, "status": "False", "reason": "Unschedulable", "message": text,
        }  # fmt: skip
        known = (pod.get("status") or {}).get("conditions") or ()
        if any(one.get("message") == text for one in known if one["type"] == SCHEDULED):
            return
        now = format_time(self._env.now())
        namespace, _, name = key.partition("/")
        target = Target(self._kind, namespace, name, "status")
        await self._operations.patch(
            target, lambda old: set_pod_condition(old, condition, now), scheduler()
        )
        self._events.record(about, WARNING, "FailedScheduling", text)
