"""Logs, streams and proxies, with a kubelet and pods on sockets of this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.backend.backends import Backends, KubeletConfig
from kubetrio.backend.dial import dial
from kubetrio.backend.guard import Guard
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.testing.backend import FakeBackend, ReceivedRequest, open_backend, tls_of
from kubetrio.testing.client import Client, encode_request
from kubetrio.testing.server import InProcess
from kubetrio.tls.pki import Pki

PODS = "/api/v1/namespaces/default/pods"
POD = PODS + "/p"
MERGE = {"Content-Type": "application/merge-patch+json"}


async def unexpected(asked: ReceivedRequest) -> None:
    await asked.reply(418, b"nobody expected this")


@dataclass
class Cluster:
    """A server with a node and a pod on it.

    Args:
        server: the server.
        client: an administrator's connection.
        kubelet: of the node ``n``.
        web: what listens in the pod ``p``, on any address and port.
        dialled: addresses that the server connected to.
    """

    server: InProcess
    client: Client
    kubelet: FakeBackend
    web: FakeBackend
    dialled: list[str] = field(default_factory=list)


@pytest.fixture
async def cluster(server: InProcess, client: Client, certificates: Pki) -> AsyncIterator[Cluster]:
    async with (
        open_backend(unexpected, tls_of(certificates)) as kubelet,
        open_backend(unexpected) as web,
    ):
        made = Cluster(server, client, kubelet, web)

        async def anywhere(host: str, port: str, tls: Any, timeout_s: float) -> Any:
            made.dialled.append(f"{host}:{port}")
            if host != "127.0.0.1":
                host, port = "127.0.0.1", str(web.port)
            return await dial(host, port, tls, timeout_s)

        backends = Backends(
            KubeletConfig(authority=certificates.ca.cert),
            server.env,
            lambda: certificates.admin,
            anywhere,
        )
        object.__setattr__(server.api.edge, "backends", backends)  # what is dialled is here
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
        }
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}
        await create(client, "/api/v1/nodes", node)
        await create(client, PODS, pod("p"))
        running = {"status": {"phase": "Running", "podIPs": [{"ip": "10.1.0.7"}]}}
        done = await client.request("PATCH", POD + "/status", headers=MERGE, json=running)
        assert done.status == 200, done.body
        yield made


def pod(name: str, *, node: str = "n") -> dict[str, Any]:
    ports = [{"containerPort": 8080}]
    spec = {"containers": [{"name": "c", "image": "i", "ports": ports}], "nodeName": node}
    meta = {"name": name, "labels": {"a": "b"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def create(client: Client, path: str, obj: Any) -> None:
    answer = await client.request("POST", path, json=obj)
    assert answer.status == 201, answer.body


# ---------------------------------------------------------------------- logs


async def test_a_log(cluster: Cluster) -> None:
    """The kubelet is asked in kube-apiserver's spelling, and shown the server's certificate."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, b"one\ntwo\n", {"Content-Type": "text/html"})

    cluster.kubelet.answer = answer
    query = "tailLines=2&timestamps=true&previous=false&sinceTime=2024-01-02T03:04:05%2B01:00"
    got = await cluster.client.request("GET", f"{POD}/log?{query}")
    assert (got.status, got.body) == (200, b"one\ntwo\n")
    assert got.head.get(b"content-type") == b"text/plain"
    [asked] = cluster.kubelet.asked
    assert asked.path == "/containerLogs/default/p/c"
    assert asked.query == [
        ("sinceTime", "2024-01-02T02:04:05Z"),
        ("tailLines", "2"),
        ("timestamps", "true"),
    ]
    assert asked.certificate == "system:masters/kubernetes-admin"
    await cluster.kubelet.wait_connections(0)


async def test_a_followed_log(cluster: Cluster) -> None:
    """Lines come as they are written; the client's leaving ends the kubelet's work."""
    written, more = trio.open_memory_channel[bytes](10)

    async def answer(asked: ReceivedRequest) -> None:
        assert asked.query == [("follow", "true")]
        await asked.head(200, {"Transfer-Encoding": "chunked"})
        async for line in more:
            await asked.chunk(line)
        await asked.receive()

    cluster.kubelet.answer = answer
    async with cluster.server.connect() as client:
        await client.send(encode_request("GET", POD + "/log?follow=true"))
        assert (await client.head()).status == 200
        for line in (b"a\n", b"b\n"):
            await written.send(line)
            assert await client.chunk() == line
        await cluster.kubelet.wait_connections(1)
    written.close()
    await cluster.kubelet.wait_connections(0)


