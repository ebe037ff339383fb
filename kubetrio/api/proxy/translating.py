"""Processes over WebSocket for kubelets that know SPDY only: the streams change their frames.

The client has its WebSocket before the kubelet is asked, so what goes wrong with the kubelet is
told as a ``Status`` on the channel for errors.

Source: KEP-4006 (StreamTranslatorProxy: subprotocol version 5, ``v5.channel.k8s.io``); versions 1
to 5 of the stream protocol in SPDY.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import trio

from kubetrio.api.api import Edge
from kubetrio.api.proxy.locations import Location, connected
from kubetrio.api.proxy.proxying import stoppable
from kubetrio.api.proxy.upgrading import PROTOCOL_VERSION
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, TunnelResponse
from kubetrio.backend import spdy
from kubetrio.backend.channels import ERROR, PROTOCOL, RESIZE, STDERR, STDIN, STDOUT, Channels
from kubetrio.backend.dial import DialError
from kubetrio.backend.exchange import (
    SWITCHING,
    AnswerHead,
    BackendError,
    Exchange,
    encode_head,
)
from kubetrio.backend.tunnel import send_all
from kubetrio.backend.websocket import accept_head
from kubetrio.gotext import numbers as gonumbers
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import internal_error, success
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.transport import Transport
from kubetrio.wire import gojson, jsonwire
from kubetrio.wire.report import Report

Object = dict[str, Any]

VERSIONS = (PROTOCOL, *(f"v{number}.channel.k8s.io" for number in (4, 3, 2)), "channel.k8s.io")
"""Protocols offered to a kubelet."""
WITH_STATUS = frozenset(VERSIONS[:2])
"""Those whose stream for errors carries a ``Status``; the others' carries a text."""
WITH_SIZES = frozenset(VERSIONS[:3])
REDIRECTS = frozenset({301, 302, 303, 307, 308})
STATUS = GroupVersionKind("", "v1", "Status")
NON_ZERO, EXIT_CODE = "NonZeroExitCode", "ExitCode"
MAX_ERROR_BYTES = 1024 * 1024
GOODBYE_S = 10.0
REPLIES_S = 30.0
PING_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """Which streams of a process are wanted.

    Args:
        stdin: its input.
        stdout: its output.
        stderr: its other output.
        tty: whether it has a terminal, which has one output only.
    """

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @property
    def greeting(self) -> int:
        """The channel on which a client is told that all is ready."""
        return STDOUT if self.stdout else STDERR if self.stderr else ERROR

    def opened(self, protocol: str) -> list[tuple[int, str]]:
        """The channels there are at a kubelet, in the order in which it is asked for them."""
        channels = (
            (ERROR, "error", True),
            (STDIN, "stdin", self.stdin),
            (STDOUT, "stdout", self.stdout),
            (STDERR, "stderr", self.stderr and not self.tty),
            (RESIZE, "resize", self.tty and protocol in WITH_SIZES),
        )
        return [(channel, name) for channel, name, there in channels if there]


class Failed(Exception):
    """What went wrong, in kube-apiserver's words."""


def wanted(request: Request) -> bool:
    """Whether a client offers the protocol that is translated."""
    offered = request.header(b"sec-websocket-protocol").split(",")
    websocket = request.header(b"upgrade").lower() == "websocket"
    return websocket and PROTOCOL in (name.strip() for name in offered)


def translate(edge: Edge, request: Request, location: Location, streams: Streams) -> AnyResponse:
    """Answer with a WebSocket that a kubelet knows nothing of.

    Args:
        edge: whose backends.
        request: for which `wanted` is true.
        location: where the kubelet runs the process.
        streams: which streams there are.
    """
    refused = _refusal(request)
    if refused is not None:
        status, words = refused

        async def refuse(client: Transport, received: bytes) -> None:
            del received
            with contextlib.suppress(OSError):
                await send_all(client, words)

        return TunnelResponse(refuse, status=status)
    return TunnelResponse(_Translation(edge, request, location, streams))


def _refusal(request: Request) -> tuple[int, bytes] | None:
    """What is wrong with the wish for a WebSocket, as golang.org/x/net/websocket answers it."""
    if request.method != "GET":
        return 405, b"HTTP/1.1 405 Method Not Allowed\r\n\r\nbad method"
    bad = b"HTTP/1.1 400 Bad Request\r\n"
    if not request.header(b"sec-websocket-key"):
        return 400, bad + b"\r\nmismatch challenge/response"
    if request.header(b"sec-websocket-version") != "13":
        return 400, bad + b"Sec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version"
    return None


