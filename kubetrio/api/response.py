"""What a handler answers: whole bytes, or a stream written to a channel."""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kubetrio.gotext.text import quote
from kubetrio.machinery.status import ApiError
from kubetrio.transport import Transport
from kubetrio.wire.negotiate import Accepted

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"

Headers = Sequence[tuple[bytes, bytes]]


class ClientGone(Exception):
    """The client closed its side or stopped reading for too long."""


class Channel(Protocol):
    """Where a stream goes; one for each adapter.

    Attributes:
        framing: names how `frame` wraps payloads, so that equal watchers can share the result.
    """

    framing: str

    def frame(self, payload: bytes) -> bytes:
        """A payload as it goes on the wire."""
        ...

    def offer(self, wire: bytes) -> bool:
        """Take framed bytes without waiting; False when the client is not keeping up.

        The bytes are taken in either case; after False, call `send` or `flush` before the next.
        """
        ...

    async def send(self, wire: bytes) -> None:
        """Take framed bytes and wait until the socket has most of them.

        Raises:
            ClientGone: the client is gone or too slow.
        """
        ...

    async def wait_closed(self) -> None:
        """Wait until the client closes its side."""
        ...


@dataclass(slots=True)
class Response:
    """A complete answer.

    Args:
        status: HTTP status code.
        body: the bytes, possibly in pieces that are sent one after the other.
        content_type: media type.
        headers: more headers.
    """

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: Headers = ()


@dataclass(slots=True)
class StreamResponse:
    """An answer of unknown length.

    Args:
        status: HTTP status code.
        run: writes it to a channel and returns when the stream has ended well.
        content_type: media type.
        headers: more headers.
        long_running: a watch and its like: not bound by the request time-out.
        length: bytes that will be written, None when that is not known.
        patient: whether the client may stop reading for as long as it likes, because nothing is
            collected for it meanwhile.
    """

    status: int
    run: Callable[[Channel], Awaitable[None]]
    content_type: bytes = JSON
    headers: Headers = ()
    long_running: bool = False
    length: int | None = None
    patient: bool = False


@dataclass(slots=True)
class TunnelResponse:
    """The connection becomes another protocol's; only for requests with `Request.upgrade`.

    Args:
        run: answers and carries bytes both ways, until either side ends; called with the connection
            and the bytes read behind the request.
        headers: not used: the backend's answer goes out as it came.
    """

    run: Callable[[Transport, bytes], Awaitable[None]]
    headers: Headers = ()
    status: int = 101


AnyResponse = Response | StreamResponse | TunnelResponse
Answer = AnyResponse | None
"""Of a stage: the answer, or none when the walk goes on."""
ANSWERS = (Response, StreamResponse, TunnelResponse)


def json_bytes(value: Any) -> bytes:
    """JSON with the trailing newline that Go's encoder writes."""
    from kubetrio.wire.jsonwire import encode

    return encode(value) + b"\n"


def json_response(value: Any, status: int = 200, headers: Headers = ()) -> Response:
    """A JSON answer."""
    return Response(status, json_bytes(value), JSON, headers)


def text_response(text: str, status: int = 200, headers: Headers = ()) -> Response:
    """A plain text answer."""
    return Response(status, text.encode(), TEXT, headers)


def error_response(error: ApiError, accepted: Accepted | None = None) -> Response:
    """The one place where an API error becomes a `Status` body.

    Args:
        error: what went wrong.
        accepted: representation that the client takes, JSON when None.
    """
    headers = list(error.headers)
    if error.retry_after is not None:
        headers.append((b"Retry-After", b"%d" % error.retry_after))
    if accepted is None or (accepted.serializer == "json" and not accepted.pretty):
        return json_response(error.status(), error.code, headers)
    from kubetrio.api.encoding.serializers import dump

    body = dump(error.status(), accepted)
    return Response(error.code, body, accepted.media_type.encode(), headers)


def page_not_found() -> Response:
    """The answer for paths that no handler knows, as Go's mux writes it."""
    return text_response("404 page not found\n", 404, _NOSNIFF)


def unfinished_path(path: str, query: str) -> Response:
    """The answer for paths that end where a resource should be, such as ``/api/v1/watch``.

    Args:
        path: path as sent.
        query: query as sent.
    """
    url = f"{path}?{query}" if query else path
    text = (
        f"Internal Server Error: {quote(html.escape(url, quote=False))}: failed to create "
        f"RequestInfo: unable to determine kind and namespace from url, {url}\n"
    )
    return text_response(text, 500, _NOSNIFF)


_NOSNIFF = ((b"X-Content-Type-Options", b"nosniff"),)
