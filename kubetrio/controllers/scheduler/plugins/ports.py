"""Host ports: two pods cannot have one port of a node.

Source: k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports.
"""

from __future__ import annotations

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import Check, Refusal
from kubetrio.controllers.scheduler.shapes import PodView, Port

TAKEN = Refusal(("node(s) didn't have free ports for the requested pod ports",), resolvable=True)
ANY = "0.0.0.0"  # noqa: S104


def taken(pod: PodView, _: Cluster) -> Check | None:
    """Prepare the check that the ports that a pod takes are free."""
    ports = pod.shape.ports
    if not ports:
        return None

    def check(node: NodeState) -> Refusal | None:
        clash = any(_clash(one, other) for other in node.ports for one in ports)
        return TAKEN if clash else None

    return check


def _clash(one: Port, other: Port) -> bool:
    """Whether two ports are one; any address is every address."""
    if (one.protocol, one.number) != (other.protocol, other.number):
        return False
    return ANY in (one.address, other.address) or one.address == other.address
