"""Crowds of HTTP/2 requests: what they may hold, and whose are refused."""

from __future__ import annotations

import gc
import socket
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import hpack
import pytest
import trio
import trio.testing
from h2.errors import ErrorCodes

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse
from kubetrio.env import seeded
from kubetrio.http import h2streams
from kubetrio.http.bridge import Bridge
from kubetrio.http.h2streams import Budget, Load, Place, SmallEncoder
from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.h2client import Http2Client
from kubetrio.transport import PlainTransport

WINDOW = 65_535


@dataclass
class Pipeline:
    """Answers when it is told to."""

    begun: int = 0
    go: trio.Event = field(default_factory=trio.Event)
    bodies: list[int] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def handle(self, request: Request) -> AnyResponse:
        self.begun += 1
        name = request.header(b"x-user")
        if name and request.identified is not None:
            request.identified(UserInfo(name))
        query = f"?{request.raw_query}" if request.raw_query else ""
        self.asked.append(request.raw_path + query)
        if request.raw_path == "/watch":
            return StreamResponse(200, self.watch, long_running=True)
        if request.raw_path == "/wait":
            await self.go.wait()
        if request.raw_path == "/large":
            return Response(200, bytes(WINDOW))
        if request.method == "POST":
            await self.go.wait()
            self.bodies.append(len(await request.read_body(3_000_000)))
        return Response(200, b"small")

    async def watch(self, channel: Channel) -> None:
        await channel.send(channel.frame(b"event"))
        await channel.wait_closed()


@dataclass
class Server:
    """A bridge whose pipeline waits."""

    pipeline: Pipeline
    bridge: Bridge
    budget: Budget
    nursery: trio.Nursery
    clients: list[Http2Client] = field(default_factory=list)
    ended: list[Http2Client] = field(default_factory=list)

    async def connect(self) -> Http2Client:
        left, right = socket.socketpair()
        left.setblocking(False)
        right.setblocking(False)
        transport = PlainTransport(left)
        client = Http2Client(right, WINDOW)
        self.clients.append(client)

        async def serve() -> None:
            try:
                await self.bridge.serve(transport, b"", None)
            finally:
                transport.close()
            self.ended.append(client)

        self.nursery.start_soon(serve)
        await client.flush()
        return client


@asynccontextmanager
async def serving(
    most_bytes: int = h2streams.MOST_BYTES, *, brief: bool = False
) -> AsyncIterator[Server]:
    """A server, and its end."""
    pipeline = Pipeline()
    bridge = Bridge(pipeline.handle, write_timeout_s=60, env=seeded(0), brief=brief)
    budget = (await bridge.load()).budget
    budget.most_bytes = most_bytes
    async with trio.open_nursery() as nursery:
        with trio.fail_after(2000):
            server = Server(pipeline, bridge, budget, nursery)
            yield server
        for client in server.clients:
            client.transport.close()
        nursery.cancel_scope.cancel()


async def quiet() -> None:
    await trio.testing.wait_all_tasks_blocked(0.02)


async def test_requests_over_the_bound_are_refused_before_they_begin() -> None:
    """The client may try again, and nothing was made for them."""
    async with serving(10 * 2 * h2streams.REQUEST_BYTES) as server:
        client = await server.connect()
        streams = [await client.get("/wait") for _ in range(50)]
        while len(client.reset) < 30:
            await client.read()
        await quiet()
        begun = server.pipeline.begun
        assert begun <= 20
        assert set(client.reset) == set(streams[begun:])
        assert set(client.reset.values()) == {ErrorCodes.REFUSED_STREAM}
        assert server.budget.refused == 50 - begun
        assert server.budget.held_bytes <= server.budget.most_bytes


@pytest.mark.parametrize(
    "fields",
    [
        {"audit-id": "a\x1b[31m"},
        {"user-agent": "a\x7f"},
        {":path": "watch"},
        {":path": "https://h/watch"},
        {":method": "G(T"},
        {":method": "G\xe9T"},
        {":authority": "h\xe9"},
        {":scheme": "a b"},
    ],
)
async def test_malformed_requests_end_and_others_go_on(fields: dict[str, str]) -> None:
    """Nothing is made of them, and the streams beside them are served."""
    async with serving() as server:
        client = await server.connect()
        client.connection.config.validate_outbound_headers = False
        client.connection.config.normalize_outbound_headers = False
        path = fields.pop(":path", "/wait")
        waiting = await client.get("/wait")
        bad = await client.get(path, fields)
        good = await client.get("/small")
        while good not in client.ended or bad not in client.reset:
            await client.read()
        assert client.reset == {bad: ErrorCodes.PROTOCOL_ERROR}
        server.pipeline.go.set()
        while waiting not in client.ended:
            await client.read()
        assert server.pipeline.begun == 2