class _Translation:
    """Runs with the client's connection."""

    def __init__(self, edge: Edge, request: Request, location: Location, streams: Streams) -> None:
        self._edge = edge
        self._request = request
        self._location = location
        self._streams = streams

    async def __call__(self, client: Transport, received: bytes) -> None:
        key = self._request.headers.get(b"sec-websocket-key", b"")
        channels = Channels(client, received)
        with stoppable(self._edge.streams), contextlib.suppress(OSError):
            await send_all(client, accept_head(key, PROTOCOL))
            await channels.send(self._streams.greeting, b"")
            try:
                status = await self._run(channels)
            except Failed as error:
                status = internal_error(str(error)).status()
            if status is None:
                return
            told = {key: value for key, value in status.items() if key not in UNTOLD}
            with trio.move_on_after(GOODBYE_S):
                await channels.send(ERROR, jsonwire.encode(told))
                await channels.finish()

    async def _run(self, channels: Channels) -> Object | None:
        """How the process ended; None when the client has left before that.

        Raises:
            Failed: it could not be run.
        """
        location = self._location
        try:
            transport = await connected(self._edge, location)
        except DialError as error:
            raise _unsent(location.url, error) from None
        try:
            exchange, protocol = await self._switched(transport)
            session = spdy.Session(transport, exchange.rest)
            talk = Conversation(channels, session, self._streams.opened(protocol))
            message = await talk.run()
            return None if message is None else outcome(protocol, message)
        finally:
            transport.close()

    async def _switched(self, transport: Transport) -> tuple[Exchange, str]:
        """An exchange that has become SPDY, and the version of the streams' protocol.

        Raises:
            Failed: the kubelet did not agree.
        """
        location = self._location
        headers = [
            (b"host", location.authority.encode("latin-1")),
            (b"connection", b"Upgrade"),
            (b"upgrade", b"SPDY/3.1"),
            *((PROTOCOL_VERSION, version.encode()) for version in VERSIONS),
            (b"content-length", b"0"),
        ]
        exchange = Exchange(transport, "POST", encode_head("POST", location.target, headers))
        try:
            answer = await exchange.head(self._request.gone)
            if _agrees(answer):
                return exchange, answer.get(PROTOCOL_VERSION).decode("latin-1").strip()
            moved = answer.get(b"location").decode("latin-1")
            if answer.status in REDIRECTS and moved:
                raise _unsent(moved, "redirect not allowed")
            said = b"" if answer.status == SWITCHING else await _body(exchange)
        except BackendError as error:
            # Without an answer, whatever was read.
            why = "unexpected EOF" if str(error) == "EOF" else error
            raise _unsent(location.url, why) from None
        raise Failed(f"unable to upgrade connection: {_refused(said)}")


UNTOLD = frozenset({"kind", "apiVersion"})
"""Members of a status that are not in the one that a client gets."""


def _unsent(url: str, why: object) -> Failed:
    return Failed(f"error sending request: Post {quote(url)}: {why}")


def _agrees(answer: AnswerHead) -> bool:
    return (
        answer.status == SWITCHING
        and b"upgrade" in answer.get(b"connection").lower()
        and b"spdy/3.1" in answer.get(b"upgrade").lower()
    )


async def _body(exchange: Exchange) -> bytes:
    """What a kubelet says instead of agreeing.

    Raises:
        Failed: it breaks off.
    """
    body = b""
    try:
        while len(body) < MAX_ERROR_BYTES and (piece := await exchange.read()):
            body += piece
    except BackendError:
        text = "unable to upgrade connection: unable to read error from server response"
        raise Failed(text) from None
    return body


def _refused(said: bytes) -> str:
    """Why, of the body of a refusal: the message in an object, or all of it."""
    try:
        value = gojson.parse(said).value
    except gojson.GoJsonError:
        value = None
    if isinstance(value, dict):
        for member in ("message", "error"):
            text = value.get(member)
            if isinstance(text, str) and text.strip():
                return text.strip()
    return said.decode("utf-8", "replace").strip() or "empty server response"


