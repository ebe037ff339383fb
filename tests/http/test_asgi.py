"""Two adapters, one pipeline: the same requests get the same answers whatever carries them.

The lanes: the fast loop in memory, Hypercorn's HTTP/1.1 over a socket pair, and Hypercorn's HTTP/2
over real TLS sockets with ALPN.  Each has a server of its own on the same seed.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import h2.config
import h2.connection
import h2.events
import orjson
import pytest
import trio

from kubetrio.backend.dial import dial
from kubetrio.env import Env, seeded
from kubetrio.faults import Rule
from kubetrio.testing.backend import ReceivedRequest, open_backend
from kubetrio.testing.client import ADMIN, Answer, Client, Exchange, Head
from kubetrio.testing.server import InProcess, bridge_to, listening, open_api
from kubetrio.tls import pki
from kubetrio.transport import PlainTransport, Transport

JSON = ("Content-Type", "application/json")
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
COMPARED = (
    b"allow",
    b"audit-id",
    b"cache-control",
    b"content-encoding",
    b"content-type",
    b"etag",
    b"location",
    b"retry-after",
    b"vary",
    b"warning",
    b"www-authenticate",
    b"x-content-type-options",
)


@dataclass(frozen=True, slots=True)
class Ask:
    """A request of the script."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.target} {dict(self.headers)} {(self.body or b'')[:60]!r}"


def post(target: str, value: object, *headers: tuple[str, str]) -> Ask:
    return Ask("POST", target, (JSON, *headers), orjson.dumps(value))


def put(target: str, value: object, *headers: tuple[str, str]) -> Ask:
    return Ask("PUT", target, (JSON, *headers), orjson.dumps(value))


def get(target: str, *headers: tuple[str, str]) -> Ask:
    return Ask("GET", target, headers)


def configmap(name: str, size: int = 0, **meta: object) -> dict[str, object]:
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, **meta},
        "data": {"a": "b" * size},
    }


AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
SCRIPT = [
    # verbs
    post(CONFIGMAPS, configmap("one", labels={"l": "1"})),
    post(CONFIGMAPS, configmap("one")),
    post(CONFIGMAPS, {**configmap(""), "metadata": {"generateName": "made-"}}),
    post(CONFIGMAPS + "?dryRun=All", configmap("dry")),
    post(CONFIGMAPS + "?dryRun=Some", configmap("dry")),
    post(CONFIGMAPS + "?fieldValidation=Strict", {**configmap("x"), "spec": 1}),
    post(CONFIGMAPS + "?fieldValidation=Warn", {**configmap("warned"), "spec": 1, "more": 2}),
    get(CONFIGMAPS + "/one"),
    get(CONFIGMAPS),
    put(CONFIGMAPS + "/one", configmap("one", 3)),
    put(CONFIGMAPS + "/one", configmap("two")),
    put(CONFIGMAPS + "/one", configmap("one", resourceVersion="1")),
    put(CONFIGMAPS + "/none", configmap("none", resourceVersion="1")),
    Ask("PATCH", CONFIGMAPS + "/one", (("Content-Type", "application/merge-patch+json"),), b"{}"),
    Ask("PATCH", CONFIGMAPS + "/one", (("Content-Type", "text/plain"),), b"{}"),
    Ask("PATCH", CONFIGMAPS + "/one", (("Content-Type", "application/merge-patch+json "),), b"{}"),
    Ask("PATCH", CONFIGMAPS + "/one", (("Content-Type", "application/merge-patch+json ;"),), b"{}"),
    Ask("PATCH", CONFIGMAPS + "/one", (("Content-Type", "application/json-patch+json"),), b"{"),
    Ask("DELETE", CONFIGMAPS + "/warned"),
    Ask("DELETE", CONFIGMAPS + "/warned"),
    Ask("DELETE", CONFIGMAPS + "/one", (JSON,), b'{"preconditions":{"uid":"no"}}'),
    Ask("DELETE", CONFIGMAPS + "?labelSelector=l%3D1"),
    post("/api/v1/namespaces", {"metadata": {"name": "space"}}),
    Ask("DELETE", "/api/v1/namespaces/space"),
    post("/api/v1/namespaces/space/configmaps", configmap("late")),
    post("/api/v1/namespaces/nowhere/configmaps", configmap("x")),
    # bodies
    Ask("POST", CONFIGMAPS, (JSON,), b"{"),
    Ask("POST", CONFIGMAPS, (JSON,), b""),
    Ask("POST", CONFIGMAPS, (JSON,), b"[]"),
    Ask("POST", CONFIGMAPS, (JSON,), b'{"kind":"Pod","apiVersion":"v1"}'),
    Ask("POST", CONFIGMAPS, (JSON,), b'{"metadata":{"name":1}}'),
    Ask("POST", CONFIGMAPS, (JSON,), b"\xff\xfe"),
    Ask("POST", CONFIGMAPS, (("Content-Type", "application/unknown"),), b"{}"),
    Ask("POST", CONFIGMAPS, (), b"{}"),
    Ask("POST", CONFIGMAPS, (JSON,), b" " * (3 * 1024 * 1024 + 1)),
    Ask("GET", CONFIGMAPS + "/one", (JSON,), b"a body nobody reads"),
    # methods
    Ask("HEAD", "/version"),
    Ask("HEAD", CONFIGMAPS + "/one"),
    Ask("HEAD", CONFIGMAPS),
    Ask("HEAD", "/nowhere"),
    Ask("OPTIONS", "/version"),
    Ask("BREW", "/version"),
    Ask("PROPFIND", CONFIGMAPS),
    Ask("OPTIONS", CONFIGMAPS),
    Ask("POST", "/version", (JSON,), b"{}"),
    Ask("DELETE", "/healthz"),
    Ask("PUT", CONFIGMAPS, (JSON,), b"{}"),
    Ask("POST", CONFIGMAPS + "/one", (JSON,), b"{}"),
    # documents
    get("/"),
    get("/api"),
    get("/apis"),
    get("/api", ("Accept", AGGREGATED)),
    get("/apis", ("Accept", AGGREGATED)),
    get("/api/v1"),
    get("/apis/apps"),
    get("/apis/apps/v1"),
    get("/apis/none"),
    get("/apis/apps/v9"),
    get("/apis/apps/v9/deployments"),
    get("/openapi/v3"),
    get("/openapi/v3/api/v1"),
    get("/openapi/v3/none"),
    get("/openapi/v3/api/v1?hash=wrong"),
    get("/version"),
    get("/healthz"),
    get("/livez?verbose"),
    get("/readyz?verbose&exclude=etcd&exclude=nothing"),
    get("/readyz/etcd"),
    get("/readyz/none"),
    get("/nowhere"),
    # paths
    get("//api/v1"),
    get("/api/v1/"),
    get("/api//v1"),
    get("/api%2Fv1"),
    get(CONFIGMAPS + "/a%2Fb"),
    get(CONFIGMAPS + "/%20"),
    get(CONFIGMAPS + "/%zz"),
    get(CONFIGMAPS + "/%C3%A4"),
    get(CONFIGMAPS + "/%ff"),
    get(CONFIGMAPS + "/."),
    get(CONFIGMAPS + "/one/"),
    get(CONFIGMAPS + "/one/status"),
    get(CONFIGMAPS + "/one/a/b"),
    get("/api/v1/configmaps/one"),
    get("/api/v1/namespaces/default/nodes"),
    # queries
    get(CONFIGMAPS + "?limit=1&limit=2"),
    get(CONFIGMAPS + "?limit="),
    get(CONFIGMAPS + "?limit=abc"),
    get(CONFIGMAPS + "?&&=&a"),
    get(CONFIGMAPS + "?labelSelector=l+in+(1,2)"),
    get(CONFIGMAPS + "?labelSelector=%3D%3D%3D"),
    get(CONFIGMAPS + "?fieldSelector=metadata.name%3Done"),
    get(CONFIGMAPS + "?fieldSelector=spec.x%3D1"),
    get(CONFIGMAPS + "?resourceVersion=0;a=b"),
    get(CONFIGMAPS + "?resourceVersion=x"),
    get(CONFIGMAPS + "?continue=junk"),
    # headers
    get(CONFIGMAPS + "/one", ("Accept", "application/xml")),
    get(CONFIGMAPS + "/one", ("Accept", "text/html"), ("Accept", "application/json")),
    get(CONFIGMAPS + "/one", ("Accept", "application/yaml")),
    get(CONFIGMAPS + "/one", ("Audit-Id", "mine")),
    get(CONFIGMAPS + "/one", ("Impersonate-User", "nobody")),
    get(
        CONFIGMAPS + "/one",
        ("Impersonate-User", "nobody"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "system:masters"),
    ),
    get(CONFIGMAPS + "/one", ("Impersonate-Group", "a")),
    # of repeated ones the first counts
    get("/version", ("Authorization", ""), ("Authorization", "Bearer x")),
    get(CONFIGMAPS + "/one", ("Accept", "text/x"), ("Accept", "application/json")),
    get(CONFIGMAPS + "/one", ("Accept", ""), ("Accept", "application/yaml")),
    get(CONFIGMAPS + "/one", ("Impersonate-User", ""), ("Impersonate-User", "nobody")),
    get("/openapi/v3/api/v1", ("Accept-Encoding", "br"), ("Accept-Encoding", "gzip")),
    Ask(
        "PATCH",
        CONFIGMAPS + "/one",
        (
            ("Content-Type", "application/merge-patch+json"),
            ("Content-Type", "application/json-patch+json"),
        ),
        b"{}",
    ),
    get("/api/v1/secrets", ("X-Many", "a"), ("X-Many", "b"), ("X-Empty", "")),
    # streams
    *(post(CONFIGMAPS, configmap(f"large-{number:02}", 30_000)) for number in range(24)),
    get(CONFIGMAPS),
    get(CONFIGMAPS + "?limit=20"),
    get(CONFIGMAPS, ("Accept-Encoding", "gzip")),
    get("/openapi/v3/api/v1", ("Accept-Encoding", "gzip")),
    Ask("HEAD", CONFIGMAPS + "?limit=20"),
    get("/api/v1/namespaces?watch=1&timeoutSeconds=1"),
    get("/api/v1/namespaces?watch=true&resourceVersion=1&timeoutSeconds=1"),
    get("/api/v1/watch/namespaces/default?timeoutSeconds=1"),
    get("/api/v1/namespaces?watch=1&resourceVersion=junk"),
    Ask("DELETE", CONFIGMAPS),
]


