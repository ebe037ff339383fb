"""Host ports: which pods of a node have taken which, and the refusal of a pod that wants one more.

A scheduler gives no pod a node whose ports are taken; a kubelet refuses one that has the node
nonetheless, as where its author named the node.

Source: k8s.io/kubernetes/pkg/kubelet/lifecycle (``predicateAdmitHandler``),
pkg/scheduler/framework/plugins/nodeports.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]

ANY = "0.0.0.0"  # noqa: S104


class HostPort(NamedTuple):
    """A port of a node that a pod takes.

    Args:
        protocol: ``TCP``, ``UDP`` or ``SCTP``.
        number: of the port.
        address: of the node; `ANY` for all of them.
    """

    protocol: str
    number: int
    address: str

    def clashes(self, other: HostPort) -> bool:
        """Whether two pods cannot have these ports at a time."""
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return ANY in (self.address, other.address) or self.address == other.address


class Refusal(NamedTuple):
    """Why a kubelet refuses a pod.

    Args:
        reason: in one word.
        message: for people.
    """

    reason: str
    message: str


PORTS_TAKEN = Refusal(
    "NodePorts",
    "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
)


def host_ports_of(spec: Object) -> tuple[HostPort, ...]:
    """The ports of its node that a pod takes: of its containers and sidecars.

    Args:
        spec: of the pod.
    """
    sidecars = (
        one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"
    )
    return tuple(
        HostPort(port.get("protocol") or "TCP", int(port["hostPort"]), port.get("hostIP") or ANY)
        for container in (*sidecars, *(spec.get("containers") or ()))
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


class HostPorts:
    """The ports of one node that its pods have taken."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[HostPort, ...]] = {}  # by the uid of the pod

    def use(self, uid: str, ports: tuple[HostPort, ...]) -> None:
        """Note that a pod has ports."""
        if ports:
            self._of[uid] = ports

    def free(self, uid: str) -> None:
        """Note that a pod has no ports any longer."""
        self._of.pop(uid, None)

    def take(self, uid: str, ports: tuple[HostPort, ...]) -> bool:
        """Give ports to a pod, or say that they are taken; those that it has stay its own."""
        if ports and uid not in self._of:
            others = (other for some in self._of.values() for other in some)
            if any(one.clashes(other) for other in others for one in ports):
                return False
            self._of[uid] = ports
        return True
