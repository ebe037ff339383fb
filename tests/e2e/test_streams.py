"""Processes in containers over WebSocket, with trio-websocket at both ends and TLS between."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trio
import trio.testing
from fake_kubelet import CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, SUCCESS, V4, V5, FakeKubelet
from fake_kubelet import failure as failed

from kubetrio import pki
from kubetrio.backend.backends import Backends, KubeletConfig
from kubetrio.backend.dial import dial
from kubetrio.http.serve import Listener
from kubetrio.testing.backend import Asked, FakeBackend, open_backend, tls_of
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, listening, open_api

trio_websocket: Any = pytest.importorskip(
    "trio_websocket", reason="trio-websocket is not installed"
)
pytestmark = pytest.mark.e2e

POD = "/api/v1/namespaces/default/pods/p"
MERGE = {"Content-Type": "application/merge-patch+json"}
LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server on a socket, and a kubelet.

    Args:
        server: the server.
        listener: where it listens.
        certificates: of both.
        kubelet: what it answers.
        node: its socket.
    """

    server: InProcess
    listener: Listener
    certificates: pki.Pki
    kubelet: FakeKubelet
    node: FakeBackend

    @asynccontextmanager
    async def open(self, target: str, protocols: Sequence[str]) -> AsyncIterator[Any]:
        """A WebSocket of the administrator."""
        context = tls_client(self.certificates)
        with trio.fail_after(LIMIT_S):
            stream = await trio.open_ssl_over_tcp_stream(
                "127.0.0.1", self.listener.port, ssl_context=context
            )
            try:
                async with trio.open_nursery() as nursery:
                    socket = await trio_websocket.wrap_client_stream(
                        nursery,
                        stream,
                        f"127.0.0.1:{self.listener.port}",
                        target,
                        subprotocols=list(protocols),
                    )
                    yield socket
                    nursery.cancel_scope.cancel()
            finally:
                await trio.aclose_forcefully(stream)


def tls_client(made: pki.Pki) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(made.ca.cert))
    context.load_cert_chain(made.admin.cert, made.admin.key)
    return context


@pytest.fixture
async def cluster(certificates: pki.Pki) -> AsyncIterator[Cluster]:
    kubelet = FakeKubelet()
    async with (
        open_api(seed=0) as server,
        listening(server.api.handle, server.env, certificates) as listener,
        open_backend(kubelet.answer, tls_of(certificates)) as node,
        server.connect() as client,
    ):

        async def here(host: str, port: str, tls: Any, timeout_s: float) -> Any:
            return await dial("127.0.0.1", str(node.port), tls, timeout_s)

        trusted = KubeletConfig(authority=certificates.ca.cert)
        own = certificates.admin
        server.api.backends = Backends(trusted, server.env, lambda: own, here)
        await prepare(client)
        yield Cluster(server, listener, certificates, kubelet, node)


async def prepare(client: Client) -> None:
    status = {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}
    assert (await client.request("POST", "/api/v1/nodes", json=node)).status == 201
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    made = await client.request("POST", POD.removesuffix("/p"), json=pod)
    assert made.status == 201


async def messages(socket: Any) -> list[tuple[int, bytes]]:
    """Everything up to the end of a socket: channels and data."""
    got = []
    while True:
        try:
            message = await socket.get_message()
        except trio_websocket.ConnectionClosed:
            return got
        got.append((message[0], message[1:]))


@pytest.mark.parametrize("protocol", [V5, V4])
async def test_a_process(cluster: Cluster, protocol: str) -> None:
    """Its output and how it ended, each on its channel."""
    run = POD + "/exec?command={}&command=a&stdout=1&stderr=1"
    async with cluster.open(run.format("echo"), [protocol]) as socket:
        assert socket.subprotocol == protocol
        good = await messages(socket)
    assert good == [(STDOUT, b"a\n"), (ERROR, json.dumps(SUCCESS).encode())]
    async with cluster.open(run.format("complain"), [protocol]) as socket:
        bad = await messages(socket)
    assert bad == [(STDERR, b"a\n"), (ERROR, json.dumps(failed(3)).encode())]


