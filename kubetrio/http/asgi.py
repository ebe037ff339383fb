"""Requests and answers between ASGI, Quart and the pipeline."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Any

import trio
from quart import Response as QuartResponse
from werkzeug.datastructures import Headers

from kubetrio.api.request import Request, by_name
from kubetrio.api.response import (
    AnyResponse,
    ClientGone,
    Response,
    StreamResponse,
    TunnelResponse,
)
from kubetrio.http.connections import Presence
from kubetrio.http.h2streams import PLACE, Place
from kubetrio.http.messages import BLANKS, split_target
from kubetrio.http.shown import certificate_of, current
from kubetrio.machinery.status import entity_too_large

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
CERTIFICATE = "kubetrio.certificate"  # keys in the connection's ASGI state
PRESENCE = "kubetrio.presence"
ONE = frozenset({"1.0", "1.1"})
BUFFER_BYTES = 256 * 1024
PIECE_BYTES = 16 * 1024

Body = AsyncIterable[bytes]


def request_from_scope(scope: Any, method: str = "GET", body: Body | None = None) -> Request:
    """An ASGI scope as the pipeline's request.

    Args:
        scope: of an HTTP request or a WebSocket.
        method: HTTP method.
        body: reads the body, None when there is none.

    Raises:
        Refused: what came is not a request.
    """
    raw_headers = [
        (bytes(name).lower(), bytes(value).strip(BLANKS)) for name, value in scope["headers"]
    ]
    headers = by_name(raw_headers)
    raw_path, _ = split_target(bytes(scope.get("raw_path") or scope["path"].encode()))
    state: dict[str, Any] = scope.get("state") or {}
    shown = state.get(CERTIFICATE)
    pieces = body_pieces(body, state.get(PLACE))
    client = scope.get("client")

    async def read_body(limit: int) -> bytes:
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > limit:
            raise entity_too_large(limit)
        parts: list[bytes] = []
        size = 0
        async for part in pieces:
            size += len(part)
            if size > limit:
                raise entity_too_large(limit)
            parts.append(part)
        return b"".join(parts)

    async def pull_body() -> bytes:
        return await anext(pieces, b"")

    request = Request(
        method,
        raw_path,
        bytes(scope["query_string"]).decode("latin-1"),
        headers,
        raw_headers,
        read_body,
        client[0] if client else "",
        current(shown),
    )
    request.shown = certificate_of(shown)
    request.pull_body = pull_body
    presence: Presence | None = state.get(PRESENCE)
    if presence is not None:
        request.identified = presence.identified
    request.unsized = scope["http_version"] not in ONE and b"content-length" not in headers
    return request


async def body_pieces(body: Body | None, place: Place | None) -> AsyncIterator[bytes]:
    """The body of a request; over HTTP/2 its client may send on as it is read.

    Args:
        body: what comes, None for nothing.
        place: told of each piece.
    """
    if body is None:
        return
    async for part in body:
        if place is not None:
            place.read()
        yield part


def to_quart(request: Request, response: AnyResponse, *, head_only: bool) -> QuartResponse:
    """A pipeline response as Quart's."""
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers
    ]
    if request.audit_id:
        headers.insert(0, ("Audit-Id", request.audit_id))
    length: int | None = None
    if isinstance(response, Response):
        body: bytes | AsyncIterator[bytes] = response.body
        if len(response.body) > PIECE_BYTES:
            body, length = b"" if head_only else in_pieces(response.body), len(response.body)
    elif isinstance(response, TunnelResponse):
        raise AssertionError("only connections of HTTP/1.1 become tunnels")
    elif head_only:
        body = b""
    else:
        body = stream_body(response)
    quart = QuartResponse(
        body,
        status=response.status,
        headers=Headers(headers),
        content_type=response.content_type.decode("latin-1") or None,
    )
    if not response.content_type:
        quart.headers.pop("Content-Type", None)  # Quart thinks that what has no type is HTML
    if isinstance(response, StreamResponse):
        length = response.length
    if length is not None:
        quart.headers["Content-Length"] = str(length)
    quart.timeout = None
    return quart


def pieces_of(body: bytes) -> Iterator[bytes]:
    """Bytes a little at a time: what is given away before the client takes it is held twice."""
    for at in range(0, len(body), PIECE_BYTES):
        yield body[at : at + PIECE_BYTES]


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    """Pieces for a caller that waits between them."""
    for piece in pieces_of(body):
        yield piece


class QueueChannel:
    """A stream's way into an ASGI response; see `api.response.Channel`."""

    framing = "raw"

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._bytes = 0
        self._filled = trio.Event()
        self._emptied = trio.Event()
        self._closed = trio.Event()
        self.ended = False

    def frame(self, payload: bytes) -> bytes:
        """ASGI servers do the framing."""
        return payload

    def offer(self, wire: bytes) -> bool:
        """Take bytes without waiting; False over the buffer's bound."""
        if wire:
            self._parts.append(wire)
            self._bytes += len(wire)
            self._filled.set()
        return self._bytes < BUFFER_BYTES

    async def send(self, wire: bytes) -> None:
        """Take bytes and wait while the buffer is over its bound."""
        self.offer(wire)
        while self._bytes >= BUFFER_BYTES:
            if self._closed.is_set():
                raise ClientGone
            self._emptied = trio.Event()
            await self._emptied.wait()
        await trio.lowlevel.checkpoint()

    async def wait_closed(self) -> None:
        """Wait until the response is abandoned (its task is cancelled with the connection)."""
        await self._closed.wait()

    def close(self) -> None:
        """No more bytes are wanted, or none will come."""
        self.ended = True
        self._closed.set()
        self._filled.set()
        self._emptied.set()

    async def next(self) -> bytes:
        """What was taken at a time, or several such pieces if they are small; empty at the end."""
        while not self._parts and not self.ended:
            self._filled = trio.Event()
            await self._filled.wait()
        some: list[bytes] = []
        size = 0
        while self._parts and (not some or size + len(self._parts[0]) <= PIECE_BYTES):
            some.append(self._parts.popleft())
            size += len(some[-1])
        self._bytes -= size
        if self._bytes < BUFFER_BYTES:
            self._emptied.set()
        return some[0] if len(some) == 1 else b"".join(some)


async def stream_body(response: StreamResponse) -> AsyncIterator[bytes]:
    """The body of a stream: one nursery holds its writer for as long as it is read."""
    channel = QueueChannel()

    async def write() -> None:
        try:
            await response.run(channel)
        except* ClientGone:
            pass  # the stream's own nursery wraps it
        finally:
            channel.ended = True
            channel.offer(b"")
            channel.close()

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(write, name="stream writer")
            try:
                while data := await channel.next():
                    for piece in pieces_of(data):
                        yield piece
            finally:
                channel.close()
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        rest = group.split(GeneratorExit)[1]  # closed early: nothing more to do
        if rest is not None:
            raise rest from None