async def test_shutdown_ends_followed_logs(cluster: Cluster) -> None:
    """As the watches: cleanly."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.head(200, {"Transfer-Encoding": "chunked"})
        await asked.chunk(b"a\n")
        await asked.receive()

    cluster.kubelet.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/log?follow=1"))
    await cluster.client.head()
    assert await cluster.client.chunk() == b"a\n"
    cluster.server.api.end_streams()
    assert await cluster.client.chunk() == b""
    await cluster.kubelet.wait_connections(0)


async def test_a_log_nobody_reads_is_not_collected(cluster: Cluster) -> None:
    """The kubelet is stopped by a client that does not read, and goes on with it."""
    size = 40 * 1024 * 1024
    sent = 0

    async def answer(asked: ReceivedRequest) -> None:
        nonlocal sent
        await asked.head(200, {})
        piece = bytes(64 * 1024)
        while sent < size:
            await asked.send(piece)
            sent += len(piece)

    cluster.kubelet.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/log"))
    await trio.testing.wait_all_tasks_blocked(0.1)
    assert 0 < sent < size / 2
    got = await cluster.client.receive()
    assert len(got.body) == size


@pytest.mark.parametrize(
    ("status", "said", "code", "reason", "message"),
    [
        (400, b"no such container", 400, "BadRequest", "no such container"),
        (500, b"oops", 500, "InternalError", "Internal error occurred: oops"),
        (
            404,
            b"gone",
            404,
            "NotFound",
            "the server could not find the requested resource ( pods/log p)",
        ),
        (403, b"not you", 403, "Forbidden", "not you ( pods/log p)"),
        (
            502,
            b"no",
            502,
            "InternalError",
            'an error on the server ("no") has prevented the request from succeeding ( pods/log p)',
        ),
    ],
)
async def test_what_a_kubelet_refuses(
    cluster: Cluster, status: int, said: bytes, code: int, reason: str, message: str
) -> None:
    """Its words, or those of the status code."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(status, said)

    cluster.kubelet.answer = answer
    got = await cluster.client.request("GET", POD + "/log")
    assert (got.status, got.json().get("reason")) == (code, reason)
    assert got.json()["message"] == message
    await cluster.kubelet.wait_connections(0)


async def test_a_kubelet_that_redirects(cluster: Cluster) -> None:
    """It is not followed."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(302, b"", {"Location": "/elsewhere"})

    cluster.kubelet.answer = answer
    got = await cluster.client.request("GET", POD + "/log")
    url = f"https://127.0.0.1:{cluster.kubelet.port}/elsewhere"
    assert got.status == 500
    assert got.json()["message"] == f'Get "{url}": redirects forbidden'


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-", b"what\r\n\r\n"])
async def test_a_kubelet_that_breaks_off(cluster: Cluster, said: bytes) -> None:
    """An error that says so, without a reason, as from kube-apiserver."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(said)

    cluster.kubelet.answer = answer
    got = await cluster.client.request("GET", POD + "/log")
    assert got.status == 500
    assert got.json()["message"].startswith(
        f'Get "https://127.0.0.1:{cluster.kubelet.port}/containerLogs/default/p/c": '
    )
    assert "reason" not in got.json()


