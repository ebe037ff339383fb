"""The pipeline: every request, whatever the transport, goes through these stages in this order.

A stage fills in its part of the request, or answers and ends the walk; one that has to wait for
something does the rest of it in the coroutine that it returns.  Errors are `ApiError` and become
responses in one place; anything else is a bug, answered with 500 and logged with its traceback.
Every answer has an identity, also that of a request which ends before the stage that gives it one.

`admit_and_store` is one stage because an update runs admission again each time another write came
between (see `resources.recipe`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVarTuple

import trio

from kubetrio.api import deadlines, outlines, routing, verbs
from kubetrio.api.api import Api, attributes_of
from kubetrio.api.audit import auditing
from kubetrio.api.bodies import decode_body
from kubetrio.api.encoding.compress import compress, compresses
from kubetrio.api.encoding.encoders import accept_error
from kubetrio.api.flowcontrol import held_by_stream, keep_seat
from kubetrio.api.offloop import TOO_LATE
from kubetrio.api.pages.aggregated import delegated, route_of
from kubetrio.api.request import CONNECTED, Request, parse_query, resolve
from kubetrio.api.response import (
    AnyResponse,
    Response,
    StreamResponse,
    TunnelResponse,
    error_response,
    page_not_found,
    text_response,
    unfinished_path,
)
from kubetrio.api.subresources.verbs import SUBVERBS
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
from kubetrio.machinery.status import ApiError, internal_error, timeout, too_many_requests
from kubetrio.observe.logs import Log
from kubetrio.observe.metrics import RequestKey
from kubetrio.schema.kind import Kind
from kubetrio.store.errors import Unreadable

log = Log("kubetrio.api")
CROWD = 4  # requests under way: fewer have nothing to gain from each other
SHORT_OF_MEMORY = "the server is over its memory limit, please try again later"
SHORT_RETRY_S = 1
NO_WAIT_S = 0.001  # a shorter wait is too little to be told from none
NO_CACHE = (b"Cache-Control", b"no-cache, private")

Object = dict[str, Any]
Args = TypeVarTuple("Args")
Answer = AnyResponse | None
Handle = Callable[[Request], Awaitable[AnyResponse]]
"""A pipeline as transports and clients see it."""
Stage = Callable[[Api, Request], Answer | Awaitable[Answer]]


class Pipeline(Api):
    """The `Api` of a server, and the walk of a request through its stages."""

    __slots__ = ()

    async def handle(self, request: Request) -> AnyResponse:
        """Answer a request; never raises but for cancellation."""
        request.arrived = request.started = self.clock.current_time()
        self.under_way += 1
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
                keep_seat(response, self.release_seat(request))
                streams = True
        except ApiError as error:
            if not request.audit_id:  # it ended before its stage
                identify(self, request)
                auditing.refused_early(self, request)
            response = error_response(error, accept_error(request))
        except Unreadable as error:
            if not request.audit_id:
                identify(self, request)
            log.error(error, "a stored value cannot be read", path=request.raw_path)
            response = error_response(internal_error(str(error)), accept_error(request))
        except Exception as error:  # noqa: BLE001  (a bug must cost one request, not the server)
            if not request.audit_id:
                identify(self, request)
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
            await auditing.panicked(self, request, error)
        except BaseException:  # cancelled: nobody waits for an answer
            self.flow.leave(request, self.clock.current_time())
            await auditing.gone(self, request)
            raise
        finally:
            self.under_way -= 1
            if request.heavy:
                self.off_loop.end(request)
        now = self.clock.current_time()
        if not streams:
            self.flow.leave(request, now)
        headers = response.headers
        if headers and any(name == b"Cache-Control" for name, _ in headers):
            response.headers = (*headers, *request.response_headers, *self.config.standing)
        else:
            response.headers = (
                NO_CACHE, *headers, *request.response_headers, *self.config.standing,
            )  # fmt: skip
        self._finish(request, response, now)
        if request.record is not None:
            await auditing.answered(self, request, response)
        return response

    async def _within_time(self, request: Request, named: float | None) -> AnyResponse:
        """Walk the stages within the time limit, and that which the client named."""
        limit = self.config.request_timeout_s
        with trio.move_on_after(limit if named is None else min(named, limit)) as request.timer:
            return await self._walk(request)
        self.metrics.terminated(request_key(request, 504))
        raise timeout(TOO_LATE)

    async def _walk(self, request: Request) -> AnyResponse:
        for stage in self.stages or STAGES:
            answer = stage(self, request)
            if answer is None:
                continue
            if not isinstance(answer, ANSWERS):
                answer = await answer
                if answer is None:
                    continue
            if request.record is not None:
                auditing.answer_made(request, answer)
            return await compress(request, answer, self.env) if compresses(answer) else answer
        raise AssertionError("the last stage answers")

    def _counted(
        self, key: RequestKey, run: Callable[[*Args], Awaitable[None]]
    ) -> Callable[[*Args], Awaitable[None]]:
        """A stream or tunnel that is among the open ones while it runs."""
        gauge = self.metrics.open_streams(key)

        async def counted(*args: *Args) -> None:
            gauge.inc()
            try:
                await run(*args)
            finally:
                gauge.dec()

        return counted

    def _finish(self, request: Request, response: AnyResponse, now: float) -> None:
        key, size = request_key(request, response.status), -1
        if isinstance(response, Response):
            size = len(response.body)
        elif isinstance(response, TunnelResponse):  # noqa: SIM114  (they run otherwise)
            response.run = self._counted(key, response.run)
        elif response.long_running:
            response.run = self._counted(key, response.run)
        self.metrics.observe(key, now - request.arrived, size, request.body_bytes)
        if request.waited:
            self.metrics.waited(key, now - request.arrived, request.waited)
        if self.request_log is not None:
            self.request_log.answered(request, response)


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


def parse(api: Api, request: Request) -> Answer:
    """Query and path to a `RequestInfo`."""
    del api
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


def authenticate(api: Api, request: Request) -> Answer | Awaitable[Answer]:
    """Credentials to a user, or 401."""
    user = api.authenticator.authenticate(request)
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


def identify(api: Api, request: Request) -> None:
    """Give the request an identity that its answer carries."""
    sent = b"audit-id" in request.headers and request.header_list(b"audit-id")[0]
    request.audit_id = sent or api.audit_ids.next()


def audit(api: Api, request: Request) -> Answer | Awaitable[Answer]:
    """Give the request an identity, and tell the audit log that it came."""
    identify(api, request)
    if api.auditor is None or request.outlined:
        return None  # an outlined request is told when it is read
    return auditing.received(api, request)


def impersonate(api: Api, request: Request) -> Answer | Awaitable[Answer]:
    """Act as somebody else, when the user may (docs: "User impersonation").

    Whether one may can depend on what the request is about, and the audit log notes who asked, so
    an outlined request is read first: it is its sender's until then, in flow control too.
    """
    if request.outlined or ORDINARY.issuperset(request.headers):
        return None
    wanted = wanted_user(request.raw_headers)
    return None if wanted is None else _become(api, request, wanted)


async def _become(api: Api, request: Request, wanted: UserInfo) -> Answer:
    """Go on as somebody else.

    Raises:
        ApiError: 403, the user may not.
    """
    found = await api.impersonation.impersonated(wanted, attributes_of(request))
    request.user = found.user
    return None


def flow_control(api: Api, request: Request) -> Answer | Awaitable[Answer]:
    """Wait for a seat (API Priority and Fairness).

    Raises:
        ApiError: 429, there is no memory to spare.
    """
    if api.memory is not None and api.memory.short and _takes_memory(request):
        raise too_many_requests(SHORT_OF_MEMORY, SHORT_RETRY_S)
    return None if api.flow.passes(request) else _admit(api, request)


def _takes_memory(request: Request) -> bool:
    """Whether a request waits for better times: deletions and administrators do not."""
    info = request.info
    deletes = info.verb in ("delete", "deletecollection")
    return info.is_resource and not deletes and MASTERS not in request.user.groups


async def _admit(api: Api, request: Request) -> Response | None:
    """Wait for a seat, and count the time, or the refusal."""
    entry = request.seat
    refused = await api.flow.admit(request)
    waited = api.clock.current_time() - request.started
    if waited > NO_WAIT_S:
        request.waited += waited
    if refused is not None:
        info = request.info
        resource = api.registry.resources.get((info.group, info.version, info.resource))
        if resource is not None and info.subresource in ("", *resource.subresources):
            request.resource = resource  # it is counted as what it would have become
        api.metrics.terminated(request_key(request, refused.status))
        if request.outlined and api.auditor is not None:
            told = auditing.received(api, request)
            if told is not None and not isinstance(told, Response):
                await told
        if api.request_log is not None:
            api.request_log.refused(request, entry)
    return refused


async def _come_back(api: Api, request: Request) -> Response | None:
    """Take a seat again, when the body has come without one."""
    request.started = api.clock.current_time()
    told = len(request.response_headers)
    refused = None if api.flow.passes(request) else await _admit(api, request)
    if refused is None:
        api.flow.resumed(request)
    del request.response_headers[told:]  # the same again
    return refused


def authorize(api: Api, request: Request) -> Answer | Awaitable[Answer]:
    """403 for what the user may not do; the answer of some authorizers has to be waited for.

    What of the request is still to be read is read first.
    """
    if request.outlined:
        return _read_whole(api, request)
    if MASTERS in request.user.groups:
        api.authorizations.at_once += 1
        request.verdict = authorization.ALLOWED
        return None
    begun = api.clock.current_time()
    attributes = attributes_of(request)
    verdict = api.authorizer.authorize(attributes)
    if isinstance(verdict, Verdict):
        return _may(api, request, attributes, verdict, begun)
    return _authorized(api, request, attributes, verdict, begun)


async def _read_whole(api: Api, request: Request) -> Answer:
    """Read a long request, which has a seat now; then what waited for that, and authorize it."""
    try:
        unreadable = await outlines.read(api.off_loop, request)
    except ApiError:
        auditing.refused_early(api, request)
        raise
    if unreadable is not None:
        return unreadable
    if request.info.unfinished:
        return unfinished_path(request.raw_path, request.raw_query)
    for stage in _AFTER_READING:
        answer = stage(api, request)
        if answer is not None and not isinstance(answer, ANSWERS):
            answer = await answer
        if answer is not None:
            return answer
    return None


def _tell(api: Api, request: Request) -> Answer | Awaitable[Answer]:
    """Tell the audit log that a request came."""
    return auditing.received(api, request)


_AFTER_READING: tuple[Stage, ...] = (_tell, impersonate, authorize)


async def _authorized(
    api: Api, request: Request, attributes: Attributes, asked: Awaitable[Verdict], begun: float
) -> Answer:
    return _may(api, request, attributes, await asked, begun)


def _may(
    api: Api, request: Request, attributes: Attributes, verdict: Verdict, begun: float
) -> Answer:
    request.verdict = verdict
    seconds = api.clock.current_time() - begun
    if verdict.decision is Decision.ALLOW:
        api.authorizations.allowed.observe(seconds)
        return None
    api.authorizations.refused(verdict, seconds)
    if verdict.error:  # nobody knows; in these words and not as a Status
        uri = request.raw_path + ("?" + request.raw_query if request.raw_query else "")
        said = f"Internal Server Error: {quote(uri)}: {verdict.error}\n"
        return text_response(authorization.sanitized(said), 500, authorization.NOSNIFF)
    raise authorization.forbidden(attributes, verdict.reason)


def decode(api: Api, request: Request) -> Answer | Awaitable[Answer]:
    """Find the resource and read the body; paths that are not resources are answered here.

    What another server serves is answered there.

    The seat is given back while a body comes that has not come yet, see `arriving`.
    """
    if api.routes:  # few servers have any
        route = route_of(api, request.info.path)
        if route is not None:
            return delegated(api, request, route)
    if not request.info.is_resource:
        return api.documents.answer(request)
    try:
        resource = routing.find(api.registry, request)
    except routing.NotServed:
        return page_not_found()
    request.resource = resource
    if resource.deprecated:
        routing.advise(request, resource)
        info = request.info
        api.metrics.deprecated.add((info.group, info.version, info.resource, info.subresource))
    if request.info.verb in BODY_VERBS and request.info.subresource not in CONNECTED:
        config = api.config
        decoding: Awaitable[Answer] = decode_body(
            request, resource, config.max_body_bytes, api.off_loop, cbor=config.cbor
        )
        if not request.ready:
            read_unseated(api, request, _come_back)
            decoding = _or_refused(decoding)
        return decoding if api.under_way < CROWD else in_step(decoding)
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


def admit_and_store(api: Api, request: Request) -> Awaitable[AnyResponse]:
    """Run the verb: admission, the kind's rules and the store, or a read."""
    resource = request.resource
    if resource is None:
        raise AssertionError("decode finds the resource")
    subresource, name = request.info.subresource, request.info.verb
    serves = resource.subresources[subresource].serves if subresource else resource.serves
    verb = SUBVERBS.get((serves, name)) if serves else None
    if verb is None:
        verb = verbs.VERBS.get(name)
        if verb is None or not supported(subresource):
            raise not_implemented(resource.group_resource, subresource)
    elif subresource:
        routing.check_name(request.info.name)
    if request.record is not None:
        noting = auditing.body_read(api, request, resource)
        if noting is not None:
            return _noted(noting, verb, api, request, resource)
    return verb(api, request, resource)


async def _noted(
    noting: Awaitable[None], verb: verbs.Verb, api: Api, request: Request, resource: Kind
) -> AnyResponse:
    """Run a verb when the audit log knows the body."""
    await noting
    return await verb(api, request, resource)


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


STAGES: tuple[Stage, ...] = (
    parse,
    authenticate,
    audit,
    impersonate,
    flow_control,
    authorize,
    decode,
    admit_and_store,
)
