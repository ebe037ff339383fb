"""Requests and answers of one connection to a backend."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kubetrio.backend.exchange import BackendError, Exchange, Upload, encode_head
from kubetrio.harness.transport import MemoryTransport, memory_pair
from kubetrio.machinery.status import ApiError

HEAD = encode_head("GET", "/x?y=1", [(b"host", b"h"), (b"x-one-two", b"3")])


INTERIM = b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 Soon\r\nLink: x\r\n\r\n"


def exchange(
    said: bytes = b"", *, method: str = "GET", upload: Upload | None = None, capacity: int = 65536
) -> tuple[Exchange, MemoryTransport]:
    """A request on its way, and the backend's end, which has spoken already."""
    here, there = memory_pair(capacity)
    if said:
        there.write_nowait(said)
    return Exchange(here, method, HEAD, upload), there


async def body(asked: Exchange) -> bytes:
    pieces = []
    while piece := await asked.read():
        pieces.append(piece)
    return b"".join(pieces)


def test_a_head() -> None:
    """Names are spelt as Go spells them."""
    assert HEAD == b"GET /x?y=1 HTTP/1.1\r\nHost: h\r\nX-One-Two: 3\r\n\r\n"


@pytest.mark.parametrize(
    ("target", "value"), [("/ HTTP/1.1\r\nx: y", b"z"), ("/a b", b"z"), ("/", b"z\r\nx: y")]
)
def test_nothing_is_smuggled_into_a_head(target: str, value: bytes) -> None:
    """Wherever it comes from."""
    with pytest.raises(ApiError) as caught:
        encode_head("GET", target, [(b"host", value)])
    assert caught.value.code == 400


async def test_nobody_waits(autojump_clock: trio.testing.MockClock) -> None:
    """The client is looked after while a backend makes up its mind."""
    asked, _ = exchange()
    looks = 0

    def gone() -> bool:
        nonlocal looks
        looks += 1
        return looks > 3

    with pytest.raises(BackendError, match="context canceled"):
        await asked.head(gone)
    assert looks == 4


@pytest.mark.parametrize(
    ("said", "status", "text"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyrest", 200, b"body"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
         200, b"body"),
        (b"HTTP/1.0 404 No\r\n\r\nuntil the end", 404, b"until the end"),
        (b"HTTP/1.1 204 No\r\n\r\n", 204, b""),
        (INTERIM + b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, b"x"),
    ],
)  # fmt: skip
async def test_answers(said: bytes, status: int, text: bytes) -> None:
    """By length, in chunks, up to the end of the connection, and behind interim ones."""
    asked, there = exchange(said)
    there.end()
    head = await asked.head()
    assert head.status == status
    assert await body(asked) == text
    assert there.read_nowait() == HEAD


async def test_answers_in_pieces() -> None:
    """How bytes are cut makes no difference."""
    said = b"HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
    asked, there = exchange()

    async def speak() -> None:
        for byte in said:
            there.write_nowait(bytes([byte]))
            await trio.testing.wait_all_tasks_blocked()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(speak)
        head = await asked.head()
        assert (head.status, head.get(b"x"), head.length) == (200, b"y", None)
        assert await body(asked) == b"body"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "EOF"),
        (b"HTTP/1.1 200", "unexpected EOF"),
        (b"SSH-2.0\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * (1024 * 1024), "exceeded"),
    ],
)
async def test_no_answer(said: bytes, why: str) -> None:
    """Why there is none."""
    asked, there = exchange(said, capacity=2 * 1024 * 1024)
    there.end()
    with pytest.raises(BackendError, match=why):
        await asked.head()


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
    ],
)
async def test_half_an_answer(said: bytes) -> None:
    """Is told from a whole one."""
    asked, there = exchange(said)
    there.end()
    await asked.head()
    with pytest.raises(BackendError):
        await body(asked)


async def test_head_has_no_body() -> None:
    """Whatever its length would be."""
    asked, _ = exchange(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", method="HEAD")
    assert (await asked.head()).length == 10
    assert await asked.read() == b""


def pulls(*pieces: bytes) -> Upload:
    left = list(pieces)

    async def pull() -> bytes:
        await trio.lowlevel.checkpoint()
        return left.pop(0) if left else b""

    return Upload(pull, None)


async def test_an_upload_goes_on_behind_the_head_of_the_answer() -> None:
    """What the backend has no room for waits; nothing is lost or sent twice."""
    pieces = [bytes([65 + n]) * 3000 for n in range(10)]
    asked, there = exchange(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", upload=pulls(*pieces), capacity=1000
    )
    assert (await asked.head()).status == 200
    assert not asked.sent
    heard = b""

    async def listen() -> None:
        nonlocal heard
        while not heard.endswith(b"0\r\n\r\n"):
            await there.wait_readable()
            heard += there.read_nowait() or b""

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        for _ in range(20):  # interrupted again and again
            with trio.move_on_after(0):
                await asked.send()
            await trio.testing.wait_all_tasks_blocked()
        await asked.send()
    assert heard == HEAD + b"".join(b"bb8\r\n" + piece + b"\r\n" for piece in pieces) + b"0\r\n\r\n"
    assert asked.sent
    assert await body(asked) == b"ok"


async def test_a_backend_that_takes_no_more() -> None:
    """It may have said why before it closed."""
    asked, there = exchange(b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n", upload=pulls(b"x" * 9))
    there.end()
    there._incoming.abandoned = True
    assert (await asked.head()).status == 413
    assert asked.sent


async def test_a_head_without_end() -> None:
    """A megabyte of fields is no answer."""
    asked, there = exchange()

    async def speak() -> None:
        there.write_nowait(b"HTTP/1.1 200 OK\r\n")
        while True:
            await there.wait_writable()
            there.write_nowait(b"X: " + b"x" * 10_000 + b"\r\n")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(speak)
        with pytest.raises(BackendError, match="server response headers exceeded"):
            await asked.head()
        nursery.cancel_scope.cancel()
