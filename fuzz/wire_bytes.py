"""Bytes of HTTP/1.1 and HTTP/2, and headers of authentication, changed at random, against a server.

Targets of ``python -m fuzz``.  A round is a server in this process.
"""

from __future__ import annotations

import logging
import socket
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)

import h2.config
import h2.connection
import trio
import trio.testing

from fuzz.interrupting import MAPS, config_of, run
from fuzz.mutated_requests import place, recorded
from fuzz.rounds import Round, Target
from fuzz.values import damaged
from kubetrio.config import Authorization
from kubetrio.env import seeded
from kubetrio.http.bridge import Bridge
from kubetrio.testing.client import BadAnswer
from kubetrio.testing.server import InProcess, open_api
from kubetrio.transport import PlainTransport

INPUTS = 60  # of one round
WRITES_S = 60.0  # of the server's clock, for an answer that is not taken
QUIET_S = 120.0  # of the server's clock, in which an answer or an end comes
REQUESTS = (
    b"GET /api/v1/namespaces HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n"
    b'{"metadata": {"name": "x"}}' % MAPS.encode(),
    b"POST %b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'1b\r\n{"metadata": {"name": "x"}}\r\n0\r\n\r\n' % MAPS.encode(),
    b"GET /api HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
    b"GET /readyz HTTP/1.0\r\n\r\n",
    b"GET %b?watch=1&timeoutSeconds=1 HTTP/1.1\r\nHost: a\r\n\r\n" % MAPS.encode(),
    b"DELETE %b/x?dryRun=All HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}" % MAPS.encode(),
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
)
SCHEMES = ("Bearer", "bearer", "Basic", "Negotiate", "Bearer Bearer", "", "B\u00e9arer")
TOKENS = (
    "", "a", "a b", "....", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", "system:masters", "\t",
    "=" * 99,
    "abcdef.0123456789abcdef", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "0" * 20_000,
)  # fmt: skip
REMOTE = (
    ("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters"), ("Impersonate-User", "admin"),
    ("Impersonate-Group", "system:masters"), ("Impersonate-Uid", "0"), ("X-Forwarded-For", "::1"),
    ("Impersonate-Extra-A", "b"), ("Cookie", "token=admin"),
)  # fmt: skip


async def _one_http(server: InProcess, rng: Random, told: Round) -> None:
    """Whatever bytes come, answers are whole or the connection ends, and the next one is served."""
    sent = b"".join(rng.choice(REQUESTS) for _ in range(rng.randint(1, 3)))
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        sent = damaged(rng, sent)
    with trio.move_on_after(QUIET_S) as scope:
        async with server.connect() as client:
            try:
                at = 0
                while at < len(sent):
                    size = rng.choice((1, 7, 100, 10_000))
                    await client.send(sent[at : at + size])
                    at += size
                head = await client.head()
                told.require(100 <= head.status < 600, f"{sent!r}: status {head.status}")
            except (BadAnswer, OSError, EOFError):
                pass  # it ended, or waits for what does not come
    del scope
    async with server.connect() as client:
        answer = await client.request("GET", "/readyz")
        told.require(answer.status == 200, f"behind {sent!r}: {answer.status}")


async def _one_http2(server: InProcess, rng: Random, told: Round) -> None:
    """Whatever frames of HTTP/2 come, the connection ends in order, and the next one is served."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    for number in range(rng.randint(1, 3)):
        fields = [
            (":method", rng.choice(("GET", "POST", "DELETE"))),
            (":scheme", "https"),
            (":authority", "a"),
            (":path", rng.choice((MAPS, "/readyz", "/api"))),
        ]
        stream = 2 * number + 1
        client.send_headers(stream, fields, end_stream=rng.random() < 0.5)
        if rng.random() < 0.5:
            client.ping(rng.randbytes(8))
    preface = client.data_to_send()
    sent = preface[:24] + preface[24:]
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        sent = sent[:24] + damaged(rng, sent[24:])
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    bridge = Bridge(server.api.handle, write_timeout_s=WRITES_S, env=server.env)
    transport, ours = PlainTransport(left), PlainTransport(right)
    ended = trio.Event()

    async def serve() -> None:
        try:
            await bridge.serve(transport, b"", None)
        finally:
            transport.close()
            ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        with suppress(OSError):
            ours.write_nowait(memoryview(sent))
        await trio.testing.wait_all_tasks_blocked()
        ours.close()
        with trio.move_on_after(QUIET_S) as scope:
            await ended.wait()
        told.require(not scope.cancelled_caught, f"{sent!r}: the connection does not end")
        nursery.cancel_scope.cancel()
    async with server.connect() as next_one:
        answer = await next_one.request("GET", "/readyz")
        told.require(answer.status == 200, f"behind {sent!r}: {answer.status}")


async def _one_header(server: InProcess, rng: Random, told: Round) -> None:
    """Whatever headers come, who shows no known token or certificate is nobody."""
    token = rng.choice(TOKENS)
    if rng.random() < 0.5:
        token = damaged(rng, token.encode()).decode("latin-1")
    headers = {}
    if rng.random() < 0.8:
        scheme = rng.choice(SCHEMES).encode("utf-8").decode("latin-1")
        headers["Authorization"] = f"{scheme} {token}".replace("\r", "").replace("\n", "")
    headers.update(each for each in REMOTE if rng.random() < 0.2)
    path = rng.choice((MAPS, "/api/v1/secrets", "/metrics", "/apis/apps/v1/deployments"))
    async with server.connect(certificate=None) as client:
        try:
            answer = await client.request("GET", path, headers)
        except (BadAnswer, OSError):
            return  # no request of HTTP
    told.require(answer.status in (400, 401, 403, 431), f"{path} {headers}: {answer.status}")


async def _play(
    one: Callable[[InProcess, Random, Round], Awaitable[None]], seed: int, told: Round
) -> None:
    rng = seeded(seed).rng
    with recorded() as records, tempfile.TemporaryDirectory(prefix="kubetrio-bytes-") as folder:
        config = replace(config_of(Path(folder)), authorization=Authorization(modes=("RBAC",)))
        async with open_api(env=seeded(seed), config=config, kept=True) as server:
            for _ in range(INPUTS):
                told.executions += 1
                await one(server, rng, told)
                for record in records.kept:
                    error = getattr(record, "kubetrio_fields", {}).get("err")
                    told.problems.append(f"{record.getMessage()}: {place(error)}")
                records.kept.clear()


def _round(one: Callable[[InProcess, Random, Round], Awaitable[None]], seed: int) -> Round:
    told = Round()
    level = logging.root.manager.disable
    logging.disable(logging.NOTSET)
    try:
        run(lambda: _play(one, seed, told), seed)
    finally:
        logging.disable(level)
    return told


TARGETS = (
    Target("http/1.1", (_one_http.__doc__ or "").strip(), partial(_round, _one_http)),
    Target("http/2", (_one_http2.__doc__ or "").strip(), partial(_round, _one_http2)),
    Target("authentication", (_one_header.__doc__ or "").strip(), partial(_round, _one_header)),
)
