"""Upgrades and the tunnels behind them."""

from __future__ import annotations

import trio
import trio.testing

from kubetrio.testing.backend import ReceivedRequest
from kubetrio.testing.client import Client, encode_request

from .cluster import POD, Cluster

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