async def test_bytes_beyond_ascii_in_a_path_are_escaped() -> None:
    """They are no reason to break the connection; Go makes such URLs of them."""
    async with serving() as server:
        client = await server.connect()
        client.connection.config.header_encoding = None
        stream = await client.get("/\xe9%41?\xe9")
        while stream not in client.ended:
            await client.read()
        assert server.pipeline.asked == ["/%C3%A9%41?%C3%A9"]


async def test_a_hundred_requests_at_a_time_are_served() -> None:
    """By the bound that there is, each with its answer; and nothing is held behind them."""
    async with serving() as server:
        client = await server.connect()
        streams = [await client.get("/wait") for _ in range(100)]
        await quiet()
        assert server.pipeline.begun == 100
        server.pipeline.go.set()
        while len(client.ended) < 100:
            await client.read()
        assert client.ended == set(streams)
        await quiet()
        assert server.budget.held_bytes == 0


async def test_who_asks_for_little_is_served_beside_a_flood() -> None:
    """One connection has as many requests as there may be; another has its own at once."""
    async with serving(20 * 2 * h2streams.REQUEST_BYTES) as server:
        crowd, other = await server.connect(), await server.connect()
        for _ in range(60):
            await crowd.get("/wait")
        while not crowd.reset:
            await crowd.read()
        small = await other.get("/small")
        while small not in other.ended:
            assert await other.read()
        assert not other.reset


async def test_many_fields_count_for_more() -> None:
    """A request with a hundred header fields holds several times what another does."""
    async with serving() as server:
        client = await server.connect()
        await client.get("/wait")
        await quiet()
        plain = server.budget.held_bytes
        await client.get("/wait", {f"x-{n}": "v" * 100 for n in range(100)})
        await quiet()
        assert server.budget.held_bytes - plain > 3 * plain


async def test_a_watch_is_not_counted() -> None:
    """Who may watch may have as many watches as the flow control allows."""
    async with serving() as server:
        client = await server.connect()
        stream = await client.get("/watch")
        while not client.bodies.get(stream):
            await client.read()
        assert server.budget.held_bytes == 0


async def test_a_body_that_nobody_reads_stops_coming() -> None:
    """While a request waits its client may send one window, and it counts."""
    async with serving() as server:
        client = await server.connect()
        stream = await client.post("/")
        sent = await client.upload(stream, b"x" * 1_000_000)
        await quiet()
        while await client.read_nowait():
            sent += await client.upload(stream, b"x" * (1_000_000 - sent))
            await quiet()
        assert sent <= WINDOW + h2streams.FREE_BYTES
        assert server.budget.held_bytes > sent
        server.pipeline.go.set()
        while sent < 1_000_000:
            assert await client.read()
            sent += await client.upload(stream, b"x" * (1_000_000 - sent))
        client.connection.end_stream(stream)
        await client.flush()
        while stream not in client.ended:
            await client.read()
        assert server.pipeline.bodies == [1_000_000]
        await quiet()
        assert server.budget.held_bytes == 0


async def test_a_connection_ends_with_its_client() -> None:
    """Also in the middle of answers, whose end must not have it wait for the next request."""
    async with serving() as server:
        client = await server.connect()
        for _ in range(20):
            await client.get("/large")
        await quiet()  # the socket takes no more
        client.transport.close()
        with trio.fail_after(5):
            while not server.ended:
                await trio.testing.wait_all_tasks_blocked(0.01)
        assert server.budget.held_bytes == 0


async def test_a_connection_of_refused_requests_is_idle(autojump_clock: object) -> None:
    """It ends when idle ones do: nobody waits for requests that there are not."""
    del autojump_clock
    async with serving(0) as server:
        client = await server.connect()
        began = trio.current_time()
        with trio.move_on_after(1000):  # the time of tests jumps, their end is in true seconds
            stream = await client.get("/small")
            while await client.read():
                pass
        assert set(client.reset) == {stream}
        assert trio.current_time() - began < 400


