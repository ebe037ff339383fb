"""Passing requests on: HTTP to a backend and back.

Headers of one hop end here, credentials stay here, and the backend learns where the request came
from.  Bodies are streamed both ways; neither side is read faster than the other takes it.

Source: kube-apiserver's proxies (docs "Access Services Running on Clusters").
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from urllib.parse import quote

import trio

from kubetrio.api.api import Edge
from kubetrio.api.proxy.headers import CORS, end_to_end, forwarded_for, rewrite_url, without_secrets
from kubetrio.api.proxy.locations import PATH_SAFE, Location, clean_path, connected
from kubetrio.api.request import Request
from kubetrio.api.response import (
    AnyResponse,
    Channel,
    ClientGone,
    Headers,
    Response,
    StreamResponse,
)
from kubetrio.backend.dial import DialError
from kubetrio.backend.exchange import (
    BODILESS,
    AnswerHead,
    BackendError,
    Exchange,
    Upload,
    encode_head,
)
from kubetrio.machinery.status import ApiError
from kubetrio.transport import Transport

OURS = frozenset({b"content-length", b"content-type", b"date"})  # the answer gets its own
MOVED = 301
CODINGS = ("", "gzip", "deflate")  # of pages whose links can be rewritten
MAX_PAGE_BYTES = 1024 * 1024  # larger ones are no pages to click through


def unknown_error(message: str) -> ApiError:
    """500 for what kube-apiserver has no reason for."""
    return ApiError(500, "", message)


class closing_on_error(contextlib.AbstractContextManager[None]):  # noqa: N801  (reads as a verb)
    """Closes a connection when the block is left by an exception.

    Args:
        transport: the connection.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._transport.close()


class Owner:
    """Runs with a connection to a backend, and closes it, also when it is never run.

    Args:
        exchange: what the connection is for.
    """

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._begun = False

    def begin(self) -> None:
        """Take over the closing."""
        self._begun = True

    def __del__(self) -> None:
        if not self._begun:
            with contextlib.suppress(RuntimeError):  # outside of Trio the process is at its end
                self.exchange.transport.close()


@contextlib.contextmanager
def stoppable(streams: set[trio.CancelScope]) -> Iterator[trio.CancelScope]:
    """A scope that shutdown ends.

    Args:
        streams: where shutdown finds it.
    """
    with trio.CancelScope() as scope:
        streams.add(scope)
        try:
            yield scope
        finally:
            streams.discard(scope)


# ---------------------------------------------------------------------- answers


class Relay(Owner):
    """Writes a backend's answer to a client, and what is left of the request to the backend.

    Args:
        exchange: its answer has begun.
    """

    async def __call__(self, channel: Channel) -> None:
        """See `StreamResponse.run`."""
        self.begin()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._upload, channel, nursery.cancel_scope, name="upload")
                await self._copy(channel)
                nursery.cancel_scope.cancel()
        finally:
            self.exchange.transport.close()

    async def _upload(self, channel: Channel, scope: trio.CancelScope) -> None:
        try:
            await self.exchange.send()
        except ApiError:
            raise ClientGone from None
        await channel.wait_closed()
        scope.cancel()

    async def _copy(self, channel: Channel) -> None:
        while True:
            try:
                piece = await self.exchange.read()
            except BackendError:
                raise ClientGone from None  # all that is left is to break off, too
            if not piece:
                return
            await channel.send(channel.frame(piece))


class Page(Relay):
    """Writes an HTML page with links that lead through the proxy; a very large one as it is.

    Args:
        exchange: its answer has begun.
        rewrite: makes the page another one.
    """

    def __init__(self, exchange: Exchange, rewrite: Callable[[bytes], Awaitable[bytes]]) -> None:
        super().__init__(exchange)
        self._rewrite = rewrite

    async def _copy(self, channel: Channel) -> None:
        page = bytearray()
        while len(page) <= MAX_PAGE_BYTES:
            try:
                piece = await self.exchange.read()
            except BackendError:
                raise ClientGone from None
            if not piece:
                if page:
                    await channel.send(channel.frame(await self._rewrite(bytes(page))))
                return
            page += piece
        await channel.send(channel.frame(bytes(page)))
        await super()._copy(channel)


async def nothing(channel: Channel) -> None:
    """Write no body."""
    del channel
    await trio.lowlevel.checkpoint()


