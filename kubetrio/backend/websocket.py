"""A WebSocket as a transport: bytes in binary messages, for a protocol that knows nothing of it.

Port forwarding tunnels SPDY through a WebSocket between client and server (subprotocol
``SPDY/3.1+portforward.k8s.io``).  A kubelet that does not speak that gets the SPDY alone.

Source: RFC 6455; KEP-4006 (port-forward tunnelling).  wsproto does the framing.
"""

from __future__ import annotations

import base64
import contextlib
from collections import deque
from hashlib import sha1

from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode, ParseFailed

from kubetrio.backend.tunnel import send_all
from kubetrio.transport import Transport

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MAX_MESSAGE_BYTES = 64 * 1024


def accept_head(key: bytes, protocol: str) -> bytes:
    """The answer that turns a connection into a WebSocket.

    Args:
        key: the client's ``Sec-WebSocket-Key``.
        protocol: subprotocol that was agreed on.
    """
    accept = base64.b64encode(sha1(key + GUID, usedforsecurity=False).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-Websocket-Accept: %b\r\nSec-Websocket-Protocol: %b\r\n\r\n"
    ) % (accept, protocol.encode("latin-1"))


class WebSocketTransport:
    """The server's side of a WebSocket, as a `Transport` of the bytes in its messages.

    Args:
        transport: the connection, the upgrade answered.
        received: bytes read behind the upgrade.
    """

    def __init__(self, transport: Transport, received: bytes) -> None:
        self._transport = transport
        self._frames = FrameProtocol(client=False, extensions=[])
        self._messages: deque[bytes] = deque()
        self._pending = memoryview(b"")
        self._ended = False
        self._feed(received)

    def _feed(self, data: bytes) -> None:
        """Take bytes of the connection; what has to be answered is answered."""
        replies = b""
        try:
            self._frames.receive_bytes(data)
            for frame in self._frames.received_frames():
                payload = frame.payload
                if frame.opcode is Opcode.CLOSE:
                    self._ended = True
                    break
                if isinstance(payload, tuple):
                    raise AssertionError("only closing frames have a code")
                piece = payload.encode() if isinstance(payload, str) else bytes(payload)
                if frame.opcode is Opcode.PING:
                    replies = bytes(self._frames.pong(piece))  # the last one is enough
                elif frame.opcode is not Opcode.PONG and piece:
                    self._messages.append(piece)
        except ParseFailed:
            self._ended = True
        if replies and len(self._pending) < MAX_MESSAGE_BYTES:
            self._pending = memoryview(bytes(self._pending) + replies)
            with contextlib.suppress(OSError):  # reading will tell
                self._flush()

    def _flush(self) -> None:
        while self._pending:
            sent = self._transport.write_nowait(self._pending)
            if not sent:
                return
            self._pending = self._pending[sent:]

    def read_nowait(self) -> bytes | None:
        """See `Transport`."""
        if not self._messages and not self._ended:
            data = self._transport.read_nowait()
            if data is None:
                return None
            if data:
                self._feed(data)
            else:
                self._ended = True
        if self._messages:
            return self._messages.popleft()
        return b"" if self._ended else None

    def write_nowait(self, data: bytes | memoryview) -> int:
        """See `Transport`; what is taken may wait here, at most one message."""
        self._flush()
        if self._pending:
            return 0
        piece = bytes(data[:MAX_MESSAGE_BYTES])
        self._pending = memoryview(self._frames.send_data(piece, fin=True))
        self._flush()
        return len(piece)

    async def wait_readable(self) -> None:
        """See `Transport`."""
        if not self._messages and not self._ended:
            await self._transport.wait_readable()

    async def wait_writable(self) -> None:
        """See `Transport`."""
        await self._transport.wait_writable()

    async def finish(self) -> None:
        """Send what waits, and the closing frame.

        Raises:
            OSError: the connection broke.
        """
        goodbye = self._frames.close(CloseReason.NORMAL_CLOSURE)
        await send_all(self._transport, bytes(self._pending) + goodbye)

    def end(self) -> None:
        """See `Transport`."""
        self._transport.end()

    def close(self) -> None:
        """See `Transport`."""
        self._transport.close()
