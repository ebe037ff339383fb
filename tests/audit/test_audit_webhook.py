"""A webhook that takes events over TLS: what it gets, and what happens where it does not."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import trio

from kubetrio.audit.auditor import Auditor
from kubetrio.audit.counting import Counting
from kubetrio.audit.events import AuditEvent, time_json
from kubetrio.audit.making import load_audit, make_auditor
from kubetrio.audit.policy import Level
from kubetrio.config.audit import Audit
from kubetrio.env import Env
from kubetrio.machinery.identity import UserInfo
from kubetrio.outgoing.client import Outgoing
from kubetrio.tls import pki

Stream = trio.SSLStream[trio.SocketStream]
Serve = Callable[[Stream, bytes], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
BROKEN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno"


async def read_request(stream: Stream) -> bytes:
    """The body of one request."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = await stream.receive_some(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += await stream.receive_some(65536)
    return body


@asynccontextmanager
async def receiving(made: pki.Pki, serve: Serve, tmp_path: Path) -> AsyncIterator[Path]:
    """A webhook, and the kubeconfig that leads to it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.serving.cert, made.serving.key)
    context.set_alpn_protocols(["http/1.1"])

    async def accepted(stream: Stream) -> None:
        try:
            while body := await read_request(stream):
                await serve(stream, body)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(
            partial(trio.serve_ssl_over_tcp, accepted, 0, context, host="127.0.0.1")
        )
        port = listeners[0].transport_listener.socket.getsockname()[1]
        authority = base64.b64encode(made.ca.cert.read_bytes()).decode()
        file = tmp_path / "webhook.kubeconfig"
        cluster = {"server": f"https://127.0.0.1:{port}/a", "certificate-authority-data": authority}
        file.write_bytes(
            orjson.dumps(
                {
                    "apiVersion": "v1", "kind": "Config", "current-context": "c",
                    "clusters": [{"name": "c", "cluster": cluster}],
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                    "users": [{"name": "u", "user": {}}],
                }
            )
        )  # fmt: skip
        yield file
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def sending(
    tmp_path: Path, file: Path, grace_s: float = 5.0, **given: Any
) -> AsyncIterator[Auditor]:
    """The audit log of a configuration with a webhook."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    env = Env()
    outgoing = Outgoing(env)
    config = Audit(policy_file=policy, webhook_config_file=file, **given)
    auditor = make_auditor(config, load_audit(config), env, outgoing, Counting())
    assert auditor is not None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(auditor.run)
        yield auditor
        await auditor.close(grace_s)
        nursery.cancel_scope.cancel()
    await outgoing.close()


def event(number: int = 0, stage: str = "ResponseComplete") -> AuditEvent:
    at = time_json(1_700_000_000)
    return AuditEvent(
        Level.METADATA, f"id-{number}", stage, "/x", "get", UserInfo("me"), b"", "", "", "", b"",
        at, at,
    )  # fmt: skip


def ids(body: bytes) -> list[str]:
    return [item["auditID"] for item in orjson.loads(body)["items"]]


async def test_events_come_as_a_list(certificates: pki.Pki, tmp_path: Path) -> None:
    """In the group's version, items without a kind of their own, all of them at the end."""
    bodies: list[bytes] = []

    async def take(stream: Stream, body: bytes) -> None:
        bodies.append(body)
        await stream.send_all(OK)

    async with (
        receiving(certificates, take, tmp_path) as file,
        sending(tmp_path, file, webhook_batch_max_size=3) as auditor,
    ):
        for number in range(7):
            auditor.take(event(number))
        await auditor.close(5.0)
    came = sorted(one for body in bodies for one in ids(body))
    assert came == [f"id-{number}" for number in range(7)]
    first = orjson.loads(bodies[0])
    assert list(first) == ["kind", "apiVersion", "metadata", "items"]
    assert (first["kind"], first["apiVersion"]) == ("EventList", "audit.k8s.io/v1")
    assert list(first["items"][0])[:2] == ["level", "auditID"]


async def test_a_webhook_that_fails_is_asked_again(certificates: pki.Pki, tmp_path: Path) -> None:
    """Whatever it answers but success."""
    bodies: list[bytes] = []

    async def fail_twice(stream: Stream, body: bytes) -> None:
        bodies.append(body)
        await stream.send_all(OK if len(bodies) > 2 else BROKEN)

    async with receiving(certificates, fail_twice, tmp_path) as file:
        given = {"webhook_initial_backoff_s": 0.001, "webhook_mode": "blocking"}
        async with sending(tmp_path, file, **given) as auditor:
            wait = auditor.take(event())
            assert wait is not None
            assert await wait
        assert len(bodies) == 3
        assert not auditor.counting.errors


async def test_a_webhook_that_fails_for_good_loses_events(
    certificates: pki.Pki, tmp_path: Path
) -> None:
    """After five attempts; in mode blocking-strict the request is refused."""
    count = 0

    async def fail(stream: Stream, body: bytes) -> None:
        nonlocal count
        count += 1
        await stream.send_all(BROKEN)

    async with receiving(certificates, fail, tmp_path) as file:
        given = {"webhook_initial_backoff_s": 0.001, "webhook_mode": "blocking-strict"}
        async with sending(tmp_path, file, **given) as auditor:
            wait = auditor.take(event(0, "RequestReceived"))
            assert wait is not None
            assert not await wait
    assert count == 5
    assert auditor.counting.errors == {"webhook": 1}


async def test_a_webhook_that_hangs_holds_nobody(certificates: pki.Pki, tmp_path: Path) -> None:
    """Requests go on, memory is bounded, and the server stops within its time."""

    async def hang(stream: Stream, body: bytes) -> None:
        await trio.sleep_forever()

    async with receiving(certificates, hang, tmp_path) as file:
        given = {"webhook_batch_max_size": 10, "webhook_batch_buffer_size": 20}
        start = trio.current_time()
        async with sending(tmp_path, file, grace_s=0.2, **given) as auditor:
            for number in range(100):
                assert auditor.take(event(number)) is None
        assert trio.current_time() - start < 5
    assert auditor.counting.errors["buffered"] == 70


async def test_a_webhook_with_another_authority_gets_nothing(
    certificates: pki.Pki, tmp_path: Path
) -> None:
    """It is not who the kubeconfig says."""
    bodies: list[bytes] = []

    async def take(stream: Stream, body: bytes) -> None:
        bodies.append(body)

    async with receiving(certificates, take, tmp_path) as file:
        document = orjson.loads(file.read_bytes())
        del document["clusters"][0]["cluster"]["certificate-authority-data"]
        file.write_bytes(orjson.dumps(document))
        given = {"webhook_initial_backoff_s": 0.0, "webhook_mode": "blocking"}
        async with sending(tmp_path, file, **given) as auditor:
            wait = auditor.take(event())
            assert wait is not None
            assert await wait
    assert not bodies
    assert auditor.counting.errors == {"webhook": 1}
