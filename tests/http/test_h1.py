"""The HTTP/1.1 connection loop, byte by byte, with handlers that only echo."""

from __future__ import annotations

import tracemalloc

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.api.request import Request
from kubetrio.api.response import (
    AnyResponse,
    Channel,
    Response,
    StreamResponse,
    error_response,
)
from kubetrio.env import Env, seeded
from kubetrio.harness.transport import memory_pair
from kubetrio.http.channel import MAX_PARKED_BYTES
from kubetrio.http.h1 import DRAIN_S, Connection, Upgrade
from kubetrio.http.heads import DateHeader
from kubetrio.http.limits import H1Config, Phase, SweepClock
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.testing.client import BadAnswer, connect, converse, encode_request

LIMIT = 1000  # bytes of a body
SMALL = H1Config(max_head_bytes=2048, max_body_bytes=LIMIT)
GET = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"


async def echo(request: Request) -> AnyResponse:
    """Answer with the request; reads the body where there may be one, as the pipeline does."""
    try:
        body = b"" if request.raw_path == "/unread" else await request.read_body(LIMIT)
    except ApiError as error:
        return error_response(error)
    if request.raw_path == "/gone":
        return Response(304, b"", b"")
    if request.raw_path == "/stream":

        async def run(channel: Channel) -> None:
            for part in (b"one", b"two"):
                await channel.send(channel.frame(part))

        return StreamResponse(200, run)
    text = f"{request.method} {request.raw_path}?{request.raw_query}:".encode()
    return Response(200, text + body, b"text/plain")


def env() -> Env:
    return seeded(0)


async def talk(*script: bytes, config: H1Config = SMALL) -> bytes:
    return await converse(echo, env(), script, config=config)


def statuses(raw: bytes) -> list[int]:
    return [int(part[:3]) for part in raw.split(b"HTTP/1.1 ")[1:]]


# ---------------------------------------------------------------- keep-alive and pipelining


async def test_a_connection_serves_many_requests() -> None:
    """HTTP/1.1 connections stay open."""
    async with connect(echo, env()) as client:
        for number in range(3):
            answer = await client.request("GET", f"/{number}?x=y")
            assert answer.body == b"GET /%d?x=y:" % number
            assert not answer.head.get(b"connection")


async def test_pipelined_requests_are_answered_in_order() -> None:
    """Requests sent at once get their answers one after the other."""
    raw = await talk(
        encode_request("GET", "/1")
        + encode_request("POST", "/2", body=b"abc")
        + encode_request("GET", "/stream")
        + encode_request("GET", "/4")
    )
    assert statuses(raw) == [200] * 4
    positions = [raw.index(part) for part in (b"GET /1?:", b"POST /2?:abc", b"one", b"GET /4?:")]
    assert positions == sorted(positions)


async def test_requests_behind_a_stream_wait_for_its_end() -> None:
    """What was pipelined behind a watch is served when the watch ends."""
    ended = trio.Event()

    async def handle(request: Request) -> AnyResponse:
        if request.raw_path != "/watch":
            return await echo(request)

        async def run(channel: Channel) -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.wait_closed)
                await channel.send(channel.frame(b"event"))
                await ended.wait()
                nursery.cancel_scope.cancel()

        return StreamResponse(200, run, long_running=True)

    async with connect(handle, env()) as client:
        await client.send(encode_request("GET", "/watch"))
        head = await client.head()
        assert await client.chunk() == b"event"
        await client.send(encode_request("GET", "/behind"))
        await trio.testing.wait_all_tasks_blocked()
        ended.set()
        assert await client.body(head) == b""
        assert (await client.receive()).body == b"GET /behind?:"


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", True),
    ],
)
async def test_who_keeps_the_connection(raw: bytes, kept: bool) -> None:
    """The version's default and the Connection header decide, and the answer says so."""
    async with connect(echo, env()) as client:
        await client.send(raw)
        answer = await client.receive()
        said = answer.head.get(b"connection")
        await trio.testing.wait_all_tasks_blocked()
        assert client.ended.is_set() is not kept
        assert said == (b"keep-alive" if b"1.0" in raw and kept else b"" if kept else b"close")


