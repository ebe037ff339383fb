"""Clients of HTTP/2 that take nothing: what is held for them, and for how long."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trio
import trio.testing
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, StreamBuffer
from hypercorn.trio.worker_context import EventWrapper

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse
from kubetrio.env import seeded
from kubetrio.http import h2buffers
from kubetrio.http.bridge import Bridge
from kubetrio.http.h2buffers import Backlog
from kubetrio.testing.h2client import Http2Client
from kubetrio.transport import PlainTransport

BODY = b"x" * 1_000_000
LIMIT_S = 0.2


async def answer(request: Request) -> AnyResponse:
    """A large body, or a stream that would go on for ever."""
    if request.raw_path == "/small":
        return Response(200, b"small")
    if request.raw_path == "/body":
        return Response(200, BODY)

    async def run(channel: Channel) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.wait_closed)
            for _ in range(1_000):
                await channel.send(channel.frame(b"y" * 40_000))

    return StreamResponse(200, run, long_running=True)


@asynccontextmanager
async def connected(
    window: int, limit_s: float = 60.0, bridge: Bridge | None = None
) -> AsyncIterator[tuple[Http2Client, Backlog]]:
    """A client whose connection Hypercorn serves, and what is held for it."""
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    transport = PlainTransport(left)
    bridge = bridge or Bridge(answer, write_timeout_s=limit_s, env=seeded(0))
    parts = await bridge.load()
    client = Http2Client(right, window)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bridge.serve, transport, b"", None)
        with trio.fail_after(20):
            yield client, parts.backlog
        client.transport.close()
        nursery.cancel_scope.cancel()
    transport.close()


async def settled(backlog: Backlog) -> int:
    """Bytes that are held once nothing more is written."""
    before = -1
    while before != backlog.held_bytes or not before:
        before = backlog.held_bytes
        await trio.testing.wait_all_tasks_blocked(0.01)
    return before


@pytest.mark.parametrize("path", ["/body", "/watch"])
async def test_a_client_without_a_window_holds_two_frames(path: str) -> None:
    """Of each stream, whatever it asks for."""
    async with connected(window=0) as (client, backlog):
        for _ in range(20):
            await client.get(path)
        held = await settled(backlog)
        most = h2buffers.STREAM_BYTES + 2 * h2buffers.HIGH_BYTES
        assert 0 < held <= 20 * most


async def test_a_slow_client_gets_everything() -> None:
    """A little at a time, as it grants it."""
    async with connected(window=1000) as (client, backlog):
        stream = await client.get("/body")
        while stream not in client.ended:
            await client.read()
            taken = len(client.bodies.get(stream, b""))
            if stream not in client.ended and taken and taken % 1000 == 0:
                await client.grant(stream, 99_000 if taken < 900_000 else 100_000)
                client.connection.increment_flow_control_window(100_000)
                await client.flush()
        assert client.bodies[stream] == BODY
        assert backlog.held_bytes == 0


async def test_a_stream_without_progress_is_reset() -> None:
    """After the limit, and the others of the connection go on."""
    async with connected(window=0, limit_s=LIMIT_S) as (client, backlog):
        stalled = await client.get("/watch")
        while stalled not in client.reset:
            await client.read()
        small = await client.get("/small")
        await client.grant(small, 1000)
        while small not in client.ended:
            await client.read()
        assert client.bodies[small] == b"small"
        assert backlog.resets == 1
        assert backlog.held_bytes == 0


async def test_a_connection_without_progress_is_closed() -> None:
    """Once its streams are reset, and nothing else is asked for as long again."""
    async with connected(window=0, limit_s=LIMIT_S) as (client, backlog):
        for _ in range(3):
            await client.get("/watch")
        with suppress(OSError):
            while await client.read():
                pass
        assert len(client.reset) == 3
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert not backlog.stuck


async def test_the_stream_that_waits_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """All streams of all connections together have a bound."""
    async with connected(window=0) as (client, backlog):
        backlog.most_bytes = 200_000
        streams = [await client.get("/body") for _ in range(10)]
        while len(client.reset) < 4:
            await client.read()
        assert await settled(backlog) <= 200_000
        assert set(client.reset) == set(streams[:4])


async def test_streams_that_wait_for_the_server_only_stay() -> None:
    """A crowd that comes at a time is over the bound for a moment; its clients take what comes."""
    async with connected(window=60_000) as (client, backlog):
        backlog.most_bytes = 10 * h2buffers.STREAM_BYTES
        streams = {await client.get("/small") for _ in range(200)}
        while client.ended != streams:
            await client.read()
        assert backlog.resets == 0
        assert backlog.held_bytes == 0


async def test_a_client_that_does_not_read_its_socket_makes_room_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It grants all windows that there are, and takes nothing."""
    bridge = Bridge(answer, write_timeout_s=60, env=seeded(0))
    async with connected(2**24, bridge=bridge) as (deaf, backlog):
        backlog.most_bytes = 10 * h2buffers.STREAM_BYTES
        deaf.connection.increment_flow_control_window(2**24)
        for _ in range(30):
            await deaf.get("/body")
        assert await settled(backlog) > backlog.most_bytes
        assert backlog.resets == 0
        monkeypatch.setattr(h2buffers, "FRESH_S", 0.0)  # the time has passed
        async with connected(60_000, bridge=bridge) as (client, _):
            small = await client.get("/small")
            while small not in client.ended:
                await client.read()
        assert backlog.resets > 0
        assert await settled(backlog) <= backlog.most_bytes


async def test_a_connection_that_ends_holds_nothing() -> None:
    """However many streams were waiting."""
    async with connected(window=0) as (client, backlog):
        for _ in range(5):
            await client.get("/body")
        assert await settled(backlog)
    assert backlog.held_bytes == 0


async def test_hypercorn_still_needs_this() -> None:
    """Its buffer lets a writer go on that nobody made room for; when this fails, drop ours."""
    buffer = StreamBuffer(EventWrapper)
    with trio.move_on_after(0.05) as timer:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(buffer.push, b"x" * BUFFER_HIGH_WATER)
            await trio.testing.wait_all_tasks_blocked()
            await buffer.pop(0)  # as its send task does for a client that grants no window
    assert not timer.cancelled_caught
    assert len(buffer.buffer) == BUFFER_HIGH_WATER
