"""Requests for groups and versions that another server serves (API aggregation).

They come here when their user is known, is allowed to make them and has a seat; what they do is
decided there.  The other server learns who asks from headers, and believes them because of this
server's certificate.

Source: docs "Kubernetes API Aggregation Layer"; k8s.io/kube-aggregator/pkg/apiserver
(handler_proxy), apimachinery's upgrade-aware proxy.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

import trio

from kubetrio.aggregation.frontproxy import (
    Endpoint,
    FrontProxy,
    Headers,
    Unusable,
    names_user,
    user_headers,
)
from kubetrio.aggregation.routes import Route
from kubetrio.aggregation.servicelookup import Unresolved
from kubetrio.api.delegation import Delegation
from kubetrio.api.flowcontrol import is_long_running
from kubetrio.api.proxy.headers import CORS, end_to_end, forwarded_for, without_secrets
from kubetrio.api.proxy.locations import PATH_SAFE
from kubetrio.api.proxy.proxying import Relay, answered, closing_on_error, framing, upload_of
from kubetrio.api.proxy.upgrading import FIRST_ERROR, tunnel_to
from kubetrio.api.request import Request, query_pairs
from kubetrio.api.response import (
    AnyResponse,
    Channel,
    ClientGone,
    Response,
    text_response,
)
from kubetrio.backend.dial import DialError
from kubetrio.backend.exchange import (
    SWITCHING,
    AnswerHead,
    BackendError,
    Exchange,
    encode_head,
)
from kubetrio.observe.logs import Log

log = Log("kubetrio.aggregation")
DISCOVERY_LIMIT_S = 5.0
DISCOVERY_PARTS = 3
NOSNIFF = ((b"X-Content-Type-Options", b"nosniff"),)
DROPPED = frozenset(
    {b"host", b"content-length", b"expect", b"audit-id", b"x-forwarded-uri", b"x-forwarded-host",
     b"x-forwarded-proto"}
)  # fmt: skip
FIRST_MOVED, LAST_MOVED = 300, 399
REDIRECTED = "the backend attempted to redirect this request, which is not permitted"
LATE = "context deadline exceeded"


def refused(text: str, status: int = 503) -> Response:
    """An error as Go's ``http.Error`` writes it."""
    return text_response(f"{text}\n", status, NOSNIFF)


async def delegate(delegation: Delegation, request: Request, route: Route) -> AnyResponse:
    """Have another server answer a request.

    Args:
        delegation: has the front proxy.
        request: its user is known, and may make it.
        route: who answers.
    """
    if not route.available:
        return refused("service unavailable")
    proxy = delegation.aggregation.proxy
    try:
        server = await proxy.find(route)
    except Unresolved as error:
        log.warning("a service is not found", name=route.name, reason=str(error))
        return refused("service unavailable")
    try:
        if request.upgrade:
            return await _upgraded(request, proxy, route, server, delegation)
        return await _forwarded(request, proxy, route, server, delegation)
    except Unusable as error:
        return refused(str(error), 500)


# ---------------------------------------------------------------------- plain HTTP


async def _forwarded(
    request: Request, proxy: FrontProxy, route: Route, server: Endpoint, delegation: Delegation
) -> AnyResponse:
    long_running = is_long_running(request)
    if long_running:
        request.take_time()
    until = request.arrived + delegation.request_timeout_s
    if _is_discovery(request):
        until = trio.current_time() + DISCOVERY_LIMIT_S
    upload = await upload_of(request)
    headers = [*_headers(request, server, end_to_end(request.raw_headers))]
    headers += framing(request, upload)
    head = encode_head(request.method, _target(request), headers)
    try:
        with trio.move_on_at(until if _is_discovery(request) else float("inf")):
            transport = await proxy.connect(route, server)
            with closing_on_error(transport):
                exchange = Exchange(transport, request.method, head, upload)
                answer = await exchange.head(request.gone)
                return _answer(delegation, exchange, answer, None if long_running else until)
    except (DialError, BackendError) as error:
        return refused(f"error trying to reach service: {error}")
    return refused(f"error trying to reach service: {LATE}")


def _answer(
    delegation: Delegation, exchange: Exchange, answer: AnswerHead, until: float | None
) -> AnyResponse:
    moved = FIRST_MOVED <= answer.status <= LAST_MOVED and answer.get(b"location")
    if moved and delegation.aggregation.reject_redirects:
        exchange.transport.close()
        return text_response(REDIRECTED, 502)
    headers = [
        (name, value) for name, value in end_to_end(answer.headers) if name.lower() not in CORS
    ]
    relay = Relay(exchange) if until is None else _Bounded(exchange, until)
    return answered(exchange, answer, headers, relay)


class _Bounded(Relay):
    """Breaks an answer off that takes longer than a request may.

    Args:
        exchange: its answer has begun.
        until: by Trio's clock.
    """

    def __init__(self, exchange: Exchange, until: float) -> None:
        super().__init__(exchange)
        self._until = until

    async def __call__(self, channel: Channel) -> None:
        """See `StreamResponse.run`."""
        with trio.move_on_at(self._until):
            await super().__call__(channel)
            return
        raise ClientGone


# ---------------------------------------------------------------------- upgrades


async def _upgraded(
    request: Request, proxy: FrontProxy, route: Route, server: Endpoint, delegation: Delegation
) -> AnyResponse:
    request.take_time()
    headers = [*_headers(request, server, request.raw_headers)]
    head = encode_head(request.method, _target(request), headers)
    try:
        transport = await proxy.connect(route, server)
    except DialError as error:
        return refused(f"error dialing backend: {error}")
    with closing_on_error(transport):
        exchange = Exchange(transport, request.method, head)
        try:
            answer = await exchange.head(request.gone)
        except BackendError as error:
            transport.close()
            return refused(str(error))
        if answer.status == SWITCHING:
            return tunnel_to(delegation.streams, exchange, answer)
        if answer.status < FIRST_ERROR:
            transport.close()
            return refused(f"invalid upgrade response: status code {answer.status}")
        return answered(exchange, answer)


# ---------------------------------------------------------------------- what is sent


def _headers(request: Request, server: Endpoint, headers: list[tuple[bytes, bytes]]) -> Headers:
    kept = [
        (name, value)
        for name, value in without_secrets(headers)
        if name not in DROPPED and not names_user(name)
    ]
    path = quote(request.info.path, safe=PATH_SAFE).encode("ascii")
    authority = server.authority.encode("latin-1", "replace")
    return [
        (b"host", authority),
        *forwarded_for(kept, request.peer),
        (b"audit-id", request.audit_id.encode("latin-1", "replace")),
        (b"x-forwarded-host", authority),
        (b"x-forwarded-proto", b"https"),
        (b"x-forwarded-uri", path),
        *user_headers(request.user),
    ]


def _target(request: Request) -> str:
    """Path and query as they go on the wire: as they were understood here, and no other way."""
    path = quote(request.info.path, safe=PATH_SAFE)
    pairs = sorted(query_pairs(request.raw_query), key=lambda pair: pair[0])
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _is_discovery(request: Request) -> bool:
    info = request.info
    return not info.is_resource and len(info.path.strip("/").split("/")) == DISCOVERY_PARTS
