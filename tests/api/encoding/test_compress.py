"""Compression: who gets it, from which size on, and that it is undone to the same bytes."""

from __future__ import annotations

import gzip

import pytest

from kubetrio.api.encoding.compress import THRESHOLD_BYTES, compress, wanted
from kubetrio.api.request import Request
from kubetrio.api.response import Channel, Response, StreamResponse
from kubetrio.env import seeded

ENV = seeded(1)


def request(accept: str | None = "gzip", path: str = "/api/v1/pods") -> Request:
    headers = {} if accept is None else {b"accept-encoding": accept.encode()}
    return Request("GET", path, "", headers, list(headers.items()))


@pytest.mark.parametrize(
    ("header", "takes", "weighed"),
    [
        (None, False, False),
        ("", False, False),
        ("identity", False, False),
        ("br", False, False),
        ("gzip", True, True),
        ("gzip, deflate", True, True),
        ("br , gzip", True, True),
        ("gzip;q=0", False, False),
        ("gzip; q=0.000", False, False),
        ("gzip ; q = 0.0", False, False),
        ("gzip;q=0.001", False, True),
        ("gzip;q=1.0", False, True),
        ("x-gzip-2", False, False),
        ("GZIP", False, False),
        ("deflate;q=0, gzip;q=0.5", False, True),
        ("gzip;q=0.5, gzip", True, True),
    ],
)
def test_who_takes_gzip(header: str | None, takes: bool, weighed: bool) -> None:
    """Whoever names it, of the API without a weight; where those count, one of zero refuses."""
    for path in ("/api/v1/pods", "/apis"):
        assert wanted(request(header, path)) is takes
    for path in ("/openapi/v2", "/metrics"):
        assert wanted(request(header, path)) is weighed


@pytest.mark.parametrize(
    ("size", "accept", "squeezed"),
    [
        (THRESHOLD_BYTES, "gzip", False),
        (THRESHOLD_BYTES + 1, "gzip", True),
        (THRESHOLD_BYTES + 1, "identity", False),
        (0, "gzip", False),
    ],
)
async def test_large_answers_are_compressed(size: int, accept: str, squeezed: bool) -> None:
    """Over 128 KiB, for those who ask."""
    answer = Response(200, b"a" * size, headers=((b"X", b"y"),))
    sent = await compress(request(accept), answer, ENV)
    assert isinstance(sent, Response)
    assert ((b"Content-Encoding", b"gzip") in sent.headers) is squeezed
    assert ((b"Vary", b"Accept-Encoding") in sent.headers) is squeezed
    assert (b"X", b"y") in sent.headers
    assert (gzip.decompress(sent.body) if squeezed else sent.body) == answer.body


async def test_the_same_body_gives_the_same_bytes() -> None:
    """No time is in them."""
    answer = Response(200, b"a" * (THRESHOLD_BYTES + 1))
    first = await compress(request(), answer, ENV)
    second = await compress(request(), answer, ENV)
    assert isinstance(first, Response)
    assert isinstance(second, Response)
    assert first.body == second.body


class Recorder:
    """A channel that keeps what it gets, each piece in brackets."""

    framing = "brackets"

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def frame(self, payload: bytes) -> bytes:
        """In brackets."""
        return b"[" + payload + b"]"

    def offer(self, wire: bytes) -> bool:
        """Take bytes."""
        raise NotImplementedError

    async def send(self, wire: bytes) -> None:
        """Take bytes."""
        self.pieces.append(wire)

    async def wait_closed(self) -> None:
        """Never."""

    @property
    def body(self) -> bytes:
        """What was framed."""
        return b"".join(piece[1:-1] for piece in self.pieces)


async def write(channel: Channel) -> None:
    for number in range(50):
        await channel.send(channel.frame(b"piece %d\n" % number))


WRITTEN = b"".join(b"piece %d\n" % number for number in range(50))


async def test_a_streamed_list_is_compressed() -> None:
    """Piece by piece, framed behind compression."""
    sent = await compress(request(), StreamResponse(200, write), ENV)
    assert isinstance(sent, StreamResponse)
    channel = Recorder()
    await sent.run(channel)
    assert gzip.decompress(channel.body) == WRITTEN
    assert (b"Content-Encoding", b"gzip") in sent.headers


async def test_a_watch_is_not_compressed() -> None:
    """Its events must not wait for each other."""
    answer = StreamResponse(200, write, long_running=True)
    assert await compress(request(), answer, ENV) is answer


async def test_a_stream_for_those_who_do_not_ask() -> None:
    """As it is."""
    answer = StreamResponse(200, write)
    assert await compress(request(None), answer, ENV) is answer
