"""The stages of the pipeline, in order.

A stage fills in its part of the request, or answers and ends the walk; one that has to wait for
something does the rest of it in the coroutine that it returns.  Each names the parts of a server
that it works with as its first parameters, and is bound to them when the server is put together.

`admit_and_store` is one stage because an update runs admission again each time another write came
between (see `resources.recipe`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

import trio

from kubetrio.api import deadlines, outlines, routing, verbs
from kubetrio.api.api import Api, Edge, Security, Shortage, attributes_of
from kubetrio.api.audit import auditing
from kubetrio.api.bodies import decode_body
from kubetrio.api.pages.aggregated import delegated, route_of
from kubetrio.api.request import CONNECTED, Request, parse_query, resolve
from kubetrio.api.response import (
    AnyResponse,
    Response,
    StreamResponse,
    TunnelResponse,
    page_not_found,
    text_response,
    unfinished_path,
)
from kubetrio.api.subresources.verbs import Verbs, verbs_of
from kubetrio.api.unseated import NoSeat, read_unseated
from kubetrio.auth import authorize as authorization
from kubetrio.auth.impersonate import ORDINARY, wanted_user
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import (
    ANONYMOUS,
    MASTERS,
    Attributes,
    Decision,
    UserInfo,
    Verdict,
)
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, too_many_requests
from kubetrio.observe.metrics import RequestKey
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry

CROWD = 4  # requests under way: fewer have nothing to gain from each other
SHORT_OF_MEMORY = "the server is over its memory limit, please try again later"
SHORT_RETRY_S = 1
NO_WAIT_S = 0.001  # a shorter wait is too little to be told from none

Answer = AnyResponse | None
Stage = Callable[[Request], Answer | Awaitable[Answer]]

ANSWERS = (Response, StreamResponse, TunnelResponse)
METRIC_VERBS = {
    "create": "POST",
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
}
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT"})


def metric_verb(request: Request) -> str:
    """The verb label: a closed set, so that a client cannot invent time series."""
    if request.info.is_resource and request.resource is not None:
        return METRIC_VERBS.get(request.info.verb, "other")
    return request.method if request.method in KNOWN_METHODS else "other"


def request_key(request: Request, status: int) -> RequestKey:
    """Labels of a request that is answered with a status code."""
    info, query = request.info, request.query
    verb, dry_run = metric_verb(request), "All" if query and query.get("dryRun") else ""
    if request.resource is None:
        # Labels of things that exist only: a client must not be able to make time series.
        return RequestKey(verb, dry_run, "", "", "", "", "", status)
    scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
    return RequestKey(
        verb, dry_run, info.group, info.version, info.resource, info.subresource, scope, status
    )


# ---------------------------------------------------------------------- stages


def parse(request: Request) -> Answer:
    """Query and path to a `RequestInfo`."""
    both = len(request.raw_path) + len(request.raw_query)
    if both > outlines.SHORT_CHARS and outlines.is_long(request):
        request.outlined = True
        request.info, request.query = outlines.outline(request)
        return None
    request.query = parse_query(request.raw_query)
    request.info = resolve(request.method, request.raw_path, request.query)
    if request.info.unfinished:
        return unfinished_path(request.raw_path, request.raw_query)
    if "timeout" in request.query:
        deadlines.check(request)
    return None


def authenticate(security: Security, request: Request) -> Answer | Awaitable[Answer]:
    """Credentials to a user, or 401."""
    user = security.authenticator.authenticate(request)
    if isinstance(user, UserInfo):
        return _from(request, user)
    return _authenticated(request, user)


async def _authenticated(request: Request, asked: Awaitable[UserInfo]) -> Answer:
    return _from(request, await asked)


def _from(request: Request, user: UserInfo) -> Answer:
    request.user = user
    if request.identified is not None and user is not ANONYMOUS:
        request.identified(user)
    return None


def identify(edge: Edge, request: Request) -> None:
    """Give the request an identity that its answer carries."""
    sent = b"audit-id" in request.headers and request.header_list(b"audit-id")[0]
    request.audit_id = sent or edge.audit_ids.next()


def audit(edge: Edge, request: Request) -> Answer | Awaitable[Answer]:
    """Give the request an identity, and tell the audit log, if there is one, that it came."""
    identify(edge, request)
    if edge.auditor is None or request.outlined:
        return None  # an outlined request is told when it is read
    return auditing.received(edge, request)


def impersonate(security: Security, request: Request) -> Answer | Awaitable[Answer]:
    """Act as somebody else, when the user may (docs: "User impersonation").

    Whether one may can depend on what the request is about, and the audit log notes who asked, so
    an outlined request is read first: it is its sender's until then, in flow control too.
    """
    if request.outlined or ORDINARY.issuperset(request.headers):
        return None
    wanted = wanted_user(request.raw_headers)
    return None if wanted is None else _become(security, request, wanted)


async def _become(security: Security, request: Request, wanted: UserInfo) -> Answer:
    """Go on as somebody else.

    Raises:
        ApiError: 403, the user may not.
    """
    found = await security.impersonation.impersonated(wanted, attributes_of(request))
    request.user = found.user
    return None


def spare_memory(memory: Shortage, request: Request) -> Answer:
    """Refuse what takes memory while there is none to spare.

    Raises:
        ApiError: 429.
    """
    if memory.short and _takes_memory(request):
        raise too_many_requests(SHORT_OF_MEMORY, SHORT_RETRY_S)
    return None


def _takes_memory(request: Request) -> bool:
    """Whether a request waits for better times: deletions and administrators do not."""
    info = request.info
    deletes = info.verb in ("delete", "deletecollection")
    return info.is_resource and not deletes and MASTERS not in request.user.groups


def flow_control(
    edge: Edge, registry: LiveRegistry, request: Request
) -> Answer | Awaitable[Answer]:
    """Wait for a seat (API Priority and Fairness)."""
    return None if edge.flow.passes(request) else _admit(edge, registry, request)


async def _admit(edge: Edge, registry: LiveRegistry, request: Request) -> Response | None:
    """Wait for a seat, and count the time, or the refusal."""
    entry = request.seat
    refused = await edge.flow.admit(request)
    waited = edge.clock.current_time() - request.started
    if waited > NO_WAIT_S:
        request.waited += waited
    if refused is not None:
        info = request.info
        resource = registry.resources.get((info.group, info.version, info.resource))
        if resource is not None and info.subresource in ("", *resource.subresources):
            request.resource = resource  # it is counted as what it would have become
        edge.metrics.terminated(request_key(request, refused.status))
        if request.outlined and edge.auditor is not None:
            told = auditing.received(edge, request)
            if told is not None and not isinstance(told, Response):
                await told
        if edge.request_log is not None:
            edge.request_log.refused(request, entry)
    return refused


async def _come_back(edge: Edge, registry: LiveRegistry, request: Request) -> Response | None:
    """Take a seat again, when the body has come without one."""
    request.started = edge.clock.current_time()
    told = len(request.response_headers)
    refused = None if edge.flow.passes(request) else await _admit(edge, registry, request)
    if refused is None:
        edge.flow.resumed(request)
    del request.response_headers[told:]  # the same again
    return refused


def authorize(security: Security, edge: Edge, request: Request) -> Answer | Awaitable[Answer]:
    """403 for what the user may not do; the answer of some authorizers has to be waited for.

    What of the request is still to be read is read first.
    """
    if request.outlined:
        return _read_whole(security, edge, request)
    if MASTERS in request.user.groups:
        security.authorizations.at_once += 1
        request.verdict = authorization.ALLOWED
        return None
    begun = edge.clock.current_time()
    attributes = attributes_of(request)
    verdict = security.authorizer.authorize(attributes)
    if isinstance(verdict, Verdict):
        return _may(security, edge, request, attributes, verdict, begun)
    return _authorized(security, edge, request, attributes, verdict, begun)


async def _read_whole(security: Security, edge: Edge, request: Request) -> Answer:
    """Read a long request, which has a seat now; then what waited for that, and authorize it."""
    try:
        unreadable = await outlines.read(edge.off_loop, request)
    except ApiError:
        auditing.refused_early(edge, request)
        raise
    if unreadable is not None:
        return unreadable
    if request.info.unfinished:
        return unfinished_path(request.raw_path, request.raw_query)
    after: tuple[Stage, ...] = (
        partial(auditing.received, edge),
        partial(impersonate, security),
        partial(authorize, security, edge),
    )
    for stage in after:
        answer = stage(request)
        if answer is not None and not isinstance(answer, ANSWERS):
            answer = await answer
        if answer is not None:
            return answer
    return None


async def _authorized(
    security: Security,
    edge: Edge,
    request: Request,
    attributes: Attributes,
    asked: Awaitable[Verdict],
    begun: float,
) -> Answer:
    return _may(security, edge, request, attributes, await asked, begun)


def _may(
    security: Security,
    edge: Edge,
    request: Request,
    attributes: Attributes,
    verdict: Verdict,
    begun: float,
) -> Answer:
    request.verdict = verdict
    seconds = edge.clock.current_time() - begun
    if verdict.decision is Decision.ALLOW:
        security.authorizations.allowed.observe(seconds)
        return None
    security.authorizations.refused(verdict, seconds)
    if verdict.error:  # nobody knows; in these words and not as a Status
        uri = request.raw_path + ("?" + request.raw_query if request.raw_query else "")
        said = f"Internal Server Error: {quote(uri)}: {verdict.error}\n"
        return text_response(authorization.sanitized(said), 500, authorization.NOSNIFF)
    raise authorization.forbidden(attributes, verdict.reason)


def decode(edge: Edge, registry: LiveRegistry, request: Request) -> Answer | Awaitable[Answer]:
    """Find the resource and read the body; paths that are not resources are answered here.

    What another server serves is answered there.

    The seat is given back while a body comes that has not come yet, see `arriving`.
    """
    delegation = edge.delegation
    if delegation.routes:  # few servers have any
        route = route_of(delegation, request.info.path)
        if route is not None:
            return delegated(delegation, request, route)
    if not request.info.is_resource:
        return edge.documents.answer(request)
    try:
        resource = routing.find(registry, request)
    except routing.NotServed:
        return page_not_found()
    request.resource = resource
    if resource.deprecated:
        routing.advise(request, resource)
        info = request.info
        edge.metrics.deprecated.add((info.group, info.version, info.resource, info.subresource))
    if request.info.verb in BODY_VERBS and request.info.subresource not in CONNECTED:
        config = edge.config
        decoding: Awaitable[Answer] = decode_body(
            request, resource, config.max_body_bytes, edge.off_loop, cbor=config.cbor
        )
        if not request.ready:
            read_unseated(edge, request, partial(_come_back, edge, registry))
            decoding = _or_refused(decoding)
        return decoding if edge.in_flight.requests < CROWD else in_step(decoding)
    return None


async def _or_refused(decoding: Awaitable[Answer]) -> Answer:
    """Decode a body; or the answer that there was no seat when it had come."""
    try:
        return await decoding
    except NoSeat as none:
        return none.answer


async def in_step(stage: Awaitable[Answer]) -> Answer:
    """Run a stage, and those behind it, when other requests have come as far.

    What stages touch is in the caches of the processor then for all but the first of them (Larus
    and Parkes, "Using Cohort Scheduling to Enhance Server Performance", USENIX 2002).
    """
    await trio.lowlevel.cancel_shielded_checkpoint()
    return await stage


BODY_VERBS = frozenset({"create", "update", "patch", "delete", "deletecollection"})


def admit_and_store(edge: Edge, served: Verbs, request: Request) -> Awaitable[AnyResponse]:
    """Run the verb: admission, the kind's rules and the store, or a read."""
    resource = request.resource
    if resource is None:
        raise AssertionError("decode finds the resource")
    subresource, name = request.info.subresource, request.info.verb
    serves = resource.subresources[subresource].serves if subresource else resource.serves
    verb = served.special.get((serves, name)) if serves else None
    if verb is None:
        verb = served.general.get(name)
        if verb is None or not supported(subresource):
            raise not_implemented(resource.group_resource, subresource)
    elif subresource:
        routing.check_name(request.info.name)
    if request.record is not None:
        noting = auditing.body_read(edge, request, resource)
        if noting is not None:
            return _noted(noting, verb, request, resource)
    return verb(request, resource)