async def test_streams_to_http_10_end_with_the_connection() -> None:
    """HTTP/1.0 knows no chunks."""
    raw = await talk(b"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert b"Transfer-Encoding" not in raw
    assert raw.endswith(b"\r\n\r\nonetwo")


async def test_data_behind_connection_close_is_ignored() -> None:
    """The client said it was done."""
    raw = await talk(b"GET /1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + GET)
    assert statuses(raw) == [200]


# ---------------------------------------------------------------- bodies


async def test_chunked_bodies_are_read() -> None:
    """However they are cut."""
    raw = CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    for at in range(1, len(raw), 7):
        heard = await talk(raw[:at], raw[at:])
        assert heard.endswith(b"POST /?:abcde"), at


async def test_continue_is_sent_when_the_body_is_wanted() -> None:
    """`Expect: 100-continue` gets its go-ahead once, before the answer."""
    async with connect(echo, env()) as client:
        head = {"Expect": "100-continue", "Content-Length": "3"}
        await client.send(encode_request("POST", "/", head))
        assert (await client.receive()).status == 100
        await client.send(b"abc")
        assert (await client.receive()).body == b"POST /?:abc"
        assert (await client.request("GET", "/next")).status == 200


async def test_continue_is_not_sent_when_the_body_is_refused() -> None:
    """A body that is too large is never asked for, and the connection ends."""
    async with connect(echo, env()) as client:
        head = {"Expect": "100-continue", "Content-Length": "100000"}
        await client.send(encode_request("POST", "/", head))
        answer = await client.receive()
        assert answer.status == 413
        assert answer.head.get(b"connection") == b"close"


async def test_continue_is_not_sent_when_the_body_is_there() -> None:
    """A client that did not wait needs no go-ahead."""
    raw = await talk(encode_request("POST", "/", {"Expect": "100-continue"}, b"abc"))
    assert statuses(raw) == [200]


async def test_other_expectations_fail() -> None:
    """RFC 9110, 10.1.1: 417 for what is not understood."""
    assert statuses(await talk(encode_request("GET", "/", {"Expect": "tea"}))) == [417]


@pytest.mark.parametrize("chunked", [False, True])
async def test_bodies_over_the_limit_get_413(chunked: bool) -> None:
    """By their declared length, or as soon as they pass the limit."""
    big = b"x" * (LIMIT + 1)
    if chunked:
        raw = encode_request("POST", "/", {"Transfer-Encoding": "chunked"})
        raw += b"%x\r\n%b\r\n0\r\n\r\n" % (len(big), big)
    else:
        raw = encode_request("POST", "/", body=big)
    assert statuses(await talk(raw)) == [413]


async def test_a_small_unread_body_is_skipped() -> None:
    """A body nobody wanted does not become the next request."""
    raw = await talk(encode_request("POST", "/unread", body=GET) + encode_request("GET", "/next"))
    assert statuses(raw) == [200, 200]
    assert raw.endswith(b"GET /next?:")


async def test_a_large_unread_body_ends_the_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The answer is there to read although the client goes on sending."""
    async with connect(echo, env(), config=H1Config()) as client:
        await client.send(encode_request("POST", "/unread", {"Content-Length": "9000000"}))
        with pytest.raises(OSError, match="pipe"):  # noqa: PT012
            while True:
                await client.send(b"x" * 65536)
                await trio.sleep(0.01)
        answer = await client.receive()
        assert answer.status == 200
        assert answer.head.get(b"connection") == b"close"


@pytest.mark.parametrize(
    "body",
    [b"", b"3\r\n", b"3\r\nab", b"3\r\nabc\r\n", b"3\r\nabc\r\n0\r\n", b"zz\r\n", b"3\r\nabcX"],
)
async def test_a_body_that_breaks_off_is_refused(body: bytes) -> None:
    """Half a body is no body: 400, and nothing behind it is served."""
    raw = await talk(encode_request("POST", "/", {"Transfer-Encoding": "chunked"}), body)
    assert statuses(raw) == [400]
    assert b"Connection: close" in raw


# ---------------------------------------------------------------- methods


async def test_head_has_the_headers_of_get_and_no_body() -> None:
    """Content-Length is what GET would have said."""
    async with connect(echo, env()) as client:
        await client.send(encode_request("HEAD", "/abc"))
        head = await client.head()
        assert head.get(b"content-length") == b"%d" % len(b"HEAD /abc?:")
        assert (await client.request("GET", "/next")).body == b"GET /next?:"


async def test_head_of_a_stream_is_a_head() -> None:
    """No stream is begun, the connection goes on."""
    async with connect(echo, env()) as client:
        assert (await client.request("HEAD", "/stream")).status == 200
        assert (await client.request("GET", "/next")).body == b"GET /next?:"


async def test_not_modified_has_no_body_and_no_length() -> None:
    """RFC 9110, 15.4.5."""
    async with connect(echo, env()) as client:
        answer = await client.request("GET", "/gone")
        assert answer.status == 304
        assert not answer.head.get(b"content-length")
        assert (await client.request("GET", "/next")).status == 200


# ---------------------------------------------------------------- refused: smuggling, limits

HOSTED = b"POST / HTTP/1.1\r\nHost: h\r\n"
SMUGGLED = {
    "CL and TE": HOSTED + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "TE and CL": HOSTED + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "two CL": HOSTED + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "two equal CL": HOSTED + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "CL list": HOSTED + b"Content-Length: 3, 3\r\n\r\nabc",
    "negative CL": HOSTED + b"Content-Length: -3\r\n\r\nabc",
    "plus CL": HOSTED + b"Content-Length: +3\r\n\r\nabc",
    "hex CL": HOSTED + b"Content-Length: 0x3\r\n\r\nabc",
    "empty CL": HOSTED + b"Content-Length: \r\n\r\nabc",
    "huge CL": HOSTED + b"Content-Length: 18446744073709551617\r\n\r\na",
    "underscored CL": HOSTED + b"Content-Length: 1_0\r\n\r\n0123456789",
    "bare LF lines": b"POST / HTTP/1.1\nHost: h\nContent-Length: 0\n\n",
    "bare LF in a header": HOSTED + b"X: a\nContent-Length: 3\r\n\r\nabc",
    "bare LF at the end": HOSTED + b"X: a\r\n\n",
    "bare CR in a header": HOSTED + b"X: a\rContent-Length: 3\r\n\r\nabc",
    "folded header": HOSTED + b"X: a\r\n b\r\n\r\n",
    "folded framing": HOSTED + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "space before colon": HOSTED + b"Content-Length : 3\r\n\r\nabc",
    "space before name": HOSTED + b" Content-Length: 3\r\n\r\nabc",
    "no name": HOSTED + b": 3\r\n\r\n",
    "NUL in a value": HOSTED + b"X: a\x00b\r\n\r\n",
    "NUL in a name": HOSTED + b"X\x00: a\r\n\r\n",
    "NUL in the target": b"GET /\x00 HTTP/1.1\r\nHost: h\r\n\r\n",
    "TE identity": HOSTED + b"Transfer-Encoding: identity\r\n\r\n",
    "TE xchunked": HOSTED + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "TE vertical tab": HOSTED + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "TE twice": HOSTED
    + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "TE not last": HOSTED + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "TE gzip": HOSTED + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "TE in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two Hosts": HOSTED + b"Host: i\r\n\r\n",
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "version": b"GET / HTTP/1.2\r\nHost: h\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}
CHUNKED = HOSTED + b"Transfer-Encoding: chunked\r\n\r\n"
BAD_CHUNKS = {
    "hex prefix": b"0x3\r\nabc\r\n0\r\n\r\n",
    "sign": b"+3\r\nabc\r\n0\r\n\r\n",
    "negative": b"-3\r\nabc\r\n0\r\n\r\n",
    "space": b"3 \r\nabc\r\n0\r\n\r\n",
    "overflow": b"fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "bare LF": b"3\nabc\n0\n\n",
    "too long": b"2\r\nabc\r\n0\r\n\r\n",
    "LF in extension": b"3;a\nb\r\nabc\r\n0\r\n\r\n",
    "empty": b"\r\nabc\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("raw", SMUGGLED.values(), ids=SMUGGLED)
async def test_ambiguous_heads_are_refused(raw: bytes) -> None:
    """What can be read in two ways gets one 400 or 501, and nothing behind it is served."""
    (status,) = statuses(await talk(raw + GET))
    assert status in (400, 501)


@pytest.mark.parametrize("body", BAD_CHUNKS.values(), ids=BAD_CHUNKS)
@pytest.mark.parametrize("apart", [False, True], ids=["with the head", "behind the head"])
async def test_ambiguous_chunks_are_refused(body: bytes, apart: bool) -> None:
    """One 400 for the request, and nothing behind it is served."""
    script = [CHUNKED, body + GET] if apart else [CHUNKED + body + GET]
    assert statuses(await talk(*script)) == [400]


async def test_refusals_do_not_reach_the_handler() -> None:
    """A request that is refused was never handled."""
    handled: list[str] = []

    async def handle(request: Request) -> AnyResponse:
        handled.append(request.raw_path)
        return await echo(request)

    for raw in SMUGGLED.values():
        await converse(handle, env(), [raw])
    assert handled == []


async def test_long_heads_get_431() -> None:
    """And the connection ends."""
    raw = await talk(b"GET / HTTP/1.1\r\nHost: h\r\n", *[b"X: %b\r\n" % (b"a" * 90)] * 30)
    assert raw == (
        b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
        b"431 Request Header Fields Too Large"
    )


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400 Bad Request: missing required Host header"),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"400 Bad Request: too many Host headers",
        ),
        (b"FOO\r\n\r\n", b"400 Bad Request"),
        (b"GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n", b"400 Bad Request"),
        (b"GET /a%4 HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n", b"400 Bad Request"),
    ],
)
async def test_refusals_are_plain_text(raw: bytes, said: bytes) -> None:
    """In the words of Go's server, twice."""
    answer = await talk(raw)
    assert answer.startswith(b"HTTP/1.1 " + said + b"\r\n")
    assert answer.endswith(b"\r\n\r\n" + said)


async def test_a_good_request_is_answered_before_garbage_is_refused() -> None:
    """The 400 is the garbage's, not the request's."""
    assert statuses(await talk(GET + b"\x00\x01\r\n\r\n")) == [200, 400]


# ---------------------------------------------------------------- upgrades


async def upgrade(*script: bytes) -> tuple[bytes, bytes]:
    """What was answered, and the bytes that another server is given."""
    theirs, ours = memory_pair()
    connection = Connection(theirs, echo, SMALL, env(), DateHeader(), "", None, SweepClock())
    handed: list[bytes] = []

    async def serve() -> None:
        try:
            await connection.run()
        except Upgrade as found:
            handed.append(found.received)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        for data in script:
            ours.write_nowait(data)
            await trio.testing.wait_all_tasks_blocked()
        heard = ours.read_nowait() or b""
        ours.close()
    return heard, b"".join(handed)


WEBSOCKET = b"GET /ws HTTP/1.1\r\nhost: h\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nrest"


async def test_upgrades_are_handed_over_whole() -> None:
    """Wherever the reads are cut, another server gets the request and what is behind it."""
    for at in range(1, WEBSOCKET.index(b"rest")):
        heard, handed = await upgrade(WEBSOCKET[:at], WEBSOCKET[at:])
        assert (heard, handed) == (b"", WEBSOCKET), at


async def test_upgrades_behind_another_request_are_handed_over() -> None:
    """The first request is answered here, the upgrade is whole."""
    raw = GET + WEBSOCKET
    for at in range(1, len(raw) - 4, 5):
        heard, handed = await upgrade(raw[:at], raw[at:])
        assert statuses(heard) == [200], at
        assert handed == WEBSOCKET, at


# ---------------------------------------------------------------- slow clients, disconnects


async def swept(connection: Connection) -> None:
    """What `http.serve` does once a second."""
    clock = connection._clock
    while True:
        await trio.sleep(1)
        if connection.overdue(clock.tick()):
            connection.scope.cancel()


SLOW = {
    "idle": ([], 300.0),
    "head": ([b"GET / HT"], 32.0),
    "second head": ([GET + b"GET / HT"], 32.0),
}


@pytest.mark.parametrize(("script", "limit"), SLOW.values(), ids=SLOW)
async def test_slow_clients_are_closed(
    autojump_clock: trio.testing.MockClock, script: list[bytes], limit: float
) -> None:
    """Each phase has its limit, and the sweeper keeps it to about a second."""
    async with connect(echo, env()) as client, trio.open_nursery() as nursery:
        nursery.start_soon(swept, client.connection)
        for data in script:
            await client.send(data)
        began = trio.current_time()
        await client.ended.wait()
        assert limit - 1 <= trio.current_time() - began <= limit + 2
        nursery.cancel_scope.cancel()


async def test_a_head_byte_by_byte_does_not_gain_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The limit is for the whole head: slow lorries end too."""
    async with connect(echo, env()) as client, trio.open_nursery() as nursery:
        nursery.start_soon(swept, client.connection)
        with pytest.raises(OSError, match="pipe"):  # noqa: PT012
            for byte in b"GET /" + b"a" * 1000:
                await client.send(bytes([byte]))
                await trio.sleep(5)
        assert trio.current_time() < 60
        nursery.cancel_scope.cancel()


async def test_an_unwanted_body_byte_by_byte_does_not_gain_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Somebody without credentials cannot hold a connection by sending what nobody reads."""
    async with connect(echo, env()) as client, trio.open_nursery() as nursery:
        nursery.start_soon(swept, client.connection)
        await client.send(encode_request("POST", "/unread", {"Content-Length": "1000"}))
        with pytest.raises(OSError, match="pipe"):  # noqa: PT012
            for _ in range(100):
                await client.send(b"x")
                await trio.sleep(5)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("beat_s", [0.2, 1000.0])
async def test_an_answer_does_not_wait_for_an_unwanted_body(
    autojump_clock: trio.testing.MockClock, beat_s: float
) -> None:
    """Whether the body drips in or not at all, the client is told, and the connection ends."""
    async with connect(echo, env()) as client, trio.open_nursery() as nursery:

        async def drip() -> None:
            for _ in range(1000):
                await client.send(b"x")
                await trio.sleep(beat_s)

        await client.send(encode_request("POST", "/unread", {"Content-Length": "1000"}))
        nursery.start_soon(drip)
        answer = await client.receive()
        assert answer.status == 200
        assert answer.head.get(b"connection") == b"close"
        assert trio.current_time() <= DRAIN_S + 0.1
        nursery.cancel_scope.cancel()


async def test_a_slow_wanted_body_may_take_its_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Progress counts, not speed."""
    async with connect(echo, env()) as client, trio.open_nursery() as nursery:
        nursery.start_soon(swept, client.connection)
        await client.send(encode_request("POST", "/", {"Content-Length": "10"}))
        for _ in range(10):
            await trio.sleep(25)
            await client.send(b"x")
        assert (await client.receive()).body == b"POST /?:" + b"x" * 10
        nursery.cancel_scope.cancel()


async def test_a_client_that_does_not_read_is_closed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Answers wait half a minute for room, not for ever."""

    async def large(_request: Request) -> AnyResponse:
        return Response(200, b"x" * 100_000)

    async with (
        connect(large, env(), capacity=4096) as client,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(swept, client.connection)
        await client.send(GET)
        await trio.testing.wait_all_tasks_blocked()
        assert client.connection.phase is Phase.WRITING
        await client.ended.wait()
        assert 29 <= trio.current_time() <= 33
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("grouped", [False, True])
async def test_a_stream_to_a_client_that_does_not_read_ends(
    autojump_clock: trio.testing.MockClock, grouped: bool
) -> None:
    """The stream's writer is told, in a nursery or not, and only its connection ends."""

    async def write(channel: Channel) -> None:
        while True:
            await channel.send(channel.frame(b"x" * 1000))

    async def run(channel: Channel) -> None:
        if not grouped:
            await write(channel)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.wait_closed)
            await write(channel)

    async def handle(_request: Request) -> AnyResponse:
        return StreamResponse(200, run)

    async with connect(handle, env(), capacity=4096) as client:
        await client.send(GET)
        await client.ended.wait()
        assert 29 <= trio.current_time() <= 33


async def test_a_stream_with_a_bug_ends_without_its_last_chunk(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The client sees that something is missing; the server goes on."""

    async def run(channel: Channel) -> None:
        await channel.send(channel.frame(b"half"))
        raise LookupError("bug")

    async def handle(_request: Request) -> AnyResponse:
        return StreamResponse(200, run)

    async with connect(handle, env()) as client:
        await client.send(GET)
        head = await client.head()
        with pytest.raises(BadAnswer):
            await client.body(head)
    assert "stream failed" in caplog.text


async def test_a_client_that_leaves_in_its_body_is_not_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is logged and nobody waits."""
    async with connect(echo, env()) as client:
        await client.send(encode_request("POST", "/", {"Content-Length": "10"}) + b"abc")
        await trio.testing.wait_all_tasks_blocked()
        client.transport.close()
        await client.ended.wait()
    assert caplog.text == ""


async def test_finish_ends_idle_connections_at_once() -> None:
    """Shutdown does not wait for clients that want nothing."""
    async with connect(echo, env()) as client:
        await client.request("GET", "/")
        await trio.testing.wait_all_tasks_blocked()
        client.connection.finish()
        await client.ended.wait()


async def test_finish_lets_a_request_end() -> None:
    """A request in flight is answered, and told that the connection closes."""
    go = trio.Event()

    async def slow(request: Request) -> AnyResponse:
        await go.wait()
        return await echo(request)

    async with connect(slow, env()) as client:
        await client.send(GET)
        await trio.testing.wait_all_tasks_blocked()
        client.connection.finish()
        go.set()
        answer = await client.receive()
        assert answer.head.get(b"connection") == b"close"
        await client.ended.wait()


async def test_identity_of_the_connection_is_that_of_its_requests() -> None:
    """A verified client certificate travels with every request."""
    seen: list[UserInfo | None] = []

    async def handle(request: Request) -> AnyResponse:
        seen.append(request.certificate)
        return await echo(request)

    someone = UserInfo("someone")
    async with connect(handle, env(), certificate=someone) as client:
        await client.request("GET", "/1")
        await client.request("GET", "/2")
    assert seen == [someone, someone]


# ---------------------------------------------------------------- memory and garbage


async def test_memory_before_authentication_is_bounded() -> None:
    """A head or trailer that never ends costs little more than the limit."""
    config = H1Config()
    for begin in (
        b"GET /",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: ",
        b"GET / HTTP/1.1\r\nHost: h\r\n",
        CHUNKED.replace(b"/", b"/unread") + b"0\r\nX: ",
    ):
        line = b"a:\r\n" if begin.endswith(b"h\r\n") else b"aaaa"
        tracemalloc.start()
        try:
            await converse(
                echo, env(), [begin, *[line * 8192] * 20], config=config, certificate=None
            )
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2_000_000, (begin, peak)


FRAGMENTS = [
    *SMUGGLED.values(),
    GET,
    CHUNKED,
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    encode_request("POST", "/", body=b"abc"),
    encode_request("GET", "/stream"),
    encode_request("POST", "/unread", {"Expect": "100-continue", "Content-Length": "4"}),
    b"\r\n",
]


@settings(max_examples=60, deadline=None)
@given(
    pieces=st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(FRAGMENTS)), max_size=6),
    cut=st.integers(0, 400),
)
def test_garbage_never_crashes_and_cuts_make_no_difference(pieces: list[bytes], cut: int) -> None:
    """Any bytes get well-formed answers, the same ones however they are cut into reads."""
    raw = b"".join(pieces)

    async def both() -> tuple[list[int], list[int]]:
        whole = await talk(raw)
        parts = await talk(raw[:cut], raw[cut:])
        finals = [[s for s in statuses(heard) if s != 100] for heard in (whole, parts)]
        return finals[0], finals[1]

    whole, parts = trio.run(both, clock=trio.testing.MockClock(autojump_threshold=0))
    assert whole == parts
    assert set(whole) <= {200, 400, 413, 417, 431, 501}


@pytest.mark.parametrize(
    "raw", [GET + b"GET / HTTP/1.1\r\nHost : h\r\n\r\n", CHUNKED + b"3\r\nabc\r\n0\r\n\r\n" + GET]
)
def test_every_cut_gets_the_same_answers(raw: bytes) -> None:
    """A script split at every point is answered with the same bytes."""

    async def run() -> None:
        whole = await talk(raw)
        for at in range(1, len(raw)):
            assert await talk(raw[:at], raw[at:]) == whole, at

    trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.parametrize("protocol", [b"h2c", b"TLS/1.0", b"h2c, websocket2", b"foo"])
@pytest.mark.parametrize("cut", [0, 30, 150])
async def test_other_protocols_are_not_spoken(protocol: bytes, cut: int) -> None:
    """The request is served as it is, with its body, and so is the next one (RFC 9110, 7.8)."""
    head = b"POST /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    head += b"HTTP2-Settings: AAMAAABkAAQAAP__\r\nUpgrade: " + protocol + b"\r\n"
    raw = head + b"Content-Length: 4\r\n\r\nbody" + GET
    said = await talk(raw[:cut], raw[cut:])
    assert said.count(b"HTTP/1.1 200 OK") == 2
    assert b"POST /a?:body" in said
    assert b"101" not in said


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"GET /a HTTP/0.9", b"505"),
        (b"GET /a HTTP/2.0", b"505"),
        (b"GET /a HTTP/3.0", b"400"),
        (b"GET /a", b"400"),
        (b"GET /a HTTP/1.0", b"200"),
    ],
)
async def test_versions_that_are_not_spoken(line: bytes, code: bytes) -> None:
    """Neither newer nor older than HTTP/1; what llhttp does not know is no request at all."""
    assert (await talk(line + b"\r\nHost: h\r\n\r\n")).startswith(b"HTTP/1.1 " + code)


