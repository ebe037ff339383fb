"""Listening: handshakes, identities, isolation of connections, and the end."""

from __future__ import annotations

import datetime as dt
import gc
import socket
import ssl
import weakref
from contextlib import suppress
from dataclasses import replace

import h2.connection
import pytest
import trio
import trio.testing

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.env import seeded
from kubetrio.http import serve
from kubetrio.http.connections import ConnectionLimits
from kubetrio.http.limits import H1Config
from kubetrio.http.serve import bind
from kubetrio.machinery.identity import UNUSABLE, UserInfo
from kubetrio.testing.server import listening
from kubetrio.tls import pki

H2_GET = (  # preface, SETTINGS, HEADERS: GET https / of authority h
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0\0\0\6\1\5\0\0\0\1\x82\x87\x84\x41\x01h"
)
REQUEST = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"


async def who(request: Request) -> AnyResponse:
    """Says who asks."""
    user = request.certificate
    body = await request.read_body(1000)
    return Response(200, f"{user.name if user else 'nobody'} {request.peer}".encode() + body)


async def dial(
    port: int, made: pki.Pki, *, certificate: bool = True, alpn: str = "http/1.1"
) -> trio.SSLStream[trio.SocketStream]:
    """A client's connection."""
    context = ssl.create_default_context(cafile=str(made.ca.cert))
    if certificate:
        context.load_cert_chain(made.admin.cert, made.admin.key)
    context.set_alpn_protocols([alpn])
    tcp = await trio.open_tcp_stream("127.0.0.1", port)
    stream = trio.SSLStream(tcp, context, server_hostname="127.0.0.1", https_compatible=True)
    await stream.do_handshake()
    return stream


async def drained(stream: trio.abc.ReceiveStream) -> bytes:
    """Everything to the end."""
    data = b""
    with trio.fail_after(5):
        while part := await stream.receive_some():
            data += bytes(part)
    return data


