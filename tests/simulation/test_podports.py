"""What is behind the ports of pods, and what annotations may not reach."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from asking import Pods
from trio.testing import MockClock

from kubetrio.backend.dial import DialError
from kubetrio.config import ConfigError, Simulation
from kubetrio.simulation.pipes import pipe
from kubetrio.simulation.podports import PodPorts, Targets
from kubetrio.transport import Transport

ALLOWED = Targets(*Simulation(targets=("8080", "9000-9010", "/run/one.sock", "/run/dev/")).allowed)


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("tcp:8080", True),
        ("tcp:8081", False),
        ("tcp:9005", True),
        ("tcp:9011", False),
        ("tcp:", False),
        ("tcp:-1", False),
        ("tcp:\u0669000", False),
        ("tcp:10.0.0.1:8080", False),
        ("tcp:localhost:8080", False),
        ("8080", False),
        ("http://127.0.0.1:8080", False),
        ("unix:/run/one.sock", True),
        ("unix:/run/two.sock", False),
        ("unix:/run/dev/a.sock", True),
        ("unix:/run/dev/", False),
        ("unix:/run/dev/sub/a.sock", False),
        ("unix:/run/dev/../two.sock", False),
        ("unix:/run/dev/./a.sock", False),
        ("unix://run/one.sock", False),
        ("unix:run/one.sock", False),
        ("unix:/run/dev/a\0b", False),
        ("unix:", False),
    ],
)
def test_what_annotations_may_name(target: str, allowed: bool) -> None:
    """What the flag lists, in one spelling, and nothing without the flag."""
    assert ALLOWED.allow(target) is allowed
    assert not Targets().allow(target)


@pytest.mark.parametrize("target", ["0", "65536", "9-8", "x", "/", "/a/../b", "a/b", "1-2-3"])
def test_what_the_flag_refuses(target: str) -> None:
    """Neither a port nor a range nor an absolute path."""
    with pytest.raises(ConfigError, match="is no TCP port"):
        Simulation(targets=(target,))


async def refused(ports: PodPorts, pods: Pods) -> str:
    """Why a port is not opened."""
    assert pods.pod is not None
    with pytest.raises(DialError) as caught:
        await ports.open(pods.pod, 80)
    return str(caught.value)


async def test_an_annotation_alone_reaches_nothing(autojump_clock: MockClock) -> None:
    """The operator has to allow it, and what is not allowed is told."""
    for name in ("port", "port.80"):
        text = await refused(PodPorts(), Pods(None, **{name: "tcp:22"}))
        assert text.endswith("the target 'tcp:22' is not in --simulation-targets")
    pods = Pods(None, **{"port.81": "tcp:22"})
    assert await refused(PodPorts(), pods) == "dial tcp 127.0.0.1:80: connect: connection refused"


async def test_a_pod_that_does_not_run_has_no_ports(autojump_clock: MockClock) -> None:
    """Whatever it says."""
    pods = Pods(port="tcp:8080", http="hello")
    pods.state({"waiting": {"reason": "ContainerCreating"}})
    assert "connection refused" in await refused(PodPorts(ALLOWED), pods)


async def test_a_function_comes_first(autojump_clock: MockClock) -> None:
    """If it serves the port."""
    transport, _ = pipe()

    class Functions:
        def connect(self, pod: Mapping[str, Any], port: int) -> Transport | None:
            return transport if pod["metadata"]["name"] == "p" and port == 80 else None

    ports, pods = PodPorts(ALLOWED, Functions()), Pods(port="tcp:22")
    assert pods.pod is not None
    assert await ports.open(pods.pod, 80) is transport
    with pytest.raises(DialError, match="is not in"):
        await ports.open(pods.pod, 81)


async def test_a_socket(tmp_path: Path) -> None:
    """Bytes go to it and come from it; one that is missing is told."""
    path = tmp_path / "s"
    ports = PodPorts(Targets(sockets=[f"{tmp_path}/"]))
    pods = Pods(port=f"unix:{path}")
    assert await refused(ports, pods) == f"dial unix {path}: connect: no such file or directory"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        assert pods.pod is not None
        transport = await ports.open(pods.pod, 80)
        peer, _ = server.accept()
        with peer:
            transport.write_nowait(b"hello")
            assert peer.recv(10) == b"hello"
            peer.sendall(b"back")
            await transport.wait_readable()
            assert transport.read_nowait() == b"back"
        transport.close()