async def test_a_kubelet_that_is_not_there(cluster: Cluster) -> None:
    """The words of a refused connection."""
    async with open_backend(unexpected) as other:
        port = other.port
    await cluster.client.request(
        "PATCH",
        "/api/v1/nodes/n/status",
        headers=MERGE,
        json={"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}},
    )
    got = await cluster.client.request("GET", POD + "/log")
    assert got.status == 500
    url = f"https://127.0.0.1:{port}/containerLogs/default/p/c"
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert got.json()["message"] == f'Get "{url}": {refused}'


async def test_a_log_that_breaks_off(cluster: Cluster) -> None:
    """The client can tell: its own answer has no end either."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.head(200, {"Content-Length": "100"})
        await asked.send(b"half")

    cluster.kubelet.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/log"))
    await cluster.client.head()
    assert (await cluster.client.rest()) == b"4\r\nhalf\r\n"


# ---------------------------------------------------------------------- proxies


async def test_a_request_to_a_pod(cluster: Cluster) -> None:
    """Method, path, query and body arrive; credentials and headers of the hop do not."""
    body = b""

    async def answer(asked: ReceivedRequest) -> None:
        nonlocal body
        body = await asked.body()
        headers = {
            "X-Own": "yes",
            "Connection": "close, X-Hop",
            "X-Hop": "no",
            "Access-Control-Allow-Origin": "*",
            "Date": "Thu, 01 Jan 1970 00:00:00 GMT",
        }
        await asked.reply(201, b"made", headers)

    cluster.web.answer = answer
    sent = {
        "Authorization": "Basic eDp5",
        "X-Forwarded-For": "198.51.100.1",
        "Connection": "X-Secret",
        "X-Secret": "s",
        "Te": "trailers",
        "X-Kept": "k",
        "Content-Type": "text/x",
    }
    got = await cluster.client.request("PUT", POD + "/proxy/a/../b%20c/?q=%2F&q=2", sent, b"data")
    assert (got.status, got.body, body) == (201, b"made", b"data")
    assert got.head.get(b"x-own") == b"yes"
    assert got.head.get(b"content-length") == b"4"
    assert got.head.get(b"x-hop") == got.head.get(b"access-control-allow-origin") == b""
    assert b"1970" not in got.head.get(b"date")
    [asked] = cluster.web.asked
    assert (asked.method, asked.target) == ("PUT", "/b%20c/?q=%2F&q=2")
    assert dict(asked.headers) == {
        "host": "test",
        "x-forwarded-for": "198.51.100.1, 192.0.2.1",
        "x-forwarded-uri": "/api/v1/namespaces/default/pods/p/proxy/b%20c/",
        "x-kept": "k",
        "content-type": "text/x",
        "content-length": "4",
    }
    assert cluster.dialled == ["10.1.0.7:8080"]
    again = await cluster.client.request("GET", POD)
    assert again.status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE", "PATCH", "POST"])
async def test_every_method(cluster: Cluster, method: str) -> None:
    """Those that are no verbs of the API, too."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, b"body")

    cluster.web.answer = answer
    got = await cluster.client.request(method, POD + "/proxy/x")
    assert got.status == 200
    assert got.head.get(b"content-length") == b"4"
    assert got.body == (b"" if method == "HEAD" else b"body")
    assert [asked.method for asked in cluster.web.asked] == [method]
    await cluster.web.wait_connections(0)


async def test_other_methods_are_no_verbs(cluster: Cluster) -> None:
    """405, as for every other path."""
    assert (await cluster.client.request("PROPFIND", POD + "/proxy/x")).status == 405
    assert (await cluster.client.request("OPTIONS", POD)).status == 405


async def test_the_root_of_a_proxy_ends_with_a_slash(cluster: Cluster) -> None:
    """A browser is sent there, so that relative links work; other methods go through."""
    got = await cluster.client.request("GET", POD + "/proxy?a=b")
    assert got.status == 301
    assert got.head.get(b"location") == POD.encode() + b"/proxy/?a=b"

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply()

    cluster.web.answer = answer
    assert (await cluster.client.request("POST", POD + "/proxy")).status == 200
    assert [asked.target for asked in cluster.web.asked] == ["/"]


@pytest.mark.parametrize(
    ("moved", "where"),
    [
        ("/login", POD + "/proxy/login"),
        ("http://10.1.0.7:8080/login/?a=b", POD + "/proxy/login/?a=b"),
        ("http://test/login", "http://test" + POD + "/proxy/login"),
        ("login", "login"),
        ("https://example.com/login", "https://example.com/login"),
    ],
)
async def test_redirects_lead_through_the_proxy(cluster: Cluster, moved: str, where: str) -> None:
    """Where they lead to the backend; the rest of the world stays where it is."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(302, b"", {"Location": moved})

    cluster.web.answer = answer
    got = await cluster.client.request("GET", POD + "/proxy/start")
    assert (got.status, got.head.get(b"location").decode()) == (302, where)


async def test_links_lead_through_the_proxy(cluster: Cluster) -> None:
    """On pages; not in what only looks like one, nor in pages too large to be one."""
    page = b'<a href="/x">x</a>'
    there = b'<a href="%b/proxy/x">x</a>' % POD.encode()
    kinds = iter(("text/html; charset=utf-8", "text/plain"))

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, page, {"Content-Type": next(kinds, "text/html")})

    cluster.web.answer = answer
    assert (await cluster.client.request("GET", POD + "/proxy/")).body == there
    assert (await cluster.client.request("GET", POD + "/proxy/")).body == page
    assert (await cluster.client.request("HEAD", POD + "/proxy/")).status == 200
    page += bytes(2 * 1024 * 1024)
    assert (await cluster.client.request("GET", POD + "/proxy/")).body == page
    await cluster.web.wait_connections(0)


async def test_bodies_flow_both_ways_at_once(cluster: Cluster) -> None:
    """An answer may begin before the request has ended, and the rest of that still arrives."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.head(200, {"Transfer-Encoding": "chunked"})
        async for piece in asked.pieces():
            await asked.chunk(piece.upper())
        await asked.chunk(b"")

    cluster.web.answer = answer
    client = cluster.client
    await client.send(
        b"POST %b HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
        % (POD + "/proxy/echo").encode()
    )
    assert (await client.head()).status == 200
    assert await client.chunk() == b"A"
    for letter in b"bcd":
        await client.send(b"1\r\n%c\r\n" % letter)
        assert await client.chunk() == b"%c" % (letter - 32)
    await client.send(b"0\r\n\r\n")
    assert await client.chunk() == b""
    await cluster.web.wait_connections(0)


async def test_an_upload_waits_for_its_backend(cluster: Cluster) -> None:
    """Nothing is collected: a backend that does not read stops the client."""
    reading = trio.Event()
    size = 40 * 1024 * 1024
    got = 0

    async def answer(asked: ReceivedRequest) -> None:
        nonlocal got
        await reading.wait()
        async for piece in asked.pieces():
            got += len(piece)
        await asked.reply(200, b"%d" % got)

    cluster.web.answer = answer
    sent = 0

    async def upload() -> None:
        nonlocal sent
        piece = bytes(64 * 1024)
        head = {"Content-Length": str(size)}
        await cluster.client.send(encode_request("POST", POD + "/proxy/up", head))
        while sent < size:
            await cluster.client.send(piece)
            sent += len(piece)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(upload)
        await trio.testing.wait_all_tasks_blocked(0.1)
        assert 0 < sent < size / 2
        reading.set()
        answered = await cluster.client.receive()
    assert answered.body == b"%d" % size


async def test_a_client_that_asks_before_it_sends(cluster: Cluster) -> None:
    """Is told to go on once its body is wanted, and the backend is not asked again."""

    async def answer(asked: ReceivedRequest) -> None:
        assert asked.get("expect") is None
        await asked.reply(200, await asked.body())

    cluster.web.answer = answer
    head = {"Content-Length": "4", "Expect": "100-continue"}
    await cluster.client.send(encode_request("POST", POD + "/proxy/up", head))
    assert (await cluster.client.head()).status == 100
    await cluster.client.send(b"body")
    assert (await cluster.client.receive()).body == b"body"


async def test_a_client_that_leaves_in_its_request(cluster: Cluster) -> None:
    """The backend is left, too."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.body()

    cluster.web.answer = answer
    async with cluster.server.connect() as client:
        head = {"Content-Length": "100"}
        await client.send(encode_request("POST", POD + "/proxy/up", head) + b"half")
        await cluster.web.wait_connections(1)
        client.pipe.end()
        assert (await client.receive()).status == 400
    await cluster.web.wait_connections(0)


async def test_a_pod_that_is_not_there(cluster: Cluster) -> None:
    """503 in kube-apiserver's words."""

    async def refused(host: str, port: str, tls: Any, timeout_s: float) -> Any:
        async with open_backend(unexpected) as other:
            pass
        return await dial("127.0.0.1", str(other.port), tls, timeout_s)

    cluster.server.api.edge.backends.dial = refused
    got = await cluster.client.request("GET", POD + "/proxy/")
    assert (got.status, got.json()["reason"]) == (503, "ServiceUnavailable")
    message = got.json()["message"]
    assert message.startswith("error trying to reach service: dial tcp 127.0.0.1:")
    assert message.endswith(": connect: connection refused")


async def test_a_pod_that_says_nothing(cluster: Cluster) -> None:
    """503: it was reached and broke off."""

    async def answer(asked: ReceivedRequest) -> None:
        del asked

    cluster.web.answer = answer
    got = await cluster.client.request("GET", POD + "/proxy/")
    assert got.json()["message"] == "error trying to reach service: EOF"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (PODS + "/ftp:p:80/proxy/", 'invalid pod request "ftp:p:80"'),
        (PODS + "/q/proxy/", "address not allowed"),
        ("/api/v1/nodes/n/proxy/", "address not allowed"),
        ("/api/v1/nodes/a:b:c:d/proxy/", 'invalid node request "a:b:c:d"'),
        (PODS + "/p/exec?command=ls", "Upgrade request required"),
        (PODS + "/p/portforward", "Upgrade request required"),
    ],
)
async def test_refusals(cluster: Cluster, path: str, message: str) -> None:
    """400, before anybody is connected to."""
    await create(cluster.client, PODS, pod("q"))
    looped = {"status": {"podIPs": [{"ip": "127.0.0.1"}]}}
    await cluster.client.request("PATCH", PODS + "/q/status", headers=MERGE, json=looped)
    got = await cluster.client.request("GET", path)
    assert (got.status, got.json()["message"]) == (400, message)
    assert not cluster.dialled


