"""HTTP/2 as a gRPC client needs it: bytes in, bytes out, no I/O.

A gRPC client uses little of HTTP/2: it begins streams with headers that are nearly always the same,
sends data, and reads headers, data and trailers.  So a block of request headers is encoded once and
a block of response headers is decoded once; the server is told to keep no dynamic table, so that
equal blocks mean equal headers.  The library h2 does the bookkeeping of both sides of every
extension for each frame, which took three times the CPU (docs/design/etcd.md).

What comes in is bounded: by the windows of streams, which their reader opens again (`give`), and by
the length of a frame.

Source: RFC 9113 (HTTP/2), RFC 7541 (HPACK, by the library hpack).
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from hpack import Decoder, Encoder, HPACKError

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_BYTES: Final = 16_384
WINDOW: Final = 65_535
LARGEST_WINDOW: Final = 2**31 - 1
STREAM_WINDOW: Final = 1024 * 1024
HEADERS_BYTES: Final = 64 * 1024
LAST_STREAM: Final = 2**31 - 1
CACHED_BLOCKS: Final = 256
GIVE_BACK: Final = 16 * 1024 * 1024  # of the connection's window, used


class Kind(enum.IntEnum):
    """Types of frames."""

    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


class Reset(enum.IntEnum):
    """Error codes that this side sends or acts on."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    FLOW_CONTROL_ERROR = 3
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11


_END_STREAM = _ACK = 0x1
_END_HEADERS, _PADDED, _PRIORITY = 0x4, 0x8, 0x20
_HEADER_TABLE_SIZE, _ENABLE_PUSH, _MAX_STREAMS, _INITIAL_WINDOW = 1, 2, 3, 4


class ProtocolError(Exception):
    """The peer does not speak HTTP/2 as the standard has it."""


class Headers(NamedTuple):
    """Headers of a stream, or its trailers.

    Args:
        values: by lower-case name; of repeated ones the last.
        ended: whether the stream ends with them.
    """

    values: Mapping[str, str]
    ended: bool


class StreamReader(Protocol):
    """What a stream is read by; called from `Http2.receive`."""

    def headers(self, headers: Headers) -> None:
        """Take headers or trailers."""
        ...

    def data(self, data: bytes, *, ended: bool) -> None:
        """Take bytes; `Http2.give` opens the window for more."""
        ...

    def lost(self, why: str) -> None:
        """Take the end of the connection."""
        ...

    def reset(self, code: int, *, refused: bool) -> None:
        """Take the end of the stream, by the peer.

        Args:
            code: HTTP/2's error code.
            refused: whether the peer has not looked at the request.
        """
        ...


class _Stream:
    """One stream.

    Args:
        reader: what reads it.
        window: bytes that may be sent.
    """

    __slots__ = ("reader", "unsent", "window")

    def __init__(self, reader: StreamReader, window: int) -> None:
        self.reader = reader
        self.window = window
        self.unsent = 0


class _Unsent(NamedTuple):
    """Data that no window had room for."""

    stream_id: int
    data: memoryview
    end: bool


