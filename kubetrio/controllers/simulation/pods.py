"""Lives the lives of the pods on simulated nodes: writes their statuses and events, ends them.

What a pod comes to is said by a function (`kubetrio.simulation.podlife`); this asks it when a pod
changes and when something of it is due, and writes as the kubelet of its node would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.recorder import EventRecorder, Reference
from kubetrio.controllers.simulation.mounts import Mounted, Mounts
from kubetrio.controllers.simulation.sources import Sources
from kubetrio.kinds.core import nodedigests
from kubetrio.kinds.core.pods.digests import PREFIX
from kubetrio.machinery.multimaps import discard
from kubetrio.machinery.status import ApiError, not_found
from kubetrio.observe.logs import Log
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.simulation.annotations import LOST
from kubetrio.simulation.hostports import PORTS_TAKEN, HostPorts
from kubetrio.simulation.mounting import FAILED
from kubetrio.simulation.nodeobjects import SimulatedNode, kubelet_of, simulated_view
from kubetrio.simulation.placedpods import Addresses, PlacedPod, placed_view
from kubetrio.simulation.podlife import WARNING, Held, Place, Step, settle
from kubetrio.simulation.podstatus import OVER

log = Log("kubetrio.controllers")
Object = dict[str, Any]

COMPONENT = "kubelet"
MOST_EVENTS = 20_000
Settle = Callable[[Object, Place, Held, float], Step]


def _life_of(context: Context) -> Settle:
    """What says what pods come to: the stages of the configuration, or the built-in life."""
    file = context.config.simulation.stages
    if file is None:
        return settle
    from kubetrio.simulation.stagelife import settle_by
    from kubetrio.simulation.stages import StageError, load

    stages, rng = load(file), context.env.rng

    def by_stages(pod: Object, place: Place, held: Held, now: float) -> Step:
        try:
            return settle_by(stages, pod, place, held, now, rng.random)
        except StageError as error:  # it is looked at again when it changes
            meta = pod["metadata"]
            about = f"{meta.get('namespace')}/{meta['name']}"
            log.warning("a stage cannot be played", pod=about, reason=str(error))
            return Step(pod, Held(meta["uid"]))

    return by_stages


class SimulatedPods(Controller):
    """The controller; its keys are namespaces and names of pods.

    Args:
        context: what it is made of.
    """

    name = "simulated-pod-controller"
    workers = 16

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "pods"]
        self._events = EventRecorder(
            COMPONENT,
            kubelet_of,
            context.registry,
            context.operations,
            context.env,
            most_waiting=MOST_EVENTS,
        )
        self._settle = _life_of(context)
        self._held: dict[str, Held] = {}
        self._on_node: dict[str, set[str]] = {}
        self._needed = Sources(context)
        self._mounts = Mounts(context, self._needed)
        volumes = self._mounts.volumes
        self.sources += [volumes.drivers, volumes.volumes, volumes.claims]
        self._by_stages = context.config.simulation.stages is not None
        self._addresses: dict[str, Addresses] = {}
        self._ports: dict[str, HostPorts] = {}  # by the node
        nodes = context.informers.digests(nodedigests.PREFIX, simulated_view)
        self._nodes = self.follow_digests(nodes, self._node_changed)
        pods = context.informers.digests(PREFIX, placed_view)
        self._pods = self.follow_digests(pods, self._pod_changed)
        self.beside.append(self._events.run)

    def _node_changed(
        self, _: str, name: str, old: SimulatedNode | None, new: SimulatedNode | None
    ) -> None:
        if new is None:
            self._addresses.pop(name, None)
            self._ports.pop(name, None)
        elif new.simulated and old != new:
            keys = self._on_node.get(name, set())
            if old is not None and old == new._replace(attached=old.attached, in_use=old.in_use):
                keys = keys & self._mounts.unattached
            for key in sorted(keys):  # each process has the same order
                self.queue.add(key)

    def _pod_changed(
        self, namespace: str, name: str, old: PlacedPod | None, new: PlacedPod | None
    ) -> None:
        key = f"{namespace}/{name}"
        if old is not None and (new is None or (new.node, new.uid) != (old.node, old.uid)):
            self._leave(key, old)
        if new is None:
            self._held.pop(key, None)
            self._mounts.forget(key)
            return
        if not new.node:
            return
        self._on_node.setdefault(new.node, set()).add(key)
        if new.ports and new.started and not new.over:
            self._ports_of(new.node).use(new.uid, new.ports)
        elif new.over and new.node in self._ports:
            self._ports[new.node].free(new.uid)
        if new.address:
            self._addresses_of(new.node).use(new.address, new.uid)
        elif old is not None and old.address:
            self._addresses_of(new.node).free(new.uid)
        node = self._nodes.get("", new.node)
        if node is not None and node.simulated:
            self.queue.add(key)

    def _leave(self, key: str, pod: PlacedPod) -> None:
        """Note that a pod is no longer where it was."""
        discard(self._on_node, pod.node, key)
        if pod.node in self._addresses:
            self._addresses[pod.node].free(pod.uid)
        if pod.node in self._ports:
            self._ports[pod.node].free(pod.uid)

    def _ports_of(self, node: str) -> HostPorts:
        return self._ports.setdefault(node, HostPorts())

    def _addresses_of(self, node: str) -> Addresses:
        return self._addresses.setdefault(node, Addresses())

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; what was kept of pods is of another time."""
        self._held.clear()
        self._mounts.clear()
        for keys in self._on_node.values():
            for key in sorted(keys):
                self.queue.add(key)
        super().begin_anew()

    async def sync(self, key: str) -> None:
        """Bring a pod to where it is now.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        placed = self._pods.get(namespace, name)
        node = None if placed is None else self._nodes.get("", placed.node)
        stored = await self._store.get(self._kind.key(namespace, name))
        if placed is None or node is None or stored is None:
            return
        if not node.simulated or node.state == LOST or not node.address:
            return
        pod: Object = orjson.loads(stored.value)
        address = self._addresses_of(placed.node).take(node.pod_cidr, placed.uid)
        fits = placed.over or self._ports_of(placed.node).take(placed.uid, placed.ports)
        refusal = None if fits else PORTS_TAKEN
        mounted, unset = await self._mounted(key, pod, node), await self._unset(namespace, pod)
        place = Place(node.address, address, mounted.there, refusal, unset)
        step = self._settle(pod, place, self._held.get(key, Held()), self._env.now())
        if step.pod is not pod:
            step = await self._write(key, placed, place, step, str(stored.revision))
        if step.finalizers is not None:
            await self._finalize(namespace, name, placed, step.finalizers)
        self._held[key] = step.held
        about = Reference("v1", "Pod", namespace, name, placed.uid)
        for event in step.events:
            part = about._replace(field_path=event.path)
            self._events.record(part, event.type, event.reason, event.message, placed.node)
        for problem in mounted.problems:
            self._events.record(about, WARNING, FAILED, problem, placed.node)
        if step.gone:
            await self._delete(namespace, name, placed)
            return
        waits = [one for one in (step.again_in_s, mounted.again_in_s) if one is not None]
        if waits:
            self.look_again_in(key, min(waits))

    async def _mounted(self, key: str, pod: Object, node: SimulatedNode) -> Mounted:
        """What comes of mounting a pod's volumes; stages say themselves what a pod waits for."""
        if self._by_stages or pod["metadata"].get("deletionTimestamp"):
            return Mounted(there=True)
        return await self._mounts.mounted(key, pod, node)

    async def _unset(self, namespace: str, pod: Object) -> dict[str, str]:
        """What the environment variables of a pod's containers lack; see `Sources.unset`."""
        over = (pod.get("status") or {}).get("phase") in OVER
        if over or self._by_stages or pod["metadata"].get("deletionTimestamp"):
            return {}
        return await self._needed.unset(namespace, pod)

    async def _write(
        self, key: str, placed: PlacedPod, place: Place, step: Step, version: str
    ) -> Step:
        """Write the status of a pod as it is now; returns what it came to.

        Args:
            key: of the pod.
            placed: which one is meant.
            place: where it runs.
            step: what it comes to if it is still the one that was looked at.
            version: of that one.

        Raises:
            ApiError: it cannot be written, or is another pod now.
        """
        namespace, _, name = key.partition("/")
        held, now, taken = self._held.get(key, Held()), self._env.now(), step

        def made(old: Object) -> Object:
            nonlocal taken
            if old["metadata"]["uid"] != placed.uid:
                raise not_found(self._kind.group_resource, name)
            if old["metadata"].get("resourceVersion") == version:
                taken = step
                return {**old, "status": step.pod["status"]}
            taken = self._settle(old, place, held, now)
            return taken.pod

        target = Target(self._kind, namespace, name, "status")
        await self._operations.patch(target, made, kubelet_of(placed.node))
        return taken

    async def _finalize(
        self, namespace: str, name: str, placed: PlacedPod, finalizers: tuple[str, ...]
    ) -> None:
        def made(old: Object) -> Object:
            if old["metadata"]["uid"] != placed.uid:
                raise not_found(self._kind.group_resource, name)
            return {**old, "metadata": {**old["metadata"], "finalizers": [*finalizers]}}

        target = Target(self._kind, namespace, name)
        await self._operations.patch(target, made, kubelet_of(placed.node))

    async def _delete(self, namespace: str, name: str, placed: PlacedPod) -> None:
        options = DeleteOptions(grace_period_s=0, uid=placed.uid)
        target = Target(self._kind, namespace, name)
        try:
            await self._operations.delete(target, options, kubelet_of(placed.node))
        except ApiError as error:
            if error.code not in (404, 409):
                raise
