"""Requests passed on to pods, and their answers back."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.backend.dial import dial
from kubetrio.testing.backend import ReceivedRequest, open_backend
from kubetrio.testing.client import encode_request

from .cluster import POD, Cluster, unexpected


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
