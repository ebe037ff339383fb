"""One connection: calls, streams, deadlines, and how it breaks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import h2.settings
import pytest
import trio
from trio.testing import MockClock

from kubetrio.harness.transport import memory_pair
from kubetrio.store.etcd.connection import Connection, ConnectionSettings
from kubetrio.store.etcd.errors import (
    Compacted,
    EtcdError,
    NoSpace,
    TimedOut,
    TooLarge,
    Unavailable,
)
from kubetrio.testing.grpcserver import GrpcServer, ServedCall

PATH = "/etcdserverpb.KV/Range"
SETTINGS = ConnectionSettings(
    authority="a:1", tls=False, keepalive_s=10, keepalive_timeout_s=5, max_receive_bytes=3_000_000
)
Handler = Callable[[ServedCall], Awaitable[None]]


@asynccontextmanager
async def connected(
    handler: Handler, *, streams: int = 0
) -> AsyncIterator[tuple[Connection, GrpcServer]]:
    """A connection to a server with one handler, as long as the block lasts."""
    async with trio.open_nursery() as nursery:
        server = GrpcServer(nursery, Range=handler, Watch=handler)
        if streams:
            server.settings = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: streams}
        connection = Connection(server.connect(), SETTINGS)
        nursery.start_soon(connection.run)
        assert await connection.settled()
        yield connection, server
        nursery.cancel_scope.cancel()


async def echo(call: ServedCall) -> None:
    """Answer with the request."""
    await call.answer(await call.receive())


async def silent(call: ServedCall) -> None:
    """Never answer."""
    await trio.sleep_forever()


async def test_calls_at_once(autojump_clock: MockClock) -> None:
    """Each gets its own answer, whatever the size."""
    async with connected(echo) as (connection, _):
        got: dict[int, bytes] = {}

        async def ask(size: int) -> None:
            got[size] = await connection.unary(PATH, b"%d" % size * size, 10)

        async with trio.open_nursery() as nursery:
            for size in (0, 1, 1000, 16_384, 70_000, 300_000):
                nursery.start_soon(ask, size)
        assert got == {size: b"%d" % size * size for size in got}
        assert len(got) == 6
        assert connection.in_flight == 0


async def test_headers_of_a_call(autojump_clock: MockClock) -> None:
    """The time it has, rounded up; streams want a leader."""
    seen: list[dict[str, str]] = []

    async def note(call: ServedCall) -> None:
        seen.append(call.headers)
        await call.answer(b"")

    async with connected(note) as (connection, _):
        for timeout_s in (10, 9.2, 0.31):
            await connection.unary(PATH, b"", timeout_s)
        async with connection.stream("/etcdserverpb.Watch/Watch") as stream:
            assert await stream.receive() == b""
            assert await stream.receive() is None
    assert [headers.get("grpc-timeout") for headers in seen] == ["10S", "10S", "400m", None]
    assert seen[3]["hasleader"] == "true"
    assert {name: seen[0][name] for name in (":path", ":authority", ":scheme", "te")} == {
        ":path": PATH, ":authority": "a:1", ":scheme": "http", "te": "trailers",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("code", "text", "error", "undecided"),
    [
        (11, "etcdserver: mvcc: required revision has been compacted", Compacted, False),
        (8, "etcdserver: mvcc: database space exceeded", NoSpace, False),
        (14, "etcdserver: request timed out", Unavailable, True),
        (14, "etcdserver: no leader", Unavailable, False),
        (99, "new: naïve", EtcdError, True),
    ],
)
async def test_statuses(
    code: int, text: str, error: type[EtcdError], undecided: bool, autojump_clock: MockClock
) -> None:
    """Are errors with etcd's text, before a message or after one."""

    async def fail(call: ServedCall) -> None:
        if await call.receive() == b"late":
            await call.send(b"answer")
        await call.finish(code, text)

    async with connected(fail) as (connection, _):
        for request in (b"", b"late"):
            with pytest.raises(error) as raised:
                await connection.unary(PATH, request, 10)
            assert (str(raised.value), raised.value.undecided) == (text, undecided)


async def test_answers_that_are_none(autojump_clock: MockClock) -> None:
    """Too large, compressed, without a message, or no gRPC at all."""

    async def odd(call: ServedCall) -> None:
        match await call.receive():
            case b"large":
                await call.begin()
                await call.send_raw(b"\0" + (3_000_001).to_bytes(4, "big"))
            case b"compressed":
                await call.send(b"x", flag=1)
            case b"empty":
                await call.begin()
                await call.finish()
            case b"html":
                await call.begin("503")

    async with connected(odd) as (connection, _):
        for request, error, text in (
            (b"large", TooLarge, "a message of 3000001 bytes"),
            (b"compressed", EtcdError, "a compressed message"),
            (b"empty", EtcdError, "without a message"),
            (b"html", Unavailable, "HTTP status 503"),
        ):
            with pytest.raises(error, match=text):
                await connection.unary(PATH, request, 10)
        assert connection.in_flight == 0
        assert connection.usable


async def test_deadlines_and_cancellation(autojump_clock: MockClock) -> None:
    """Both reset the stream; a call that ran out of time is undecided."""
    async with connected(silent) as (connection, server):
        with pytest.raises(TimedOut) as raised:
            await connection.unary(PATH, b"", 3)
        assert raised.value.undecided
        assert trio.current_time() == pytest.approx(3)
        with trio.move_on_after(1):
            await connection.unary(PATH, b"", 3)
        for call in server.connections[0].calls.values():
            await call.reset_by_client.wait()
        assert connection.in_flight == 0


