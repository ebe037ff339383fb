"""Forwarded ports of simulated pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio
from asking import UPGRADE, Pods
from trio.testing import MockClock

from kubetrio.backend.exchange import Exchange, encode_head
from kubetrio.backend.spdy import DATA, PING, Session, data, ping
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.kubelet import Kubelet
from kubetrio.simulation.pipes import PipeStream, pipe
from kubetrio.simulation.podports import PodPorts
from kubetrio.simulation.processes import Find
from kubetrio.transport import Transport


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


class Functions:
    """Echoes what comes, behind every port, until the client ends; keeps its transports."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self.over: list[bytes] = []

    def connect(self, pod: Mapping[str, Any], port: int) -> Transport | None:
        """A connection to the echo."""
        transport, stream = pipe()
        self._nursery.start_soon(self._echo, stream)
        return transport

    async def _echo(self, stream: PipeStream) -> None:
        received = b""
        async with stream:
            async for piece in stream:
                received += piece
                await stream.send_all(piece)
        self.over.append(received)


async def test_bytes_go_both_ways(autojump_clock: MockClock) -> None:
    """Several connections at a time, of any size, and each ends by itself."""
    big = bytes(range(256)) * 4096
    async with trio.open_nursery() as nursery:
        functions = Functions(nursery)
        pods = Pods(PodPorts(server=functions))
        session = await pods.session("/portForward/default/p")
        streams = {}
        for number, sent in enumerate((b"small", big)):
            headers = {"port": "80", "requestid": str(number)}
            error = await session.open({**headers, "streamtype": "error"})
            stream = await session.open({**headers, "streamtype": "data"})
            streams[stream] = (error, sent)

        async def send(stream: int, sent: bytes) -> None:
            for start in range(0, len(sent), 65536):
                await session.send(data(stream, sent[start : start + 65536]))
            await session.send(data(stream, b"", fin=True))

        for stream, (_, sent) in streams.items():
            nursery.start_soon(send, stream, sent)
        texts: dict[int, bytes] = {}
        ended: set[int] = set()
        while len(ended) < 4:
            for frame in await session.receive():
                if frame.kind == DATA:
                    texts[frame.stream] = texts.get(frame.stream, b"") + frame.payload
                    ended |= {frame.stream} if frame.fin else set()
        assert {one: texts[one] for one in streams} == {
            stream: sent for stream, (_, sent) in streams.items()
        }
        assert all(texts[error] == b"" for error, _ in streams.values())
        assert sorted(functions.over, key=len) == [b"small", big]


async def test_a_client_that_goes_ends_its_connections(autojump_clock: MockClock) -> None:
    """What is behind the port reads the end."""
    async with trio.open_nursery() as nursery:
        functions = Functions(nursery)
        here = Connection(Kubelet(*_parts(functions)))
        session = await _session(here)
        await session.open({"port": "80", "requestid": "0", "streamtype": "error"})
        stream = await session.open({"port": "80", "requestid": "0", "streamtype": "data"})
        await session.send(data(stream, b"half"))
        texts = b""
        while texts != b"half":
            texts += b"".join(one.payload for one in await session.receive() if one.kind == DATA)
        here.close()
    assert functions.over == [b"half"]


def _parts(functions: Functions) -> tuple[Find, PodPorts]:
    return Pods().find, PodPorts(server=functions)


async def _session(here: Connection) -> Session:
    head = encode_head("POST", "/portForward/default/p", [(b"host", b"node"), *UPGRADE])
    exchange = Exchange(here, "POST", head)
    assert (await exchange.head()).status == 101
    return Session(exchange.transport, exchange.rest)


async def test_a_target_that_is_not_allowed(autojump_clock: MockClock) -> None:
    """The error of the port says so."""
    page, error = await forwarded(Pods(port="tcp:22"))
    assert page == b""
    assert error.startswith(b"error forwarding port 80 to pod p, uid u: simulation.kubetrio.io/")
    assert b"is not in --simulation-targets" in error
