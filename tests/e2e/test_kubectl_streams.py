"""kubectl's logs, exec, attach, port-forward and proxies, with a kubelet in the test's process."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml
from fake_kubelet import FakeKubelet
from kubectl_runner import Kubectl, Said, needs_kubectl

from kubetrio.testing.backend import FakeBackend, ReceivedRequest, open_backend, tls_of
from kubetrio.testing.process import ServerProcess
from kubetrio.tls.pki import Pki

pytest.importorskip("trio_websocket", reason="trio-websocket is not installed")
pytestmark = [pytest.mark.e2e, needs_kubectl]

LIMIT_S = 30.0


def own_address() -> str:
    """An address of this machine that is not the loopback's: proxies go to no other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))  # nothing is sent
        except OSError:
            return ""
        address: str = probe.getsockname()[0]
    return "" if address.startswith("127.") else address


@dataclass
class Cluster:
    """A server process, its node, and a pod on it.

    Args:
        kubectl: an administrator's.
        kubelet: what the node answers.
        node: where it listens.
    """

    kubectl: Kubectl
    kubelet: FakeKubelet
    node: FakeBackend

    async def run(self, *arguments: str, stdin: str = "") -> Said:
        """Run kubectl, whatever comes of it."""
        call = partial(self.kubectl.try_, *arguments, stdin=stdin)
        return await trio.to_thread.run_sync(call)  # noqa: TID251  (a real process)

    async def ok(self, *arguments: str, stdin: str = "") -> str:
        """What it prints; it must succeed."""
        said = await self.run(*arguments, stdin=stdin)
        assert said.code == 0, said
        return said.out

    async def apply(self, *objects: Any) -> None:
        text = yaml.safe_dump_all(objects)
        await self.ok("apply", "-f", "-", stdin=text)

    async def patch_status(self, what: str, status: Any) -> None:
        body = json.dumps({"status": status})
        await self.ok("patch", what, "--subresource=status", "--type=merge", "-p", body)


@pytest.fixture
async def cluster(
    start_server: Callable[..., ServerProcess], tmp_path: Path, certificates: Pki
) -> AsyncIterator[Cluster]:
    authority = ("--kubelet-certificate-authority", str(certificates.ca.cert))
    server = start_server(tmp_path / "data", *authority)
    tls = tls_of(certificates, ask=False)
    tls.load_verify_locations(server.data_dir / "pki" / "ca.crt")
    tls.verify_mode = ssl.CERT_REQUIRED
    kubelet = FakeKubelet()
    async with open_backend(kubelet.answer, tls) as node:
        home = tmp_path / "home"
        home.mkdir()
        made = Cluster(Kubectl(server, home), kubelet, node)
        container = {"name": "c", "image": "i", "ports": [{"containerPort": 8080}]}
        await made.apply(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}},
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "namespace": "default"},
                "spec": {"nodeName": "node-1", "containers": [container]},
            },
        )
        await made.patch_status("node/node-1", node_status("127.0.0.1", node.port))
        await made.patch_status("pod/p", {"phase": "Running"})
        yield made


def node_status(address: str, port: int, *features: str) -> dict[str, Any]:
    return {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "declaredFeatures": list(features),
    }


async def test_logs(cluster: Cluster) -> None:
    """All of them, the last ones, and with the server's own certificate at the kubelet."""
    assert await cluster.ok("logs", "p") == "one\ntwo\nthree\n"
    assert await cluster.ok("logs", "p", "--tail=1") == "three\n"
    names = {asked.certificate for asked in cluster.node.asked}
    assert names == {"kubetrio:kubelet-api-admins/kube-apiserver-kubelet-client"}
    cluster.kubelet.log = []
    assert await cluster.ok("logs", "p") == ""


async def test_followed_logs(cluster: Cluster) -> None:
    """Lines come one by one, and kubectl ends with the container."""
    write, cluster.kubelet.more = trio.open_memory_channel[bytes](0)
    command = cluster.kubectl.command("logs", "-f", "p", "--tail=1")
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            process = await nursery.start(
                partial(
                    trio.run_process,
                    command,
                    env=cluster.kubectl.environment(),
                    stdout=subprocess.PIPE,
                )
            )
            reader = process.stdout
            for line in (b"three\n", b"four\n", b"five\n"):
                if line != b"three\n":
                    await write.send(line)
                assert await reader.receive_some() == line
            write.close()


async def test_a_log_that_cannot_be_had(cluster: Cluster) -> None:
    """kubectl says what the server says."""
    await cluster.patch_status("node/node-1", node_status("127.0.0.1", 1))
    said = await cluster.run("logs", "p")
    assert said.code == 1
    assert "Error from server: Get " in said.err
    assert "dial tcp 127.0.0.1:1: connect: connection refused" in said.err


