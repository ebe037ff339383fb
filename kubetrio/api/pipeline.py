"""The pipeline: every request, whatever the transport, goes through the stages of its server.

A stage fills in its part of the request, or answers and ends the walk; one that has to wait for
something does the rest of it in the coroutine that it returns.  Each names the parts of a server
that it works with as its first parameters; `stages` binds them to these and has their order.

Errors are `ApiError` and become responses in one place; anything else is a bug, answered with 500
and logged with its traceback.  Every answer has an identity, also that of a request which ends
before the stage that gives it one.

`admit_and_store` is one stage because an update runs admission again each time another write came
between (see `resources.recipe`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import trio

from kubetrio.api import deadlines, outlines, routing, verbs
from kubetrio.api.api import Api, Edge, Named, Security, Stage, attributes_of
from kubetrio.api.audit import auditing
from kubetrio.api.bodies import decode_body
from kubetrio.api.encoding.compress import compress, compresses
from kubetrio.api.encoding.encoders import accept_error
from kubetrio.api.flowcontrol import held_by_stream, keep_seat
from kubetrio.api.offloop import TOO_LATE
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
    ANSWERS,
    Answer,
    AnyResponse,
    Response,
    TunnelResponse,
    error_response,
    page_not_found,
    text_response,
    unfinished_path,
)
from kubetrio.api.subresources.verbs import Verbs
from kubetrio.api.withoutseat import or_refused, read_without_seat
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
from kubetrio.machinery.status import ApiError, internal_error, timeout
from kubetrio.observe.logs import Log
from kubetrio.observe.metrics import RequestKey
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import Unreadable

if TYPE_CHECKING:
    from kubetrio.faults import Injector

log = Log("kubetrio.api")
NO_CACHE = (b"Cache-Control", b"no-cache, private")

Handle = Callable[[Request], Awaitable[AnyResponse]]
"""A pipeline as transports and clients see it."""
CROWD = 4  # requests under way: fewer have nothing to gain from each other
NO_WAIT_S = 0.001  # a shorter wait is too little to be told from none


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
    """Give the request an identity, and tell the audit log that it came."""
    identify(edge, request)
    if request.outlined:
        return None  # an outlined request is told when it is read
    return auditing.received(edge, request)


def impersonate(security: Security, request: Request) -> Answer | Awaitable[Answer]:
    """Act as another user, when the user may (docs: "User impersonation").

    Whether one may can depend on what the request is about, and the audit log notes who asked, so
    an outlined request is read first: it is its sender's until then, in flow control too.
    """
    if request.outlined or ORDINARY.issuperset(request.headers):
        return None
    wanted = wanted_user(request.raw_headers)
    return None if wanted is None else _become(security, request, wanted)


async def _become(security: Security, request: Request, wanted: UserInfo) -> Answer:
    """Go on as the user that is impersonated.

    Raises:
        ApiError: 403, the user may not.
    """
    found = await security.impersonation.impersonated(wanted, attributes_of(request))
    request.user = found.user
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
        said = f"Internal Server Error: {quote(uri)}: {verdict.error}\n"
        return text_response(authorization.sanitized(said), 500, authorization.NOSNIFF)
    raise authorization.forbidden(attributes, verdict.reason)


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


class Pipeline:
    """The walk of a request through the stages of one server.

    Args:
        api: the parts of the server.
        stages: by name and in order.
        faults: rules of what goes wrong; made when first asked for when None.

    Attributes:
        parts: see above.
        storage: one of them.
        security: one of them.
        writes: one of them.
        edge: one of them.
    """

    __slots__ = (
        "_clock", "_faults", "_flow", "_in_flight", "_metrics", "_named", "_request_log", "_stages",
        "_standing", "_usual", "edge", "parts", "security", "storage", "writes",
    )  # fmt: skip

    def __init__(self, api: Api, stages: Named, faults: Injector | None = None) -> None:
        self.parts = api
        self.storage, self.security = api.storage, api.security
        self.writes, self.edge = api.writes, api.edge
        self._clock = api.edge.clock
        self._flow = api.edge.flow
        self._in_flight = api.edge.in_flight
        self._metrics = api.edge.metrics
        self._request_log = api.edge.request_log
        self._standing = api.edge.config.standing
        self._named = stages
        self._stages = tuple(stage for _, stage in self._named)
        self._usual = self._named
        self._faults = faults
        if faults is not None:
            self._follow(faults)

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages that requests go through."""
        return tuple(name for name, _ in self._named)

    @property
    def faults(self) -> Injector | None:
        """What goes wrong on demand; None as long as nothing has been asked for it."""
        return self._faults

    def injector(self) -> Injector:
        """Return the rules of faults, whose stages are in the pipeline while there are any."""
        if self._faults is None:
            from kubetrio.faults.injector import Injector

            hub = self.storage.hub
            self._faults = Injector(self.edge.env, lambda: hub.revision)
            self._follow(self._faults)
        return self._faults

    def _follow(self, faults: Injector) -> None:
        from kubetrio.api.faults.faulting import with_faults

        def switched(on: bool) -> None:
            self._named = with_faults(self.parts, faults, self._usual) if on else self._usual
            self._stages = tuple(stage for _, stage in self._named)

        faults.subscribe(switched)

    def end_streams(self) -> None:
        """End open streams cleanly, as if their time were up (shutdown)."""
        for scope in tuple(self.edge.streams):
            scope.cancel()

    async def handle(self, request: Request) -> AnyResponse:
        """Answer a request; never raises but for cancellation."""
        in_flight = self._in_flight
        request.arrived = request.started = self._clock.current_time()
        in_flight.requests += 1
        streams = False
        try:
            named, long = None, False
            if query := request.raw_query:
                long = len(query) > outlines.SHORT_CHARS
                named = None if long else deadlines.named_limit(query)
            if request.ready and named is None and not long:
                # It waits for nothing that has no bound of its own: no timer to pay for.
                response = await self._walk(request)
            else:
                response = await self._within_time(request, named)
            if request.seat is not None and held_by_stream(response, request.method):
                keep_seat(response, self.edge.release_seat(request))
                streams = True
        except ApiError as error:
            if not request.audit_id:  # it ended before its stage
                identify(self.edge, request)
                auditing.refused_early(self.edge, request)
            response = error_response(error, accept_error(request))
        except Unreadable as error:
            if not request.audit_id:
                identify(self.edge, request)
            log.error(error, "a stored value cannot be read", path=request.raw_path)
            response = error_response(internal_error(str(error)), accept_error(request))
        except Exception as error:  # noqa: BLE001  (a bug must cost one request, not the server)
            if not request.audit_id:
                identify(self.edge, request)
            # Of the request nothing but its line: queries, headers and bodies may be secrets.
            log.error(
                error,
                "request failed",
                stack=True,
                method=request.method,
                path=request.raw_path,
                audit=request.audit_id,
            )
            response = error_response(internal_error(f"{type(error).__name__}: {error}"))
            await auditing.panicked(self.edge, request, error)
        except BaseException:  # cancelled: the client has left
            self._flow.leave(request, self._clock.current_time())
            await auditing.gone(self.edge, request)
            raise
        finally:
            in_flight.requests -= 1
            if request.heavy:
                self.edge.off_loop.end(request)
        now = self._clock.current_time()
        if not streams:
            self._flow.leave(request, now)
        headers = response.headers
        if headers and any(name == b"Cache-Control" for name, _ in headers):
            response.headers = (*headers, *request.response_headers, *self._standing)
        else:
            response.headers = (
                NO_CACHE, *headers, *request.response_headers, *self._standing,
            )  # fmt: skip
        self._finish(request, response, now)
        if request.record is not None:
            await auditing.answered(self.edge, request, response)
        return response

    async def _within_time(self, request: Request, named: float | None) -> AnyResponse:
        """Walk the stages within the time limit, and that which the client named."""
        limit = self.edge.config.request_timeout_s
        with trio.move_on_after(limit if named is None else min(named, limit)) as request.timer:
            return await self._walk(request)
        self._metrics.terminated(request_key(request, 504))
        raise timeout(TOO_LATE)

    async def _walk(self, request: Request) -> AnyResponse:
        for stage in self._stages:
            answer = stage(request)
            if answer is None:
                continue
            if not isinstance(answer, ANSWERS):
                answer = await answer
                if answer is None:
                    continue
            if request.record is not None:
                auditing.answer_made(request, answer)
            return await compress(request, answer, self.edge.env) if compresses(answer) else answer
        raise AssertionError("the last stage answers")

    def _finish(self, request: Request, response: AnyResponse, now: float) -> None:
        key, size = request_key(request, response.status), -1
        if isinstance(response, Response):
            size = len(response.body)
        elif isinstance(response, TunnelResponse):  # noqa: SIM114  (they run otherwise)
            response.run = self._metrics.counted(key, response.run)
        elif response.long_running:
            response.run = self._metrics.counted(key, response.run)
        self._metrics.observe(key, now - request.arrived, size, request.body_bytes)
        if request.waited:
            self._metrics.waited(key, now - request.arrived, request.waited)
        if self._request_log is not None:
            self._request_log.answered(request, response)
