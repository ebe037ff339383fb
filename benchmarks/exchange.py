"""One keep-alive connection of the load generator, with the least parsing that finds an end.

A request costs the generator one `send`, one `epoll` event and one `recv`.  Nothing of the head is
read but the status, Content-Length and "chunked"; bodies are counted, not kept.
"""

from __future__ import annotations

import select
import socket
import ssl

from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError

RECEIVE_BYTES = 65536  # above the largest TLS record, so that nothing is left inside OpenSSL


class ChunkReader:
    """Finds the end of a chunked body (RFC 9112 section 7.1), fed in any pieces.

    Args:
        keep: whether to collect the payload in `payload`.
    """

    __slots__ = ("_held", "_keep", "_last", "_skip", "payload", "size")

    def __init__(self, *, keep: bool = False) -> None:
        self.payload = bytearray()
        self.size = 0
        self._keep = keep
        self._held = b""
        self._skip = 0
        self._last = False

    def feed(self, data: bytes) -> bool:
        """Take bytes; True when the body is complete."""
        at, end = 0, len(data)
        while at < end:
            if self._skip:
                step = min(self._skip, end - at)
                if self._keep:
                    self.payload += data[at : at + min(step, max(0, self._skip - 2))]
                self._skip -= step
                at += step
                continue
            newline = data.find(b"\n", at)
            if newline < 0:
                self._held += data[at:]
                return False
            line = (self._held + data[at:newline]).strip()
            self._held = b""
            at = newline + 1
            if self._last:
                if not line:
                    return True
                continue
            size = int(line.split(b";", 1)[0], 16)
            self._last = size == 0
            self._skip = size + 2 if size else 0
            self.size += size
        return False


class Connection:
    """A TLS connection with at most one request under way.

    Args:
        endpoint: where to connect.
        context: TLS context of that endpoint, shared between connections.
        keep: whether `body` holds the last answer's body.
    """

    __slots__ = (
        "_chunks",
        "_context",
        "_endpoint",
        "_held",
        "_keep",
        "_left",
        "_status",
        "body",
        "fd",
        "op",
        "received",
        "request",
        "sent_ns",
        "sock",
    )

    def __init__(self, endpoint: Endpoint, context: ssl.SSLContext, *, keep: bool = False) -> None:
        self._endpoint = endpoint
        self._context = context
        self._keep = keep
        self.body = bytearray()
        self.received = 0
        self.request = b""
        self.sent_ns = 0
        self.op = 0
        self.connect()

    def connect(self) -> None:
        """Open the connection, dropping what the last one left behind."""
        raw = socket.create_connection((self._endpoint.host, self._endpoint.port), timeout=30)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._context.wrap_socket(raw, server_hostname=self._endpoint.host)
        self.sock.setblocking(False)
        self.fd = self.sock.fileno()
        self._held = b""
        self._left = 0
        self._status = 0
        self._chunks: ChunkReader | None = None

    def close(self) -> None:
        """Close without ceremony."""
        self.sock.close()

    def send(self, request: bytes) -> None:
        """Send a whole request; requests are small, so a full socket buffer is the exception."""
        self.request = request
        view = memoryview(request)
        while view:
            try:
                view = view[self.sock.send(view) :]
            except ssl.SSLWantWriteError:
                select.select([], [self.fd], [], 30)

    def receive(self) -> bytes | None:
        """Bytes that are there now: empty when there are none yet, None when the peer closed."""
        try:
            return self.sock.recv(RECEIVE_BYTES) or None
        except ssl.SSLWantReadError:
            return b""
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return None

    def feed(self, data: bytes) -> int:
        """Take received bytes; the status code when the answer is complete, else 0.

        Raises:
            BenchError: the answer has neither Content-Length nor chunks, or too many bytes.
        """
        self.received += len(data)
        if self._left:
            return self._take(data)
        if self._chunks is not None:
            return self._take_chunks(data)
        if self._held:
            data, self._held = self._held + data, b""
        end = data.find(b"\r\n\r\n")
        if end < 0:
            self._held = data
            return 0
        self._status = int(data[9:12])
        head = data[:end].lower()
        if self._keep:
            self.body.clear()
        at = head.find(b"\r\ncontent-length:")
        if at >= 0:
            self._left = int(head[at + 17 :].split(b"\r\n", 1)[0])
            return self._take(data[end + 4 :])
        if b"\r\ntransfer-encoding: chunked" in head:
            self._chunks = ChunkReader(keep=self._keep)
            return self._take_chunks(data[end + 4 :])
        if self._status in (204, 304):
            return self._status
        raise BenchError(f"answer without a length: {data[:200]!r}")

    def exchange(self, request: bytes, *, timeout_s: float = 60.0) -> int:
        """Send a request and wait for its answer; the status code.

        Raises:
            BenchError: the peer closed or stayed silent.
        """
        self.send(request)
        while True:
            data = self.receive()
            if data is None:
                raise BenchError("the server closed the connection")
            if data:
                status = self.feed(data)
                if status:
                    return status
            elif not select.select([self.fd], [], [], timeout_s)[0]:
                raise BenchError(f"no answer within {timeout_s:.0f} s")

    def _take(self, data: bytes) -> int:
        self._left -= len(data)
        if self._keep:
            self.body += data
        if self._left < 0:
            raise BenchError(f"bytes behind the answer: {data[self._left :][:100]!r}")
        return 0 if self._left else self._status

    def _take_chunks(self, data: bytes) -> int:
        chunks = self._chunks
        if chunks is None or not chunks.feed(data):
            return 0
        self.body, self._chunks = chunks.payload, None
        return self._status