class Http2:
    """The client's end of one connection.

    Bytes to send are appended to `out`, from which the owner of the connection takes them.
    """

    def __init__(self) -> None:
        self.out = bytearray(PREFACE)
        self.streams: dict[int, _Stream] = {}
        self.goaway: int | None = None
        """Last stream that the peer looks at, once it has said that it takes no new ones."""
        self.max_streams = LAST_STREAM
        self.settled = False
        """Whether the peer has said how it speaks HTTP/2, which it does first."""
        self.acknowledged_pings = 0
        self._next = 1
        self._inbound = bytearray()
        self._encoder = Encoder()
        self._encoder.header_table_size = 0
        self._decoder = Decoder(HEADERS_BYTES)
        self._blocks: dict[bytes, Mapping[str, str]] = {}
        self._part: tuple[int, int, bytes] | None = None  # of headers that go on
        self._window = WINDOW  # of the connection, to send
        self._initial_window = WINDOW  # of new streams, to send
        self._used = 0  # of the connection's window, received
        self._unsent: deque[_Unsent] = deque()
        settings = ((_HEADER_TABLE_SIZE, 0), (_ENABLE_PUSH, 0), (_INITIAL_WINDOW, STREAM_WINDOW))
        pairs = (key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in settings)
        self._frame(Kind.SETTINGS, 0, 0, b"".join(pairs))
        self._update_window(0, LARGEST_WINDOW - WINDOW)

    # ------------------------------------------------------------------ out

    @property
    def usable(self) -> bool:
        """Whether a new stream may be begun, now or when another has ended."""
        return self.goaway is None and self._next < LAST_STREAM

    @property
    def room(self) -> bool:
        """Whether the peer takes one more stream now."""
        return len(self.streams) < self.max_streams

    def encode(self, headers: Iterable[tuple[str, str]]) -> bytes:
        """Return a block of headers that can be sent with any stream of any connection."""
        # Never indexed, so that the block says nothing of a table.
        block: bytes = self._encoder.encode([(key, value, True) for key, value in headers])
        return block

    def begin(self, block: bytes, reader: StreamReader) -> int:
        """Begin a stream; returns its number.

        Args:
            block: of `encode`, at most `FRAME_BYTES`.
            reader: what reads the answer.
        """
        stream_id = self._next
        self._next += 2
        self.streams[stream_id] = _Stream(reader, self._initial_window)
        self._frame(Kind.HEADERS, _END_HEADERS, stream_id, block)
        return stream_id

    def send(self, stream_id: int, data: bytes, *, end: bool) -> None:
        """Send data of a stream that is open, as soon as the windows have room for it."""
        stream = self.streams[stream_id]
        size = len(data)
        if not stream.unsent and size <= min(stream.window, self._window, FRAME_BYTES):
            stream.window -= size
            self._window -= size
            self._frame(Kind.DATA, _END_STREAM if end else 0, stream_id, data)
            return
        stream.unsent += 1
        self._unsent.append(_Unsent(stream_id, memoryview(data), end))
        self._send_unsent()

    def reset(self, stream_id: int, code: int = Reset.CANCEL) -> None:
        """End a stream, if it is open."""
        if self.streams.pop(stream_id, None) is not None:
            self._frame(Kind.RST_STREAM, 0, stream_id, code.to_bytes(4, "big"))
            self._forget_unsent(stream_id)

    def give(self, stream_id: int, size: int) -> None:
        """Let the peer send so many more bytes of a stream, if it is open."""
        if size and stream_id in self.streams:
            self._update_window(stream_id, size)

    def ping(self) -> None:
        """Ask the peer for a sign of life (`acknowledged_pings`)."""
        self._frame(Kind.PING, 0, 0, bytes(8))

    def close(self) -> None:
        """Say that this side begins no more streams."""
        self._frame(Kind.GOAWAY, 0, 0, bytes(8))

    def _frame(self, kind: int, flags: int, stream_id: int, payload: bytes | memoryview) -> None:
        self.out += b"%b%c%c%b" % (
            len(payload).to_bytes(3, "big"),
            kind,
            flags,
            stream_id.to_bytes(4, "big"),
        )
        self.out += payload

    def _update_window(self, stream_id: int, size: int) -> None:
        self._frame(Kind.WINDOW_UPDATE, 0, stream_id, size.to_bytes(4, "big"))

    def _send_unsent(self) -> None:
        """Send what the windows have room for now; a stream without room keeps its order."""
        kept: deque[_Unsent] = deque()
        blocked: set[int] = set()
        while self._unsent:
            item = self._unsent.popleft()
            stream = self.streams.get(item.stream_id)
            if stream is None:
                continue
            rest: _Unsent | None = item
            if item.stream_id not in blocked:
                rest = self._send_part(stream, item)
            if rest is not None:
                blocked.add(item.stream_id)
                kept.append(rest)
        self._unsent = kept

    def _send_part(self, stream: _Stream, item: _Unsent) -> _Unsent | None:
        """Send what the windows have room for; returns the rest."""
        data = item.data
        while True:
            size = min(len(data), stream.window, self._window, FRAME_BYTES)
            if data and size <= 0:
                return item._replace(data=data)
            last = item.end and size == len(data)
            self._frame(Kind.DATA, _END_STREAM if last else 0, item.stream_id, data[:size])
            stream.window -= size
            self._window -= size
            data = data[size:]
            if not data:
                stream.unsent -= 1
                return None

    def _forget_unsent(self, stream_id: int) -> None:
        if self._unsent:
            self._unsent = deque(each for each in self._unsent if each.stream_id != stream_id)

    # ------------------------------------------------------------------ in

    def receive(self, data: bytes) -> None:
        """Take bytes that came, and tell the readers of streams.

        Raises:
            ProtocolError: the connection cannot be used any more.
        """
        inbound = self._inbound
        inbound += data
        position, end = 0, len(inbound)
        while end - position >= 9:
            length = int.from_bytes(inbound[position : position + 3], "big")
            if length > FRAME_BYTES:
                raise ProtocolError(f"a frame of {length} bytes")
            begin = position + 9
            if end - begin < length:
                break
            kind, flags = inbound[position + 3], inbound[position + 4]
            stream_id = int.from_bytes(inbound[position + 5 : begin], "big") & LAST_STREAM
            position = begin + length
            self._take(kind, flags, stream_id, bytes(inbound[begin:position]))
        del inbound[:position]

    def _take(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if self._part is not None and kind != Kind.CONTINUATION:
            raise ProtocolError("headers that do not end")
        match kind:
            case Kind.DATA:
                self._take_data(flags, stream_id, payload)
            case Kind.HEADERS:
                if flags & _PRIORITY or flags & _PADDED:
                    payload = _plain_headers(flags, payload)
                self._take_headers(flags, stream_id, payload)
            case Kind.CONTINUATION:
                if self._part is None or self._part[0] != stream_id:
                    raise ProtocolError("a continuation of nothing")
                first = self._part[1]
                payload = self._part[2] + payload
                self._part = None
                self._take_headers(flags | first, stream_id, payload)
            case Kind.RST_STREAM:
                self._take_reset(stream_id, int.from_bytes(payload[:4], "big"))
            case Kind.SETTINGS if not flags & _ACK:
                self._take_settings(payload)
                self._frame(Kind.SETTINGS, _ACK, 0, b"")
            case Kind.PING if flags & _ACK:
                self.acknowledged_pings += 1
            case Kind.PING:
                self._frame(Kind.PING, _ACK, 0, payload)
            case Kind.GOAWAY:
                self._take_goaway(payload)
            case Kind.WINDOW_UPDATE:
                self._take_window(stream_id, int.from_bytes(payload[:4], "big") & LAST_STREAM)
            case Kind.PUSH_PROMISE:
                raise ProtocolError("a push")
            case _:
                pass  # frames that are not known are ignored (RFC 9113, 4.1)

    def _take_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        size = len(payload)
        self._used += size
        if self._used >= GIVE_BACK:
            self._update_window(0, self._used)
            self._used = 0
        stream = self.streams.get(stream_id)
        if stream is None:
            return  # it was reset here, and the peer has not heard of that yet
        if flags & _PADDED:
            payload = _without_padding(payload)
            self.give(stream_id, size - len(payload))
        ended = bool(flags & _END_STREAM)
        if ended:
            self._end(stream_id)
        stream.reader.data(payload, ended=ended)

    def _take_headers(self, flags: int, stream_id: int, block: bytes) -> None:
        if len(block) > HEADERS_BYTES:
            raise ProtocolError("headers are too large")
        if not flags & _END_HEADERS:
            self._part = (stream_id, flags, block)
            return
        values = self._decoded(block)
        stream = self.streams.get(stream_id)
        if stream is None:
            return
        ended = bool(flags & _END_STREAM)
        if ended:
            self._end(stream_id)
        stream.reader.headers(Headers(values, ended))

    def _decoded(self, block: bytes) -> Mapping[str, str]:
        known = self._blocks.get(block)
        if known is not None:
            return known
        try:
            pairs = self._decoder.decode(block)
        except HPACKError as error:
            raise ProtocolError(f"headers cannot be read: {error}") from error
        values = {str(name): str(value) for name, value in pairs}
        if not self._decoder.header_table.dynamic_entries:
            if len(self._blocks) >= CACHED_BLOCKS:
                self._blocks.clear()
            self._blocks[block] = values
        return values

    def _end(self, stream_id: int) -> None:
        """Forget a stream that the peer has ended; what was not sent of it is not wanted."""
        stream = self.streams.pop(stream_id)
        if stream.unsent:
            self._frame(Kind.RST_STREAM, 0, stream_id, bytes(4))
            self._forget_unsent(stream_id)

    def _take_reset(self, stream_id: int, code: int) -> None:
        stream = self.streams.pop(stream_id, None)
        if stream is not None:
            self._forget_unsent(stream_id)
            stream.reader.reset(code, refused=code == Reset.REFUSED_STREAM)

    def _take_settings(self, payload: bytes) -> None:
        for at in range(0, len(payload) - 5, 6):
            value = int.from_bytes(payload[at + 2 : at + 6], "big")
            setting = int.from_bytes(payload[at : at + 2], "big")
            if setting == _MAX_STREAMS:
                self.max_streams = value
            elif setting == _INITIAL_WINDOW:
                more = value - self._initial_window
                self._initial_window = value
                for stream in self.streams.values():
                    stream.window += more
        self.settled = True
        self._send_unsent()

    def _take_goaway(self, payload: bytes) -> None:
        last = int.from_bytes(payload[:4], "big") & LAST_STREAM
        self.goaway = last
        code = int.from_bytes(payload[4:8], "big")
        for stream_id in [each for each in self.streams if each > last]:
            self.streams.pop(stream_id).reader.reset(code, refused=True)
            self._forget_unsent(stream_id)

    def _take_window(self, stream_id: int, size: int) -> None:
        if stream_id == 0:
            self._window += size
        elif (stream := self.streams.get(stream_id)) is not None:
            stream.window += size
        if self._unsent:
            self._send_unsent()

    def lost(self, why: str) -> None:
        """Tell all readers that the connection is gone, and why."""
        streams, self.streams = self.streams, {}
        self._unsent.clear()
        for stream in streams.values():
            stream.reader.lost(why)


def _plain_headers(flags: int, payload: bytes) -> bytes:
    """Headers without padding and priority."""
    if flags & _PADDED:
        payload = _without_padding(payload)
    return payload[5:] if flags & _PRIORITY else payload


def _without_padding(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise ProtocolError("padding longer than the frame")
    return payload[1 : len(payload) - payload[0]]
