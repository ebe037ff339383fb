"""The HTTP/1.1 connection loop: the hot path.

One task serves a connection: read, parse, hand the request to the pipeline, write.  No timer is set
a request; a sweeper (`http.serve`) looks once a second at what each connection waits for since
when.  A request that asks for an upgrade is given to Hypercorn with the bytes already read, unless
the upgrade is a backend's: then the connection becomes a tunnel to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from math import inf
from typing import NamedTuple

import trio

from kubetrio.api.pipeline import Handle
from kubetrio.api.request import Request
from kubetrio.api.response import (
    ClientGone,
    Response,
    StreamResponse,
    TunnelResponse,
)
from kubetrio.auth.authenticate import is_websocket
from kubetrio.env import Env
from kubetrio.http.channel import H1Channel
from kubetrio.http.heads import LAST_CHUNK, DateHeader, head
from kubetrio.http.limits import BUSY, H1Config, Phase, SweepClock
from kubetrio.http.messages import BadRequest, Message, Parser, split_target
from kubetrio.http.shown import ShownCertificate, certificate_of, current
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import (
    bad_request,
    entity_too_large,
)
from kubetrio.observe.logs import Log
from kubetrio.transport import Transport, keep_alive, peer_closed

log = Log("kubetrio.http")
DRAIN_BYTES = 256 * 1024  # unread body that is cheaper to read than to reconnect for
DRAIN_S = 0.5  # the same in time: an answer does not wait for bytes that are not read
LINGER_S = 0.5  # a socket closed on unread bytes resets, and the client may lose the answer
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
NO_CONTENT = frozenset({204, 304})


class Upgrade(Exception):
    """The client wants another protocol.

    Args:
        received: the request that asks for it, and every byte after it.
    """

    def __init__(self, received: bytes) -> None:
        super().__init__("upgrade")
        self.received = received


class Stranger(NamedTuple):
    """What is done with a connection without credentials.

    Args:
        identified: called with the user of the first request that has credentials.
        turn: waits for the turn of a request with a path.
    """

    identified: Callable[[UserInfo], None]
    turn: Callable[[str], Awaitable[None]]


class Connection:
    """One HTTP/1.1 connection.

    Args:
        transport: where its bytes come from.
        handle: the pipeline.
        config: limits.
        env: wall clock for ``Date``.
        date: shared ``Date`` formatter.
        peer: address of the client.
        certificate: what the client showed in its handshake, or the user it is.
        clock: the sweeper's clock, which moves once a second.
        stranger: what is done until a request has credentials; None for who is known.
    """

    def __init__(
        self,
        transport: Transport,
        handle: Handle,
        config: H1Config,
        env: Env,
        date: DateHeader,
        peer: str,
        certificate: ShownCertificate | UserInfo | None,
        clock: SweepClock,
        stranger: Stranger | None = None,
    ) -> None:
        self._clock = clock
        self._stranger = stranger
        self._transport = transport
        self._handle = handle
        self._config = config
        self._env = env
        self._date = date
        self._peer = peer
        self._certificate = certificate
        self._shown = certificate_of(certificate)
        self._parser = Parser(config.max_head_bytes, config.max_body_bytes)
        self._closing = False
        self.phase = Phase.IDLE
        self.since = self._clock.now
        self.scope = trio.CancelScope()

    def finish(self) -> None:
        """Serve what was asked and close; called at shutdown."""
        self._closing = True
        if self.phase in (Phase.IDLE, Phase.HEAD):
            self.scope.cancel()

    def _known(self, user: UserInfo) -> None:
        """Note that the client has shown credentials: later requests need not tell of theirs."""
        if self._stranger is not None:
            self._stranger.identified(user)
            self._stranger = None

    def busy(self) -> bool:
        """Whether a request is being served."""
        return self.phase in BUSY

    def overdue(self, now: float) -> bool:
        """Whether the client has been too slow (for the sweeper)."""
        return now - self.since > self._config.limit(self.phase)

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.since = self._clock.now

    async def run(self) -> None:
        """Serve requests until either side is done.

        Raises:
            Upgrade: the client wants another protocol.
        """
        with self.scope:
            try:
                while not self._closing:
                    message: Message | None = await self._next_message()
                    if message is None:
                        return
                    keep = await self._serve(message)
                    message = None  # an idle connection holds nothing of what was asked on it
                    self._parser.forget()
                    if not keep:
                        return
            except (OSError, ClientGone):
                return
            except BadRequest as refused:
                await self._refuse(refused)
            finally:
                self._parser.close()

    async def _next_message(self) -> Message | None:
        """The next request whose head is complete; None at the end."""
        parser = self._parser
        queue = parser.queue
        if not queue:
            self._enter(Phase.HEAD if parser.in_head else Phase.IDLE)
            while not queue:
                if parser.failure is not None:
                    raise parser.failure
                data = await self._read()
                if not data:
                    return None
                parser.feed(data)
                if not queue and self.phase is Phase.IDLE:
                    self._enter(Phase.HEAD)
        message = queue.pop(0)
        if message.upgrade and not self._tunnels(message):
            if is_websocket(message.headers):
                raise Upgrade(message.wire())
            # Another protocol that is not spoken here, as Go's server has it: a proxy that lets it
            # pass must not find that what follows is something else than it sees.
            self._parser = Parser(self._config.max_head_bytes, self._config.max_body_bytes)
            self._parser.feed(message.wire(without=b"upgrade"))
            return await self._next_message()
        return message

    def _tunnels(self, message: Message) -> bool:
        """Whether an upgrade is not for this server but for a backend behind it."""
        path, _ = split_target(message.target)
        return message.complete and self._config.tunnels(message.method, path)

    async def _read(self) -> bytes:
        # Waiting first, reading second: nearly always right, and it lets other tasks run.
        transport = self._transport
        while True:
            await transport.wait_readable()
            data = transport.read_nowait()
            if data is not None:
                return data

    async def _serve(self, message: Message) -> bool:
        """Answer one request; False when the connection must close."""
        self._enter(Phase.SERVING)
        path, query = split_target(message.target)
        request = Request(
            message.method,
            path,
            query,
            message.headers,
            message.raw_headers,
            partial(self._read_body, message),
            self._peer,
            current(self._certificate),
            message.complete,
        )
        request.shown = self._shown
        if self._stranger is not None:
            request.identified = self._known
            await self._stranger.turn(path)
        request.gone = self._peer_closed
        request.pull_body = partial(self._pull_body, message)
        request.upgrade = message.upgrade
        response = await self._handle(request)
        if isinstance(response, TunnelResponse):
            await self._tunnel(message, response)
            return False
        keep = message.keep_alive and not (message.broken or message.upgrade or self._closing)
        if keep and message.waiting():
            keep = not message.pulled and await self._drain(message)
        if isinstance(response, Response):
            await self._write(self._whole(request, message, response, keep))
        else:
            keep = await self._stream(request, message, response, keep)
        if not keep and message.waiting() and not message.broken:
            await self._linger()
        return keep

    def _peer_closed(self) -> bool:
        sock = getattr(self._transport, "socket", None)  # transports in memory have none
        return sock is not None and peer_closed(sock)

    def _whole(self, request: Request, message: Message, response: Response, keep: bool) -> bytes:
        body = response.body
        if response.status in NO_CONTENT:
            framing, body = b"", b""
        else:
            framing = b"Content-Length: %d\r\n" % len(body)
            if message.method == "HEAD":
                body = b""
        return self._head(request, message, response, keep, framing) + body

    def _head(
        self,
        request: Request,
        message: Message,
        response: Response | StreamResponse,
        keep: bool,
        framing: bytes,
    ) -> bytes:
        if not keep:
            framing += b"Connection: close\r\n"
        elif not message.http_11:
            framing += b"Connection: keep-alive\r\n"
        return head(
            response.status,
            response.content_type,
            response.headers,
            framing,
            self._date.line(self._env.now()),
            request.audit_id,
        )

    # ------------------------------------------------------------------ bodies

    async def _read_body(self, message: Message, limit: int) -> bytes:
        """The whole body of a request.

        Raises:
            ApiError: 413 over the limit, 400 when it ends before its end.
        """
        declared = message.headers.get(b"content-length")
        if declared is not None and int(declared) > limit:
            raise entity_too_large(limit)
        if message.waiting():
            if message.expects_continue and message.size == 0:
                await self._write(CONTINUE)
            self._enter(Phase.BODY)  # as long as the request may take: the pipeline answers 504
            while message.waiting():
                await self._more_body(message)
                if message.broken:
                    raise bad_request("the request body is not complete")
                if message.size > limit:
                    raise entity_too_large(limit)
            self._enter(Phase.SERVING)
        if message.size > limit:
            raise entity_too_large(limit)
        chunks = message.chunks
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def _pull_body(self, message: Message) -> bytes:
        """The next piece of a request's body, empty at its end.

        Raises:
            ApiError: 400 when it ends before its end.
        """
        message.pulled = True
        if message.waiting() and message.expects_continue:
            message.expects_continue = False
            await self._write(CONTINUE)
            self._enter(Phase.SERVING)  # a body for a backend takes what time it takes
        while not message.chunks and message.waiting():
            await self._more_body(message)
            if message.broken:
                raise bad_request("the request body is not complete")
        data = b"".join(message.chunks)
        message.chunks.clear()
        return data

    async def _more_body(self, message: Message) -> None:
        """Read once; a body that cannot become complete makes its message broken."""
        parser = self._parser
        if parser.failure is None:
            try:
                data = await self._read()
            except OSError:
                data = b""
            if data:
                parser.feed(data)
            else:
                message.broken = True
        if parser.failure is not None and message.waiting():
            message.broken = True

    async def _drain(self, message: Message) -> bool:
        """Read an unwanted body, if that is cheap; whether the connection can go on."""
        if message.expects_continue and message.size == 0:
            return False  # it was never asked for
        declared = message.headers.get(b"content-length")
        if declared is not None and int(declared) > DRAIN_BYTES:
            return False  # the answer must not wait for it
        self._enter(Phase.BODY)
        with trio.move_on_after(DRAIN_S):
            while message.waiting():
                if message.broken or message.size > DRAIN_BYTES:
                    return False
                await self._more_body(message)
            return True
        return False

    async def _linger(self) -> None:
        """Let the client read the answer before the socket is closed on what it still sends."""
        with trio.move_on_after(LINGER_S):
            while await self._read():
                pass

    # ------------------------------------------------------------------ writing

    async def _write(self, data: bytes) -> None:
        """Write everything, waiting where the client is slow."""
        transport = self._transport
        sent = transport.write_nowait(data)
        if sent == len(data):
            return
        self._enter(Phase.WRITING)
        view = memoryview(data)[sent:]
        while view:
            await transport.wait_writable()
            sent = transport.write_nowait(view)
            if sent:
                self.since = self._clock.now
                view = view[sent:]

    async def _refuse(self, refused: BadRequest) -> None:
        """Answer what is not a request, and close."""
        try:
            await self._write(refused.answer())
            await self._linger()
        except OSError:
            return  # it will never know

    async def _stream(
        self, request: Request, message: Message, response: StreamResponse, keep: bool
    ) -> bool:
        length = response.length
        sized = b"" if length is None else b"Content-Length: %d\r\n" % length
        if message.method == "HEAD":
            await self._write(self._head(request, message, response, keep, sized))
            return keep
        chunked = message.http_11 and not sized
        keep = keep and (chunked or bool(sized))
        framing = b"Transfer-Encoding: chunked\r\n" if chunked else sized
        self._enter(Phase.STREAMING)
        if response.long_running:
            message.target = b""
            request.forget_query()
        limit_s = inf if response.patient else self._config.write_timeout_s
        channel = H1Channel(self._transport, limit_s, chunked=chunked)
        channel.offer(self._head(request, message, response, keep, framing))
        try:
            await response.run(channel)
        except* (OSError, ClientGone):
            channel.broken = True
        except* Exception as group:  # noqa: BLE001  (a bug must cost a connection, not the server)
            log.error(group, "stream failed", stack=True, path=request.raw_path)
            channel.broken = True
        if channel.broken:
            return False  # without the last chunk: the client sees that something is missing
        if chunked:
            await channel.send(LAST_CHUNK)
        self._enter(Phase.SERVING)
        for data in channel.parked:
            self._parser.feed(data)
        return keep

    async def _tunnel(self, message: Message, response: TunnelResponse) -> None:
        """Let the connection be another protocol's, and close it behind that."""
        self._enter(Phase.STREAMING)
        sock = getattr(self._transport, "socket", None)  # transports in memory have none
        if sock is not None:
            keep_alive(sock)  # nothing else tells that a client is gone
        try:
            await response.run(self._transport, message.rest)
        except Exception as error:  # noqa: BLE001  (a bug must cost a connection, not the server)
            log.error(error, "tunnel failed", stack=True)
            return
        self._transport.end()
        await self._linger()
