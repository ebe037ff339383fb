"""Forwarded ports of simulated pods."""

from __future__ import annotations

from asking import Pods
from trio.testing import MockClock

from kubetrio.backend.spdy import DATA, PING, data, ping


async def forwarded(pods: Pods, *sent: bytes) -> tuple[bytes, bytes]:
    """What a port says on its streams of data and errors."""
    session = await pods.session("/portForward/default/p")
    headers = {"port": "80", "requestid": "0"}
    error = await session.open({**headers, "streamtype": "error"})
    stream = await session.open({**headers, "streamtype": "data"})
    for piece in sent:
        await session.send(data(stream, piece))
    texts = {error: b"", stream: b""}
    ended: set[int] = set()
    while ended != {error, stream}:
        for frame in await session.receive():
            if frame.kind == DATA:
                texts[frame.stream] += frame.payload
                ended |= {frame.stream} if frame.fin else set()
    return texts[stream], texts[error]


async def test_a_port_answers_http(autojump_clock: MockClock) -> None:
    """However the request comes."""
    pods = Pods(http="hello")
    for sent in ([b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"], [b"GET / HTTP/1.1\r\n\r", b"\n"]):
        page, error = await forwarded(pods, *sent)
        assert page.startswith(b"HTTP/1.1 200 OK\r\n")
        assert page.endswith(b"\r\n\r\nhello")
        assert error == b""


async def test_a_port_on_which_nothing_listens(autojump_clock: MockClock) -> None:
    """The error says so."""
    page, error = await forwarded(Pods())
    assert page == b""
    assert error.endswith(b"dial tcp 127.0.0.1:80: connect: connection refused")


async def test_pings_are_answered(autojump_clock: MockClock) -> None:
    """A client finds out by them whether its connection still is."""
    session = await Pods().session("/portForward/default/p")
    await session.send(ping(7))
    assert [(one.kind, one.stream) for one in await session.receive()] == [(PING, 7)]