def answered(
    exchange: Exchange,
    answer: AnswerHead,
    headers: Headers | None = None,
    relay: Relay | None = None,
) -> AnyResponse:
    """A backend's answer as ours.

    Args:
        exchange: its answer has begun.
        answer: the head of it.
        headers: instead of the answer's own.
        relay: writes the body, instead of passing it on as it is.
    """
    headers = end_to_end(answer.headers) if headers is None else headers
    headers = tuple((name.title(), value) for name, value in headers if name.lower() not in OURS)
    if answer.status in BODILESS:
        exchange.transport.close()
        return Response(answer.status, b"", b"", headers)
    response = StreamResponse(
        answer.status,
        nothing,
        answer.get(b"content-type"),
        headers,
        long_running=True,
        length=answer.length,
        patient=True,
    )
    if exchange.method == "HEAD":
        exchange.transport.close()
    else:
        response.run = relay or Relay(exchange)
    return response


# ---------------------------------------------------------------------- plain HTTP


async def upload_of(request: Request) -> Upload | None:
    """The body of a request, None when it has none."""
    declared = request.headers.get(b"content-length")
    if declared is not None:
        return Upload(request.pull_body, int(declared)) if int(declared) else None
    if b"transfer-encoding" in request.headers:
        return Upload(request.pull_body, None)
    first = await request.pull_body() if request.unsized else b""
    if not first:
        return None
    begun = [first]

    async def pull() -> bytes:
        return begun.pop() if begun else await request.pull_body()

    return Upload(pull, None)


async def forward(edge: Edge, request: Request, location: Location) -> AnyResponse:
    """Pass a request on and its answer back.

    Args:
        edge: whose backends.
        request: whatever it asks for.
        location: who answers it, with the path behind the proxy's own.

    Raises:
        ApiError: 503, the backend is not there or breaks off.
    """
    if not location.path and request.method in ("GET", "HEAD"):
        return _with_slash(request)
    request.take_time()
    path = request.info.path
    suffix = location.path
    if path.endswith("/") and not suffix.endswith("/"):
        suffix += "/"
    prefix = path.removesuffix(suffix)
    upload = await upload_of(request)
    headers = forwarded_for(without_secrets(end_to_end(request.raw_headers)), request.peer)
    shown = clean_path(f"{prefix}/{location.path}")
    uri = quote(shown, safe=PATH_SAFE).encode("ascii")
    drop = {b"x-forwarded-uri", b"content-length", b"expect"}
    headers = [(name, value) for name, value in headers if name not in drop]
    headers.append((b"x-forwarded-uri", uri))
    headers += framing(request, upload)
    head = encode_head(request.method, location.target, headers)
    try:
        transport = await connected(edge, location)
        with closing_on_error(transport):
            exchange = Exchange(transport, request.method, head, upload)
            answer = await exchange.head(request.gone)
            host = request.header(b"host")
            headers = _rewritten(answer, location, prefix, host)
            if not _is_page(answer):
                return answered(exchange, answer, headers)
            coding = answer.get(b"content-encoding").decode("latin-1")

            def rewrite(link: str) -> str:
                return rewrite_url(link, location.authority, prefix, host)

            async def rewritten(page: bytes) -> bytes:
                from kubetrio.api.proxy.htmllinks import rewrite_coded

                run = edge.env.run_foreign
                return await run(rewrite_coded, page, coding, rewrite, MAX_PAGE_BYTES)

            unsized = replace(answer, length=None)
            return answered(exchange, unsized, headers, Page(exchange, rewritten))
    except (DialError, BackendError) as error:
        text = f"error trying to reach service: {error}"
        raise ApiError(503, "ServiceUnavailable", text) from None


def _is_page(answer: AnswerHead) -> bool:
    kind = answer.get(b"content-type").partition(b";")[0].strip()
    coding = answer.get(b"content-encoding").decode("latin-1")
    return kind == b"text/html" and coding in CODINGS and not answer.get(b"location")


def framing(request: Request, upload: Upload | None) -> list[tuple[bytes, bytes]]:
    """Headers that say how long a body is."""
    if upload is None:
        bodied = request.method in ("POST", "PUT", "PATCH")
        return [(b"content-length", b"0")] if bodied else []
    if upload.length is None:
        return [(b"transfer-encoding", b"chunked")]
    return [(b"content-length", b"%d" % upload.length)]


def _with_slash(request: Request) -> Response:
    """Send a browser to the root of what is proxied, or its relative links would miss that."""
    where = quote(request.info.path, safe=PATH_SAFE) + "/"
    if request.raw_query:
        where += f"?{request.raw_query}"
    return Response(MOVED, b"", b"", ((b"Location", where.encode("latin-1")),))


def _rewritten(
    answer: AnswerHead, location: Location, prefix: str, host: str
) -> list[tuple[bytes, bytes]]:
    """Headers of an answer as they mean the same on this side of the proxy."""
    headers = []
    for name, value in end_to_end(answer.headers):
        lower = name.lower()
        if lower in CORS:
            continue
        if lower == b"location":
            moved = rewrite_url(value.decode("latin-1"), location.authority, prefix, host)
            value = moved.encode("latin-1", "replace")
        headers.append((name, value))
    return headers
