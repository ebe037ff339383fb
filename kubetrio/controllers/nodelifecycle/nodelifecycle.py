"""Tells of nodes that are silent, and gives nodes the taints of their conditions.

Source: docs "Nodes"; k8s.io/kubernetes/pkg/controller/nodelifecycle.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
import trio

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.nodelifecycle.health import (
    NOT_READY,
    READY,
    UNREACHABLE,
    Health,
    Probe,
    ZoneState,
    all_fully_disrupted,
    health_view,
    heard,
    silent,
    with_taints,
    with_unknown,
    zone_state,
)
from kubetrio.controllers.podcontrol.taints import NO_EXECUTE, NO_SCHEDULE
from kubetrio.controllers.podcontrol.view import Pod, views_of
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder, Reference
from kubetrio.kinds.core.nodedigests import PREFIX
from kubetrio.kinds.core.pods.conditions import set_pod_condition
from kubetrio.machinery.multimaps import discard
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe.logs import Log
from kubetrio.resources.writes import Target
from kubetrio.store.errors import StoreError

log = Log("kubetrio.controllers")
Object = dict[str, Any]

ACCOUNT = "node-controller"
PERIOD_S = 5.0
"""How often nodes are looked at, in seconds."""
RATE, SLOW_RATE, LARGE = 0.1, 0.01, 50
"""Nodes a second that get a taint that evicts: usually, and in a large zone that is disrupted."""
LEASES = "kube-node-lease"
STEP_NODES = 100
"""Nodes that are looked at without a pause."""


def renewed(value: bytes) -> str:
    """When a Lease was renewed, as it says."""
    return str((orjson.loads(value).get("spec") or {}).get("renewTime") or "")


@dataclass(slots=True)
class Zone:
    """Nodes of a zone that wait for a taint, and how many a second get one.

    Args:
        tokens: how many may get one now.
        at: when that was counted, by Trio's clock.
    """

    tokens: float
    at: float
    rate: float = RATE
    state: ZoneState = ZoneState.INITIAL
    waiting: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def take(self) -> bool:
        """Whether one more node may get a taint."""
        now = trio.current_time()
        self.tokens, self.at = min(self.tokens + (now - self.at) * self.rate, 1.0), now
        if self.rate <= 0 or self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class NodeLifecycle(Controller):
    """The controller; its keys are names of nodes.

    Args:
        context: what it is made of.
    """

    name = "node-lifecycle-controller"
    workers = 8

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "nodes"]
        self._pod_kind = context.registry.resources["", "v1", "pods"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            ACCOUNT, ACCOUNT, context.registry, context.operations, context.env
        )
        leases = context.registry.resources["coordination.k8s.io", "v1", "leases"]
        self._leases = context.informers.digests(leases.storage_prefix, renewed)
        self.sources.append(self._leases)
        self._probes: dict[str, Probe] = {}
        self._known: dict[str, str] = {}  # uids of nodes that were seen, by name
        self._zones: dict[str, Zone] = {}
        self._on_node: dict[str, set[tuple[str, str]]] = {}
        nodes = context.informers.digests(PREFIX, health_view)
        self._nodes = self.follow_digests(nodes, self._node_changed)
        self.follow_digests(views_of(context.informers), self._pod_changed)
        self.beside += [self._events.run, self._monitor]

    def _node_changed(self, _: str, name: str, old: Health | None, new: Health | None) -> None:
        if new is not None and (new.wanted != new.schedules or new.labels):
            self.queue.add(name)
        if new is not None and (old is None or old.heartbeat != new.heartbeat):
            self._hear(name, new)

    def _pod_changed(self, namespace: str, name: str, old: Pod | None, new: Pod | None) -> None:
        was = old.node if old is not None else ""
        is_ = new.node if new is not None else ""
        if was == is_:
            return
        if was:
            discard(self._on_node, was, (namespace, name))
        if is_:
            self._on_node.setdefault(is_, set()).add((namespace, name))

    def _hear(self, name: str, health: Health) -> Probe:
        lease = self._leases.get(LEASES, name) or ""
        probe = heard(self._probes.get(name), health, lease, self._env.now())
        self._probes[name] = probe
        return probe

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; nodes are as if they were heard of now."""
        self._probes.clear()
        self._zones.clear()
        self._known = {name: health.uid for name, health in self._nodes.within("").items()}
        super().begin_anew()

    async def sync(self, key: str) -> None:
        """Give a node the taints of its conditions, and labels.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        health = self._nodes.get("", key)
        if health is None:
            return
        add, remove = health.wanted - health.schedules, health.schedules - health.wanted

        def made(old: Object) -> Object:
            new = old
            if add or remove:
                new = with_taints(new, add, remove, NO_SCHEDULE, self._env.now())
            if health.labels:
                labels = {**(new["metadata"].get("labels") or {}), **dict(health.labels)}
                new = {**new, "metadata": {**new["metadata"], "labels": labels}}
            return new

        await self._write(key, made)

    async def _write(
        self, name: str, make: Callable[[Object], Object], subresource: str = ""
    ) -> None:
        await self._operations.patch(Target(self._kind, "", name, subresource), make, self._who)

    # ------------------------------------------------------------------ watching over nodes

    async def _monitor(self) -> None:
        """Look at all nodes now and then, until cancelled."""
        while True:
            await self._look()
            await trio.sleep(PERIOD_S)

    async def _look(self) -> None:
        nodes = dict(self._nodes.within(""))
        self._classify(nodes)
        zones: dict[str, list[bool]] = {}
        now = self._env.now()
        for number, (name, health) in enumerate(nodes.items(), 1):
            if number % STEP_NODES == 0:
                await trio.lowlevel.checkpoint()
            try:
                well = self._is_well(name, health, now)
                ready = "True" if well else await self._look_at(name, health)
            except (ApiError, StoreError) as error:
                log.info("cannot update a node", node=name, error=str(error))
                continue
            if health.counts:
                zones.setdefault(health.zone, []).append(ready == "True")
        try:
            await self._disrupted(zones, nodes)
            await self._taint_waiting()
        except (ApiError, StoreError) as error:
            log.info("cannot taint a node", error=str(error))

    def _is_well(self, name: str, health: Health, now: float) -> bool:
        """Whether nothing is to be done about a node; most are, and a look at them is short."""
        probe = self._probes.get(name)
        lease = self._leases.get(LEASES, name) or ""
        if probe is None or probe.heartbeat != health.heartbeat or lease > probe.lease:
            probe = self._hear(name, health)
        return (
            health.ready == "True"
            and not health.executes
            and not silent(probe, health, now)
            and name not in self._zones[health.zone].waiting
        )

    def _classify(self, nodes: dict[str, Health]) -> None:
        """Tell of nodes that came and went."""
        for name, health in nodes.items():
            if health.zone not in self._zones:
                self._zones[health.zone] = Zone(1.0, trio.current_time())
            if name not in self._known:
                self._known[name] = health.uid
                self._tell(name, health.uid, "RegisteredNode",
                           f"Node {name} event: Registered Node {name} in Controller")  # fmt: skip
        for name in [one for one in self._known if one not in nodes]:
            uid = self._known.pop(name)
            self._probes.pop(name, None)
            self._tell(name, uid, "RemovingNode",
                       f"Node {name} event: Removing Node {name} from Controller")  # fmt: skip

    def _tell(self, name: str, uid: str, reason: str, message: str) -> None:
        self._events.record(Reference("v1", "Node", "", name, uid), NORMAL, reason, message)

    async def _look_at(self, name: str, health: Health) -> str:
        """Look at a node; returns whether it is ready, as its condition says then."""
        now, ready = self._env.now(), health.ready
        if silent(self._hear(name, health), health, now):
            await self._write(name, lambda old: with_unknown(old, now), "status")
            ready = "Unknown"
        if ready:
            await self._taint(name, health, ready)
        if ready != "True" and health.ready == "True":
            self._tell(name, health.uid, "NodeNotReady",
                       f"Node {name} status is now: NodeNotReady")  # fmt: skip
            await self._pods_not_ready(name)
        return ready

    async def _taint(self, name: str, health: Health, ready: str) -> None:
        """Have a node get the taint that evicts, or lose it."""
        zone = self._zones[health.zone]
        if ready == "True":
            zone.waiting.pop(name, None)
            if health.executes & {NOT_READY, UNREACHABLE}:
                await self._swap(name, set(), {NOT_READY, UNREACHABLE})
            return
        add, other = (NOT_READY, UNREACHABLE) if ready == "False" else (UNREACHABLE, NOT_READY)
        if other in health.executes:
            await self._swap(name, {add}, {other})
        elif add not in health.executes:
            zone.waiting.setdefault(name)

    async def _swap(self, name: str, add: set[str], remove: set[str]) -> None:
        now = self._env.now()
        await self._write(name, lambda old: with_taints(old, add, remove, NO_EXECUTE, now))

    async def _pods_not_ready(self, node: str) -> None:
        now = format_time(self._env.now())
        for namespace, name in sorted(self._on_node.get(node, ())):
            changed = False

            def unready(old: Object) -> Object:
                nonlocal changed
                conditions = (old.get("status") or {}).get("conditions") or ()
                known = next((one for one in conditions if one.get("type") == READY), None)
                if known is None or known.get("status") == "False":
                    return old
                changed = True
                return set_pod_condition(old, {**known, "status": "False"}, now)

            target = Target(self._pod_kind, namespace, name, "status")
            try:
                await self._operations.patch(target, unready, self._who)
            except ApiError as error:
                if error.code != 404:
                    raise
            if changed:
                about = Reference("v1", "Pod", namespace, name, "")
                self._events.record(about, WARNING, "NodeNotReady", "Node is not ready")

    async def _taint_waiting(self) -> None:
        """Give nodes that wait their taint, as many as a zone may have."""
        for zone in self._zones.values():
            while zone.waiting and zone.take():
                name, _ = zone.waiting.popitem(last=False)
                health = self._nodes.get("", name)
                if health is None or health.ready not in ("False", "Unknown"):
                    continue
                gone = health.ready == "Unknown"
                add, other = (UNREACHABLE, NOT_READY) if gone else (NOT_READY, UNREACHABLE)
                await self._swap(name, {add}, {other} & health.executes)

    async def _disrupted(self, found: dict[str, list[bool]], nodes: dict[str, Health]) -> None:
        """Give nodes their taints slower where many are lost, and not at all where all are."""
        before = {name: zone.state for name, zone in self._zones.items() if name in found}
        after = {name: zone_state(ready) for name, ready in found.items()}
        if not found:
            return
        if all_fully_disrupted(after):
            if not all_fully_disrupted(before):
                for name, health in nodes.items():
                    self._zones[health.zone].waiting.pop(name, None)
                    if health.executes & {NOT_READY, UNREACHABLE}:
                        await self._swap(name, set(), {NOT_READY, UNREACHABLE})
            for name in after:
                self._zones[name].state, self._zones[name].rate = ZoneState.FULL, 0.0
            return
        if all_fully_disrupted(before):
            now = self._env.now()
            self._probes = {name: probe._replace(at=now) for name, probe in self._probes.items()}
        for name, state in after.items():
            zone = self._zones[name]
            zone.state, zone.rate = state, RATE
            if state is ZoneState.PARTIAL:
                zone.rate = SLOW_RATE if len(found[name]) > LARGE else 0.0
