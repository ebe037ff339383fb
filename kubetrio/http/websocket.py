"""Watches over WebSocket: one message an event.

Frames are text for JSON and binary for the rest; the subprotocols that Kubernetes' streams use
(``binary.k8s.io``, ``base64.binary.k8s.io``) choose binary frames or base64 text.
Source: RFC 6455; docs "API concepts" (watch); WebSocket stream protocols of KEP-4006.
"""

from __future__ import annotations

import base64

import trio
from quart import Response as QuartResponse
from quart import websocket
from quart_trio import QuartTrio

from kubetrio.api.pipeline import Handle
from kubetrio.api.response import ClientGone, StreamResponse
from kubetrio.http.asgi import QueueChannel, request_from_scope, to_quart
from kubetrio.wire.framing import LengthDelimited

BINARY = "binary.k8s.io"
BASE64 = "base64.binary.k8s.io"


def messages(payload: bytes, content_type: bytes, pending: LengthDelimited) -> list[bytes]:
    """Events of a stream's bytes, each one message.

    Args:
        payload: bytes as the stream wrote them, whole events.
        content_type: media type of the stream.
        pending: reader of length-delimited streams.
    """
    if content_type.startswith(b"application/json"):
        return [line + b"\n" for line in payload.split(b"\n") if line]
    if b"protobuf" in content_type:
        return pending.feed(payload)
    return [payload]


def add_websocket(app: QuartTrio, handle: Handle) -> None:
    """Give an application its WebSocket routes.

    Args:
        app: the application.
        handle: the pipeline.
    """

    async def stream(path: str) -> QuartResponse | None:
        del path
        request = request_from_scope(websocket.scope)
        response = await handle(request)
        if not isinstance(response, StreamResponse):
            return to_quart(request, response, head_only=False)
        offered = websocket.requested_subprotocols
        protocol = next((name for name in offered if name in (BINARY, BASE64)), None)
        await websocket.accept(subprotocol=protocol)
        await _pump(response, protocol)
        await websocket.close(1000)
        return None

    app.add_websocket("/", "ws-root", stream, defaults={"path": ""})
    app.add_websocket("/<path:path>", "ws-any", stream, strict_slashes=False)


async def _pump(response: StreamResponse, protocol: str | None) -> None:
    """Run a stream; its bytes leave as messages, and the client's leaving ends it."""
    channel = QueueChannel()
    reader = LengthDelimited()
    text = response.content_type.startswith(b"application/json") and protocol is None

    async def write() -> None:
        try:
            await response.run(channel)
        except* ClientGone:
            pass  # the stream's own nursery wraps it
        finally:
            channel.close()

    async def listen(scope: trio.CancelScope) -> None:
        # Nothing a client says matters, but it is how its leaving is noticed.
        while True:
            await websocket.receive()
            if scope.cancel_called:
                return

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write, name="websocket stream")
        nursery.start_soon(listen, nursery.cancel_scope, name="websocket listener")
        try:
            while data := await channel.next():
                for message in messages(data, response.content_type, reader):
                    if protocol == BASE64:
                        await websocket.send(base64.b64encode(message).decode())
                    else:
                        await websocket.send(message.decode() if text else message)
        finally:
            channel.close()
            nursery.cancel_scope.cancel()