async def test_a_connection_leaves_no_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it had goes at once, not when somebody looks for garbage."""
    made: list[weakref.ref[Load]] = []
    enter = Load.enter

    def note(load: Load, place: Place, size: int) -> bool:
        made.append(weakref.ref(load.ending))
        return enter(load, place, size)

    monkeypatch.setattr(Load, "enter", note)
    async with serving() as server:
        client = await server.connect()
        stream = await client.get("/small")
        while stream not in client.ended:
            await client.read()
        gc.disable()
        try:
            client.transport.close()
            while not server.ended:
                await trio.testing.wait_all_tasks_blocked(0.01)
            assert [each() for each in made] == [None]
        finally:
            gc.enable()


class Ended:
    """Connections that only note what they are told to end."""

    def __init__(self) -> None:
        self.streams: list[int] = []

    def give_up(self, place: Place) -> None:
        self.streams.append(place.stream_id)


@pytest.mark.parametrize("name", ["", "system:anonymous"])
@pytest.mark.parametrize("path", ["/small", "/large", "/head"])
async def test_a_stranger_has_one_request_of_a_connection(
    name: str, path: str, autojump_clock: object
) -> None:
    """It is told to go when it has the whole answer; what is under way is served first."""
    fields = {"x-user": name} if name else {}
    async with serving(brief=True) as server:
        client = await server.connect()
        waiting = await client.get("/wait", fields)
        stream = await client.get(path, fields)
        while not client.gone:
            await client.read()
        assert stream in client.ended
        assert client.gone == [(ErrorCodes.NO_ERROR, stream)]
        assert waiting not in client.ended
        late = await client.get("/small", fields)
        client.connection.increment_flow_control_window(WINDOW)
        await client.flush()
        while late not in client.reset:
            await client.read()
        assert client.reset == {late: ErrorCodes.REFUSED_STREAM}
        server.pipeline.go.set()
        while await client.read():
            pass
        assert waiting in client.ended
        await quiet()
        assert server.ended == [client]


async def test_a_stranger_who_resets_streams_has_no_further_ones(autojump_clock: object) -> None:
    """As many as came at a time; a flood costs a connection each."""
    async with serving(brief=True) as server:
        client = await server.connect()
        stream = await client.get("/wait")
        await quiet()
        client.connection.reset_stream(stream)
        await client.flush()
        while await client.read():
            pass
        assert client.gone == [(ErrorCodes.NO_ERROR, stream)]
        await quiet()
        assert server.ended == [client]


async def test_somebody_keeps_the_connection(autojump_clock: object) -> None:
    """Also when streams are reset, once it is known whose it is."""
    async with serving(brief=True) as server:
        client = await server.connect()
        for path in ("/small", "/large", "/small"):
            stream = await client.get(path, {"x-user": "alice"})
            while stream not in client.ended:
                await client.read()
            client.connection.increment_flow_control_window(WINDOW)
        stream = await client.get("/wait", {"x-user": "alice"})
        await quiet()
        client.connection.reset_stream(stream)
        await client.flush()
        await quiet()
        stream = await client.get("/small", {"x-user": "alice"})
        while stream not in client.ended:
            await client.read()
        assert client.gone == []


def test_the_user_who_holds_most_gives_way() -> None:
    """However many connections it has, and however few the other one's."""
    budget, ended = Budget(most_bytes=1000), Ended()
    many = [Load(budget, lambda: "many", ended) for _ in range(9)]
    few = Load(budget, lambda: "few", ended)
    for at, load in enumerate(many):
        assert load.enter(Place(load, at, lambda place: None), 100)
    for at in range(4):
        assert few.enter(Place(few, 100 + at, lambda place: None), 100)
    assert len(ended.streams) == 3
    assert all(stream < 100 for stream in ended.streams)
    assert budget.held_bytes == 1000


def test_the_newest_request_goes_first() -> None:
    """The others have cost something already."""
    budget, ended = Budget(most_bytes=300), Ended()
    load = Load(budget, str, ended)
    served = [load.enter(Place(load, at, lambda place: None), 100) for at in range(5)]
    assert served == [True] * 3 + [False] * 2
    assert ended.streams == [3, 4]


def test_the_peak_is_what_was_held_in_between() -> None:
    """Since somebody last asked."""
    budget = Budget()
    load = Load(budget, str, Ended())
    place = Place(load, 1, lambda place: None)
    load.enter(place, 100)
    place.leave()
    assert [budget.take_peak(), budget.take_peak()] == [100, 0]


def test_a_client_cannot_have_answers_remembered() -> None:
    """A table of any size that it offers stays as small as the default."""
    encoder, decoder = SmallEncoder(), hpack.Decoder()
    encoder.header_table_size = 1 << 30
    for each in range(1_000):
        fields = [(b"audit-id", b"%036d" % each)]
        assert [tuple(f) for f in decoder.decode(encoder.encode(fields), raw=True)] == fields
    assert encoder.header_table._current_size <= h2streams.TABLE_BYTES