LEADING_HOME = ("127.0.0.1", "::ffff:127.0.0.1", "localhost", "64:ff9b::127.0.0.1")


@pytest.mark.parametrize("address", LEADING_HOME)
@pytest.mark.parametrize(
    "path",
    [
        POD + "/log",
        POD + "/exec?command=ls",
        POD + "/attach",
        POD + "/portforward",
        "/api/v1/nodes/n/proxy/",
        "/api/v1/nodes/https:n:6443/proxy/",
    ],
)
async def test_the_server_is_no_kubelet(cluster: Cluster, path: str, address: str) -> None:
    """A node whose kubelet would be this server is refused, before anything is sent."""
    cluster.server.api.edge.backends.guard = Guard(port=6443)
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 6443}},
    }
    where = "/api/v1/nodes/n/status"
    await cluster.client.request("PATCH", where, headers=MERGE, json={"status": status})
    got = await cluster.client.request("GET", path)
    assert (got.status, got.json()["message"]) == (400, "address not allowed")
    assert not cluster.dialled


@pytest.mark.parametrize("address", ["10.0.0.9", "64:ff9b::7f00:1", "2002:7f00:1::1"])
async def test_the_server_is_no_pod(cluster: Cluster, address: str) -> None:
    """Its own address, and what is another spelling of the loopback."""
    cluster.server.api.edge.backends.guard = Guard(port=6443, local=lambda each: each == "10.0.0.9")
    await create(cluster.client, PODS, pod("q"))
    looped = {"status": {"podIPs": [{"ip": address}]}}
    done = await cluster.client.request("PATCH", PODS + "/q/status", headers=MERGE, json=looped)
    assert done.status == 200, done.body
    got = await cluster.client.request("GET", PODS + "/https:q:6443/proxy/")
    assert (got.status, got.json()["message"]) == (400, "address not allowed")
    assert not cluster.dialled


