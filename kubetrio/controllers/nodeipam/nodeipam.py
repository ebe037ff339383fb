"""Gives each node a range for the addresses of its pods, of each range of the cluster.

Simulated nodes have ranges of their own, and get none.

Source: docs "kube-controller-manager" (``--cluster-cidr``);
k8s.io/kubernetes/pkg/controller/nodeipam/ipam/range_allocator.go.
"""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.nodeipam.rangeset import OutOfRange, RangeFull, RangeSet
from kubetrio.controllers.recorder import NORMAL, EventRecorder, Reference
from kubetrio.informers.reconciler import Later
from kubetrio.kinds.core.nodedigests import PREFIX
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.resources.writes import Target
from kubetrio.simulation.annotations import NODE

log = Log("kubetrio.controllers")
Object = dict[str, Any]

COMPONENT, ACCOUNT = "cidrAllocator", "node-controller"
NOT_AVAILABLE = "CIDRNotAvailable"


class RangedNode(NamedTuple):
    """What is kept of a node.

    Args:
        uid: of the node.
        ranges: that it has.
        wants: whether it is to get some, if it has none.
    """

    uid: str
    ranges: tuple[str, ...]
    wants: bool


def ranged_view(value: bytes) -> RangedNode:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    node: Object = orjson.loads(value)
    meta, spec = node["metadata"], node.get("spec") or {}
    ranges = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    simulated = (meta.get("annotations") or {}).get(NODE) == "true"
    wants = not simulated and "deletionTimestamp" not in meta
    return RangedNode(meta.get("uid") or "", tuple(ranges), wants)


class NodeIpam(Controller):
    """The controller; its keys are names of nodes.

    Args:
        context: what it is made of.
    """

    name = "node-ipam-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "nodes"]
        self._who = as_service_account(ACCOUNT)
        self._config = context.config
        self._sets = self._fresh()
        self._events = EventRecorder(
            COMPONENT, ACCOUNT, context.registry, context.operations, context.env
        )
        nodes = context.informers.digests(PREFIX, ranged_view)
        self._nodes = self.follow_digests(nodes, self._node_changed)
        self.beside.append(self._events.run)
        if not self._sets:
            log.warning("nodes get no ranges: --cluster-cidr is not set", controller=self.name)

    def _fresh(self) -> list[RangeSet]:
        """The ranges of the cluster without those of Services, which no pod may have."""
        sets = [RangeSet(whole, size) for whole, size in self._config.node_ipam.ranges]
        for cidr in self._config.services.ranges:
            for one in sets:
                with suppress(OutOfRange):
                    one.occupy(ipaddress.ip_network(cidr, strict=False))
        return sets

    def _node_changed(
        self, _: str, name: str, old: RangedNode | None, new: RangedNode | None
    ) -> None:
        before, after = (() if one is None else one.ranges for one in (old, new))
        if before != after:
            self._each(name, before, take=False)
            self._each(name, after, take=True)
        if new is not None and new.wants and not new.ranges:
            self.queue.add(name)

    def _each(self, name: str, ranges: tuple[str, ...], *, take: bool) -> None:
        """Take the ranges that a node has, or give them back."""
        for cidr, one in zip(ranges, self._sets, strict=False):
            try:
                network = ipaddress.ip_network(cidr, strict=False)
                (one.occupy if take else one.release)(network)
            except (ValueError, OutOfRange) as error:
                log.verbose(2, "a range is not of the cluster", node=name, reason=str(error))

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; ranges are counted again."""
        self._sets = self._fresh()
        for name, node in self._nodes.within("").items():
            self._each(name, node.ranges, take=True)
            if node.wants and not node.ranges:
                self.queue.add(name)
        super().begin_anew()

    async def sync(self, key: str) -> None:
        """Give a node its ranges.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
            Later: a range has no part that is free.
        """
        node = self._nodes.get("", key)
        if node is None or node.ranges or not node.wants or not self._sets:
            return
        ranges: list[str] = []
        try:
            for one in self._sets:
                ranges += [one.allocate()]
            await self._write(key, node, ranges)
        except RangeFull as error:
            self._each(key, tuple(ranges), take=False)
            about = Reference("v1", "Node", "", key, node.uid)
            text = f"Node {key} status is now: {NOT_AVAILABLE}"
            self._events.record(about, NORMAL, NOT_AVAILABLE, text)
            raise Later(str(error)) from error
        except ApiError:
            self._each(key, tuple(ranges), take=False)
            raise

    async def _write(self, name: str, node: RangedNode, ranges: list[str]) -> None:
        """Write the ranges of a node, unless it has some by now."""
        written = False

        def given(old: Object) -> Object:
            nonlocal written
            spec = old.get("spec") or {}
            written = old["metadata"]["uid"] == node.uid and not spec.get("podCIDR")
            if not written:
                return old
            return {**old, "spec": {**spec, "podCIDR": ranges[0], "podCIDRs": ranges}}

        await self._operations.patch(Target(self._kind, "", name), given, self._who)
        if not written:
            self._each(name, tuple(ranges), take=False)
