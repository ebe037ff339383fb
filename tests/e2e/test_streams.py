"""Processes in containers over WebSocket, with trio-websocket at both ends and TLS between."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import trio
import trio.testing
from fake_kubelet import CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, SUCCESS, V4, V5, FakeKubelet
from fake_kubelet import failure as failed

from kubetrio.api.proxy.connecting import WEBSOCKETS
from kubetrio.backend.backends import Backends, KubeletConfig
from kubetrio.backend.dial import DialError, dial
from kubetrio.http.serve import Listener
from kubetrio.testing.backend import FakeBackend, ReceivedRequest, open_backend, tls_of
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, listening, open_api
from kubetrio.tls import pki

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
            there = tls._replace(name="127.0.0.1")
            return await dial("127.0.0.1", str(node.port), there, timeout_s)

        trusted = KubeletConfig(authority=certificates.ca.cert)
        own = certificates.admin
        backends = Backends(trusted, server.env, lambda: own, here)
        object.__setattr__(server.api.edge, "backends", backends)  # the kubelet is here
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


class Way(NamedTuple):
    """How a process is reached.

    Args:
        protocol: what the client speaks.
        versions: what the kubelet speaks.
        features: what the kubelet declares.
    """

    protocol: str
    versions: tuple[str, ...] = (V5, V4)
    features: tuple[str, ...] = ()

    @property
    def translated(self) -> bool:
        """Whether the server translates to SPDY."""
        return self.protocol == V5 and not self.features


WAYS = [Way(V5), Way(V5, (V4,)), Way(V5, (V5,), (WEBSOCKETS,)), Way(V4)]


async def take(cluster: Cluster, way: Way) -> None:
    """Have the kubelet be reached in one way."""
    cluster.kubelet.protocols = way.versions
    async with cluster.server.connect() as client:
        status = {"status": {"declaredFeatures": list(way.features)}}
        await client.request("PATCH", "/api/v1/nodes/n/status", headers=MERGE, json=status)


async def answers(socket: Any, way: Way) -> list[tuple[int, bytes]]:
    """What a process says, without the empty message that says that a translator is ready."""
    got = await messages(socket)
    if way.translated:
        assert got[0][1] == b""
        return got[1:]
    return got


@pytest.mark.parametrize("way", WAYS)
async def test_a_process(cluster: Cluster, way: Way) -> None:
    """Its output and how it ended, each on its channel."""
    await take(cluster, way)
    protocol = way.protocol
    run = POD + "/exec?command={}&command=a&stdout=1&stderr=1"
    async with cluster.open(run.format("echo"), [protocol]) as socket:
        assert socket.subprotocol == protocol
        good = await answers(socket, way)
    assert good[:-1] == [(STDOUT, b"a\n")]
    assert (good[-1][0], json.loads(good[-1][1])) == (ERROR, SUCCESS)
    async with cluster.open(run.format("complain"), [protocol]) as socket:
        bad = await answers(socket, way)
    assert bad[:-1] == [(STDERR, b"a\n")]
    wanted = failed(3)
    if way.translated:
        # The code is taken from what the kubelet says, and the words are the translator's.
        words = "command terminated with non-zero exit code: command terminated with exit code 3"
        wanted["message"] = words
    assert (bad[-1][0], json.loads(bad[-1][1])) == (ERROR, wanted)
    upgrades = [asked.get("upgrade") for asked in cluster.node.asked]
    assert upgrades == ["SPDY/3.1" if way.translated else "websocket"] * 2


@pytest.mark.parametrize("way", WAYS)
async def test_input_and_sizes(cluster: Cluster, way: Way) -> None:
    """Both get there; version 5 can also say that there is no more."""
    await take(cluster, way)
    end = bytes([CLOSE, STDIN]) if way.protocol == V5 else bytes([STDIN]) + b"\n"
    target = POD + "/exec?command=cat&stdin=true&stdout=true&tty=true"
    async with cluster.open(target, [way.protocol]) as socket:
        if way.translated:
            assert await socket.get_message() == bytes([STDOUT])
        for text in (b"one", b"two"):
            await socket.send_message(bytes([STDIN]) + text)
            assert await socket.get_message() == bytes([STDOUT]) + text
        await socket.send_message(bytes([RESIZE]) + b'{"Width":80,"Height":24}')
        await socket.send_message(end)
        [(channel, said)] = await messages(socket)
    assert (channel, json.loads(said)) == (ERROR, SUCCESS)
    assert cluster.kubelet.sizes == [{"Width": 80, "Height": 24}]


async def test_attach(cluster: Cluster) -> None:
    """The same for what runs already."""
    async with cluster.open(POD + "/attach?stdin=true&stdout=true", [V5, V4]) as socket:
        assert socket.subprotocol == V5
        assert await socket.get_message() == bytes([STDOUT])
        await socket.send_message(bytes([STDIN]) + b"x")
        assert await socket.get_message() == bytes([STDOUT]) + b"x"
    await cluster.node.wait_connections(0)
    assert cluster.node.asked[0].path == "/attach/default/p/c"


async def test_a_kubelet_without_the_protocol(cluster: Cluster) -> None:
    """Its refusal is the answer, where nothing is translated; clients then try another way."""
    await take(cluster, Way(V5, (V4,), (WEBSOCKETS,)))
    with pytest.RaisesGroup(
        pytest.RaisesExc(trio_websocket.ConnectionRejected, check=lambda e: e.status_code == 403),
        flatten_subgroups=True,
    ):
        async with cluster.open(POD + "/exec?command=ls", [V5]):
            raise AssertionError("it was accepted")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((404, b"404 page not found\n", {}), "unable to upgrade connection: 404 page not found"),
        ((500, b'{"message":" no & no "}', {}), "unable to upgrade connection: no & no"),
        ((403, b"", {}), "unable to upgrade connection: empty server response"),
        (
            (302, b"", {"Location": "/there"}),
            'error sending request: Post "/there": redirect not allowed',
        ),
    ],
)
async def test_what_a_kubelet_refuses_is_a_status(
    cluster: Cluster, answer: tuple[int, bytes, dict[str, str]], problem: str
) -> None:
    """On the channel for errors of a WebSocket that is open already."""

    async def refuse(asked: ReceivedRequest) -> None:
        await asked.reply(*answer)

    cluster.node.answer = refuse
    async with cluster.open(POD + "/exec?command=ls", [V5]) as socket:
        greeting, said = await messages(socket)
        assert socket.closed.code == 1000
    assert greeting == (ERROR, b"")
    assert (said[0], json.loads(said[1])) == (ERROR, internal_error(problem))


async def test_a_kubelet_that_is_not_there_is_a_status(cluster: Cluster) -> None:
    """The client has its WebSocket before the kubelet is asked."""

    async def nobody(host: str, port: str, tls: Any, timeout_s: float) -> Any:
        raise DialError(f"dial tcp {host}:{port}: connect: connection refused")

    cluster.server.api.edge.backends.dial = nobody
    async with cluster.open(POD + "/attach?stderr=1", [V5]) as socket:
        greeting, said = await messages(socket)
    assert greeting == (STDERR, b"")
    problem = (
        'error sending request: Post "https://10.0.0.9:10250/attach/default/p/c?error=1": '
        "dial tcp 10.0.0.9:10250: connect: connection refused"
    )
    assert json.loads(said[1]) == internal_error(problem)


def internal_error(problem: str) -> dict[str, Any]:
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {problem}",
        "reason": "InternalError",
        "details": {"causes": [{"message": problem}]},
        "code": 500,
    }


async def test_a_client_that_leaves_a_translated_stream(cluster: Cluster) -> None:
    """The kubelet is told: its connection ends."""
    async with cluster.open(POD + "/exec?command=cat&stdin=1&stdout=1", [V5]) as socket:
        await socket.get_message()
        await cluster.node.wait_connections(1)
    await cluster.node.wait_connections(0)


async def test_a_flood_waits_for_its_reader(cluster: Cluster) -> None:
    """All of it arrives, in order, at the pace of the client."""
    target = POD + "/exec?command=flood&command=600&stdout=true"
    async with cluster.open(target, [V5]) as socket:
        await trio.testing.wait_all_tasks_blocked(0.1)
        got = await messages(socket)
    assert sum(len(data) for channel, data in got if channel == STDOUT) == 600 * 32 * 1024
    assert got[-1][0] == ERROR


async def test_shutdown_ends_streams(cluster: Cluster) -> None:
    """At both ends."""
    async with cluster.open(POD + "/exec?command=cat&stdin=1&stdout=1", [V5]) as socket:
        await socket.send_message(bytes([STDIN]) + b"x")
        for _ in range(2):
            await socket.get_message()
        cluster.server.api.end_streams()
        assert await messages(socket) == []
    await cluster.node.wait_connections(0)


async def test_a_websocket_of_a_pod(cluster: Cluster) -> None:
    """Through a proxy, with its query and subprotocol."""

    async def answer(asked: ReceivedRequest) -> None:
        async with asked.websocket(["chat"]) as socket:
            await socket.send_message(asked.target)
            await socket.send_message((await socket.get_message()).upper())

    async with open_backend(answer) as web, cluster.server.connect() as client:

        async def there(host: str, port: str, tls: Any, timeout_s: float) -> Any:
            assert (host, port) == ("10.1.0.7", "80")
            return await dial("127.0.0.1", str(web.port), tls, timeout_s)

        cluster.server.api.edge.backends.dial = there
        running = {"status": {"podIPs": [{"ip": "10.1.0.7"}]}}
        await client.request("PATCH", POD + "/status", headers=MERGE, json=running)
        async with cluster.open(POD + "/proxy/talk?to=me", ["chat"]) as socket:
            assert socket.subprotocol == "chat"
            assert await socket.get_message() == "/talk?to=me"
            await socket.send_message("hello")
            assert await socket.get_message() == "HELLO"


async def test_a_client_that_leaves_before_the_answer(cluster: Cluster) -> None:
    """Nobody waits for a backend that nobody waits for."""

    async def answer(asked: ReceivedRequest) -> None:
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
