"""Connections given to Hypercorn: their streams, their ends, and what must not break them."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trio
import trio.testing

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse
from kubetrio.env import seeded
from kubetrio.http.bridge import STRANGER_BYTES, Bridge, HandedOverStream
from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import ADMIN, BadAnswer, Exchange, encode_request
from kubetrio.transport import PlainTransport

Pair = tuple[PlainTransport, PlainTransport]


@pytest.fixture
def pair() -> Pair:
    """Both ends of a connection."""
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    return PlainTransport(left), PlainTransport(right)


async def answer(request: Request) -> AnyResponse:
    """Says who asked for what; `/stream` ends when the client says so."""
    if request.raw_path == "/watch":

        async def run(channel: Channel) -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.wait_closed)
                for number in range(1_000_000):
                    await channel.send(channel.frame(b"%06d" % number))
                    await trio.lowlevel.checkpoint()

        return StreamResponse(200, run, long_running=True)
    if request.raw_path == "/bug":

        async def fail(channel: Channel) -> None:
            await channel.send(channel.frame(b"half"))
            raise LookupError("bug")

        return StreamResponse(200, fail)
    body = b"" if request.raw_path == "/unread" else await request.read_body(1000)
    who = request.certificate.name if request.certificate else "nobody"
    return Response(200, f"{who} {request.method} {request.raw_path}:".encode() + body)


@asynccontextmanager
async def bridged(
    pair: Pair, received: bytes = b"", who: UserInfo | None = ADMIN
) -> AsyncIterator[tuple[Exchange, trio.Event]]:
    """A client whose connection Hypercorn serves, and the event of its end."""
    bridge = Bridge(answer, write_timeout_s=1, env=seeded(0))
    ended = trio.Event()

    async def serve() -> None:
        await bridge.serve(pair[0], received, who)
        ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        yield Exchange(pair[1]), ended
        pair[1].close()
        with trio.fail_after(5):
            await ended.wait()


async def test_bytes_read_before_are_served_first(pair: Pair) -> None:
    """The fast loop gives away a connection with what it has read from it."""
    raw = encode_request("POST", "/a", body=b"abc")
    async with bridged(pair, raw[:30]) as (client, _):
        await client.send(raw[30:])
        assert (await client.receive()).body == b"kubernetes-admin POST /a:abc"


@pytest.mark.parametrize(("who", "name"), [(None, b"nobody"), (UserInfo("x"), b"x")])
async def test_the_certificate_travels(pair: Pair, who: UserInfo | None, name: bytes) -> None:
    """The identity of the connection is that of its requests."""
    async with bridged(pair, who=who) as (client, _):
        assert (await client.request("GET", "/")).body == name + b" GET /:"


async def test_a_client_that_leaves_ends_its_stream(pair: Pair) -> None:
    """No writer stays behind (the fixture waits for the end)."""
    async with bridged(pair) as (client, _):
        await client.send(encode_request("GET", "/watch"))
        await client.head()
        assert (await client.chunk()).startswith(b"000000")


async def test_a_stream_with_a_bug_ends_early(pair: Pair) -> None:
    """The client sees that something is missing, and the server goes on."""
    async with bridged(pair) as (client, _):
        await client.send(encode_request("GET", "/bug"))
        head = await client.head()
        with pytest.raises(BadAnswer):
            await client.body(head)


async def test_a_bad_request_gets_an_answer(pair: Pair) -> None:
    """Hypercorn refuses what is not HTTP, too."""
    async with bridged(pair) as (client, _):
        await client.send(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n")
        assert (await client.receive()).status == 400


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: %b\r\n\r\n"
)
SOCKET = (
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\n%b\r\n"
)


def priority(stream: int, parent: int) -> bytes:
    """A PRIORITY frame."""
    return b"\0\0\5\2\0" + stream.to_bytes(4, "big") + parent.to_bytes(4, "big") + b"\20"


BROKEN = {
    "settings that are not base64": UPGRADE % b"AAM",
    "settings that are none": UPGRADE % b"AAMA",
    "a WebSocket without a key, and with a body": SOCKET % b"Content-Length: x\r\n",
    "a WebSocket that goes on with another request": SOCKET % b"" + b"\0\0\xff" * 20,
    "a WebSocket of a request that is not its client's turn": SOCKET % b"Content-Length: 5\r\n",
    "HTTP/2 that is none": PREFACE + b"\xff" * 100,
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN.keys())
async def test_what_clients_break_ends_their_connection(pair: Pair, sent: bytes) -> None:
    """And raises nothing, which would be logged as a bug of the server."""
    async with bridged(pair, sent) as (client, _):
        with trio.move_on_after(0.2), suppress(BadAnswer, OSError):
            while True:
                await client.head()


async def test_chains_of_priorities_are_ignored(pair: Pair) -> None:
    """Two thousand streams, each of which depends on the one before it; the next is served."""
    chain = b"".join(priority(2 * n + 1, max(2 * n - 1, 0)) for n in range(2000))
    headers = b"\x82\x84\x87\x41\x01h"  # GET / https h
    request = len(headers).to_bytes(3, "big") + b"\1\5" + (5001).to_bytes(4, "big") + headers
    received = b""
    async with bridged(pair, PREFACE + chain + request) as (client, _):
        with trio.fail_after(5):
            while b"kubernetes-admin GET /:" not in received:
                await client.transport.wait_readable()
                received += client.transport.read_nowait() or b""


async def test_termination_ends_idle_connections(pair: Pair) -> None:
    """Shutdown does not wait for clients that want nothing."""
    bridge = Bridge(answer, write_timeout_s=1, env=seeded(0))
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bridge.serve, pair[0], b"", None)
            assert (await Exchange(pair[1]).request("GET", "/")).status == 200
            await bridge.terminate()
    pair[1].close()


async def test_writes_to_a_client_that_does_not_read_time_out(
    pair: Pair,
) -> None:
    """Hypercorn shields its writes: the deadline is the stream's."""
    stream = HandedOverStream(pair[0], b"", 0.05)
    with pytest.raises(trio.BrokenResourceError):
        await stream.send_all(b"x" * 10_000_000)
    await stream.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await stream.send_all(b"x")
    with pytest.raises(trio.ClosedResourceError):
        await stream.receive_some()
    pair[1].close()


async def test_the_stream_is_read_to_its_end(pair: Pair) -> None:
    """First what was read before, then what comes, then the end."""
    stream = HandedOverStream(pair[0], b"before", 1)
    pair[1].write_nowait(b"after")
    pair[1].close()
    assert await stream.receive_some() == b"before"
    assert await stream.receive_some() == b"after"
    assert await stream.receive_some() == b""
    await stream.aclose()


async def test_a_stranger_is_read_a_little_at_a_time(pair: Pair) -> None:
    """Whoever is known has all that is there at once."""
    ours, theirs = pair
    user = ""
    sent = bytes(range(256)) * 20
    stream = HandedOverStream(ours, sent[:3000], 1.0, lambda: user)
    theirs.write_nowait(sent[3000:])
    read = [await stream.receive_some() for _ in range(2)]
    assert [len(piece) for piece in read] == [STRANGER_BYTES, 3000 - STRANGER_BYTES]
    user = "alice"
    read.append(await stream.receive_some())
    assert b"".join(read) == sent
    ours.close()
    theirs.close()