async def test_idle_connections_hold_nothing_of_what_was_asked() -> None:
    """Neither a long head nor a body: strangers have a thousand connections, for five minutes."""
    config = H1Config(max_head_bytes=300_000, max_body_bytes=1_000_000)
    query = "a" * 100_000

    async def held(method: str, target: str, body: bytes | None) -> int:
        tracemalloc.start()
        try:
            async with connect(body_of, env(), config=config) as client:
                answer = await client.request(method, target, {"X": query}, body)
                assert answer.status == 200
                del answer
                await trio.testing.wait_all_tasks_blocked()
                return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    async def body_of(request: Request) -> AnyResponse:
        await request.read_body(1_000_000)
        return Response(200, b"")

    await held("GET", "/", None)
    assert await held("GET", f"/?{query}", None) < 50_000
    assert await held("POST", "/", b"x" * 1_000_000) < 50_000


async def test_few_bytes_are_kept_behind_a_stream() -> None:
    """A client that goes on sending behind a watch loses it."""
    ended = trio.Event()

    async def handle(request: Request) -> AnyResponse:
        del request

        async def run(channel: Channel) -> None:
            await channel.send(channel.frame(b"event"))
            await channel.wait_closed()
            ended.set()

        return StreamResponse(200, run, long_running=True)

    async with connect(handle, env()) as client:
        await client.send(encode_request("GET", "/watch"))
        await client.head()
        assert await client.chunk() == b"event"
        await client.send(b"x" * MAX_PARKED_BYTES)
        await trio.testing.wait_all_tasks_blocked()
        assert not ended.is_set()
        await client.send(b"x")
        with trio.fail_after(1):
            await ended.wait()