class Conversation:
    """The streams of one process, until it has ended or the client has left.

    Args:
        channels: of the client.
        session: with the kubelet.
        opened: channels to open at the kubelet, and their names there.
    """

    def __init__(
        self, channels: Channels, session: spdy.Session, opened: list[tuple[int, str]]
    ) -> None:
        self._channels = channels
        self._session = session
        self._opened = opened
        self._stream: dict[int, int] = {}
        self._channel: dict[int, int] = {}
        self._unanswered: set[int] = set()
        self._open: set[int] = set()
        self._said = bytearray()

    async def run(self) -> bytes | None:
        """What the kubelet says about the end of the process; None if the client leaves first.

        Raises:
            Failed: the kubelet refuses a stream.
            OSError: the client is gone.
        """
        said: bytes | None = None
        problem: Exception | None = None
        async with trio.open_nursery() as nursery:

            async def forth() -> None:
                try:
                    await self._forth()
                except spdy.SpdyError:
                    return  # who reads finds out, and what the process said
                except OSError:
                    pass  # breaking off is a way to leave
                nursery.cancel_scope.cancel()

            async def back() -> None:
                nonlocal said, problem
                try:
                    await self._open_all()
                    nursery.start_soon(forth, name="process input")
                    await self._back()
                    said = bytes(self._said)
                except spdy.SpdyError as error:
                    problem = Failed(str(error))
                except (Failed, OSError) as error:
                    problem = error
                nursery.cancel_scope.cancel()

            nursery.start_soon(back, name="process output")
            nursery.start_soon(self._keep_alive, name="process pings")
        if problem is not None:
            raise problem
        return said

    async def _open_all(self) -> None:
        for channel, name in self._opened:
            stream = await self._session.open({"streamtype": name})
            self._stream[channel], self._channel[stream] = stream, channel
            self._unanswered.add(stream)
            if channel in (STDOUT, STDERR, ERROR):
                self._open.add(stream)

    async def _forth(self) -> None:
        """Pass on what the client writes, until it leaves."""
        while (piece := await self._channels.receive()) is not None:
            stream = self._stream.get(piece.channel)
            if piece.channel == STDIN and not piece.data:
                await self._end_input()
            elif piece.channel in (STDIN, RESIZE) and stream is not None and piece.data:
                await self._session.send(spdy.data(stream, piece.data))
        await self._end_input()

    async def _end_input(self) -> None:
        stream = self._stream.pop(STDIN, None)
        if stream is not None:
            await self._session.send(spdy.data(stream, b"", fin=True))

    async def _back(self) -> None:
        """Pass on what the process writes, up to the end of its streams."""
        patience = trio.current_time() + REPLIES_S
        while self._open:
            with trio.move_on_at(patience if self._unanswered else float("inf")) as waiting:
                frames = await self._received()
            if waiting.cancelled_caught:
                raise Failed("Timeout occurred")
            if not frames:
                return
            for frame in frames:
                await self._take(frame)

    async def _received(self) -> list[spdy.Frame]:
        """The next frames; a connection that breaks is at its end."""
        try:
            return await self._session.receive()
        except spdy.SpdyError:
            return []

    async def _take(self, frame: spdy.Frame) -> None:
        stream = frame.stream
        if frame.kind == spdy.PING:
            if not stream % 2:
                with contextlib.suppress(spdy.SpdyError):  # what came before it still counts
                    await self._session.send(spdy.ping(stream))
            return
        channel = self._channel.get(stream)
        if channel is None:
            return
        if frame.kind == spdy.RST_STREAM and stream in self._unanswered:
            raise Failed("Stream reset")
        self._unanswered.discard(stream)
        if channel == ERROR:
            self._said += frame.payload[: MAX_ERROR_BYTES - len(self._said)]
        elif frame.payload and stream in self._open:
            await self._channels.send(channel, frame.payload)
        if frame.fin or frame.kind == spdy.RST_STREAM:
            self._open.discard(stream)
            if channel == STDIN:
                with contextlib.suppress(spdy.SpdyError):
                    await self._end_input()

    async def _keep_alive(self) -> None:
        """Send pings: kubelets end connections that are idle for hours."""
        number = 1
        with contextlib.suppress(spdy.SpdyError):  # who reads finds out
            while True:
                await trio.sleep(PING_S)
                await self._session.send(spdy.ping(number))
                number += 2


# ---------------------------------------------------------------------- outcomes


def outcome(protocol: str, said: bytes) -> Object:
    """How a process ended, as the client is told.

    Args:
        protocol: version of the streams' protocol.
        said: what was on the stream for errors.

    Raises:
        Failed: there is no exit code.
    """
    if not said:
        return success()
    if protocol not in WITH_STATUS:
        raise Failed(f"error executing remote command: {said.decode('utf-8', 'replace')}")
    try:
        parsed = gojson.parse(said)
        status = scheme_of("").decode(STATUS, parsed.value or {}, Report(), parsed.repeated)
    except ValueError as error:
        text = said.decode("utf-8", "replace")
        raise Failed(f"error stream protocol error: {error} in {quote(text)}") from None
    match status.get("status"):
        case "Success":
            return success()
        case "Failure":
            if status.get("reason") == NON_ZERO:
                return _exited(status.get("details"))
            raise Failed(str(status.get("message", "")))
        case _:
            raise Failed("error stream protocol error: unknown error")


def _exited(details: Mapping[str, Any] | None) -> Object:
    if details is None:
        raise Failed("error stream protocol error: details must be set")
    for cause in details.get("causes") or ():
        if cause.get("reason") != EXIT_CODE:
            continue
        text = str(cause.get("message", ""))
        try:
            code = gonumbers.parse_uint(text, bits=8)
        except ValueError:
            problem = f"error stream protocol error: invalid exit code value {quote(text)}"
            raise Failed(problem) from None
        words = f"command terminated with exit code {code}"
        return {
            "metadata": {},
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: {words}",
            "reason": NON_ZERO,
            "details": {"causes": [{"reason": EXIT_CODE, "message": str(code)}]},
        }
    raise Failed(f"error stream protocol error: no {EXIT_CODE} cause given")
