"""Where one watch event ends and the next begins, both ways, as bytes come and go.

==========  =====================================================================
JSON        one event a line
protobuf    four bytes of length, most significant first, then a ``WatchEvent``
CBOR        a sequence of items (RFC 8742)
==========  =====================================================================

Readers are fed chunks as they arrive and give the frames completed by each.
"""

from __future__ import annotations

from typing import Protocol

from kubetrio.wire.cborscan import ItemScanner

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""The longest frame a reader takes unless told otherwise."""

_HEADER_BYTES = 4


class FrameReader(Protocol):
    """Cuts a stream of bytes into frames."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Frames completed by more bytes.

        Raises:
            ValueError: malformed, or a frame is too long; the reader is of no more use.
        """

    def close(self) -> None:
        """Say that the stream has ended.

        Raises:
            ValueError: in the middle of a frame.
        """


def json_event(event_type: bytes, obj: bytes) -> bytes:
    """A watch event as a line of JSON.

    Args:
        event_type: ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``.
        obj: the object as JSON text.
    """
    return b'{"type":"%b","object":%b}\n' % (event_type, obj)


def delimited(frame: bytes) -> bytes:
    """A frame with its length before it, for protobuf.

    Raises:
        OverflowError: 4 GiB or more.
    """
    return len(frame).to_bytes(_HEADER_BYTES, "big") + frame


class _Buffered:
    """What the readers share.

    Args:
        max_frame_bytes: longest frame taken.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max = max_frame_bytes
        self._buffer = bytearray()

    def close(self) -> None:
        """Say that the stream has ended.

        Raises:
            ValueError: in the middle of a frame.
        """
        if self._buffer:
            raise ValueError("unexpected EOF in the middle of a frame")

    def _too_long(self) -> ValueError:
        return ValueError(f"frame is longer than {self._max} bytes")


class JsonLines(_Buffered):
    """Reader of events on lines; empty lines are skipped."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Lines completed by ``chunk``, without their ends.

        Raises:
            ValueError: a line is too long.
        """
        searched = len(self._buffer)
        self._buffer += chunk
        end = self._buffer.rfind(b"\n", searched)
        lines = []
        if end >= 0:
            lines = [line for line in bytes(self._buffer[:end]).split(b"\n") if line.strip()]
            del self._buffer[: end + 1]
        if len(self._buffer) > self._max or any(len(line) > self._max for line in lines):
            raise self._too_long()
        return lines


class LengthDelimited(_Buffered):
    """Reader of frames with four bytes of length before them."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Frames completed by ``chunk``, without their lengths.

        Raises:
            ValueError: a frame is too long.
        """
        buffer = self._buffer
        buffer += chunk
        frames = []
        start = 0
        while len(buffer) - start >= _HEADER_BYTES:
            length = int.from_bytes(buffer[start : start + _HEADER_BYTES], "big")
            if length > self._max:
                raise self._too_long()
            end = start + _HEADER_BYTES + length
            if end > len(buffer):
                break
            frames.append(bytes(buffer[start + _HEADER_BYTES : end]))
            start = end
        del buffer[:start]
        return frames


class CborSequence(_Buffered):
    """Reader of CBOR items one after another."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        super().__init__(max_frame_bytes)
        self._scanner = ItemScanner()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Items completed by ``chunk``.

        Raises:
            ValueError: malformed, or an item is too long.
        """
        buffer = self._buffer
        buffer += chunk
        frames = []
        while buffer and self._scanner.advance(buffer):
            end = self._scanner.position
            if end > self._max:
                raise self._too_long()
            frames.append(bytes(buffer[:end]))
            del buffer[:end]
            self._scanner = ItemScanner()
        if self._scanner.position > self._max or len(buffer) > self._max:
            raise self._too_long()
        return frames
