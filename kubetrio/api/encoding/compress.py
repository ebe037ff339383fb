"""The encode stage: large answers are compressed for clients that ask for it.

As kube-apiserver does: gzip level 1, bodies over 128 KiB, never watches.  The work is done in a
thread, a chunk at a time.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Awaitable, Callable

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse, TunnelResponse
from kubetrio.env import Env
from kubetrio.resources.segments.piece import LEVEL, RAW, Piece, checksum, squeezed_once

THRESHOLD_BYTES = 128 * 1024
SENT_BYTES = 64 * 1024
"""Compressed bytes that are sent together."""
HEADER = b"\x1f\x8b\x08\0\0\0\0\0\x04\xff"
"""Of gzip: no name, no time, the fastest algorithm, any system (RFC 1952, 2.3)."""
HEADERS = ((b"Content-Encoding", b"gzip"), (b"Vary", b"Accept-Encoding"))


WEIGHED = ("/openapi/", "/metrics")
"""Paths whose handlers in kube-apiserver compress by themselves, and read weights."""


def wanted(request: Request) -> bool:
    """Whether the client takes gzip.

    For answers of the API it says so with the very word and no weight; elsewhere a weight of 0
    refuses (RFC 9110, Accept-Encoding).
    """
    header = request.headers.get(b"accept-encoding")
    if not header or b"gzip" not in header:
        return False
    if not request.raw_path.startswith(WEIGHED):
        return any(entry.strip() == b"gzip" for entry in header.split(b","))
    for entry in header.split(b","):
        name, _, weight = entry.partition(b";")
        if name.strip() == b"gzip":
            return weight.replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


def compresses(response: AnyResponse) -> bool:
    """Whether an answer is large enough, or may become so."""
    return not isinstance(response, Response) or len(response.body) > THRESHOLD_BYTES


async def compress(request: Request, response: AnyResponse, env: Env) -> AnyResponse:
    """The answer as it is sent, compressed where that is asked for and worth it."""
    if isinstance(response, Response):
        if not compresses(response) or not wanted(request):
            return response
        body = await env.run_blocking(_gzip, response.body)
        headers = (*response.headers, *HEADERS)
        return Response(response.status, body, response.content_type, headers)
    if isinstance(response, TunnelResponse) or response.long_running or not wanted(request):
        return response
    return StreamResponse(
        response.status,
        _compressed(response.run, env),
        response.content_type,
        (*response.headers, *HEADERS),
    )


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, LEVEL, mtime=0)


def _compressed(
    run: Callable[[Channel], Awaitable[None]], env: Env
) -> Callable[[Channel], Awaitable[None]]:
    async def compressed(channel: Channel) -> None:
        squeezing = GzipChannel(channel, env)
        await run(squeezing)
        await squeezing.finish()

    return compressed


class GzipChannel:
    """Compresses what a stream writes; for lists, whose writers wait for each piece.

    Args:
        channel: where compressed bytes go.
        env: threads.
    """

    framing = "gzip"

    def __init__(self, channel: Channel, env: Env) -> None:
        self._channel = channel
        self._env = env
        self._packer = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW)
        self._clean = True  # whether what follows may refer to nothing
        self._crc = self._size = 0
        self._held = [HEADER]
        self._held_bytes = len(HEADER)

    def frame(self, payload: bytes) -> bytes:
        """Framing happens behind compression."""
        return payload

    def offer(self, wire: bytes) -> bool:
        """Lists do not push; see `Channel`."""
        raise NotImplementedError("a compressed stream is written with send")

    async def send(self, wire: bytes) -> None:
        """Compress and send; see `Channel`.  Pieces that are kept are compressed once."""
        if not isinstance(wire, Piece):
            self._clean = False
            self._size += len(wire)
            self._hold(await self._env.run_blocking(self._pack, wire))
        else:
            squeezed = await squeezed_once(wire, self._env.run_blocking)
            if not self._clean:
                self._hold(self._packer.flush(zlib.Z_FULL_FLUSH))
                self._clean = True
            self._crc = checksum(self._crc, squeezed.crc, squeezed.shift)
            self._size += squeezed.size
            self._hold(squeezed.data)
        if self._held_bytes >= SENT_BYTES:
            await self._send_held()

    def _pack(self, wire: bytes) -> bytes:
        self._crc = zlib.crc32(wire, self._crc)
        return self._packer.compress(wire)

    def _hold(self, data: bytes) -> None:
        self._held.append(data)
        self._held_bytes += len(data)

    async def _send_held(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        self._held_bytes = 0
        await self._channel.send(self._channel.frame(data))

    async def finish(self) -> None:
        """Send what is left, and the end."""
        self._hold(self._packer.flush(zlib.Z_FINISH))
        self._hold(struct.pack("<II", self._crc, self._size & 0xFFFFFFFF))
        await self._send_held()

    async def wait_closed(self) -> None:
        """See `Channel`."""
        await self._channel.wait_closed()
