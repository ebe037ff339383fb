"""How a stream's bytes leave over HTTP/1.1: at once, or when the socket takes more."""

from __future__ import annotations

from collections.abc import Callable

import trio

from kubetrio.api.response import ClientGone
from kubetrio.http.heads import chunk
from kubetrio.transport import Transport

MAX_PARKED_BYTES = 64 * 1024  # requests pipelined behind a stream


class H1Channel:
    """The stream side of a connection; see `api.response.Channel`.

    Args:
        transport: where bytes go.
        write_timeout_s: seconds without progress in a write.
        chunked: whether payloads are framed as chunks (HTTP/1.1).
    """

    def __init__(self, transport: Transport, write_timeout_s: float, *, chunked: bool) -> None:
        self.framing = "chunked" if chunked else "raw"
        self.frame: Callable[[bytes], bytes] = chunk if chunked else bytes
        self.broken = False
        self._transport = transport
        self._write_timeout_s = write_timeout_s
        self._pending: list[bytes | memoryview] = []
        self.parked: list[bytes] = []

    def offer(self, wire: bytes) -> bool:
        """Take framed bytes without waiting."""
        if self._pending or self.broken:
            self._pending.append(wire)
            return False
        try:
            sent = self._transport.write_nowait(wire)
        except OSError:
            self.broken = True
            return False
        if sent == len(wire):
            return True
        self._pending.append(memoryview(wire)[sent:])
        return False

    async def send(self, wire: bytes) -> None:
        """Take framed bytes and wait until all that is pending has gone.

        Raises:
            ClientGone: the client is gone, or took nothing for too long.
        """
        if wire and self.offer(wire):
            return
        while self._pending:
            if self.broken:
                raise ClientGone
            with trio.move_on_after(self._write_timeout_s) as timer:
                await self._transport.wait_writable()
            if timer.cancelled_caught:
                self.broken = True
                raise ClientGone
            self._flush()
        if self.broken:
            raise ClientGone

    def _flush(self) -> None:
        try:
            while self._pending:
                data = self._pending[0]
                sent = self._transport.write_nowait(data)
                if sent < len(data):
                    if sent:
                        self._pending[0] = memoryview(data)[sent:]
                    return
                del self._pending[0]
        except OSError:
            self.broken = True

    async def wait_closed(self) -> None:
        """Wait until the client closes; requests pipelined behind the stream are kept, some."""
        parked = 0
        while True:
            await self._transport.wait_readable()
            try:
                data = self._transport.read_nowait()
            except OSError:
                data = b""
            if data == b"":
                self.broken = True
                return
            if data:
                parked += len(data)
                self.parked.append(data)
                if parked > MAX_PARKED_BYTES:
                    self.broken = True  # no client pipelines this much behind a watch
                    return
