"""The stages that a request goes through, in their order, and which of them a server has.

A stage fills in its part of the request, or answers and ends the walk; one that has to wait for
something does the rest of it in the coroutine that it returns.  Its first parameters are the parts
of a server that it works with, to which it is bound when the server is put together.  A stage that
a server has no use for is left out then.

`admit_and_store` is one stage because an update runs admission again each time another write came
between (see `resources.recipe`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import trio

from kubetrio.api import deadlines, outlines, routing, verbs
from kubetrio.api.api import Api, Edge, Named, Security, Shortage, Stage, attributes_of
from kubetrio.api.audit import auditing
from kubetrio.api.bodies import decode_body
from kubetrio.api.crosssite import refuse_cross_site
from kubetrio.api.faults.faulting import inject, refuse_token
from kubetrio.api.httplog import RequestLog
from kubetrio.api.pages.aggregated import delegated, route_of
from kubetrio.api.request import (
    CONNECTED,
    KNOWN_METHODS,
    METRIC_VERBS,
    Request,
    parse_query,
    resolve,
)
from kubetrio.api.response import (
    Answer,
    AnyResponse,
    Response,
    page_not_found,
    text_response,
    unfinished_path,
)
from kubetrio.api.subresources.verbs import Verbs, verbs_of
from kubetrio.api.withoutseat import or_refused, read_without_seat
from kubetrio.auth import authorize as authorization
from kubetrio.auth.impersonate import ORDINARY, wanted_user
from kubetrio.faults.injector import Injector
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import (
    ANONYMOUS,
    MASTERS,
    Attributes,
    Decision,
    UserInfo,
    Verdict,
)
from kubetrio.machinery.status import too_many_requests
from kubetrio.observe.metrics import RequestKey
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry

CROWD = 4  # requests under way: fewer have nothing to gain from each other
NO_WAIT_S = 0.001  # a shorter wait is too little to be told from none
SHORT_OF_MEMORY = "the server is over its memory limit, please try again later"
SHORT_RETRY_S = 1


def request_key(request: Request, status: int) -> RequestKey:
    """Labels of a request that is answered with a status code."""
    info, query = request.info, request.query
    dry_run = "All" if query and query.get("dryRun") else ""
    if request.resource is None:
        # Labels of things that exist only: a client must not be able to make time series.
        method = request.method if request.method in KNOWN_METHODS else "other"
        return RequestKey(method, dry_run, "", "", "", "", "", status)
    verb = METRIC_VERBS.get(info.verb, "other")
    scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
    return RequestKey(
        verb, dry_run, info.group, info.version, info.resource, info.subresource, scope, status
    )


# ---------------------------------------------------------------------- stages


def follow(request_log: RequestLog, request: Request) -> Answer:
    """Have the log of requests told of flow control and of the answer."""
    request.log = request_log
    return None


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
    """Give the request an identity, and tell the audit log that it came."""
    identify(edge, request)
    if request.outlined:
        return None  # an outlined request is told when it is read
    return auditing.received(edge, request)


def impersonate(security: Security, request: Request) -> Answer | Awaitable[Answer]:
    """Act as another user, when the user may (docs: "User impersonation").

    Whether one may can depend on what the request is about, and the audit log notes who asked, so
    an outlined request is read first: it is its sender's until then, in flow control too.

    Raises:
        ApiError: 403, a page of another site has a browser make the request.
    """
    if request.outlined or ORDINARY.issuperset(request.headers):
        return None
    refuse_cross_site(request)  # browsers have further headers
    target = wanted_user(request.raw_headers)
    return None if target is None else _become(security, request, target)


async def _become(security: Security, request: Request, target: UserInfo) -> Answer:
    """Go on as the user that is impersonated.

    Raises:
        ApiError: 403, the user may not.
    """
    identity = await security.impersonation.impersonated(target, attributes_of(request))
    request.user = identity.user
    return None


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
        if request.log is not None:
            request.log.refused(request, entry)
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


def authorize(security: Security, edge: Edge, request: Request) -> Answer | Awaitable[Answer]:
    """403 for what the user may not do; the answer of some authorizers has to be waited for.

    What of the request is still to be read is read first.
    """
    if request.outlined:
        after: tuple[Stage, ...] = (
            partial(auditing.received, edge),
            partial(impersonate, security),
            partial(authorize, security, edge),
        )
        return outlines.read_whole(edge, request, after)
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
    if verdict.error:  # undecided; as text, and not as a Status
        uri = request.raw_path + ("?" + request.raw_query if request.raw_query else "")
        refusal = f"Internal Server Error: {quote(uri)}: {verdict.error}\n"
        return text_response(authorization.sanitized(refusal), 500, authorization.NOSNIFF)
    return edge.documents.refuse(request, attributes, verdict.reason)


def decode(edge: Edge, registry: LiveRegistry, request: Request) -> Answer | Awaitable[Answer]:
    """Find the resource and read the body; paths that are not resources are answered here.

    What another server serves is answered there.

    The seat is given back while a body comes that has not come yet, see `pendingbodies`.
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
            read_without_seat(edge, request, partial(_come_back, edge, registry))
            decoding = or_refused(decoding)
        return decoding if edge.in_flight.requests < CROWD else in_cohort(decoding)
    return None


