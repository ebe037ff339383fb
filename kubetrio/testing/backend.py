"""A backend to be connected to: HTTP and upgrades on a socket, answered by a function of the test.

It reads requests by hand and strictly, so that what the server sends can be looked at byte by byte.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import trio

from kubetrio.tls.pki import Pki


class Prefixed(trio.abc.HalfCloseableStream):
    """A stream whose first bytes were read already.

    Args:
        stream: the rest.
        first: those bytes.
    """

    def __init__(self, stream: trio.abc.Stream, first: bytes) -> None:
        self._stream = stream
        self._first = first

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """See `trio.abc.ReceiveStream`."""
        if self._first:
            await trio.lowlevel.checkpoint()
            first, self._first = self._first, b""
            return first
        try:
            return bytes(await self._stream.receive_some(max_bytes))
        except trio.BrokenResourceError:
            return b""  # without TLS' goodbye is an end, too

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """See `trio.abc.SendStream`."""
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        """See `trio.abc.SendStream`."""
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        """See `trio.abc.HalfCloseableStream`; with TLS all is closed."""
        if isinstance(self._stream, trio.abc.HalfCloseableStream):
            await self._stream.send_eof()
        else:
            await self._stream.aclose()

    async def aclose(self) -> None:
        """See `trio.abc.AsyncResource`."""
        await self._stream.aclose()


@dataclass(slots=True)
class ReceivedRequest:
    """One request, and the way to answer it.

    Args:
        method: HTTP method.
        target: path and query as they came.
        headers: names in lower case and values, in order.
        raw: the head as it came.
        stream: what comes after it, and where answers go.
        certificate: common name of the client's certificate, if it showed one.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    raw: bytes
    stream: Prefixed
    certificate: str = ""

    @property
    def path(self) -> str:
        """The target without the query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> list[tuple[str, str]]:
        """The query, decoded."""
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    def get(self, name: str) -> str | None:
        """A header's values joined by a comma, None when absent."""
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None

    async def body(self) -> bytes:
        """The whole body."""
        return b"".join([piece async for piece in self.pieces()])

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, chunk by chunk or read by read."""
        buffer = bytearray()

        async def more() -> None:
            data = await self.stream.receive_some(65536)
            if not data:
                raise EOFError("the request ended before its end")
            buffer.extend(data)

        if self.get("transfer-encoding") == "chunked":
            while True:
                while b"\r\n" not in buffer:
                    await more()
                line, _, rest = bytes(buffer).partition(b"\r\n")
                size = int(line, 16)
                buffer[:] = rest
                while len(buffer) < size + 2:
                    await more()
                piece = bytes(buffer[:size])
                del buffer[: size + 2]
                if not size:
                    return
                yield piece
        left = int(self.get("content-length") or 0)
        while left:
            await more()
            piece = bytes(buffer[:left])
            buffer.clear()
            left -= len(piece)
            yield piece

    async def reply(
        self, status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer with a body of known length."""
        given = {"Content-Type": "text/plain", "Content-Length": str(len(body)), **(headers or {})}
        await self.head(status, given)
        if self.method != "HEAD":
            await self.send(body)

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin an answer."""
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{k}: {v}" for k, v in headers.items())]
        await self.send("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        """One chunk of a body; the empty one ends it."""
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def send(self, data: bytes) -> None:
        """Bytes as they are."""
        await self.stream.send_all(data)

    async def receive(self) -> bytes:
        """Bytes as they come, empty at the end."""
        return await self.stream.receive_some(65536)

    @asynccontextmanager
    async def websocket(self, protocols: Sequence[str] = ()) -> AsyncIterator[Any]:
        """Accept a WebSocket with the first of `protocols` that is offered; its end ends the block.

        Args:
            protocols: what is spoken; none at all is fine if this is empty.
        """
        import trio_websocket

        offered = (self.get("sec-websocket-protocol") or "").split(", ")
        chosen = next((name for name in protocols if name in offered), None)
        if protocols and chosen is None:
            await self.reply(403, b"no protocol in common\n")
            raise EOFError("no protocol in common")
        async with trio.open_nursery() as nursery:
            whole = Prefixed(self.stream, self.raw)
            request = await trio_websocket.wrap_server_stream(nursery, whole)
            socket = await request.accept(subprotocol=chosen)
            try:
                yield socket
            except trio_websocket.ConnectionClosed:
                pass  # the other side left: that is its right
            finally:
                with trio.move_on_after(2):
                    await socket.aclose()
                nursery.cancel_scope.cancel()


Answer = Callable[[ReceivedRequest], Awaitable[None]]


@dataclass(slots=True)
class FakeBackend:
    """A listening backend; made by `open_backend`.

    Args:
        port: where it listens on all addresses.
        answer: answers a request; may be replaced at any time.
        asked: every request so far.
    """

    port: int
    answer: Answer
    asked: list[ReceivedRequest] = field(default_factory=list)
    connections: int = 0
    changed: trio.Event = field(default_factory=trio.Event)

    async def wait_connections(self, count: int) -> None:
        """Wait until so many connections are open."""
        while self.connections != count:
            await self.changed.wait()

    def _count(self, change: int) -> None:
        self.connections += change
        self.changed.set()
        self.changed = trio.Event()

    async def _serve(self, plain: trio.SocketStream, tls: ssl.SSLContext | None) -> None:
        self._count(1)
        stream: trio.abc.Stream = plain
        certificate = ""
        try:
            if tls is not None:
                secure = trio.SSLStream(plain, tls, server_side=True, https_compatible=True)
                await secure.do_handshake()
                subject = (secure.getpeercert() or {}).get("subject", ())
                names = dict(pair for part in subject for pair in part)
                certificate = f"{names.get('organizationName')}/{names.get('commonName')}"
                stream = secure
            asked = await self.read(stream, certificate)
            if asked is not None:
                self.asked.append(asked)
                await self.answer(asked)
        except (trio.BrokenResourceError, trio.ClosedResourceError, EOFError):
            pass  # the server left: tests see that in `connections`
        finally:
            self._count(-1)
            with trio.move_on_after(1) as cleanup:
                cleanup.shield = True
                with contextlib.suppress(trio.BrokenResourceError):
                    await stream.aclose()

    @staticmethod
    async def read(stream: trio.abc.Stream, certificate: str) -> ReceivedRequest | None:
        """The next request of a connection, None when there is none."""
        received = b""
        while b"\r\n\r\n" not in received:
            data = await stream.receive_some(65536)
            if not data:
                return None
            received += data
        head, _, rest = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = [line.split(": ", 1) for line in lines]
        named = [(name.lower(), value) for name, value in headers]
        raw = head + b"\r\n\r\n"
        return ReceivedRequest(method, target, named, raw, Prefixed(stream, rest), certificate)


def tls_of(made: Pki, *, ask: bool = True) -> ssl.SSLContext:
    """A server context of self-made certificates, as a kubelet has one.

    Args:
        made: certificates.
        ask: whether clients must show one of the same directory's authorities.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.serving.cert, made.serving.key)
    if ask:
        context.load_verify_locations(made.ca.cert)
        context.load_verify_locations(made.front_proxy_ca.cert)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@asynccontextmanager
async def open_backend(
    answer: Answer, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[FakeBackend]:
    """Run a backend for as long as the block lasts.

    Args:
        answer: answers requests.
        tls: server context, None for plain HTTP.
        host: address to listen on.
    """
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host=host)
        backend = FakeBackend(listeners[0].socket.getsockname()[1], answer)

        async def serve(stream: trio.SocketStream) -> None:
            await backend._serve(stream, tls)  # noqa: SLF001  (its own module)

        nursery.start_soon(trio.serve_listeners, serve, listeners)
        yield backend
        nursery.cancel_scope.cancel()
