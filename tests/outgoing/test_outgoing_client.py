"""Calls over TLS: trust, bounds on time and size, words of failures."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from kubetrio.env import Env
from kubetrio.outgoing.client import AnswerTooLarge, CallError, CallTimedOut, Outgoing
from kubetrio.outgoing.target import Target
from kubetrio.tls import pki

Serve = Callable[[trio.SSLStream[trio.SocketStream]], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Told: so\r\n\r\nok"


@asynccontextmanager
async def serving(made: pki.Pki, serve: Serve) -> AsyncIterator[int]:
    """A TLS server that does something with each connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.serving.cert, made.serving.key)
    context.set_alpn_protocols(["http/1.1"])

    async def accepted(stream: trio.SSLStream[trio.SocketStream]) -> None:
        try:
            await serve(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(
            partial(trio.serve_ssl_over_tcp, accepted, 0, context, host="127.0.0.1")
        )
        yield listeners[0].transport_listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


@pytest.fixture
async def outgoing() -> AsyncIterator[Outgoing]:
    """A client that is closed at the end."""
    made = Outgoing(Env())
    yield made
    await made.close()


async def answer_ok(stream: trio.SSLStream[trio.SocketStream]) -> None:
    """Answer each request the same."""
    while await stream.receive_some(65536):
        await stream.send_all(OK)


async def hang(stream: trio.SSLStream[trio.SocketStream]) -> None:
    """Read and never answer."""
    while await stream.receive_some(65536):
        pass


async def flood(stream: trio.SSLStream[trio.SocketStream]) -> None:
    """Answer without end."""
    await stream.receive_some(65536)
    await stream.send_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await stream.send_all(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")


async def test_an_answer_comes_back(certificates: pki.Pki, outgoing: Outgoing) -> None:
    """Status, headers and body are those of the peer."""
    async with serving(certificates, answer_ok) as port:
        target = Target(url=f"https://127.0.0.1:{port}/x", ca=certificates.ca.cert.read_bytes())
        for _ in range(2):
            answer = await outgoing.call(target, body=b"{}")
            assert (answer.status, answer.headers["x-told"], answer.body) == (200, "so", b"ok")


async def test_another_address_may_be_dialed(certificates: pki.Pki, outgoing: Outgoing) -> None:
    """The host of the URL is asked for in TLS, whatever address is connected to."""
    async with serving(certificates, answer_ok) as port:
        target = Target(
            url="https://elsewhere.invalid/x",
            ca=certificates.ca.cert.read_bytes(),
            server_name="localhost",
        )
        answer = await outgoing.call(target, connect_to=("127.0.0.1", port))
        assert answer.body == b"ok"


async def test_who_is_not_trusted_is_not_told(
    certificates: pki.Pki, outgoing: Outgoing, tmp_path: Path
) -> None:
    """A certificate of another authority ends the call."""
    other = pki.ensure(tmp_path, now=Env().utcnow(), hosts=["127.0.0.1"])
    async with serving(certificates, answer_ok) as port:
        target = Target(url=f"https://127.0.0.1:{port}/x", ca=other.ca.cert.read_bytes())
        with pytest.raises(CallError, match="certificate signed by unknown authority"):
            await outgoing.call(target)


async def test_the_wrong_name_is_not_trusted(certificates: pki.Pki, outgoing: Outgoing) -> None:
    """A certificate for other names ends the call."""
    async with serving(certificates, answer_ok) as port:
        target = Target(
            url=f"https://127.0.0.1:{port}/",
            ca=certificates.ca.cert.read_bytes(),
            server_name="other.example",
        )
        with pytest.raises(CallError, match="not valid for the requested name"):
            await outgoing.call(target)


async def test_a_peer_that_hangs_costs_its_time(certificates: pki.Pki, outgoing: Outgoing) -> None:
    """The time-out ends the call."""
    async with serving(certificates, hang) as port:
        target = Target(url=f"https://127.0.0.1:{port}/", ca=certificates.ca.cert.read_bytes())
        with pytest.raises(CallTimedOut, match="context deadline exceeded"):
            await outgoing.call(target, timeout_s=0.2)


async def test_an_endless_answer_is_cut(certificates: pki.Pki, outgoing: Outgoing) -> None:
    """No more is read than is taken."""
    async with serving(certificates, flood) as port:
        target = Target(url=f"https://127.0.0.1:{port}/", ca=certificates.ca.cert.read_bytes())
        with pytest.raises(AnswerTooLarge, match="larger than 100000 bytes"):
            await outgoing.call(target, most_bytes=100_000)


async def test_nobody_there(outgoing: Outgoing) -> None:
    """A closed port is told as Go tells it."""
    with pytest.raises(CallError) as caught:
        await outgoing.call(Target(url="http://127.0.0.1:1/"))
    assert str(caught.value) == (
        'Post "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused'
    )
