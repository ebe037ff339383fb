"""Simulated kubelets, asked as the API server asks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.backend.exchange import AnswerHead, Exchange, encode_head
from kubetrio.backend.spdy import DATA, PING, SYN_REPLY, Session, data, ping
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.kubelet import Kubelet

Object = dict[str, Any]
UPGRADE = ((b"upgrade", b"SPDY/3.1"), (b"connection", b"Upgrade"), (b"content-length", b"0"))
V4 = (b"x-stream-protocol-version", b"v4.channel.k8s.io")
Headers = Sequence[tuple[bytes, bytes]]


class Pods:
    """One pod that can change."""

    def __init__(self, **annotations: str) -> None:
        self.pod: Object | None = {
            "metadata": {
                "name": "p", "namespace": "default", "uid": "u",
                "annotations": {f"simulation.kubetrio.io/{k}": v for k, v in annotations.items()},
            },
            "spec": {"containers": [{"name": "c"}]},
        }  # fmt: skip
        self.state({"running": {"startedAt": "2026-01-01T00:00:00Z"}})

    def state(self, state: Object) -> None:
        """Have the container be in a state."""
        assert self.pod is not None
        self.pod["status"] = {"containerStatuses": [{"name": "c", "state": state}]}

    async def find(self, namespace: str, name: str) -> Object | None:
        """The pod."""
        return self.pod if (namespace, name) == ("default", "p") else None

    async def ask(
        self, target: str, method: str = "GET", headers: Headers = ()
    ) -> tuple[Exchange, AnswerHead]:
        """An answer's head, and the connection."""
        here = Connection(Kubelet(self.find))
        head = encode_head(method, target, [(b"host", b"node"), *headers])
        exchange = Exchange(here, method, head)
        return exchange, await exchange.head()

    async def body(self, target: str) -> tuple[int, bytes]:
        """Status and body of an answer."""
        exchange, head = await self.ask(target)
        body = b""
        while piece := await exchange.read():
            body += piece
        return head.status, body

    async def session(self, target: str, *headers: tuple[bytes, bytes]) -> Session:
        """A connection that has become SPDY."""
        exchange, head = await self.ask(target, "POST", (*UPGRADE, *headers))
        assert (head.status, head.get(b"upgrade")) == (101, b"SPDY/3.1")
        return Session(exchange.transport, exchange.rest)


async def said(session: Session) -> tuple[dict[int, bytes], set[int]]:
    """What each stream says until the end, and which were agreed to."""
    texts: dict[int, bytes] = {}
    replies = set()
    while frames := await session.receive():
        for frame in frames:
            if frame.kind == DATA:
                texts[frame.stream] = texts.get(frame.stream, b"") + frame.payload
            elif frame.kind == SYN_REPLY:
                replies.add(frame.stream)
    return texts, replies


async def test_logs() -> None:
    """Text, and errors with their status."""
    pods = Pods(logs="one\ntwo")
    assert await pods.body("/containerLogs/default/p/c") == (200, b"one\ntwo\n")
    assert await pods.body("/containerLogs/default/p/c?tailLines=1") == (200, b"two\n")
    status, text = await pods.body("/containerLogs/default/p/c?previous=true")
    assert (status, b"not found" in text) == (400, True)
    assert (await pods.body("/containerLogs/default/other/c"))[0] == 404
    assert (await pods.body("/stats/summary"))[0] == 404


async def test_logs_are_followed_until_the_end(autojump_clock: MockClock) -> None:
    """While the container runs, the answer goes on."""
    pods = Pods(logs="one")
    exchange, head = await pods.ask("/containerLogs/default/p/c?follow=true")
    assert (head.status, await exchange.read()) == (200, b"one\n")
    with trio.move_on_after(60) as scope:
        await exchange.read()
    assert scope.cancelled_caught
    pods.state({"terminated": {"exitCode": 0}})
    assert await exchange.read() == b""


async def test_commands(autojump_clock: MockClock) -> None:
    """Each stream says its part, and the last one how it ended."""
    pods = Pods(exec='{"ls -l": {"stdout": "a", "stderr": "b", "exitCode": 2}}')
    target = "/exec/default/p/c?command=ls&command=-l&output=1&error=1"
    session = await pods.session(target, V4)
    error = await session.open({"streamtype": "error"})
    stdout = await session.open({"streamtype": "stdout"})
    await session.send(ping(1))
    stderr = await session.open({"streamtype": "stderr"})
    texts, replies = await said(session)
    assert replies == {error, stdout, stderr}
    assert (texts[stdout], texts[stderr]) == (b"a\n", b"b\n")
    status = orjson.loads(texts[error])
    assert (status["status"], status["reason"]) == ("Failure", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "2"}]


async def test_a_command_that_succeeds(autojump_clock: MockClock) -> None:
    """What is typed is taken and goes nowhere."""
    pods = Pods(exec="done")
    session = await pods.session("/exec/default/p/c?command=x&input=1&output=1", V4)
    error = await session.open({"streamtype": "error"})
    stdin = await session.open({"streamtype": "stdin"})
    await session.send(data(stdin, b"typed", fin=True))
    stdout = await session.open({"streamtype": "stdout"})
    texts, _ = await said(session)
    assert texts[stdout] == b"done\n"
    assert orjson.loads(texts[error]) == {"metadata": {}, "status": "Success"}


async def test_attaching_shows_the_log_and_waits(autojump_clock: MockClock) -> None:
    """Until the container ends."""
    pods = Pods(logs="line")
    session = await pods.session("/attach/default/p/c?output=1", V4)
    error = await session.open({"streamtype": "error"})
    stdout = await session.open({"streamtype": "stdout"})
    with trio.move_on_after(30) as scope:
        await said(session)
    assert scope.cancelled_caught
    pods.pod = None
    texts, _ = await said(session)
    assert texts == {error: b'{"metadata":{},"status":"Success"}', stdout: b""}


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/exec/default/p/other?output=1", (*UPGRADE, V4), 404),
        ("/exec/default/p/c?output=1", UPGRADE, 403),
        ("/exec/default/p/c?output=1", (V4,), 403),
        ("/portForward/default/p", (), 403),
        ("/portForward/default/other", UPGRADE, 404),
    ],
)
async def test_what_is_refused(target: str, headers: Headers, status: int) -> None:
    """Containers that do not run, and protocols that are not spoken."""
    _, head = await Pods().ask(target, "POST", headers)
    assert head.status == status


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
