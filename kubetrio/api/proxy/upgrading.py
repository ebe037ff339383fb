"""Upgrades that are a backend's: the connection becomes an opaque tunnel to it.

Source: RFC 9110, 7.8 (upgrade); KEP-4006 (streams and forwarded ports over WebSocket).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import trio

from kubetrio.api.api import Edge
from kubetrio.api.proxy.headers import forwarded_for, without_secrets
from kubetrio.api.proxy.locations import Location, connected
from kubetrio.api.proxy.proxying import Owner, answered, closing_on_error, stoppable, unknown_error
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, TunnelResponse, text_response
from kubetrio.backend.dial import DialError
from kubetrio.backend.exchange import (
    SWITCHING,
    AnswerHead,
    BackendError,
    Exchange,
    encode_head,
)
from kubetrio.backend.tunnel import send_all, splice
from kubetrio.transport import Transport

TUNNELLED = "SPDY/3.1+"
"""Begins the name of a subprotocol that is SPDY in WebSocket messages."""
PROTOCOL_VERSION = b"x-stream-protocol-version"
WEBSOCKET_ONLY = frozenset(
    {b"sec-websocket-protocol", b"sec-websocket-key", b"sec-websocket-version", b"upgrade",
     b"sec-websocket-extensions", PROTOCOL_VERSION}
)  # fmt: skip
FIRST_ERROR = 400
GOODBYE_S = 10.0


async def tunnel(edge: Edge, request: Request, location: Location) -> AnyResponse:
    """Ask a backend for another protocol, and give it the connection if it agrees.

    Args:
        edge: whose backends.
        request: wants an upgrade.
        location: who is asked.

    Raises:
        ApiError: 500, the backend is not there or answers neither with a switch nor an error.
    """
    head = encode_head(request.method, location.target, _passed(request))
    exchange, answer = await _upgraded(edge, request, location, head)
    if answer.status == SWITCHING:
        return tunnel_to(edge.streams, exchange, answer)
    return answered(exchange, answer)


def tunnel_to(
    streams: set[trio.CancelScope], exchange: Exchange, answer: AnswerHead
) -> TunnelResponse:
    """The client's connection, spliced with one on which a switch was agreed on.

    Args:
        streams: where shutdown finds it.
        exchange: with the backend.
        answer: the agreement.
    """
    return TunnelResponse(_Tunnel(streams, exchange, answer.raw))


async def unwrapped(
    edge: Edge, request: Request, location: Location, protocols: Sequence[str]
) -> AnyResponse:
    """Take SPDY out of a WebSocket and give it to a backend that knows nothing of the latter.

    Args:
        edge: whose backends.
        request: wants a WebSocket with SPDY in it.
        location: who is asked.
        protocols: what may be spoken in SPDY.

    Raises:
        ApiError: 500, the backend is not there or answers neither with a switch nor an error.
    """
    from kubetrio.backend.websocket import accept_head

    headers = [(name, value) for name, value in _passed(request) if name not in WEBSOCKET_ONLY]
    headers.append((b"upgrade", b"SPDY/3.1"))
    headers += [(PROTOCOL_VERSION, name.encode("latin-1")) for name in protocols]
    headers.append((b"content-length", b"0"))
    head = encode_head("POST", location.target, headers)
    exchange, answer = await _upgraded(edge, request, location, head)
    if answer.status != SWITCHING:
        return answered(exchange, answer)
    if b"spdy/3.1" not in answer.get(b"upgrade").lower():
        exchange.transport.close()
        text = "unable to upgrade: missing upgrade headers in response"
        return text_response(text + "\n", 500, ((b"X-Content-Type-Options", b"nosniff"),))
    chosen = TUNNELLED + answer.get(PROTOCOL_VERSION).decode("latin-1").strip()
    key = request.headers.get(b"sec-websocket-key", b"")
    return TunnelResponse(_Unwrapped(edge.streams, exchange, accept_head(key, chosen)))


def _passed(request: Request) -> list[tuple[bytes, bytes]]:
    return forwarded_for(without_secrets(request.raw_headers), request.peer)


async def _upgraded(
    edge: Edge, request: Request, location: Location, head: bytes
) -> tuple[Exchange, AnswerHead]:
    """A backend's answer to the wish for another protocol: a switch or an error."""
    request.take_time()
    try:
        transport = await connected(edge, location)
    except DialError as error:
        raise unknown_error(f"error dialing backend: {error}") from None
    with closing_on_error(transport):
        exchange = Exchange(transport, request.method, head)
        try:
            answer = await exchange.head(request.gone)
        except BackendError as error:
            raise unknown_error(str(error)) from None
        if answer.status != SWITCHING and answer.status < FIRST_ERROR:
            raise unknown_error(f"invalid upgrade response: status code {answer.status}")
        return exchange, answer


class _Tunnel(Owner):
    def __init__(self, streams: set[trio.CancelScope], exchange: Exchange, switched: bytes) -> None:
        super().__init__(exchange)
        self._streams = streams
        self._switched = switched

    async def __call__(self, client: Transport, received: bytes) -> None:
        self.begin()
        backend = self.exchange.transport
        try:
            with stoppable(self._streams):
                await splice(client, backend, self._switched + self.exchange.rest, received)
        finally:
            backend.close()


class _Unwrapped(_Tunnel):
    async def __call__(self, client: Transport, received: bytes) -> None:
        from kubetrio.backend.websocket import WebSocketTransport

        self.begin()
        backend = self.exchange.transport
        try:
            with stoppable(self._streams), contextlib.suppress(OSError):
                await send_all(client, self._switched)
                messages = WebSocketTransport(client, received)
                await splice(messages, backend, self.exchange.rest, b"")
                with trio.move_on_after(GOODBYE_S):
                    await messages.finish()
        finally:
            backend.close()
