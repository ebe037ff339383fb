"""What ``kubetrio ui`` answers on the loopback address, for one browser on this machine.

Whoever has the code of the link gets a token for it, once; the page keeps that in its tab.  With
the token, requests go on to the server with the credentials of the kubeconfig; without it, a
browser gets the page that exchanges the code.  No cookie is set, so that a page of another server
at the same address has nothing to send along.

Requests are refused that name another host, which a name of somebody else's that leads here would
(DNS rebinding), and those that pages of others make.

Source: W3C "Fetch Metadata Request Headers"; RFC 6454 (origins).
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable

import trio

from kubetrio.api.request import Request
from kubetrio.api.response import (
    TEXT,
    AnyResponse,
    Channel,
    ClientGone,
    Response,
    StreamResponse,
    error_response,
    json_response,
)
from kubetrio.env import Env
from kubetrio.machinery.status import ApiError, unauthorized
from kubetrio.outgoing.client import CallError, Outgoing
from kubetrio.outgoing.target import Target
from kubetrio.ui.assets import STANDING, Asset
from kubetrio.ui.site import ROOT

Handle = Callable[[Request], Awaitable[AnyResponse]]
ONCE = f"{ROOT}once"
CODE_BITS, TOKEN_BITS = 160, 256
MOST_TRIES = 10
"""Wrong codes until the right one does not count any more either."""
LIFE_S = 300.0
"""How long a code may be used."""
MOST_BODY_BYTES = 3 << 20
CLOSING_S = 1.0
OWN_SITES = frozenset({b"same-origin", b"none"})
PASSED = frozenset(
    {
        b"accept", b"accept-encoding", b"content-type", b"if-none-match", b"user-agent",
        b"accept-language",
    }
)  # fmt: skip
"""Headers of a browser that the server is sent."""
RETURNED = frozenset(
    {
        "cache-control", "content-encoding", "content-security-policy", "content-type", "etag",
        "retry-after", "vary", "warning", "x-content-type-options", "x-frame-options",
        "referrer-policy", "cross-origin-opener-policy", "cross-origin-resource-policy",
        "audit-id", "location",
    }
)  # fmt: skip
"""Headers of an answer that the browser is sent."""


def secret(env: Env, bits: int) -> str:
    """Return so many random bits, as hexadecimal digits."""
    return f"{env.rng.getrandbits(bits):0{bits // 4}x}"


class Door:
    """Lets one browser in.

    Args:
        env: randomness.
        port: that it listens on.
        page: exchanges the code.
        behind: answers requests of who is in.

    Attributes:
        code: that is in the link.
        used: set when the code was used.
    """

    def __init__(self, env: Env, port: int, page: Asset, behind: Handle) -> None:
        self._hosts = frozenset(f"{host}:{port}".encode() for host in ("127.0.0.1", "localhost"))
        self._origins = frozenset(b"http://" + host for host in self._hosts)
        self._page = page
        self._behind = behind
        self._token = secret(env, TOKEN_BITS).encode()
        self._until = trio.current_time() + LIFE_S
        self._tries = 0
        self.code = secret(env, CODE_BITS)
        self.used = trio.Event()

    async def handle(self, request: Request) -> AnyResponse:
        """Answer a request; never raises but for cancellation."""
        headers = request.headers
        if not self._is_own(request):
            return _refused(b"Only pages of kubetrio ui may ask here.\n", 403)
        path = request.raw_path
        sent = headers.get(b"authorization", b"")
        if hmac.compare_digest(sent, b"Bearer " + self._token):
            if request.upgrade:
                return _refused(b"No other protocols.\n", 400)
            try:
                return await self._behind(request)
            except ApiError as error:
                return error_response(error)
        if path == ONCE and request.method == "POST":
            return await self._exchange(request)
        if sent or request.method != "GET":
            return error_response(unauthorized())
        if path in ("/", ROOT.rstrip("/")):
            return Response(302, b"", b"", ((b"Location", ROOT.encode()), *STANDING))
        if path == ROOT:
            return self._page.answer(request)
        return error_response(unauthorized())

    def _is_own(self, request: Request) -> bool:
        """Whether a request is a browser's on this machine, and no other page's."""
        headers = request.headers
        if headers.get(b"host", b"") not in self._hosts:
            return False
        origin = headers.get(b"origin")
        if origin is not None and origin not in self._origins:
            return False
        site = headers.get(b"sec-fetch-site", b"none")
        navigates = request.method == "GET" and headers.get(b"sec-fetch-mode") == b"navigate"
        return site in OWN_SITES or (navigates and headers.get(b"sec-fetch-dest") == b"document")

    async def _exchange(self, request: Request) -> Response:
        try:
            given = await request.read_body(MOST_BODY_BYTES)
        except ApiError as error:
            return error_response(error)
        late = self.used.is_set() or trio.current_time() > self._until
        self._tries += 1
        known = hmac.compare_digest(given, self.code.encode())
        if late or self._tries > MOST_TRIES or not known:
            return error_response(unauthorized())
        self.used.set()
        return json_response({"token": self._token.decode()}, headers=STANDING)


def _refused(text: bytes, status: int) -> Response:
    return Response(status, text, TEXT, STANDING)


class Forward:
    """Passes requests on to a server, as a kubeconfig says.

    Args:
        outgoing: calls it.
        target: where it is, and as whom.
    """

    def __init__(self, outgoing: Outgoing, target: Target) -> None:
        self._outgoing = outgoing
        self._target = target

    async def handle(self, request: Request) -> AnyResponse:
        """Return the server's answer, as it comes.

        Raises:
            ApiError: 413, or 503 when the server does not answer.
        """
        url = self._target.url.rstrip("/") + request.raw_path
        if request.raw_query:
            url += f"?{request.raw_query}"
        body = await request.read_body(MOST_BODY_BYTES)
        try:
            answer = await self._outgoing.open(
                self._target, method=request.method, url=url, body=body,
                headers=_passed(request.raw_headers),
            )  # fmt: skip
        except CallError as error:
            raise ApiError(503, "ServiceUnavailable", str(error)) from None
        headers = [
            (name.title().encode("latin-1"), value.encode("latin-1"))
            for name, value in answer.headers.items()
            if name in RETURNED and name != "content-type"
        ]
        kind = answer.headers.get("content-type", "").encode("latin-1")

        async def copy(channel: Channel) -> None:
            async for part in answer.aiter_raw():
                await channel.send(channel.frame(part))

        async def run(channel: Channel) -> None:
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_end_with, channel, nursery.cancel_scope)
                    await copy(channel)
                    nursery.cancel_scope.cancel()
            except* OSError:
                raise ClientGone from None
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSING_S):
                    await answer.aclose()

        if request.method == "HEAD" or answer.status_code in (204, 304):
            await answer.aclose()
            return Response(answer.status_code, b"", b"", headers)
        return StreamResponse(
            answer.status_code, run, kind, headers, long_running=True, patient=True
        )


async def _end_with(channel: Channel, scope: trio.CancelScope) -> None:
    await channel.wait_closed()
    scope.cancel()


def _passed(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in headers
        if name in PASSED and name != b"accept-encoding"
    ]