async def test_a_port_of_a_pod(cluster: Cluster) -> None:
    """By number; a scheme may stand in front."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, b"there")

    cluster.web.answer = answer
    assert (await cluster.client.request("GET", PODS + "/http:p:99/proxy/")).body == b"there"
    assert (await cluster.client.request("GET", PODS + "/p:98/proxy/")).body == b"there"
    assert cluster.dialled == ["10.1.0.7:99", "10.1.0.7:98"]


async def test_a_pod_with_tls(cluster: Cluster, certificates: Pki) -> None:
    """Whatever its certificate is, and without showing one."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, asked.certificate.encode())

    async with open_backend(answer, tls_of(certificates, ask=False)) as secure:

        async def there(host: str, port: str, tls: Any, timeout_s: float) -> Any:
            return await dial("127.0.0.1", str(secure.port), tls, timeout_s)

        cluster.server.api.edge.backends.dial = there
        got = await cluster.client.request("GET", PODS + "/https:p:443/proxy/")
    assert (got.status, got.body) == (200, b"None/None")


async def test_a_node(cluster: Cluster) -> None:
    """A kubelet is met as one; another port of its machine is not."""
    address = {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}}
    await cluster.client.request("PATCH", "/api/v1/nodes/n/status", headers=MERGE, json=address)

    async def stats(asked: ReceivedRequest) -> None:
        await asked.reply(200, asked.certificate.encode() + asked.target.encode())

    async def there(host: str, port: str, tls: Any, timeout_s: float) -> Any:
        cluster.dialled.append(f"{host}:{port}")
        kubelet = str(cluster.kubelet.port)
        port = kubelet if port == kubelet else str(cluster.web.port)
        tls = tls and tls._replace(name="127.0.0.1")
        return await dial("127.0.0.1", port, tls, timeout_s)

    cluster.kubelet.answer = cluster.web.answer = stats
    cluster.server.api.edge.backends.dial = there
    got = await cluster.client.request("GET", "/api/v1/nodes/n/proxy/stats/summary")
    assert got.body == b"system:masters/kubernetes-admin/stats/summary"
    got = await cluster.client.request("GET", "/api/v1/nodes/n:9100/proxy/metrics")
    assert got.body == b"/metrics"
    assert cluster.dialled == [f"10.0.0.9:{cluster.kubelet.port}", "10.0.0.9:9100"]