@pytest.mark.parametrize("features", [(), ("ExtendWebSocketsToKubelet",)])
async def test_exec(cluster: Cluster, features: tuple[str, ...]) -> None:
    """Output, errors and the exit code come back; old kubelets get SPDY, new ones the WebSocket.

    With ``-i``, for the kubelet to wait until kubectl has ended its input: kubectl begins to read
    the connection before it has made its streams, and throws away what comes in between ("Unknown
    stream id 2, discarding message", seen with 1.32 on a busy machine).
    """
    await cluster.patch_status(
        "node/node-1", node_status("127.0.0.1", cluster.node.port, *features)
    )
    assert await cluster.ok("exec", "-i", "p", "--", "echo", "a", "b&c") == "a b&c\n"
    said = await cluster.run("exec", "-i", "p", "--", "complain", "loudly")
    assert said == Said(3, "", "loudly\ncommand terminated with exit code 3\n")
    assert {asked.method for asked in cluster.node.asked} == {"GET" if features else "POST"}
    assert all(("input", "1") in asked.query for asked in cluster.node.asked)


async def test_exec_with_input(cluster: Cluster) -> None:
    """The end of the input gets there, too (version 5 of the protocol)."""
    text = "".join(f"line {number}\n" for number in range(10_000))
    assert await cluster.ok("exec", "-i", "p", "--", "cat", stdin=text) == text


async def test_attach(cluster: Cluster) -> None:
    """To what runs already."""
    assert await cluster.ok("attach", "-i", "p", stdin="hello\n") == "hello\n"


@pytest.mark.parametrize("features", [(), ("ExtendWebSocketsToKubelet",)])
async def test_port_forward(cluster: Cluster, features: tuple[str, ...]) -> None:
    """kubectl tunnels SPDY through a WebSocket; old kubelets get the SPDY, new ones both."""
    await cluster.patch_status(
        "node/node-1", node_status("127.0.0.1", cluster.node.port, *features)
    )
    command = cluster.kubectl.command("port-forward", "pod/p", ":8080")
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            process = await nursery.start(
                partial(
                    trio.run_process,
                    command,
                    env=cluster.kubectl.environment(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
            )
            said = await process.stdout.receive_some()
            port = int(said.split(b":")[1].split()[0])
            for round_ in range(2):
                stream = await trio.open_tcp_stream("127.0.0.1", port)
                async with stream:
                    text = b"hello %d " % round_ * 5000
                    heard = b""
                    nursery.start_soon(stream.send_all, text)
                    while len(heard) < len(text):
                        piece = await stream.receive_some()
                        assert piece
                        heard += piece
                    assert heard == text.upper()
            process.terminate()
    [asked] = [asked for asked in cluster.node.asked if "portForward" in asked.path]
    assert asked.get("upgrade") == ("websocket" if features else "SPDY/3.1")


async def test_proxies(cluster: Cluster) -> None:
    """To a pod, a service and a node, with ``kubectl get --raw``."""
    address = own_address()
    if not address:
        pytest.skip("this machine has no address but the loopback's")

    async def web(asked: ReceivedRequest) -> None:
        await asked.reply(200, f"{asked.method} {asked.target}\n".encode() + await asked.body())

    async with open_backend(web, host=address) as pod:
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        await cluster.patch_status("pod/p", status)
        base = "/api/v1/namespaces/default"
        raw = partial(cluster.ok, "get", "--raw")
        assert await raw(f"{base}/pods/p:{pod.port}/proxy/a?b=c") == "GET /a?b=c\n"
        made = await cluster.ok(
            "create", "--raw", f"{base}/pods/p:{pod.port}/proxy/up", "-f", "-", stdin="text"
        )
        assert made == "POST /up\ntext"
        reference = {"kind": "Pod", "name": "p", "namespace": "default"}
        await cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s", "namespace": "default"},
                "spec": {"ports": [{"port": 80}]},
            },
            {
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {"name": "s", "namespace": "default"},
                "subsets": [
                    {
                        "addresses": [{"ip": address, "targetRef": reference}],
                        "ports": [{"port": pod.port}],
                    }
                ],
            },
        )
        assert await raw(f"{base}/services/s:80/proxy/x/") == "GET /x/\n"
    said = await cluster.run("get", "--raw", f"{base}/services/s:80/proxy/x/")
    assert "error trying to reach service: dial tcp" in said.err
    await cluster.patch_status("node/node-1", node_status("127.0.0.1", cluster.node.port))
    said = await cluster.run("get", "--raw", "/api/v1/nodes/node-1/proxy/pods")
    assert "address not allowed" in said.err