async def in_cohort(stage: Awaitable[Answer]) -> Answer:
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
        if verb is None or subresource not in routing.STORED_SUBRESOURCES:
            raise routing.not_implemented(resource.group_resource, subresource)
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


# ---------------------------------------------------------------------- their order


@dataclass(frozen=True, slots=True, kw_only=True)
class StageParts:
    """What stages are bound to.

    Args:
        api: the parts of the server.
        verbs: its verbs.
        faults: rules of what goes wrong on demand.
        request_log: a line for each request; None for no such log.
    """

    api: Api
    verbs: Verbs
    faults: Injector
    request_log: RequestLog | None


class StageRow(NamedTuple):
    """A stage.

    Args:
        name: of the stage.
        make: binds it to the parts of a server that it works with; None where the server has none.
    """

    name: str
    make: Callable[[StageParts], Stage | None]


def _log(parts: StageParts) -> Stage | None:
    request_log = parts.request_log
    return None if request_log is None else partial(follow, request_log)


def _audit(parts: StageParts) -> Stage:
    edge = parts.api.edge
    return partial(identify if edge.auditor is None else audit, edge)


def _spare_memory(parts: StageParts) -> Stage | None:
    memory = parts.api.edge.memory
    return None if memory is None else partial(spare_memory, memory)


def _inject(parts: StageParts) -> Stage:
    api = parts.api
    return partial(inject, api.storage, api.edge, parts.faults, _admit_and_store(parts))


def _admit_and_store(parts: StageParts) -> Stage:
    return partial(admit_and_store, parts.api.edge, parts.verbs)


STAGES: tuple[StageRow, ...] = (
    StageRow("log", _log),
    StageRow("parse", lambda _: parse),
    StageRow("authenticate", lambda parts: partial(authenticate, parts.api.security)),
    StageRow("refuse_token", lambda parts: partial(refuse_token, parts.faults)),
    StageRow("audit", _audit),
    StageRow("impersonate", lambda parts: partial(impersonate, parts.api.security)),
    StageRow("spare_memory", _spare_memory),
    StageRow(
        "flow_control",
        lambda parts: partial(flow_control, parts.api.edge, parts.api.storage.registry),
    ),
    StageRow("authorize", lambda parts: partial(authorize, parts.api.security, parts.api.edge)),
    StageRow("decode", lambda parts: partial(decode, parts.api.edge, parts.api.storage.registry)),
    StageRow("inject", _inject),
    StageRow("admit_and_store", _admit_and_store),
)


def stages_of(api: Api, faults: Injector, request_log: RequestLog | None) -> Named:
    """Return the stages that a server has, by name and in order.

    Args:
        api: its parts.
        faults: rules of what goes wrong on demand.
        request_log: a line for each request; None for no such log.
    """
    parts = StageParts(api=api, verbs=verbs_of(api), faults=faults, request_log=request_log)
    bound = ((row.name, row.make(parts)) for row in STAGES)
    return tuple((name, stage) for name, stage in bound if stage is not None)