@pytest.mark.parametrize(
    ("protocol", "end"), [(V5, bytes([CLOSE, STDIN])), (V4, bytes([STDIN]) + b"\n")]
)
async def test_input_and_sizes(cluster: Cluster, protocol: str, end: bytes) -> None:
    """Both get there; version 5 can also say that there is no more."""
    target = POD + "/exec?command=cat&stdin=true&stdout=true&tty=true"
    async with cluster.open(target, [protocol]) as socket:
        for text in (b"one", b"two"):
            await socket.send_message(bytes([STDIN]) + text)
            assert await socket.get_message() == bytes([STDOUT]) + text
        await socket.send_message(bytes([RESIZE]) + b'{"Width":80,"Height":24}')
        await socket.send_message(end)
        assert await messages(socket) == [(ERROR, json.dumps(SUCCESS).encode())]
    assert cluster.kubelet.sizes == [{"Width": 80, "Height": 24}]


async def test_attach(cluster: Cluster) -> None:
    """The same for what runs already."""
    async with cluster.open(POD + "/attach?stdin=true&stdout=true", [V5, V4]) as socket:
        assert socket.subprotocol == V5
        await socket.send_message(bytes([STDIN]) + b"x")
        assert await socket.get_message() == bytes([STDOUT]) + b"x"
    await cluster.node.wait_connections(0)
    assert cluster.node.asked[0].path == "/attach/default/p/c"


async def test_a_kubelet_without_the_protocol(cluster: Cluster) -> None:
    """Its refusal is the answer; clients then try another way."""
    cluster.kubelet.protocols = (V4,)
    with pytest.RaisesGroup(
        pytest.RaisesExc(trio_websocket.ConnectionRejected, check=lambda e: e.status_code == 403),
        flatten_subgroups=True,
    ):
        async with cluster.open(POD + "/exec?command=ls", [V5]):
            raise AssertionError("it was accepted")


async def test_a_flood_waits_for_its_reader(cluster: Cluster) -> None:
    """All of it arrives, in order, at the pace of the client."""
    target = POD + "/exec?command=flood&command=600&stdout=true"
    async with cluster.open(target, [V5]) as socket:
        await trio.testing.wait_all_tasks_blocked(0.1)
        got = await messages(socket)
    assert [len(data) for channel, data in got if channel == STDOUT] == [32 * 1024] * 600
    assert got[-1][0] == ERROR


async def test_shutdown_ends_streams(cluster: Cluster) -> None:
    """At both ends."""
    async with cluster.open(POD + "/exec?command=cat&stdin=1&stdout=1", [V5]) as socket:
        await socket.send_message(bytes([STDIN]) + b"x")
        await socket.get_message()
        cluster.server.api.end_streams()
        assert await messages(socket) == []
    await cluster.node.wait_connections(0)


async def test_a_websocket_of_a_pod(cluster: Cluster) -> None:
    """Through a proxy, with its query and subprotocol."""

    async def answer(asked: Asked) -> None:
        async with asked.websocket(["chat"]) as socket:
            await socket.send_message(asked.target)
            await socket.send_message((await socket.get_message()).upper())

    async with open_backend(answer) as web, cluster.server.connect() as client:

        async def there(host: str, port: str, tls: Any, timeout_s: float) -> Any:
            assert (host, port) == ("10.1.0.7", "80")
            return await dial("127.0.0.1", str(web.port), tls, timeout_s)

        cluster.server.api.backends.dial = there
        running = {"status": {"podIPs": [{"ip": "10.1.0.7"}]}}
        await client.request("PATCH", POD + "/status", headers=MERGE, json=running)
        async with cluster.open(POD + "/proxy/talk?to=me", ["chat"]) as socket:
            assert socket.subprotocol == "chat"
            assert await socket.get_message() == "/talk?to=me"
            await socket.send_message("hello")
            assert await socket.get_message() == "HELLO"


async def test_a_client_that_leaves_before_the_answer(cluster: Cluster) -> None:
    """Nobody waits for a backend that nobody waits for."""

    async def answer(asked: Asked) -> None:
        await asked.receive()  # the end of the connection

    cluster.node.answer = answer
    stream = await trio.open_ssl_over_tcp_stream(
        "127.0.0.1", cluster.listener.port, ssl_context=tls_client(cluster.certificates)
    )
    with trio.fail_after(LIMIT_S):
        await stream.send_all(f"GET {POD}/log HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await cluster.node.wait_connections(1)
        await trio.aclose_forcefully(stream)
        await cluster.node.wait_connections(0)
