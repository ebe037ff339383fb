"""Connections to simulated kubelets and pods, which are in memory; others are made as they are.

Simulated nodes and pods have addresses of two ranges (`nodeobjects`); with a simulation switched
on, no connection of proxies leads to a machine that has one of those.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from kubetrio.backend.dial import Dial, DialError, Tls, join_host_port, port_number
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.core import nodedigests
from kubetrio.kinds.core.pods.digests import PREFIX
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.kubelet import Kubelet
from kubetrio.simulation.nodeobjects import KUBELET_PORT, is_kubelet, is_pod, simulated_view
from kubetrio.simulation.placedpods import placed_view
from kubetrio.simulation.podports import PodPorts
from kubetrio.simulation.standardinput import End
from kubetrio.simulation.summary import Tenants
from kubetrio.transport import Transport

Object = dict[str, Any]


class SimulatedDial:
    """Opens connections; see `kubetrio.backend.dial.Dial`.

    Args:
        others: opens those that are not simulated.
        informers: know the pods.
        ports: opens their ports.
        end: ends their containers, None where nothing does.
        now: wall clock, in seconds.
    """

    def __init__(
        self,
        others: Dial,
        informers: SharedInformerFactory,
        ports: PodPorts | None = None,
        end: End | None = None,
        now: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._now = now
        self._end = end
        self._ports = ports or PodPorts()
        self._others = others
        self._store = informers.store
        self._pods = informers.digests(PREFIX, placed_view)
        self._nodes = informers.digests(nodedigests.PREFIX, simulated_view)

    async def __call__(
        self, address: str, port: str, tls: Tls | None, timeout_s: float, /
    ) -> Transport:
        """See `Dial`."""
        if is_kubelet(address):
            if port != str(KUBELET_PORT):
                raise _refused(address, port)
            return Connection(
                Kubelet(self._find, self._ports, self._end, partial(self._look, address))
            )
        if is_pod(address):
            pod = await self._pod(address)
            if pod is None or tls is not None:
                raise _refused(address, port)
            return await self._ports.open(pod, port_number(port))
        return await self._others(address, port, tls, timeout_s)

    async def _find(self, namespace: str, name: str) -> Object | None:
        stored = await self._store.get(f"{PREFIX}{namespace}/{name}")
        pod: Object | None = None if stored is None else orjson.loads(stored.value)
        return pod

    async def _look(self, address: str) -> Tenants | None:
        """What is on the node with an address; None where there is none."""
        await self._nodes.sync()
        await self._pods.sync()
        names = (name for _, name, one in self._nodes.everywhere() if one.address == address)
        if (node_name := next(names, None)) is None:
            return None
        places = [
            f"{PREFIX}{namespace}/{name}"
            for namespace, name, placed in self._pods.everywhere()
            if placed.node == node_name
        ]
        node = await self._store.get(nodedigests.PREFIX + node_name)
        pods = [one.value for key in sorted(places) if (one := await self._store.get(key))]
        return None if node is None else Tenants(node.value, pods, self._now())

    async def _pod(self, address: str) -> Object | None:
        """The pod with an address, None where there is none."""
        await self._pods.sync()
        for namespace, name, placed in self._pods.everywhere():
            if placed.address == address:
                return await self._find(namespace, name)
        return None


def _refused(address: str, port: str) -> DialError:
    return DialError(f"dial tcp {join_host_port(address, port)}: connect: connection refused")
