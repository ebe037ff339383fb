"""Connections handed to Hypercorn: HTTP/2 by ALPN, and upgrades met on the fast loop.

Hypercorn and Quart take longer to import than everything else; they are imported when the first
such connection comes, in a thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import trio

from kubetrio.machinery.identity import UserInfo
from kubetrio.transport import PlainTransport, TlsTransport

if TYPE_CHECKING:
    from kubetrio.api.pipeline import Handle
    from kubetrio.env import Env
    from kubetrio.http.connections import Presence
    from kubetrio.http.h2buffers import Backlog
    from kubetrio.http.h2streams import Budget, Place
    from kubetrio.http.shown import ShownCertificate


ENDING_S = 0.1
STRANGER_BYTES = 2048
"""Of what a client sends that has shown no credentials, read in one pass of the event loop: frames
of ten bytes cost as much as requests, and a read may hold thousands."""
MOST_STREAMS = 250  # Go clients assume 100 at first


class _Socket:
    """What Hypercorn asks of a Trio socket."""

    def __init__(self, sock: Any) -> None:
        self.family = sock.family
        self._sock = sock

    def getpeername(self) -> Any:
        """Address of the client."""
        return self._sock.getpeername()

    def getsockname(self) -> Any:
        """Address of the server."""
        return self._sock.getsockname()


class HandedOverStream(trio.abc.Stream):
    """A connection as the stream Hypercorn expects, its first bytes already read.

    A write has a deadline: Hypercorn shields its writes, so without one a client that stops reading
    could never be got rid of.

    Args:
        transport: the connection, its handshake done.
        received: bytes read already.
        write_timeout_s: seconds without progress in a write.
        user: name of who has shown credentials on it, or empty.
    """

    def __init__(
        self,
        transport: TlsTransport | PlainTransport,
        received: bytes,
        write_timeout_s: float,
        user: Callable[[], str] | None = None,
    ) -> None:
        self._user = user
        self._transport = transport
        self._received = received
        self._write_timeout_s = write_timeout_s
        self._closed = False
        self._socket = _Socket(transport.socket)

    @property
    def transport_stream(self) -> HandedOverStream:
        """Hypercorn looks below TLS for the socket."""
        return self

    @property
    def socket(self) -> _Socket:
        """Addresses."""
        return self._socket

    async def do_handshake(self) -> None:
        """Done before."""
        await trio.lowlevel.checkpoint()

    def selected_alpn_protocol(self) -> str | None:
        """Protocol agreed in the handshake."""
        if isinstance(self._transport, TlsTransport):
            return self._transport.socket.selected_alpn_protocol()
        return None

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """See `trio.abc.ReceiveStream`."""
        del max_bytes
        await trio.lowlevel.checkpoint()
        if self._received:
            return self._some(self._received)
        while True:
            if self._closed:
                raise trio.ClosedResourceError
            try:
                received = self._transport.read_nowait()
                if received is not None:
                    return self._some(received)
                await self._transport.wait_readable()
            except OSError as error:
                raise trio.BrokenResourceError from error

    def _some(self, data: bytes) -> bytes:
        """Return what is read in this pass; the rest waits for the next."""
        most = len(data) if self._user is None or self._user() else STRANGER_BYTES
        self._received = data[most:]
        return data[:most]

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """See `trio.abc.SendStream`."""
        await trio.lowlevel.checkpoint()
        view = memoryview(bytes(data))
        while view:
            if self._closed:
                raise trio.ClosedResourceError
            try:
                sent = self._transport.write_nowait(view)
                if sent:
                    view = view[sent:]
                    continue
                with trio.move_on_after(self._write_timeout_s) as timer:
                    await self._transport.wait_writable()
            except OSError as error:
                raise trio.BrokenResourceError from error
            if timer.cancelled_caught:
                # At once for all that write to it: each would wait as long.
                self.abort()
                raise trio.BrokenResourceError("client stopped reading")

    def abort(self) -> None:
        """Close without a word; who reads or writes is woken."""
        if not self._closed:
            self._closed = True
            self._transport.close()

    async def wait_send_all_might_not_block(self) -> None:
        """See `trio.abc.SendStream`."""
        await self._transport.wait_writable()

    async def aclose(self) -> None:
        """See `trio.abc.AsyncResource`."""
        self.abort()
        await trio.lowlevel.checkpoint()


class _Ending:
    """Hypercorn's "terminated" event, for connections to end on only when they are idle.

    Were `is_set` true, an HTTP/2 connection would say goodbye between the last bytes of an answer
    and the mark of its end, which would be lost (Hypercorn 0.18).
    """

    def __init__(self) -> None:
        self._event = trio.Event()

    def is_set(self) -> bool:
        """Requests in flight are finished in any case."""
        return False

    async def wait(self) -> None:
        """Wait for the end, and a moment for frames that are on their way."""
        await self._event.wait()
        await trio.sleep(ENDING_S)

    async def clear(self) -> None:
        """There is no way back."""
        raise NotImplementedError

    async def set(self) -> None:
        """Begin the end."""
        self._event.set()
        await trio.lowlevel.checkpoint()


class HandoverParts(NamedTuple):
    """What serves handed-over connections.

    Args:
        app: the application, as Hypercorn calls it.
        config: Hypercorn's.
        context: Hypercorn's, of all connections.
        backlog: what is held for clients that do not take it.
        budget: what requests hold.
    """

    app: Any
    config: Any
    context: Any
    backlog: Backlog
    budget: Budget


class Bridge:
    """Serves handed-over connections.

    Args:
        handle: the pipeline.
        write_timeout_s: seconds without progress in a write.
        env: threads, for the import.
        most_streams: requests at a time on a connection of HTTP/2.
        brief: whether such a connection ends behind one request of a stranger.
    """

    def __init__(
        self,
        handle: Handle,
        *,
        write_timeout_s: float,
        env: Env,
        most_streams: int = MOST_STREAMS,
        brief: bool = False,
    ) -> None:
        self._brief = brief
        self._most_streams = most_streams
        self._handle = handle
        self._write_timeout_s = write_timeout_s
        self._env = env
        self._lock = trio.Lock()
        self._parts: HandoverParts | None = None
        self._open: set[HandedOverStream] = set()

    async def load(self) -> HandoverParts:
        """What serves connections, imported and made when first asked for."""
        async with self._lock:
            if self._parts is None:
                await self._env.run_blocking(_import)
                from hypercorn.app_wrappers import ASGIWrapper
                from hypercorn.trio.worker_context import WorkerContext

                from kubetrio.http.app import make_app
                from kubetrio.http.h2buffers import Backlog
                from kubetrio.http.h2streams import Budget

                app = ASGIWrapper(_counted(make_app(self._handle)))
                context = WorkerContext(None)
                context.terminated = _Ending()
                backlog = Backlog(self._write_timeout_s)
                self._parts = HandoverParts(
                    app, hypercorn_config(self._most_streams), context, backlog, Budget()
                )
        return self._parts

    async def serve(
        self,
        transport: TlsTransport | PlainTransport,
        received: bytes,
        certificate: ShownCertificate | UserInfo | None,
        presence: Presence | None = None,
    ) -> None:
        """Serve one connection until it ends.

        Args:
            transport: the connection, its handshake done.
            received: bytes read already.
            certificate: what the client showed in its handshake, or the user it is.
            presence: told of its requests.
        """
        app, config, context, backlog, budget = await self.load()
        from kubetrio.http.asgi import CERTIFICATE, PRESENCE
        from kubetrio.http.h2server import Bounds, HypercornConnection

        # Typed as what Hypercorn declares; it uses no more than HandedOverStream has.
        user = None if presence is None else presence.user
        stream: Any = HandedOverStream(transport, received, self._write_timeout_s, user)
        state = {CERTIFICATE: certificate, PRESENCE: presence}
        self._open.add(stream)
        whose = _nobody if presence is None else presence.user
        bounds = Bounds(backlog, budget, whose, self._brief)
        server = HypercornConnection(bounds, app, config, context, state, stream)
        try:
            await server
        finally:
            self._open.discard(stream)
            server.end()

    def peak_bytes(self) -> int:
        """The most that HTTP/2 requests held since the last call."""
        return 0 if self._parts is None else self._parts.budget.take_peak()

    async def terminate(self) -> None:
        """Ask open connections to end (GOAWAY, close after the response)."""
        if self._parts is not None:
            await self._parts.context.terminated.set()

    def abort(self) -> None:
        """Close what is open: its writes are shielded, and would hold up the end."""
        for stream in tuple(self._open):
            stream.abort()


def _nobody() -> str:
    return ""


def _counted(app: Any) -> Any:
    """An application whose connections know what is being served on them."""
    from kubetrio.http.asgi import PRESENCE
    from kubetrio.http.h2streams import PLACE

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        state = scope.get("state") or {}
        presence: Presence | None = state.get(PRESENCE)
        place: Place | None = state.get(PLACE)
        if presence is not None:
            presence.requests += 1
        try:
            if presence is not None and not presence.user():
                await presence.turn(scope.get("path") or "")
            await app(scope, receive, send)
        finally:
            if presence is not None:
                presence.requests -= 1
            if place is not None:
                place.leave()

    return counted


def hypercorn_config(most_streams: int = MOST_STREAMS) -> Any:
    """Hypercorn's configuration; why each value, in `docs/design`."""
    from hypercorn.config import Config

    config = Config()
    config.h2_max_concurrent_streams = most_streams
    config.keep_alive_max_requests = sys.maxsize  # its GOAWAY would kill watches in flight
    config.keep_alive_timeout = 300
    config.include_server_header = False
    config.errorlog = None
    return config


def _import() -> None:
    import kubetrio.http.app
    import kubetrio.http.h2server

    del kubetrio
