"""An HTTP/1.1 client over any transport: it writes what it is given and reads strictly.

It also writes what is not HTTP.  A missing byte, a second status line or a wrong chunk of an answer
raises `BadAnswer`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import trio

from kubetrio.transport import Transport

HOST = b"test"
BODILESS = frozenset({204, 304})


class BadAnswer(Exception):
    """The server wrote something that is not an HTTP/1.1 answer, or less than one."""


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers of an answer.

    Args:
        status: HTTP status code.
        headers: lower-case names and values, in order.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]

    def get(self, name: bytes) -> bytes:
        """A header's values joined by a comma, empty when absent."""
        return b", ".join(value for key, value in self.headers if key == name)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer.

    Args:
        head: status line and headers.
        body: the bytes after it, without framing.
    """

    head: Head
    body: bytes

    @property
    def status(self) -> int:
        """HTTP status code."""
        return self.head.status

    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)


def encode_request(
    method: str,
    target: str,
    headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
    body: bytes | None = None,
) -> bytes:
    """A request as bytes: with Host, and with Content-Length where there is a body.

    Args:
        method: HTTP method.
        target: path and query as they go on the wire.
        headers: further headers; pairs where a name is repeated.
        body: the body, None for none.
    """
    lines = [f"{method} {target} HTTP/1.1".encode("latin-1"), b"Host: " + HOST]
    rows = headers.items() if isinstance(headers, Mapping) else headers or ()
    for name, value in rows:
        lines.append(f"{name}: {value}".encode("latin-1"))
    if body is not None:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


class Exchange:
    """Requests and answers over any transport.

    Args:
        transport: the client's end of a connection.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._buffer = bytearray()

    async def send(self, data: bytes) -> None:
        """Write bytes, waiting for room.

        Raises:
            OSError: the server closed the connection.
        """
        view = memoryview(data)
        while view:
            sent = self.transport.write_nowait(view)
            view = view[sent:]
            if view:
                await self.transport.wait_writable()

    async def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        *,
        json: Any = None,
    ) -> Answer:
        """Send a request and read its whole answer.

        Args:
            method: HTTP method.
            target: path and query as they go on the wire.
            headers: further headers.
            body: the body, None for none.
            json: a value to send instead of `body`.
        """
        given = dict(headers or {})
        if json is not None:
            body = orjson.dumps(json)
            given.setdefault("Content-Type", "application/json")
        await self.send(encode_request(method, target, given, body))
        return await self.receive(method)

    async def receive(self, method: str = "GET") -> Answer:
        """Read one answer.

        Args:
            method: method of the request, for HEAD has no body.

        Raises:
            BadAnswer: it is none.
        """
        head = await self.head()
        return Answer(head, await self.body(head, method))

    async def head(self) -> Head:
        """Read status line and headers.

        Raises:
            BadAnswer: they are none.
        """
        lines = bytes(await self._until(b"\r\n\r\n")).split(b"\r\n")
        version, _, rest = lines[0].partition(b" ")
        status = rest[:3]
        if version != b"HTTP/1.1" or not status.isdigit() or rest[3:4] not in (b" ", b""):
            raise BadAnswer(f"status line {lines[0]!r}")
        headers = []
        for line in lines[1:]:
            name, colon, value = line.partition(b": ")
            if not colon or not name or b"\n" in line:
                raise BadAnswer(f"header line {line!r}")
            headers.append((name.lower(), value))
        return Head(int(status), tuple(headers))

    async def body(self, head: Head, method: str = "GET") -> bytes:
        """Read the body behind a head.

        Raises:
            BadAnswer: it ends early or is framed wrongly.
        """
        if method == "HEAD" or head.status < 200 or head.status in BODILESS:
            return b""
        if head.get(b"transfer-encoding") == b"chunked":
            return b"".join([chunk async for chunk in self.chunks()])
        length = head.get(b"content-length")
        if length:
            return bytes(await self._exactly(int(length)))
        while await self._more():
            pass
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    async def chunks(self) -> AsyncIterator[bytes]:
        """Read the chunks of a body up to and with the last, empty one.

        Raises:
            BadAnswer: a chunk is framed wrongly or missing.
        """
        while chunk := await self.chunk():
            yield chunk

    async def chunk(self) -> bytes:
        """Read one chunk; empty for the last.

        Raises:
            BadAnswer: it is framed wrongly or missing.
        """
        line = bytes(await self._until(b"\r\n"))
        if not line or line.strip(b"0123456789abcdef"):
            raise BadAnswer(f"chunk size {line!r}")
        data = bytes(await self._exactly(int(line, 16)))
        if await self._exactly(2) != b"\r\n":
            raise BadAnswer("a chunk without its end")
        return data

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        while await self._more():
            pass
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    async def _until(self, end: bytes) -> bytearray:
        while (at := self._buffer.find(end)) < 0:
            if not await self._more():
                raise BadAnswer(f"the connection ended in {bytes(self._buffer)!r}")
        part = self._buffer[:at]
        del self._buffer[: at + len(end)]
        return part

    async def _exactly(self, size: int) -> bytearray:
        while len(self._buffer) < size:
            if not await self._more():
                raise BadAnswer(f"{size - len(self._buffer)} bytes are missing")
        part = self._buffer[:size]
        del self._buffer[:size]
        return part

    async def _more(self) -> bool:
        while (data := self.transport.read_nowait()) is None:
            await self.transport.wait_readable()
        self._buffer += data
        await trio.lowlevel.checkpoint()
        return bool(data)
