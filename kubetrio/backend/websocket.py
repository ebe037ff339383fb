"""WebSocket of a client as a transport: bytes in binary messages, for a protocol inside them.

Port forwarding tunnels SPDY through a WebSocket between client and server (subprotocol
``SPDY/3.1+portforward.k8s.io``).  A kubelet that does not speak that gets the SPDY alone.

Only the server's side exists: a kubelet that speaks WebSocket gets the client's bytes unparsed
(`api/proxy/upgrading.py`), so the server is never a WebSocket client.  wsproto does the framing.
trio-websocket, which wraps wsproto in tasks, would hold messages whole and answer the upgrade in
its own spelling; here parts are passed on as they come, and the 101 is kube-apiserver's.

Source: RFC 6455; KEP-4006 (port-forward tunnelling).
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator

from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode, ParseFailed
from wsproto.utilities import generate_accept_token

from kubetrio.backend.tunnel import send_all
from kubetrio.transport import Transport

MAX_MESSAGE_BYTES = 64 * 1024


def accept_head(key: bytes, protocol: str) -> bytes:
    """The answer that turns a connection into a WebSocket.

    Args:
        key: the client's ``Sec-WebSocket-Key``.
        protocol: subprotocol that was agreed on.
    """
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-Websocket-Accept: %b\r\nSec-Websocket-Protocol: %b\r\n\r\n"
    ) % (generate_accept_token(key), protocol.encode("latin-1"))


class Frames:
    """The server's side of the framing: what a client sends, and what it is sent.

    Attributes:
        ended: whether the client said goodbye or broke the protocol.
    """

    def __init__(self) -> None:
        self._protocol = FrameProtocol(client=False, extensions=[])
        self._pong = b""
        self.ended = False

    def read(self, received: bytes) -> Iterator[tuple[bytes, bool]]:
        """Parts of messages, and whether each is the last one of its message.

        Args:
            received: bytes of the connection.
        """
        try:
            self._protocol.receive_bytes(received)
            for frame in self._protocol.received_frames():
                payload = frame.payload
                if isinstance(payload, tuple):  # of a closing frame
                    self.ended = True
                    return
                part = payload.encode() if isinstance(payload, str) else bytes(payload)
                if frame.opcode is Opcode.PING:
                    self._pong = bytes(self._protocol.pong(part))
                elif frame.opcode is not Opcode.PONG:
                    yield part, frame.message_finished
        except ParseFailed:
            self.ended = True

    def message(self, data: bytes) -> bytes:
        """A whole message."""
        return bytes(self._protocol.send_data(data, fin=True))

    def goodbye(self) -> bytes:
        """The closing frame."""
        return bytes(self._protocol.close(CloseReason.NORMAL_CLOSURE))

    def take_pong(self) -> bytes:
        """What answers the pings since it was last asked for; one is enough."""
        pong, self._pong = self._pong, b""
        return pong


class WebSocketTransport:
    """The server's side of a WebSocket, as a `Transport` of the bytes in its messages.

    Args:
        transport: the connection, the upgrade answered.
        received: bytes read behind the upgrade.
    """

    def __init__(self, transport: Transport, received: bytes) -> None:
        self._transport = transport
        self._frames = Frames()
        self._messages: deque[bytes] = deque()
        self._pending = memoryview(b"")
        self._ended = False
        self._feed(received)

    def _feed(self, data: bytes) -> None:
        """Take bytes of the connection; what has to be answered is answered."""
        self._messages.extend(part for part, _ in self._frames.read(data) if part)
        self._ended = self._ended or self._frames.ended
        replies = self._frames.take_pong()
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
        self._pending = memoryview(self._frames.message(piece))
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
        await send_all(self._transport, bytes(self._pending) + self._frames.goodbye())

    def end(self) -> None:
        """See `Transport`."""
        self._transport.end()

    def close(self) -> None:
        """See `Transport`."""
        self._transport.close()
