"""The other side of SPDY: what a kubelet does with the streams that a client opens.

Source: SPDY protocol, draft 3.1, sections 2.6.1 (SYN_STREAM), 2.6.2 (SYN_REPLY), 2.6.10 (headers).
"""

from __future__ import annotations

import struct
import zlib

from kubetrio.backend.spdy import (
    DICTIONARY,
    SYN_REPLY,
    SYN_STREAM,
    Frame,
    Framing,
    SpdyError,
    control,
)

_BLOCK = 6
"""Where the headers begin, behind the associated stream, the priority and the slot."""
MOST_HEADERS, MOST_BYTES = 64, 64 * 1024


class ServerFraming:
    """Frames that a client sends, and answers to those that open streams."""

    def __init__(self) -> None:
        self._framing = Framing()
        self._received = zlib.decompressobj(zdict=DICTIONARY)
        self._sent = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> list[Frame]:
        """Frames that are in what was received; see `Framing.feed`.

        Raises:
            SpdyError: it is no SPDY.
        """
        return self._framing.feed(data)

    def headers(self, frame: Frame) -> dict[str, str]:
        """The headers of a frame that opens a stream; each such frame is read once, in order.

        Raises:
            SpdyError: they cannot be read.
        """
        if frame.kind != SYN_STREAM:
            raise SpdyError("no frame that opens a stream")
        try:
            block = self._received.decompress(frame.payload[_BLOCK:], MOST_BYTES)
            if self._received.unconsumed_tail:
                raise SpdyError(f"headers of more than {MOST_BYTES} bytes")
            (count,) = struct.unpack_from(">I", block)
            if count > MOST_HEADERS:
                raise SpdyError(f"more than {MOST_HEADERS} headers")
            texts, place = list[str](), 4
            for _ in range(2 * count):
                (size,) = struct.unpack_from(">I", block, place)
                texts.append(block[place + 4 : place + 4 + size].decode("latin-1"))
                place += 4 + size
        except (zlib.error, struct.error) as error:
            raise SpdyError(f"headers cannot be read: {error}") from error
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def reply(self, stream: int) -> bytes:
        """The frame that agrees to a stream.

        Args:
            stream: its number.
        """
        none = self._sent.compress(bytes(4)) + self._sent.flush(zlib.Z_SYNC_FLUSH)
        return control(SYN_REPLY, struct.pack(">I", stream) + none)
