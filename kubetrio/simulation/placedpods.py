"""Which pods are where: what is kept of each, and the addresses of those on a node."""

from __future__ import annotations

import ipaddress
from typing import Any, NamedTuple

from kubetrio.kinds.core.pods.digests import parsed
from kubetrio.simulation.hostports import HostPort, host_ports_of
from kubetrio.simulation.podstatus import OVER

Object = dict[str, Any]

MOST_ADDRESSES = 1 << 16
"""Addresses of a node that are given out, where its range has more."""


class PlacedPod(NamedTuple):
    """What is kept of a pod.

    Args:
        uid: of the pod.
        node: its name, empty for none.
        address: of the pod, of its own and in use.
        over: whether it has ended for good.
        started: whether the kubelet has taken it on.
        ports: of the node, that it takes.
    """

    uid: str
    node: str
    address: str
    over: bool
    started: bool = False
    ports: tuple[HostPort, ...] = ()


def placed_view(value: bytes) -> PlacedPod:
    """What is kept of a pod.

    Args:
        value: the stored pod.
    """
    pod = parsed(value)
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    over, node = status.get("phase") in OVER, spec.get("nodeName") or ""
    own = not spec.get("hostNetwork") and not over
    address = str(status.get("podIP") or "") if own else ""
    started = bool(status.get("startTime"))
    return PlacedPod(meta.get("uid") or "", node, address, over, started, host_ports_of(spec))


class Addresses:
    """The addresses of the pods on one node."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}  # by the uid of the pod
        self._used: set[str] = set()
        self._last = 0

    def use(self, address: str, uid: str) -> None:
        """Note that a pod has an address."""
        if self._of.get(uid) != address:
            self.free(uid)
            self._of[uid] = address
            self._used.add(address)

    def free(self, uid: str) -> None:
        """Note that a pod has no address any longer."""
        self._used.discard(self._of.pop(uid, ""))

    def take(self, cidr: str, uid: str) -> str:
        """Return the address of a pod, or give it one; empty if none is left.

        Args:
            cidr: range of the node, empty for none.
            uid: of the pod.
        """
        if uid in self._of or not cidr:
            return self._of.get(uid, "")
        network = ipaddress.ip_network(cidr)
        most = min(network.num_addresses - 2, MOST_ADDRESSES)
        for step in range(most):
            place = (self._last + step) % most + 1
            address = str(network[place])
            if address not in self._used:
                self._last = place
                self.use(address, uid)
                return address
        return ""
