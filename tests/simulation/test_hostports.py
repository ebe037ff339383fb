"""Host ports of the pods on a node."""

from __future__ import annotations

import pytest

from kubetrio.simulation.hostports import ANY, HostPort, HostPorts, host_ports_of

ONE = HostPort("TCP", 80, "127.0.0.1")


@pytest.mark.parametrize(
    ("other", "clash"),
    [
        (ONE, True),
        (HostPort("TCP", 80, ANY), True),
        (HostPort("TCP", 80, "127.0.0.2"), False),
        (HostPort("UDP", 80, "127.0.0.1"), False),
        (HostPort("TCP", 81, ANY), False),
    ],
)
def test_ports_clash(other: HostPort, *, clash: bool) -> None:
    """By protocol, number and address, of which one is all."""
    assert ONE.clashes(other) is other.clashes(ONE) is clash


def test_ports_are_given_once() -> None:
    """A pod keeps its own; what it has left is free."""
    ports = HostPorts()
    assert ports.take("a", (ONE,))
    assert ports.take("a", (ONE,))
    assert not ports.take("b", (ONE,))
    assert ports.take("c", ())
    ports.free("a")
    assert ports.take("b", (ONE,))
    ports.use("d", (HostPort("TCP", 82, ANY),))
    assert not ports.take("e", (HostPort("TCP", 82, ANY),))


def test_ports_of_containers_and_sidecars() -> None:
    """Of the node alone, and not those of init containers that end."""
    spec = {
        "initContainers": [
            {"name": "s", "restartPolicy": "Always", "ports": [{"hostPort": 1}]},
            {"name": "i", "ports": [{"hostPort": 2}]},
        ],
        "containers": [
            {"name": "c", "ports": [{"containerPort": 3}, {"hostPort": 4, "protocol": "UDP"}]}
        ],
    }
    assert host_ports_of(spec) == (HostPort("TCP", 1, ANY), HostPort("UDP", 4, ANY))
