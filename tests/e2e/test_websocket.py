"""Watches over WebSocket, with trio-websocket over TLS."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.api.request import Request
from kubetrio.api.response import StreamResponse
from kubetrio.auth.tokens import TOKEN_PROTOCOL
from kubetrio.config import Authentication, Config, Storage
from kubetrio.http.asgi import stream_body
from kubetrio.testing.client import ADMIN
from kubetrio.testing.server import InProcess, listening, open_api
from kubetrio.tls import pki

trio_websocket: Any = pytest.importorskip(
    "trio_websocket", reason="trio-websocket is not installed"
)

pytestmark = pytest.mark.e2e

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
WATCH = CONFIGMAPS + "?watch=1"
BINARY = "binary.k8s.io"
BASE64 = "base64.binary.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf;type=watch"
LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Served:
    """A server on a socket.

    Args:
        server: what answers.
        port: where.
        certificates: its own and its administrator's.
    """

    server: InProcess
    port: int
    certificates: pki.Pki

    def context(self, *, anonymous: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.certificates.ca.cert))
        if not anonymous:
            admin = self.certificates.admin
            context.load_cert_chain(admin.cert, admin.key)
        return context

    @asynccontextmanager
    async def open(
        self,
        target: str,
        *,
        protocols: Sequence[str] = (),
        accept: str = "",
        anonymous: bool = False,
        queue: int = 1,
        origin: str = "",
    ) -> AsyncIterator[Any]:
        """A WebSocket; `queue` messages are read before they are asked for."""
        stream = await trio.open_ssl_over_tcp_stream(
            "127.0.0.1", self.port, ssl_context=self.context(anonymous=anonymous)
        )
        try:
            async with trio.open_nursery() as nursery:
                socket = await trio_websocket.wrap_client_stream(
                    nursery,
                    stream,
                    f"127.0.0.1:{self.port}",
                    target,
                    subprotocols=list(protocols) or None,
                    extra_headers=[
                        (name, value.encode())
                        for name, value in ((b"Accept", accept), (b"Origin", origin))
                        if value
                    ],
                    message_queue_size=queue,
                )
                yield socket
                with trio.move_on_after(LIMIT_S):
                    await socket.aclose()
                nursery.cancel_scope.cancel()
        finally:
            await trio.aclose_forcefully(stream)

    async def make(self, name: str, size: int = 0) -> None:
        async with self.server.connect() as client:
            body = {"metadata": {"name": name}, "data": {"x": "y" * size}}
            answer = await client.request("POST", CONFIGMAPS, json=body)
            assert answer.status == 201

    async def nobody_watches(self) -> None:
        """Wait until every watch has ended."""
        with trio.fail_after(LIMIT_S):
            while self.server.api.storage.hub.statistics().watchers:  # noqa: ASYNC110  (no event for it)
                await trio.sleep(0.01)
        assert not self.server.api.edge.streams


@pytest.fixture
async def served(certificates: pki.Pki) -> AsyncIterator[Served]:
    """A server of which nothing is left to be said in the log at the end."""
    async with (
        open_api(seed=0) as server,
        listening(server.api.handle, server.env, certificates) as listener,
    ):
        with trio.fail_after(2 * LIMIT_S):
            yield Served(server, listener.port, certificates)


async def refusal(opening: AbstractAsyncContextManager[Any]) -> Any:
    """What is thrown at a client whose handshake is refused."""
    found: list[BaseException] = []
    try:
        async with opening:
            raise AssertionError("it was accepted")
    except* trio_websocket.ConnectionRejected as group:
        found += group.exceptions
    return found[0]


async def messages(socket: Any) -> tuple[list[Any], Any]:
    """All messages of a socket to its end, and the close reason."""
    got = []
    with trio.fail_after(LIMIT_S):
        while True:
            try:
                got.append(await socket.get_message())
            except trio_websocket.ConnectionClosed as closed:
                return got, closed.reason


def name_of(event: Any) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


async def test_events_are_text(served: Served) -> None:
    """Each event is one text message of JSON: the state, then what happens."""
    await served.make("one")
    async with served.open(WATCH) as socket:
        first = await socket.get_message()
        assert isinstance(first, str)
        assert name_of(json.loads(first)) == ("ADDED", "one")
        await served.make("two")
        second = json.loads(await socket.get_message())
        assert name_of(second) == ("ADDED", "two")
        assert second["object"]["kind"] == "ConfigMap"
        assert socket.subprotocol is None
    await served.nobody_watches()


@pytest.mark.parametrize("protocol", [BINARY, BASE64])
async def test_subprotocols_choose_the_frames(served: Served, protocol: str) -> None:
    """Binary messages, or base64 as text."""
    await served.make("one")
    await served.make("two")
    async with served.open(WATCH, protocols=[protocol]) as socket:
        assert socket.subprotocol == protocol
        for name in ("one", "two"):
            message = await socket.get_message()
            if protocol == BASE64:
                assert isinstance(message, str)
                message = base64.b64decode(message, validate=True)
            assert isinstance(message, bytes)
            assert name_of(json.loads(message)) == ("ADDED", name)
    await served.nobody_watches()


async def test_the_first_known_subprotocol_is_taken(served: Served) -> None:
    """Clients offer several, in their order; what nobody knows is not agreed to."""
    async with served.open(WATCH, protocols=["x.example.test", BASE64, BINARY]) as socket:
        assert socket.subprotocol == BASE64
    async with served.open(WATCH, protocols=["x.example.test"]) as socket:
        assert socket.subprotocol is None


async def test_a_token_is_no_subprotocol_to_agree_on(certificates: pki.Pki, tmp_path: Path) -> None:
    """It says who asks, and the other one is chosen."""
    file = tmp_path / "tokens.csv"
    file.write_text('secret,admin,1,"system:masters"\n')
    config = Config(
        data_dir=tmp_path / "data",
        storage=Storage(durability="normal"),
        auth=Authentication(token_auth_file=file),
    )
    token = TOKEN_PROTOCOL + base64.urlsafe_b64encode(b"secret").decode().rstrip("=")
    async with (
        open_api(config=config) as server,
        listening(server.api.handle, server.env, certificates) as listener,
    ):
        served = Served(server, listener.port, certificates)
        async with served.open(WATCH, protocols=[token, BASE64], anonymous=True) as socket:
            assert socket.subprotocol == BASE64
        wrong = served.open(WATCH, protocols=[f"{token}A", BASE64], anonymous=True)
        assert (await refusal(wrong)).status_code == 401


@pytest.mark.parametrize("protocol", [None, BINARY, BASE64])
async def test_protobuf_is_binary(served: Served, protocol: str | None) -> None:
    """Events in protobuf are binary messages without a length in front, or base64 of them."""
    await served.make("one")
    await served.make("two")
    protocols = [protocol] if protocol else []
    async with served.open(WATCH, protocols=protocols, accept=PROTOBUF) as socket:
        for name in (b"one", b"two"):
            message = await socket.get_message()
            if protocol == BASE64:
                message = base64.b64decode(message, validate=True)
            assert isinstance(message, bytes)
            # field 1 of meta.v1.WatchEvent is its type
            assert message.removeprefix(b"k8s\0")[:7] == b"\x0a\x05ADDED"
            assert name in message


async def test_a_refusal_comes_before_the_handshake(served: Served) -> None:
    """403 for nobody, 404, 400 and 422 answer the request, with a Status."""
    error = await refusal(served.open(WATCH, anonymous=True))
    assert error.status_code == 403
    headers = {key.lower(): value for key, value in error.headers}
    assert headers[b"content-type"] == b"application/json"
    status = json.loads(error.body)
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "Forbidden", 403)
    assert status["message"] == (
        'configmaps is forbidden: User "system:anonymous" cannot watch resource "configmaps" '
        'in API group "" in the namespace "default"'
    )
    for target, code in (
        ("/api/v1/namespaces/default/nothings?watch=1", 404),
        (WATCH + "&labelSelector=a%20b", 400),
        (WATCH + "&fieldSelector=spec.color%3Dred", 400),
        (WATCH + "&sendInitialEvents=true", 422),
    ):
        error = await refusal(served.open(target))
        assert error.status_code == code
        if code != 404:
            assert json.loads(error.body)["code"] == code
    assert served.server.api.storage.hub.statistics().watchers == 0


@pytest.mark.parametrize("protocol", [None, BASE64])
async def test_time_is_up_with_1000(served: Served, protocol: str | None) -> None:
    """timeoutSeconds ends the watch in order."""
    await served.make("one")
    target = WATCH + "&timeoutSeconds=1"
    async with served.open(target, protocols=[protocol] if protocol else []) as socket:
        got, reason = await messages(socket)
    assert len(got) == 1
    assert reason.code == 1000


async def test_history_that_is_gone_is_an_event(served: Served) -> None:
    """410 comes as an ERROR event, then the close."""
    for name in ("one", "two", "three"):
        await served.make(name)
    store = served.server.api.storage.store
    served.server.api.storage.hub._window.floor = store.revision
    await store.compact(store.revision)
    async with served.open(WATCH + "&resourceVersion=1") as socket:
        got, reason = await messages(socket)
    (event,) = map(json.loads, got)
    assert (event["type"], event["object"]["reason"]) == ("ERROR", "Expired")
    assert event["object"]["code"] == 410
    assert reason.code == 1000


async def test_streaming_lists(served: Served) -> None:
    """sendInitialEvents: the state, then its bookmark."""
    await served.make("one")
    query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with served.open(WATCH + query) as socket:
        added = json.loads(await socket.get_message())
        bookmark = json.loads(await socket.get_message())
    assert name_of(added) == ("ADDED", "one")
    assert bookmark["type"] == "BOOKMARK"
    meta = bookmark["object"]["metadata"]
    assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_shutdown_ends_it_in_order(served: Served) -> None:
    """As if its time were up."""
    async with served.open(WATCH) as socket:
        await served.make("one")
        await socket.get_message()
        served.server.api.end_streams()
        _, reason = await messages(socket)
    assert reason.code == 1000


@pytest.mark.parametrize("leaving", ["close", "break"])
async def test_a_client_that_leaves_ends_the_watch(served: Served, leaving: str) -> None:
    """With a close frame or without."""
    await served.make("one")
    async with served.open(WATCH) as socket:
        await socket.get_message()
        assert served.server.api.storage.hub.statistics().watchers == 1
        if leaving == "break":
            await trio.aclose_forcefully(socket._stream)
    await served.nobody_watches()


async def test_a_client_that_does_not_read_hurts_nobody(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """It stops reading under many events and leaves in the middle: no error, no watch left."""
    async with served.open(WATCH, queue=1) as lazy, served.open(WATCH, queue=100) as other:
        names = [f"big-{number:02}" for number in range(30)]
        for name in names:
            await served.make(name, 900_000)
        assert [name_of(json.loads(await other.get_message()))[1] for _ in names] == names
        numbers = served.server.api.storage.hub.statistics()
        assert (numbers.watchers, numbers.live) == (2, 1)
        await trio.aclose_forcefully(lazy._stream)
    await served.nobody_watches()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("stalled", [False, True])
async def test_an_abandoned_body_is_closed_quietly(stalled: bool) -> None:
    """What ASGI servers do with a body when sending fails, whether its watch waits for room."""
    async with open_api(seed=0) as server, server.connect() as client:

        async def make(numbers: range) -> None:
            for number in numbers:
                body = {"metadata": {"name": f"c{number}"}, "data": {"x": "y" * 200_000}}
                assert (await client.request("POST", CONFIGMAPS, json=body)).status == 201

        await make(range(3))
        request = Request("GET", CONFIGMAPS, "watch=1", {}, [], certificate=ADMIN)
        response = await server.api.handle(request)
        assert isinstance(response, StreamResponse)
        body = stream_body(response)
        await anext(body)
        if stalled:
            await make(range(3, 9))
        await body.aclose()  # type: ignore[attr-defined]


async def test_a_page_of_another_site_reads_nothing(served: Served) -> None:
    """A browser adds the certificate to whatever socket a page opens."""
    with pytest.raises(BaseExceptionGroup) as refused:
        async with served.open(WATCH, origin="https://evil.example"):
            raise AssertionError("it is open")
    [error] = refused.value.exceptions
    assert isinstance(error, trio_websocket.ConnectionRejected)
    assert error.status_code == 403
    async with served.open(WATCH, origin=f"https://127.0.0.1:{served.port}"):
        pass
