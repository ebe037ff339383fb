"""SPDY/3.1 as a client speaks it with a kubelet: streams of bytes in one connection.

Windows are not kept: neither the kubelet nor any container runtime announces what it has taken
(they use moby/spdystream, which knows no such frame), so who waited for that would wait for ever.
The connection's own flow control holds each side back.

Source: SPDY protocol, draft 3.1, sections 2.2 (framing), 2.6 (control frames), 2.6.10 (headers).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import trio

from kubetrio.backend.dial import io_words
from kubetrio.backend.tunnel import send_all
from kubetrio.transport import Transport

DATA, SYN_STREAM, SYN_REPLY, RST_STREAM, PING = 0, 1, 2, 3, 6
"""Kinds of frames; `DATA` is no control frame and has no number of its own."""
FIN = 1
_CONTROL = 0x80000000
_ID = 0x7FFFFFFF
_VERSION = 3
_HEAD_BYTES = 8
MAX_CONTROL_BYTES = 1024 * 1024

_WORDS = (
    "options", "head", "post", "put", "delete", "trace", "accept", "accept-charset",
    "accept-encoding", "accept-language", "accept-ranges", "age", "allow", "authorization",
    "cache-control", "connection", "content-base", "content-encoding", "content-language",
    "content-length", "content-location", "content-md5", "content-range", "content-type", "date",
    "etag", "expect", "expires", "from", "host", "if-match", "if-modified-since", "if-none-match",
    "if-range", "if-unmodified-since", "last-modified", "location", "max-forwards", "pragma",
    "proxy-authenticate", "proxy-authorization", "range", "referer", "retry-after", "server", "te",
    "trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via", "warning",
    "www-authenticate", "method", "get", "status", "200 OK", "version", "HTTP/1.1", "url",
    "public", "set-cookie", "keep-alive", "origin",
)  # fmt: skip
_TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 "
    "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,"
    "text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
    "charset=iso-8859-1,utf-,*,enq=0."
)


def _sized(text: str) -> bytes:
    return struct.pack(">I", len(text)) + text.encode("latin-1")


DICTIONARY = b"".join(map(_sized, _WORDS)) + _TAIL.encode()
"""What both sides' compression of headers begins with (2.6.10.1)."""


class SpdyError(Exception):
    """The connection broke, or what came is not SPDY; the text says which."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What came, of one frame; the bytes of a stream may come in more pieces than were sent.

    Args:
        kind: what it is.
        stream: of which stream, or the number of a ping.
        payload: bytes of the stream; of a frame that opens one what is behind its number.
        fin: whether the stream's other side writes no more.
    """

    kind: int
    stream: int
    payload: bytes = b""
    fin: bool = False


class Framing:
    """Frames from bytes and bytes from frames, of one connection."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=DICTIONARY)
        self._received = bytearray()
        self._data: tuple[int, bool, int] | None = None

    def opening(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """The frame that opens a stream.

        Args:
            stream: its number, odd and higher than those before.
            headers: names in lower case, and values.
        """
        block = struct.pack(">I", len(headers))
        block += b"".join(_sized(name) + _sized(value) for name, value in headers.items())
        packed = self._headers.compress(block) + self._headers.flush(zlib.Z_SYNC_FLUSH)
        return control(SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + packed)

    def feed(self, data: bytes) -> list[Frame]:
        """Frames, and pieces of them, that are in what was received.

        Raises:
            SpdyError: it is no SPDY.
        """
        received = self._received
        received += data
        frames: list[Frame] = []
        while True:
            if self._data is not None:
                stream, fin, left = self._data
                piece = bytes(received[:left])
                del received[:left]
                left -= len(piece)
                if piece or not left:
                    frames.append(Frame(DATA, stream, piece, fin and not left))
                self._data = (stream, fin, left) if left else None
            if self._data is not None or len(received) < _HEAD_BYTES:
                return frames
            first, rest = struct.unpack_from(">II", received)
            fin, size = bool(rest >> 24 & FIN), rest & 0xFFFFFF
            if not first & _CONTROL:
                del received[:_HEAD_BYTES]
                self._data = (first, fin, size)
                continue
            if size > MAX_CONTROL_BYTES or (first & ~_CONTROL) >> 16 != _VERSION:
                raise SpdyError(f"no control frame of SPDY/3: {bytes(received[:_HEAD_BYTES])!r}")
            if len(received) < _HEAD_BYTES + size:
                return frames
            number = int.from_bytes(received[_HEAD_BYTES : _HEAD_BYTES + 4])
            kind = first & 0xFFFF
            opening = kind == SYN_STREAM
            rest = bytes(received[_HEAD_BYTES + 4 : _HEAD_BYTES + size]) if opening else b""
            del received[: _HEAD_BYTES + size]
            frames.append(Frame(kind, number if kind == PING else number & _ID, rest, fin))


def control(kind: int, payload: bytes) -> bytes:
    """A control frame.

    Args:
        kind: what it is.
        payload: its bytes.
    """
    return struct.pack(">HHI", 0x8000 | _VERSION, kind, len(payload)) + payload


def ping(number: int) -> bytes:
    """A ping, or the answer to one: a client's own have odd numbers."""
    return control(PING, struct.pack(">I", number))


def data(stream: int, payload: bytes, *, fin: bool = False) -> bytes:
    """Bytes of a stream.

    Args:
        stream: its number.
        payload: the bytes, less than 16 MiB.
        fin: whether they are the last ones.
    """
    return struct.pack(">II", stream, (FIN if fin else 0) << 24 | len(payload)) + payload


class Session:
    """A client's side of a connection.

    Args:
        transport: the connection, the upgrade answered.
        received: bytes read behind the answer.
    """

    def __init__(self, transport: Transport, received: bytes) -> None:
        self._transport = transport
        self._rest = received
        self._framing = Framing()
        self._next = 1
        self._sending = trio.Lock()

    async def open(self, headers: Mapping[str, str]) -> int:
        """Open a stream, without waiting for the other side to agree; returns its number.

        Raises:
            SpdyError: the connection broke.
        """
        stream, self._next = self._next, self._next + 2
        await self.send(self._framing.opening(stream, headers))
        return stream

    async def send(self, frame: bytes) -> None:
        """Send a frame.

        Raises:
            SpdyError: the connection broke.
        """
        async with self._sending:
            try:
                await send_all(self._transport, frame)
            except OSError as error:
                raise SpdyError(io_words(error, "write")) from error

    async def receive(self) -> list[Frame]:
        """The next frames; none at the end.

        Raises:
            SpdyError: the connection broke, or the other side does not speak SPDY.
        """
        while True:
            received, self._rest = self._rest, b""
            if not received:
                received = await self._read()
            if not received:
                return []
            if frames := self._framing.feed(received):
                return frames

    async def _read(self) -> bytes:
        try:
            while (received := self._transport.read_nowait()) is None:
                await self._transport.wait_readable()
        except OSError as error:
            raise SpdyError(io_words(error)) from error
        await trio.lowlevel.checkpoint()  # a fast sender must not starve the others
        return received