@pytest.mark.parametrize(("certificate", "name"), [(True, b"kubernetes-admin"), (False, b"nobody")])
async def test_client_certificates_are_identities(
    certificates: pki.Pki, certificate: bool, name: bytes
) -> None:
    """The common name of a verified one; none is fine."""
    async with listening(who, seeded(0), certificates) as listener:
        stream = await dial(listener.port, certificates, certificate=certificate)
        await stream.send_all(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert (await drained(stream)).endswith(name + b" 127.0.0.1")
        await trio.aclose_forcefully(stream)


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
async def test_a_certificate_for_kubelets_is_nobody(certificates: pki.Pki, alpn: str) -> None:
    """Its bearer is neither a master nor anonymous, over HTTP/2 neither."""
    seen: list[UserInfo | None] = []

    async def look(request: Request) -> AnyResponse:
        seen.append(request.certificate)
        return Response(200, b"")

    own = pki.ensure_kubelet_client(certificates.ca.cert.parent, now=dt.datetime.now(dt.UTC))
    shown = replace(certificates, admin=own)
    async with listening(look, seeded(0), certificates) as listener:
        stream = await dial(listener.port, shown, alpn=alpn)
        await stream.send_all(H2_GET if alpn == "h2" else REQUEST)
        await stream.receive_some()
        with trio.fail_after(5):
            while not seen:
                await trio.lowlevel.checkpoint()
        await trio.aclose_forcefully(stream)
    assert seen == [UNUSABLE]
    assert seen[0] is UNUSABLE


WEAK = ("ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-CCM8")


@pytest.mark.parametrize("suite", WEAK)
async def test_weak_suites_are_refused(certificates: pki.Pki, suite: str) -> None:
    """Of TLS 1.2 only forward secrecy with authenticated encryption."""
    async with listening(who, seeded(0), certificates) as listener:
        with pytest.raises(trio.BrokenResourceError):
            await dial_12(listener.port, certificates, suite)
        stream = await dial_12(listener.port, certificates, "ECDHE-ECDSA-AES128-GCM-SHA256")
        assert stream.cipher()[0] == "ECDHE-ECDSA-AES128-GCM-SHA256"
        await trio.aclose_forcefully(stream)


async def dial_12(port: int, made: pki.Pki, suite: str) -> trio.SSLStream[trio.SocketStream]:
    """A client of TLS 1.2 with one cipher suite."""
    context = ssl.create_default_context(cafile=str(made.ca.cert))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{suite}:@SECLEVEL=0")
    tcp = await trio.open_tcp_stream("127.0.0.1", port)
    stream = trio.SSLStream(tcp, context, server_hostname="127.0.0.1", https_compatible=True)
    try:
        await stream.do_handshake()
    except trio.BrokenResourceError:
        await trio.aclose_forcefully(stream)
        raise
    return stream


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
async def test_certificates_of_strangers_are_nobodys(
    certificates: pki.Pki, tmp_path_factory: pytest.TempPathFactory, alpn: str
) -> None:
    """Signed by another authority: an answer, as kube-apiserver gives one, and no identity."""
    seen: list[UserInfo | None] = []

    async def look(request: Request) -> AnyResponse:
        seen.append(request.certificate)
        return Response(200, b"")

    other = pki.ensure(
        tmp_path_factory.mktemp("other"), now=dt.datetime.now(dt.UTC), hosts=["127.0.0.1"]
    )
    shown = replace(certificates, admin=other.admin)
    async with listening(look, seeded(0), certificates) as listener:
        stream = await dial(listener.port, shown, alpn=alpn)
        await stream.send_all(H2_GET if alpn == "h2" else REQUEST)
        with trio.fail_after(5):
            while not seen:
                await stream.receive_some()
        await trio.aclose_forcefully(stream)
    assert seen[0] is UNUSABLE


@pytest.mark.parametrize("data", [REQUEST, b"\x16\x03\x01\xff\xff", b"\x00\x00\x00", b""])
async def test_what_is_not_tls_is_closed(certificates: pki.Pki, data: bytes) -> None:
    """And others are served."""
    async with listening(who, seeded(0), certificates) as listener:
        async with await trio.open_tcp_stream("127.0.0.1", listener.port) as stranger:
            with suppress(trio.BrokenResourceError):  # reset: closed all the same
                await stranger.send_all(data)
                await stranger.send_eof()
                await drained(stranger)
        stream = await dial(listener.port, certificates)
        await stream.send_all(REQUEST)
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        await trio.aclose_forcefully(stream)


async def test_http_without_tls_is_told_so(certificates: pki.Pki) -> None:
    """In HTTP, so that who forgot the s of https sees why."""
    async with (
        listening(who, seeded(0), certificates) as listener,
        await trio.open_tcp_stream("127.0.0.1", listener.port) as stranger,
    ):
        await stranger.send_all(REQUEST)
        head, _, body = (await drained(stranger)).partition(b"\r\n\r\n")
    assert head == b"HTTP/1.0 400 Bad Request"
    assert body == b"Client sent an HTTP request to an HTTPS server.\n"


async def test_slow_handshakes_end(certificates: pki.Pki, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that only connects does not stay."""
    monkeypatch.setattr(serve, "HANDSHAKE_TIMEOUT_S", 0.05)
    async with listening(who, seeded(0), certificates) as listener:
        stranger = await trio.open_tcp_stream("127.0.0.1", listener.port)
        assert await drained(stranger) == b""
        await stranger.aclose()


async def test_slow_connections_are_swept(
    certificates: pki.Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweeper looks at what each connection waits for."""
    monkeypatch.setattr(serve, "SWEEP_S", 0.05)
    config = H1Config(head_timeout_s=0.1)
    async with listening(who, seeded(0), certificates, config) as listener:
        stream = await dial(listener.port, certificates)
        await stream.send_all(REQUEST[:10])
        assert await drained(stream) == b""
        assert not listener.connections
        await trio.aclose_forcefully(stream)


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
async def test_a_bug_costs_one_connection(
    certificates: pki.Pki, alpn: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Even in a pipeline that raises, which it should not: the server goes on."""

    async def broken(request: Request) -> AnyResponse:
        if request.raw_path == "/bug":
            raise LookupError("bug")
        return await who(request)

    async with listening(broken, seeded(0), certificates) as listener:
        stream = await dial(listener.port, certificates, alpn=alpn)
        raw = REQUEST.replace(b"/a", b"/bug")
        await stream.send_all(raw if alpn == "http/1.1" else b"garbage of no protocol" * 10)
        await drained(stream)
        await trio.aclose_forcefully(stream)
        stream = await dial(listener.port, certificates)
        await stream.send_all(REQUEST)
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        await trio.aclose_forcefully(stream)
    if alpn == "http/1.1":
        assert "connection failed" in caplog.text


async def test_a_refused_upload_leaves_its_answer_to_read(certificates: pki.Pki) -> None:
    """Closing on unread bytes would reset the connection and lose the 413."""

    async def never(request: Request) -> AnyResponse:
        return Response(413, b"too large")

    async with listening(never, seeded(0), certificates) as listener:
        stream = await dial(listener.port, certificates)
        size = 4_000_000
        head = f"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n"
        await stream.send_all(head.encode())
        for _ in range(size // 100_000):
            await stream.send_all(b"x" * 100_000)
        assert (await drained(stream)).endswith(b"too large")
        await trio.aclose_forcefully(stream)


async def test_drain_waits_for_requests(certificates: pki.Pki) -> None:
    """Idle connections end at once, requests in flight are answered, then all is idle."""
    async with listening(who, seeded(0), certificates) as listener:
        idle = await dial(listener.port, certificates)
        busy = await dial(listener.port, certificates)
        await idle.send_all(REQUEST)
        await idle.receive_some()
        await busy.send_all(
            b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
        )
        assert (await busy.receive_some()).startswith(b"HTTP/1.1 100")
        await listener.drain()
        assert await drained(idle) == b""
        with trio.move_on_after(0.05) as early:
            await listener.wait_idle()
        assert early.cancelled_caught
        await busy.send_all(b"abc")
        answer = await drained(busy)
        assert answer.endswith(b"abc")
        assert b"Connection: close" in answer
        with trio.fail_after(5):
            await listener.wait_idle()
        await trio.aclose_forcefully(idle)
        await trio.aclose_forcefully(busy)


async def test_bind_takes_both_families() -> None:
    """An address with colons is one of version 6."""
    with bind("127.0.0.1", 0) as four:
        assert four.family == socket.AF_INET
    if socket.has_ipv6:
        with bind("::1", 0) as six:
            assert six.family == socket.AF_INET6


async def test_strangers_cannot_fill_the_server(certificates: pki.Pki) -> None:
    """Connections without credentials that say nothing make room for those that do."""
    limits = ConnectionLimits(total=12, strangers=4, per_address=12)
    async with listening(who, seeded(0), certificates, limits=limits) as listener:
        honest = await dial(listener.port, certificates)
        idle = [await trio.open_tcp_stream("127.0.0.1", listener.port) for _ in range(20)]
        late = await dial(listener.port, certificates)
        for stream in (honest, late):
            await stream.send_all(REQUEST)
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        assert len(listener.peers) <= 6
        assert await drained(idle[0]) == b""
        for stream in (*idle, honest, late):
            await trio.aclose_forcefully(stream)


@pytest.mark.parametrize("sent", [b"", b"GET /a HTTP", REQUEST, b"\0\r\n\r\n"])
async def test_a_connection_that_ended_leaves_nothing_behind(
    certificates: pki.Pki, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even for the garbage collector, which comes too seldom for a flood of connections."""
    monkeypatch.setattr(serve, "SWEEP_S", 0.2)
    async with listening(who, seeded(0), certificates) as listener:
        stream = await dial(listener.port, certificates, certificate=False)
        if sent:
            await stream.send_all(sent)
        if sent.endswith(b"\r\n\r\n"):
            await stream.receive_some()
        await trio.testing.wait_all_tasks_blocked(0.05)
        ended = [
            weakref.ref(part) for each in listener.connections for part in (each, each._parser)
        ]
        assert ended
        seen = listener.clock.now
        with trio.fail_after(10):
            while listener.clock.now == seen:  # the sweeper looks at it, and lets go of it
                await trio.testing.wait_all_tasks_blocked(0.01)
        gc.collect()
        gc.disable()
        try:
            await trio.aclose_forcefully(stream)
            with trio.fail_after(10):  # the other end learns of it when its socket tells
                while len(listener.peers) or any(part() is not None for part in ended):
                    await trio.testing.wait_all_tasks_blocked(0.01)
        finally:
            gc.enable()


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
async def test_credentials_in_a_request_count(certificates: pki.Pki, alpn: str) -> None:
    """Who shows a token is no stranger any more, whatever the protocol."""

    async def handle(request: Request) -> AnyResponse:
        assert request.identified is not None
        request.identified(UserInfo("alice"))
        return Response(200, b"{}")

    async with listening(handle, seeded(0), certificates) as listener:
        stream = await dial(listener.port, certificates, certificate=False, alpn=alpn)
        assert (listener.peers.statistics().strangers, listener.peers.statistics().known) == (1, 0)
        await stream.send_all(REQUEST if alpn == "http/1.1" else h2_get())
        with trio.fail_after(10):
            while not listener.peers.statistics().known:
                await stream.receive_some()
        assert listener.peers.statistics().strangers == 0
        await trio.aclose_forcefully(stream)


def h2_get() -> bytes:
    """A request over HTTP/2, with all that comes before it."""
    connection = h2.connection.H2Connection()
    connection.initiate_connection()
    names = {":method": "GET", ":path": "/a", ":scheme": "https", ":authority": "h"}
    connection.send_headers(1, list(names.items()), end_stream=True)
    return connection.data_to_send()


async def test_a_client_that_has_gone_before_it_is_looked_at_costs_nothing(
    certificates: pki.Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some systems refuse options of its socket; the next client is served."""
    async with listening(who, seeded(1), certificates) as listener:
        with monkeypatch.context() as patch:
            patch.setattr(socket, "TCP_NODELAY", 9999)  # Linux refuses what it does not know
            async with await trio.open_tcp_stream("127.0.0.1", listener.port) as refused:
                assert await refused.receive_some() == b""
        stream = await dial(listener.port, certificates)
        await trio.aclose_forcefully(stream)