# ---------------------------------------------------------------------- services

SERVICE = "/api/v1/namespaces/default/services/s"
REFERENCE = {"kind": "Pod", "namespace": "default", "name": "p"}


async def service(client: Client) -> None:
    ports = [{"name": "web", "port": 80, "targetPort": 8080}, {"name": "other", "port": 81}]
    await create(
        client,
        "/api/v1/namespaces/default/services",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s"},
            "spec": {"ports": ports, "selector": {"a": "b"}},
        },
    )


def endpoints(*addresses: dict[str, Any]) -> dict[str, Any]:
    subset = {"addresses": list(addresses), "ports": [{"name": "web", "port": 8080}]}
    meta = {"name": "s"}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]}


async def answer_there(asked: ReceivedRequest) -> None:
    await asked.reply(200, asked.target.encode())


@pytest.mark.parametrize("port", ["s:web", "s:80", "http:s:web"])
async def test_a_service(cluster: Cluster, port: str) -> None:
    """Its port by name or number; only endpoints that are pods count."""
    await service(cluster.client)
    stray = {"ip": "10.9.9.9"}
    foreign = {"ip": "10.9.9.8", "targetRef": REFERENCE}
    ready = {"ip": "10.1.0.7", "targetRef": REFERENCE}
    path = "/api/v1/namespaces/default/endpoints"
    await create(cluster.client, path, endpoints(stray, foreign, ready))
    cluster.web.answer = answer_there
    for _ in range(4):
        got = await cluster.client.request("GET", f"{SERVICE[:-1]}{port}/proxy/x")
        assert got.body == b"/x"
    assert set(cluster.dialled) == {"10.1.0.7:8080"}


async def test_a_service_with_slices_only(cluster: Cluster) -> None:
    """Where nobody makes Endpoints, EndpointSlices say who is ready."""
    await service(cluster.client)
    await create(
        cluster.client,
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}},
            "addressType": "IPv4",
            "ports": [{"name": "web", "port": 8080}],
            "endpoints": [
                {"addresses": ["10.1.0.8"], "conditions": {"ready": False}},
                {"addresses": ["10.1.0.7"], "targetRef": REFERENCE},
            ],
        },
    )
    cluster.web.answer = answer_there
    got = await cluster.client.request("GET", f"{SERVICE}:web/proxy/x")
    assert got.body == b"/x"
    assert cluster.dialled == ["10.1.0.7:8080"]


