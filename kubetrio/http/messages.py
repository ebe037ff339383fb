"""HTTP/1.1 on the wire: parsed request heads in, response heads out.

llhttp (httptools) does the parsing and refuses what RFC 9112 calls ambiguous: two framings at
once, repeated lengths, bare line feeds in heads.
"""

from __future__ import annotations

import http
from email.utils import formatdate
from functools import cache

import httptools

from kubetrio.api.response import Headers

HTTP_11 = "1.1"


class HeadTooLarge(Exception):
    """Request line and headers are over the limit."""


class Message:
    """One request as it comes in.

    Attributes:
        complete: whether the whole body is here.
        size: bytes of body seen, kept or not.
    """

    __slots__ = (
        "chunks",
        "complete",
        "expects_continue",
        "headers",
        "http_11",
        "keep_alive",
        "method",
        "raw_headers",
        "size",
        "target",
        "upgrade",
    )

    def __init__(self) -> None:
        self.method = ""
        self.target = b""
        self.headers: dict[bytes, bytes] = {}
        self.raw_headers: list[tuple[bytes, bytes]] = []
        self.chunks: list[bytes] = []
        self.size = 0
        self.complete = False
        self.keep_alive = True
        self.upgrade = False
        self.expects_continue = False
        self.http_11 = True

    def waiting(self) -> bool:
        """Whether more of the body is to come."""
        return not self.complete


class Parser:
    """Feeds bytes to llhttp and queues the messages whose head is complete.

    Args:
        max_head_bytes: request line and headers of one message.
        max_body_bytes: bodies keep this much and one byte more; the rest is counted and dropped.
    """

    def __init__(self, max_head_bytes: int, max_body_bytes: int) -> None:
        self._max_head = max_head_bytes
        self._max_body = max_body_bytes
        self._parser = httptools.HttpRequestParser(self)
        self._current = Message()
        self._head = 0
        self.queue: list[Message] = []

    def feed(self, data: bytes) -> None:
        """Parse more bytes.

        Raises:
            HeadTooLarge: the head passed its limit.
            httptools.HttpParserError: not HTTP, or ambiguous.
        """
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Bytes behind an upgrade belong to another protocol; `upgrade` tells the loop.
            self._current.upgrade = True
        except httptools.HttpParserCallbackError as error:
            if isinstance(error.__context__, HeadTooLarge):
                raise error.__context__ from None
            raise

    def on_message_begin(self) -> None:
        """Called by llhttp."""
        self._current = Message()
        self._head = 0

    def on_url(self, url: bytes) -> None:
        """Called by llhttp, perhaps in pieces."""
        self._grow(len(url))
        self._current.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by llhttp, once a header."""
        self._grow(len(name) + len(value) + 4)
        message = self._current
        name = name.lower()
        message.raw_headers.append((name, value))
        headers = message.headers
        if name in headers:
            if name == b"host":
                raise httptools.HttpParserError("repeated Host header")
            headers[name] = headers[name] + b", " + value
        else:
            headers[name] = value

    def _grow(self, size: int) -> None:
        self._head += size
        if self._head > self._max_head:
            raise HeadTooLarge

    def on_headers_complete(self) -> None:
        """Called by llhttp: the message can be served, its body may still come."""
        message, parser = self._current, self._parser
        message.method = parser.get_method().decode("ascii")
        message.http_11 = parser.get_http_version() == HTTP_11
        message.keep_alive = parser.should_keep_alive()
        message.upgrade = parser.should_upgrade()
        expect = message.headers.get(b"expect")
        message.expects_continue = expect is not None and expect.lower() == b"100-continue"
        self.queue.append(message)

    def on_body(self, body: bytes) -> None:
        """Called by llhttp, a piece at a time."""
        message = self._current
        if message.size <= self._max_body:
            message.chunks.append(body)
        message.size += len(body)

    def on_message_complete(self) -> None:
        """Called by llhttp."""
        self._current.complete = True


@cache
def status_line(status: int) -> bytes:
    """The first line of a response."""
    try:
        phrase = http.HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode("latin-1")


class DateHeader:
    """The ``Date`` header, formatted once a second."""

    def __init__(self) -> None:
        self._second = -1
        self._line = b""

    def line(self, now: float) -> bytes:
        """The header line for a wall-clock time (seconds since the epoch)."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._line = b"Date: " + formatdate(second, usegmt=True).encode("ascii") + b"\r\n"
        return self._line


def head(
    status: int, content_type: bytes, headers: Headers, framing: bytes, date: bytes, audit_id: str
) -> bytes:
    """A response head.

    Args:
        status: HTTP status code.
        content_type: media type, or empty.
        headers: further headers.
        framing: the line that tells the body's length, with its end of line.
        date: the ``Date`` line.
        audit_id: identity of the request.
    """
    parts = [status_line(status)]
    if audit_id:
        parts.append(b"Audit-Id: %b\r\n" % audit_id.encode("latin-1"))
    if content_type:
        parts.append(b"Content-Type: %b\r\n" % content_type)
    for name, value in headers:
        parts.append(b"%b: %b\r\n" % (name, value))
    parts.append(date)
    parts.append(framing)
    parts.append(b"\r\n")
    return b"".join(parts)


def chunk(payload: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(payload), payload)


LAST_CHUNK = b"0\r\n\r\n"
