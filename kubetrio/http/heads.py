"""HTTP/1.1 response heads and chunks; nearly all answers have one of a few sets of fields."""

from __future__ import annotations

import http
from email.utils import formatdate
from functools import cache

from kubetrio.api.response import Headers
from kubetrio.machinery.remember import counted_map

REMEMBERED_BYTES = 4096  # of the fields of a head: a client may choose some of them
REMEMBERED_FIELDS = 256


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
        parts += (b"Audit-Id: ", audit_id.encode("latin-1"), b"\r\n")
    key = (content_type, tuple(headers))
    parts += (_FIELDS.get(key) or _fields(key), date, framing, b"\r\n")
    return b"".join(parts)


_FIELDS: dict[tuple[bytes, Headers], bytes] = {}
counted_map(__name__, _FIELDS, lambda key: len(key[0]) + sum(len(a) + len(b) for a, b in key[1]))


def _fields(key: tuple[bytes, Headers]) -> bytes:
    """Header lines; nearly all answers have one of a few sets, which are remembered."""
    content_type, headers = key
    lines = [b"%b: %b\r\n" % field for field in headers]
    if content_type:
        lines.insert(0, b"Content-Type: %b\r\n" % content_type)
    text = b"".join(lines)
    if len(text) <= REMEMBERED_BYTES:
        if len(_FIELDS) >= REMEMBERED_FIELDS:
            _FIELDS.clear()
        _FIELDS[key] = text
    return text


def chunk(payload: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(payload), payload)


LAST_CHUNK = b"0\r\n\r\n"