@pytest.mark.parametrize(
    ("subsets", "name", "status", "message"),
    [
        (None, "s:web", 404, 'services "s" not found'),
        (None, "s:99999999999999999999", 404, 'services "s" not found'),
        ([], "s:-82", 503, 'no service port -82 found for service "s"'),
        ([], "s:web", 503, 'no endpoints available for service "s"'),
        (endpoints({"ip": "10.1.0.7"})["subsets"], "s:web", 503,
         'no endpoints available for service "s:web"'),
        (endpoints({"ip": "10.1.0.7", "targetRef": REFERENCE})["subsets"], "s", 503,
         'no endpoints available for service "s"'),
        ([], "s:82", 503, 'no service port 82 found for service "s"'),
        ([], "x:s:80", 400, 'invalid service request "x:s:80"'),
    ],
)  # fmt: skip
async def test_a_service_without_endpoints(
    cluster: Cluster, subsets: Any, name: str, status: int, message: str
) -> None:
    """What is missing is named."""
    await service(cluster.client)
    if subsets is not None:
        path = "/api/v1/namespaces/default/endpoints"
        await create(cluster.client, path, {**endpoints(), "subsets": subsets})
    got = await cluster.client.request("GET", f"{SERVICE[:-1]}{name}/proxy/")
    assert (got.status, got.json()["message"]) == (status, message)
    assert not cluster.dialled


# ---------------------------------------------------------------------- upgrades

UPGRADE = {"Connection": "Upgrade", "Upgrade": "chat"}
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: Upgrade\r\n\r\n"


async def test_an_upgrade_is_a_tunnel(cluster: Cluster) -> None:
    """Any protocol: bytes both ways, those sent too early among them."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(SWITCH + b"hello ")
        while data := await asked.receive():
            await asked.send(data.upper())

    cluster.web.answer = answer
    headers = {**UPGRADE, "Authorization": "Basic eDp5"}
    async with cluster.server.connect() as client:
        await client.send(encode_request("GET", POD + "/proxy/x?q=1", headers) + b"early")
        head = await client.head()
        assert (head.status, head.get(b"upgrade")) == (101, b"chat")
        assert await read(client, 11) == b"hello EARLY"
        await client.send(b"late")
        assert await read(client, 4) == b"LATE"
    await cluster.web.wait_connections(0)
    [asked] = cluster.web.asked
    assert asked.target == "/x?q=1"
    assert dict(asked.headers) == {
        "host": "test",
        "connection": "Upgrade",
        "upgrade": "chat",
        "x-forwarded-for": "192.0.2.1",
    }


async def read(client: Client, size: int) -> bytes:
    return bytes(await client._exactly(size))


async def test_the_backend_ends_a_tunnel(cluster: Cluster) -> None:
    """What it said last arrives, and the connection is over."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(SWITCH + b"bye")

    cluster.web.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/proxy/x", UPGRADE))
    assert (await cluster.client.head()).status == 101
    assert await cluster.client.rest() == b"bye"
    cluster.client.pipe.end()
    await cluster.client.ended.wait()


async def test_a_tunnel_is_not_a_buffer(cluster: Cluster) -> None:
    """A client that does not read stops its backend."""
    size = 40 * 1024 * 1024
    sent = 0

    async def answer(asked: ReceivedRequest) -> None:
        nonlocal sent
        await asked.send(SWITCH)
        while sent < size:
            await asked.send(bytes(64 * 1024))
            sent += 64 * 1024

    cluster.web.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/proxy/x", UPGRADE))
    assert (await cluster.client.head()).status == 101
    await trio.testing.wait_all_tasks_blocked(0.1)
    assert 0 < sent < size / 2
    assert len(await cluster.client.rest()) == size


async def test_shutdown_ends_tunnels(cluster: Cluster) -> None:
    """Nobody can say when they would end by themselves."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(SWITCH)
        await asked.receive()

    cluster.web.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/proxy/x", UPGRADE))
    await cluster.client.head()
    cluster.server.api.end_streams()
    assert await cluster.client.rest() == b""
    await cluster.web.wait_connections(0)
    assert not cluster.server.api.edge.streams


async def test_a_refused_upgrade(cluster: Cluster) -> None:
    """The backend's error is the answer."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(403, b"not with me", {"X-Why": "no"})

    cluster.kubelet.answer = answer
    got = await cluster.client.request("POST", POD + "/exec?command=ls", UPGRADE)
    assert (got.status, got.body) == (403, b"not with me")
    assert got.head.get(b"x-why") == b"no"
    assert got.head.get(b"connection") == b"close"


