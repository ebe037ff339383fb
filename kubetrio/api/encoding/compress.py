"""The encode stage: large answers are compressed for clients that ask for it.

As kube-apiserver does: gzip level 1, bodies over 128 KiB, never watches.  The work is done in a
thread, a chunk at a time.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Awaitable, Callable

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse, TunnelResponse
from kubetrio.env import Env

THRESHOLD_BYTES = 128 * 1024
LEVEL = 1
GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib's way to say "with a gzip header"
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
        self._compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP_WINDOW)

    def frame(self, payload: bytes) -> bytes:
        """Framing happens behind compression."""
        return payload

    def offer(self, wire: bytes) -> bool:
        """Lists do not push; see `Channel`."""
        raise NotImplementedError("a compressed stream is written with send")

    async def send(self, wire: bytes) -> None:
        """Compress and send; see `Channel`."""
        squeezed = await self._env.run_blocking(self._compressor.compress, wire)
        if squeezed:
            await self._channel.send(self._channel.frame(squeezed))

    async def finish(self) -> None:
        """Send what the compressor still holds."""
        await self._channel.send(self._channel.frame(self._compressor.flush()))

    async def wait_closed(self) -> None:
        """See `Channel`."""
        await self._channel.wait_closed()
