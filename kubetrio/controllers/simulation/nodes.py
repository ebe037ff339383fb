"""Keeps simulated nodes: their objects, their statuses and their Leases.

A node is simulated when its annotation says so, the server's own and others alike.

Source: docs "Nodes" (heartbeats), "Leases" (node heartbeats).
"""

from __future__ import annotations

from typing import Any

import trio

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.kinds.core.nodedigests import PREFIX
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.resources.serverwrites import rewrite_as_server, update_as_server
from kubetrio.resources.writes import Target
from kubetrio.simulation.annotations import LOST
from kubetrio.simulation.nodeobjects import (
    LEASES,
    MANAGED,
    MOST,
    SimulatedNode,
    index_of,
    kubelet_of,
    lease_object,
    node_object,
    pod_range,
    renewed,
    renewed_bytes,
    simulated_view,
    with_status,
)
from kubetrio.store.errors import StoreError

log = Log("kubetrio.controllers")
Object = dict[str, Any]

ACCOUNT = "node-controller"
WANTED = "wanted/"
"""Begins the keys of nodes that the configuration asks for."""
RENEW_S, SLOWEST_S = 10.0, 40.0
"""Seconds between renewals of a Lease, as a kubelet has it, and the most there are.

A node counts as silent after 50 s (`nodelifecycle.health.GRACE_S`)."""
RENEWALS = 25.0
"""Renewals in a second above which they come less often."""
TOGETHER = 50
"""Renewals at a time: they share a transaction."""


class SimulatedNodes(Controller):
    """The controller; its keys are names of nodes.

    Args:
        context: what it is made of.
    """

    name = "simulated-node-controller"
    workers = 32

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "nodes"]
        self._leases = context.registry.resources["coordination.k8s.io", "v1", "leases"]
        self._who = as_service_account(ACCOUNT)
        self._taken: dict[int, str] = {}  # names of nodes, by the indexes of their ranges
        self._free_from = 0
        self._nodes = self.follow_digests(
            context.informers.digests(PREFIX, simulated_view), self._changed
        )
        self.beside.append(self._renew_all)
        self._count = context.config.simulation.nodes
        self._want()

    def _want(self) -> None:
        for number in range(self._count):
            self.queue.add(f"{WANTED}node-{number}")

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; nodes that the configuration asks for are made again."""
        self._want()
        super().begin_anew()

    def _changed(
        self, _: str, name: str, old: SimulatedNode | None, new: SimulatedNode | None
    ) -> None:
        before = None if old is None else index_of(old.pod_cidr)
        if before is not None and (new is None or new.pod_cidr != (old and old.pod_cidr)):
            self._taken.pop(before, None)
            self._free_from = min(self._free_from, before)
        if new is None:
            return
        if (index := index_of(new.pod_cidr)) is not None:
            self._taken[index] = name
        if new.simulated and (old is None or old.uid != new.uid or not _is_whole(new)):
            self.queue.add(name)

    async def sync(self, key: str) -> None:
        """Make a node that is wanted, or bring one into the state that it is to have.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        if key.startswith(WANTED):
            await self._make(key.removeprefix(WANTED))
            return
        node = self._nodes.get("", key)
        if node is None or not node.simulated or node.state == LOST:
            return
        target = Target(self._kind, "", key)
        if not node.pod_cidr and (index := self._take(key)) is not None:
            cidr = pod_range(index)
            await self._operations.patch(target, lambda old: _with_range(old, cidr), self._who)
        if not node.managed:
            await self._operations.patch(target, _managed, kubelet_of(key))
        if not node.settled:
            now = self._env.now()
            status = target._replace(subresource="status")
            await self._operations.patch(status, lambda old: with_status(old, now), kubelet_of(key))
        await self._renew(key, node)

    async def _make(self, name: str) -> None:
        if self._nodes.get("", name) is not None:
            return
        index = self._take(name)
        if index is None:
            log.warning("no range of addresses is left for a node", node=name)
            return
        target = Target(self._kind, "")
        try:
            await self._operations.create(target, node_object(name, index), kubelet_of(name))
        except ApiError as error:
            if error.code != 409:
                raise

    def _take(self, name: str) -> int | None:
        """Take an index that no node has: the number at the end of a name, or the first free."""
        number = name.rpartition("-")[2]
        own = int(number) if number.isascii() and number.isdigit() else MOST
        if own < MOST and self._taken.get(own, name) == name:
            self._taken[own] = name
            return own
        for index in range(self._free_from, MOST):
            if self._taken.setdefault(index, name) == name:
                self._free_from = index + 1
                return index
        return None

    # ------------------------------------------------------------------ Leases

    async def _renew(self, name: str, node: SimulatedNode) -> None:
        """Renew a Lease, or make it; without admission, which has no say in what a server does."""
        now = self._env.now()
        key = self._leases.key(LEASES, name)
        if await rewrite_as_server(self._store, key, lambda old: renewed_bytes(old, now)):
            return
        try:
            await update_as_server(
                self._store, self._leases, LEASES, name, lambda old: renewed(old, now)
            )
        except ApiError as error:
            if error.code != 404:
                raise
            body = lease_object(name, node.uid, now)
            await self._operations.create(Target(self._leases, LEASES), body, kubelet_of(name))

    async def _try_renewing(self, name: str) -> None:
        node = self._nodes.get("", name)
        if node is None or not node.simulated or node.state == LOST:
            return
        try:
            await self._renew(name, node)
        except (ApiError, StoreError) as error:
            log.info("cannot renew a Lease", node=name, error=str(error))

    async def _renew_all(self) -> None:
        """Renew the Leases of all simulated nodes, spread over a period, until cancelled."""
        while True:
            names = [name for name, node in self._nodes.within("").items() if node.simulated]
            period_s = min(max(RENEW_S, len(names) / RENEWALS), SLOWEST_S)
            if not names:
                await trio.sleep(period_s)
            for place in range(0, len(names), TOGETHER):
                some = names[place : place + TOGETHER]
                await trio.sleep(period_s * len(some) / len(names))
                async with trio.open_nursery() as nursery:
                    for name in some:
                        nursery.start_soon(self._try_renewing, name)


def _is_whole(node: SimulatedNode) -> bool:
    """Whether a node has all that its kubelet gives it."""
    return node.settled and (node.managed or node.state == LOST)


def _managed(node: Object) -> Object:
    """A node that leaves it to a controller to attach volumes."""
    meta = node["metadata"]
    return {
        **node,
        "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), MANAGED: "true"}},
    }


def _with_range(node: Object, cidr: str) -> Object:
    spec = node.get("spec") or {}
    if spec.get("podCIDR"):
        return node
    return {**node, "spec": {**spec, "podCIDR": cidr, "podCIDRs": [cidr]}}