async def test_an_upgrade_that_is_none(cluster: Cluster) -> None:
    """Neither a switch nor an error."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, b"hello")

    cluster.kubelet.answer = answer
    got = await cluster.client.request("POST", POD + "/exec?command=ls", UPGRADE)
    assert got.status == 500
    assert got.json()["message"] == "invalid upgrade response: status code 200"


async def test_a_stream_to_nobody(cluster: Cluster) -> None:
    """500 in kube-apiserver's words."""
    status = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}
    await cluster.client.request("PATCH", "/api/v1/nodes/n/status", headers=MERGE, json=status)
    got = await cluster.client.request("POST", POD + "/attach", UPGRADE)
    assert got.status == 500
    refused = "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused"
    assert got.json()["message"] == refused
    assert "reason" not in got.json()


@pytest.mark.parametrize(
    ("path", "there"),
    [
        (
            "exec?command=sh&command=-c&command=echo+a%26b&stdin=true&stdout=1&stderr=0&tty=false",
            "/exec/default/p/c?command=sh&command=-c&command=echo+a%26b&input=1&output=1",
        ),
        ("attach?stdout=true&tty=true&container=c", "/attach/default/p/c?output=1&tty=1"),
        ("portforward?ports=80&ports=81", "/portForward/default/p?port=80%2C81"),
        ("portforward?ports=80,081&ports=0", "/portForward/default/p?port=80%2C81%2C0"),
        ("portforward", "/portForward/default/p"),
    ],
)
async def test_where_streams_lead(cluster: Cluster, path: str, there: str) -> None:
    """To the kubelet's paths, in its spelling."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(SWITCH)

    cluster.kubelet.answer = answer
    await cluster.client.send(encode_request("POST", f"{POD}/{path}", UPGRADE))
    assert (await cluster.client.head()).status == 101
    assert [asked.target for asked in cluster.kubelet.asked] == [there]


@pytest.mark.parametrize(
    ("ports", "problem"),
    [
        ("x", 'parsing "x": invalid syntax'),
        ("80,", 'parsing "": invalid syntax'),
        ("80&ports=-1", 'parsing "-1": invalid syntax'),
        ("65535,65536", 'parsing "65536": value out of range'),
    ],
)
async def test_ports_that_are_none(cluster: Cluster, ports: str, problem: str) -> None:
    """400 for what is no unsigned number of 16 bits, alone or in a list."""
    got = await cluster.client.request("POST", f"{POD}/portforward?ports={ports}", UPGRADE)
    message = f"cannot convert to []int32: strconv.ParseUint: {problem}"
    assert (got.status, got.json()["message"]) == (400, message)


@pytest.mark.parametrize("path", ["log", "exec?command=ls", "attach", "portforward"])
async def test_a_pod_whose_node_is_not_there(cluster: Cluster, path: str) -> None:
    """404 in the name of the node, of the resource that was asked for."""
    await create(cluster.client, PODS, pod("q", node="nowhere"))
    got = await cluster.client.request("GET", f"{PODS}/q/{path}")
    assert (got.status, got.json()["message"]) == (404, 'pods "nowhere" not found')


async def test_reading_is_not_running(cluster: Cluster) -> None:
    """A WebSocket begins with GET; the right to create is asked for all the same."""

    class Readers:
        def authorize(self, attributes: Attributes) -> Verdict:
            good = attributes.verb == "get"
            return Verdict(Decision.ALLOW if good else Decision.DENY, "no create")

    cluster.server.api.security.authorizer.authorizers = (Readers(),)
    reader = UserInfo("reader")
    for verb in ("exec?command=ls", "attach", "portforward"):
        async with cluster.server.connect(certificate=reader) as client:
            got = await client.request("GET", f"{POD}/{verb}", UPGRADE)
        assert got.status == 403
        assert got.json()["message"] == 'pods "p" is forbidden: no create'
    assert not cluster.kubelet.asked


async def test_streams_are_counted(cluster: Cluster) -> None:
    """Open tunnels are long-running requests."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(SWITCH)
        await asked.receive()

    cluster.kubelet.answer = answer
    async with cluster.server.connect() as client:
        await client.send(encode_request("POST", POD + "/exec?command=ls", UPGRADE))
        await client.head()
        text = (await cluster.client.request("GET", "/metrics")).body.decode()
        [line] = [
            line
            for line in text.splitlines()
            if line.startswith("apiserver_longrunning_requests{") and 'subresource="exec"' in line
        ]
        assert line.endswith(" 1.0")