def wire(ask: Ask) -> bytes:
    """A request of the script as HTTP/1.1."""
    lines = [f"{ask.method} {ask.target} HTTP/1.1", "Host: test"]
    lines += [f"{name}: {value}" for name, value in ask.headers]
    if ask.body is not None:
        lines.append(f"Content-Length: {len(ask.body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (ask.body or b"")


async def ask_h1(exchange: Exchange, ask: Ask) -> Answer:
    """One request over HTTP/1.1: the answer may come before the body is sent."""
    found: list[Answer] = []
    async with trio.open_nursery() as nursery:

        async def send() -> None:
            try:
                await exchange.send(wire(ask))
            except OSError:
                pass  # refused before its end; the answer says why

        nursery.start_soon(send)
        found.append(await exchange.receive(ask.method))
        nursery.cancel_scope.cancel()
    return found[0]


async def lane_loop(server: InProcess, script: Sequence[Ask]) -> list[Answer]:
    """The fast loop, in memory; one connection for as long as it lasts."""
    answers: list[Answer] = []
    while len(answers) < len(script):
        async with server.connect() as client:
            for ask in script[len(answers) :]:
                answers.append(await ask_h1(client, ask))
                if answers[-1].head.get(b"connection") == b"close":
                    break
    return answers


async def lane_hypercorn(server: InProcess, script: Sequence[Ask]) -> list[Answer]:
    """Hypercorn's HTTP/1.1 and Quart; a connection for each request."""
    bridge = bridge_to(server.api.handle, server.env)
    answers: list[Answer] = []
    for ask in script:
        left, right = socket.socketpair()
        left.setblocking(False)
        right.setblocking(False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bridge.serve, PlainTransport(left), b"", ADMIN)
            transport = PlainTransport(right)
            answers.append(await ask_h1(Exchange(transport), ask))
            transport.close()
    return answers


class Http2:
    """A small HTTP/2 client over a TLS stream."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        config = h2.config.H2Configuration(client_side=True, header_encoding=None)
        self.state = h2.connection.H2Connection(config)
        self.headers: dict[int, list[tuple[bytes, bytes]]] = {}
        self.bodies: dict[int, bytearray] = {}
        self.ended: set[int] = set()

    async def flush(self) -> None:
        await self.stream.send_all(self.state.data_to_send())

    async def pump(self) -> None:
        """Read once and take note."""
        data = await self.stream.receive_some(65536)
        assert data, "the connection ended"
        for event in self.state.receive_data(bytes(data)):
            if isinstance(event, h2.events.ResponseReceived):
                self.headers[event.stream_id] = [
                    (bytes(name), bytes(value)) for name, value in event.headers
                ]
            elif isinstance(event, h2.events.DataReceived):
                self.bodies[event.stream_id] += event.data
                self.state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                self.ended.add(event.stream_id)
        await self.flush()

    async def ask(self, ask: Ask) -> Answer:
        stream = self.state.get_next_available_stream_id()
        self.bodies[stream] = bytearray()
        headers = [
            (":method", ask.method),
            (":scheme", "https"),
            (":authority", "test"),
            (":path", ask.target),
            *((name.lower(), value) for name, value in ask.headers),
        ]
        body = memoryview(ask.body or b"")
        if ask.body is not None:
            headers.append(("content-length", str(len(body))))
        self.state.send_headers(stream, headers, end_stream=ask.body is None)
        await self.flush()
        while ask.body is not None and stream not in self.ended:
            room = min(
                self.state.local_flow_control_window(stream), self.state.max_outbound_frame_size
            )
            if room or not body:
                self.state.send_data(stream, bytes(body[:room]), end_stream=len(body) <= room)
                await self.flush()
                body = body[room:]
                if not body:
                    break
            else:
                await self.pump()
        while stream not in self.ended:
            await self.pump()
        (_, status), *rest = self.headers[stream]
        return Answer(Head(int(status), tuple(rest)), bytes(self.bodies[stream]))


@asynccontextmanager
async def http2(port: int, certificates: pki.Pki) -> AsyncIterator[Http2]:
    """An administrator's HTTP/2 connection, agreed by ALPN."""
    context = ssl.create_default_context(cafile=str(certificates.ca.cert))
    context.load_cert_chain(certificates.admin.cert, certificates.admin.key)
    context.set_alpn_protocols(["h2"])
    tcp = await trio.open_tcp_stream("127.0.0.1", port)
    stream = trio.SSLStream(tcp, context, server_hostname="127.0.0.1", https_compatible=True)
    async with stream:
        await stream.do_handshake()
        assert stream.selected_alpn_protocol() == "h2"
        client = Http2(stream)
        client.state.initiate_connection()
        await client.flush()
        yield client


async def lane_http2(
    server: InProcess, script: Sequence[Ask], certificates: pki.Pki
) -> list[Answer]:
    """Hypercorn's HTTP/2 over TLS."""
    async with (
        listening(server.api.handle, server.env, certificates) as listener,
        http2(listener.port, certificates) as client,
    ):
        return [await client.ask(ask) for ask in script]


def frozen() -> Env:
    """The same seed and one moment for every lane: they run at the same real time."""
    return replace(seeded(7), now=lambda: 1_700_000_000.0)


def told(answer: Answer) -> tuple[object, ...]:
    """What the lanes must agree on."""
    headers = [(name, value) for name, value in sorted(answer.head.headers) if name in COMPARED]
    return answer.status, headers, answer.body


@pytest.fixture(scope="module")
def lanes(certificates: pki.Pki) -> dict[str, list[Answer]]:
    """The answers of every lane to the script."""
    found: dict[str, list[Answer]] = {}

    async def run(name: str) -> None:
        async with open_api(env=frozen()) as server:
            if name == "loop":
                found[name] = await lane_loop(server, SCRIPT)
            elif name == "hypercorn":
                found[name] = await lane_hypercorn(server, SCRIPT)
            else:
                found[name] = await lane_http2(server, SCRIPT, certificates)

    async def main() -> None:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for name in ("loop", "hypercorn", "http2"):
                    nursery.start_soon(run, name)

    trio.run(main)
    return found


@pytest.mark.parametrize("other", ["hypercorn", "http2"])
def test_every_answer_is_the_same(lanes: dict[str, list[Answer]], other: str) -> None:
    """Status, compared headers and body bytes of each request."""
    different = [
        (ask.name, told(one), told(two))
        for ask, one, two in zip(SCRIPT, lanes["loop"], lanes[other], strict=True)
        if told(one) != told(two)
    ]
    assert different == []


def test_the_script_covers_what_it_says(lanes: dict[str, list[Answer]]) -> None:
    """Agreement about nothing would prove nothing: many kinds of answers are among them."""
    statuses = {answer.status for answer in lanes["loop"]}
    assert {200, 201, 301, 400, 403, 404, 405, 406, 409, 413, 415} <= statuses
    streamed = [a for a in lanes["loop"] if a.head.get(b"transfer-encoding") == b"chunked"]
    assert len(streamed) >= 4
    assert max(len(answer.body) for answer in streamed) > 600_000


@pytest.mark.parametrize("other", ["hypercorn", "http2"])
def test_lengths_are_declared_where_they_are_known(
    lanes: dict[str, list[Answer]], other: str
) -> None:
    """Content-Length is the same, or absent for what the loop sends in chunks."""
    for ask, one, two in zip(SCRIPT, lanes["loop"], lanes[other], strict=True):
        length = one.head.get(b"content-length")
        if length and ask.method != "HEAD":
            assert two.head.get(b"content-length") == length, ask.name


PROXY = "/api/v1/namespaces/default/pods/p/proxy/x"
PROXIED = (
    Ask("GET", PROXY + "?q=1", (("X-Sent", "s"),)),
    Ask("PUT", PROXY, (), b"y" * 300_000),
    Ask("POST", PROXY, (), b""),
    Ask("HEAD", PROXY),
    Ask("OPTIONS", PROXY),
    Ask("GET", PROXY.removesuffix("/x")),
)


async def echo(asked: ReceivedRequest) -> None:
    """Tells what came; not where a connection came from."""
    kept = {name: value for name, value in asked.headers if name not in HOPS}
    body = await asked.body()
    told = orjson.dumps([asked.method, asked.target, kept, len(body)])
    await asked.reply(200, told, {"X-Answered": "a", "Content-Type": "application/json"})


HOPS = frozenset({"x-forwarded-for"})


@pytest.mark.parametrize("other", ["hypercorn", "http2"])
async def test_proxied_requests_are_the_same(
    server: InProcess, client: Client, certificates: pki.Pki, other: str
) -> None:
    """To the backend, and so are its answers to the client."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await client.request("POST", "/api/v1/namespaces/default/pods", json={**pod, "spec": spec})
    patch = {"Content-Type": "application/merge-patch+json"}
    there = {"status": {"podIPs": [{"ip": "10.1.0.7"}]}}
    path = "/api/v1/namespaces/default/pods/p/status"
    assert (await client.request("PATCH", path, patch, json=there)).status == 200
    async with open_backend(echo) as pods:

        async def reach(host: str, port: str, tls: object, timeout_s: float) -> Transport:
            return await dial("127.0.0.1", str(pods.port), None, timeout_s)

        server.api.edge.backends.dial = reach
        one = await lane_loop(server, PROXIED)
        if other == "hypercorn":
            two = await lane_hypercorn(server, PROXIED)
        else:
            two = await lane_http2(server, PROXIED, certificates)
    for ask, left, right in zip(PROXIED, one, two, strict=True):
        assert (left.status, left.body) == (right.status, right.body), ask.name
        for name in (b"x-answered", b"content-length", b"content-type", b"location"):
            assert left.head.get(name) == right.head.get(name), (ask.name, name)
    assert orjson.loads(one[1].body)[3] == 300_000


async def test_http2_bodies_need_no_length(
    server: InProcess, client: Client, certificates: pki.Pki
) -> None:
    """What a proxy passes on then is chunked."""
    seen: list[tuple[str | None, bytes]] = []

    async def answer(asked: ReceivedRequest) -> None:
        seen.append((asked.get("transfer-encoding"), await asked.body()))
        await asked.reply()

    address = {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": address}
    await client.request("POST", "/api/v1/nodes", json=node)
    async with (
        open_backend(answer) as backend,
        listening(server.api.handle, server.env, certificates) as listener,
        http2(listener.port, certificates) as session,
    ):

        async def reach(host: str, port: str, tls: object, timeout_s: float) -> Transport:
            return await dial("127.0.0.1", str(backend.port), None, timeout_s)

        server.api.edge.backends.dial = reach
        stream = session.state.get_next_available_stream_id()
        session.bodies[stream] = bytearray()
        target = (":path", "/api/v1/nodes/n:80/proxy/x")
        head = [(":method", "POST"), (":scheme", "https"), (":authority", "test"), target]
        session.state.send_headers(stream, head)
        session.state.send_data(stream, b"no length", end_stream=True)
        await session.flush()
        while stream not in session.ended:
            await session.pump()
    assert seen == [("chunked", b"no length")]


async def test_http2_requests_share_a_connection(server: InProcess, certificates: pki.Pki) -> None:
    """A watch and other requests at the same time, on one connection."""
    async with (
        listening(server.api.handle, server.env, certificates) as listener,
        http2(listener.port, certificates) as client,
    ):
        target = "/api/v1/namespaces?watch=1&resourceVersion=4&timeoutSeconds=600"
        watch = client.state.get_next_available_stream_id()
        client.bodies[watch] = bytearray()
        client.state.send_headers(
            watch,
            [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", target)],
            end_stream=True,
        )
        await client.flush()
        while watch not in client.headers:
            await client.pump()
        made = await client.ask(post("/api/v1/namespaces", {"metadata": {"name": "new"}}))
        assert made.status == 201
        while b'"new"' not in client.bodies[watch]:
            await client.pump()
        server.api.end_streams()
        while watch not in client.ended:
            await client.pump()


async def test_http2_requests_finish_at_shutdown(server: InProcess, certificates: pki.Pki) -> None:
    """A request in flight is answered; idle connections do not hold the end up."""
    body = orjson.dumps(configmap("late"))
    async with (
        listening(server.api.handle, server.env, certificates) as listener,
        http2(listener.port, certificates) as idle,
        http2(listener.port, certificates) as client,
    ):
        assert (await idle.ask(get("/healthz"))).status == 200
        stream = client.state.get_next_available_stream_id()
        client.bodies[stream] = bytearray()
        client.state.send_headers(
            stream,
            [
                (":method", "POST"),
                (":scheme", "https"),
                (":authority", "test"),
                (":path", CONFIGMAPS),
                ("content-type", "application/json"),
            ],
        )
        client.state.send_data(stream, body[:5])
        await client.flush()
        await client.pump()  # the server's settings: it has the connection
        await trio.sleep(0.1)
        await listener.drain()
        client.state.send_data(stream, body[5:], end_stream=True)
        await client.flush()
        with trio.fail_after(5):
            while stream not in client.ended:
                await client.pump()
            await listener.wait_idle()
        assert dict(client.headers[stream])[b":status"] == b"201"


def test_clients_share_a_type() -> None:
    """The in-memory client is an exchange like the one over sockets."""
    assert issubclass(Client, Exchange)


@pytest.mark.parametrize("fault", ["watch-drop", "watch-close", "410"])
async def test_faults_of_watches_reach_http2(certificates: pki.Pki, fault: str) -> None:
    """The stream ends after the first event; its connection goes on."""
    async with open_api(env=frozen()) as server:
        server.api.faults.add(Rule(fault=fault, id="mine", verb="watch", after_events=1))
        script = [Ask("GET", "/api/v1/namespaces?watch=1"), Ask("GET", "/version")]
        watched, version = await lane_http2(server, script, certificates)
    assert watched.head.get(b"x-kubetrio-fault") == b"mine"
    types = [line[: line.index(b",")] for line in watched.body.splitlines()]
    assert types == [b'{"type":"ADDED"', b'{"type":"ERROR"'][: 2 if fault == "410" else 1]
    assert version.status == 200