async def _noted(
    noting: Awaitable[None], verb: verbs.Verb, request: Request, resource: Kind
) -> AnyResponse:
    """Run a verb when the audit log knows the body."""
    await noting
    return await verb(request, resource)


STORED_SUBRESOURCES = frozenset(
    {"", "status", "finalize", "approval", "ephemeralcontainers", "resize"}
)


def supported(subresource: str) -> bool:
    """Whether a subresource is a part of the stored object."""
    return subresource in STORED_SUBRESOURCES


def not_implemented(resource: GroupResource, subresource: str) -> ApiError:
    """501: the path is known and its behaviour is not there yet."""
    what = f"{resource.resource}/{subresource}" if subresource else resource.resource
    details: dict[str, Any] = {"kind": resource.resource}
    if resource.group:
        details["group"] = resource.group
    return ApiError(
        501, "NotImplemented", f"this verb is not implemented by kubetrio for {what}", details
    )


def _spare_memory(api: Api) -> Stage | None:
    memory = api.edge.memory
    return None if memory is None else partial(spare_memory, memory)


class Row(NamedTuple):
    """A stage.

    Args:
        name: of the stage.
        make: binds it to the parts of a server that it works with; None where the server has none.
    """

    name: str
    make: Callable[[Api], Stage | None]


STAGES: tuple[Row, ...] = (
    Row("parse", lambda _: parse),
    Row("authenticate", lambda api: partial(authenticate, api.security)),
    Row("audit", lambda api: partial(audit, api.edge)),
    Row("impersonate", lambda api: partial(impersonate, api.security)),
    Row("spare_memory", _spare_memory),
    Row("flow_control", lambda api: partial(flow_control, api.edge, api.storage.registry)),
    Row("authorize", lambda api: partial(authorize, api.security, api.edge)),
    Row("decode", lambda api: partial(decode, api.edge, api.storage.registry)),
    Row("admit_and_store", lambda api: partial(admit_and_store, api.edge, verbs_of(api))),
)


def stages_of(api: Api) -> tuple[tuple[str, Stage], ...]:
    """Return the stages that a server has, by name and in order.

    Args:
        api: its parts.
    """
    made = ((row.name, row.make(api)) for row in STAGES)
    return tuple((name, stage) for name, stage in made if stage is not None)