async def test_a_peer_that_hangs_is_found_by_a_ping(autojump_clock: MockClock) -> None:
    """After the quiet time and the time for an answer; not while it answers."""
    async with connected(silent) as (connection, server):
        with pytest.raises(TimedOut):
            await connection.unary(PATH, b"", 60)
        assert server.connections[0].pings == 5  # it answered them
        server.reads = trio.Event()
        began = trio.current_time()
        with pytest.raises(Unavailable) as raised:
            await connection.unary(PATH, b"", 60)
        assert raised.value.undecided
        assert trio.current_time() - began <= 20
        assert not connection.usable
        assert str(connection.cause) == "the peer does not answer pings"
        with pytest.raises(Unavailable) as raised:
            await connection.unary(PATH, b"", 60)
        assert not raised.value.undecided


async def test_an_idle_connection_is_not_pinged(autojump_clock: MockClock) -> None:
    """Members take pings without a call for an attack."""
    async with connected(echo) as (connection, server):
        await trio.sleep(1000)
        assert server.connections[0].pings == 0
        assert await connection.unary(PATH, b"a", 1) == b"a"


async def test_a_connection_that_breaks(autojump_clock: MockClock) -> None:
    """Every call hears of it, and whether it may have been carried out."""
    async with connected(silent) as (connection, server):
        errors: list[EtcdError] = []

        async def ask() -> None:
            with pytest.raises(Unavailable) as raised:
                await connection.unary(PATH, b"", 60)
            errors.append(raised.value)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            server.connections[0].drop()
        assert [error.undecided for error in errors] == [True] * 3


async def test_streams_that_were_not_looked_at(autojump_clock: MockClock) -> None:
    """A refused stream and one after the last of a GOAWAY were not carried out."""

    async def refuse(call: ServedCall) -> None:
        if await call.receive() == b"refuse":
            await call.reset(7)

    async with connected(refuse) as (connection, server):
        with pytest.raises(Unavailable) as raised:
            await connection.unary(PATH, b"refuse", 10)
        assert not raised.value.undecided
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(Unavailable) as raised:
                    await connection.unary(PATH, b"", 10)
                assert not raised.value.undecided

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            await server.connections[0].goaway(1)
        assert not connection.usable


async def test_as_many_streams_as_the_peer_takes(autojump_clock: MockClock) -> None:
    """Further calls wait for their turn, within their time."""
    most = 0

    async def slow(call: ServedCall) -> None:
        nonlocal most
        most = max(most, connection.in_flight)
        await trio.sleep(1)
        await call.answer(b"")

    async with connected(slow, streams=2) as (connection, _):
        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(connection.unary, PATH, b"", 10)
        assert (most, round(trio.current_time())) == (2, 3)


async def test_a_stream_both_ways(autojump_clock: MockClock) -> None:
    """Messages before an error are returned first; sending to an ended stream is nothing."""

    async def talk(call: ServedCall) -> None:
        for _ in range(2):
            await call.send(b"got " + await call.receive())
        await call.finish(14, "etcdserver: no leader")

    async with connected(talk) as (connection, _), connection.stream(PATH) as stream:
        stream.send(b"one")
        stream.send(b"two")
        assert [await stream.receive(), await stream.receive()] == [b"got one", b"got two"]
        for _ in range(2):
            with pytest.raises(Unavailable, match="no leader"):
                await stream.receive()
        stream.send(b"three")


async def test_a_stream_is_bounded_by_its_reader(autojump_clock: MockClock) -> None:
    """The peer sends a window or two ahead, and all of it arrives when the reader goes on."""
    sent = 0

    async def pour(call: ServedCall) -> None:
        nonlocal sent
        for place in range(100):
            await call.send(bytes((place,)) * 100_000)
            sent += 1
        await call.send(b"large" * 500_000)  # larger than any window
        await call.finish()

    async with connected(pour) as (connection, _), connection.stream(PATH) as stream:
        await trio.sleep(60)
        assert 10 <= sent <= 40
        for place in range(100):
            assert await stream.receive() == bytes((place,)) * 100_000
        assert await stream.receive() == b"large" * 500_000
        assert await stream.receive() is None


async def test_a_retired_connection(autojump_clock: MockClock) -> None:
    """Takes no calls, ends those it has, and closes then."""
    async with connected(echo) as (connection, server):
        async with connection.stream(PATH) as stream:
            connection.retire()
            assert not connection.usable
            stream.send(b"still")
            assert await stream.receive() == b"still"
        await trio.testing.wait_all_tasks_blocked()
        assert server.connections[0].transport.read_nowait() == b""
    async with connected(echo) as (connection, server):
        connection.retire()
        await trio.testing.wait_all_tasks_blocked()
        assert server.connections[0].transport.read_nowait() == b""
        with pytest.raises(Unavailable, match="was closed"):
            await connection.unary(PATH, b"", 1)


async def test_a_peer_that_speaks_something_else(autojump_clock: MockClock) -> None:
    """It is no HTTP/2."""
    near, far = memory_pair()
    connection = Connection(near, SETTINGS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        far.write_nowait(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        assert not await connection.settled()
    assert not connection.usable
