"""What the audit log is told of a request: its events, made where the pipeline comes past.

A request has a `Record` from its stage on, if the policy wants one; who was not let in has one
event, made when it is refused.  Source: docs "Auditing"; what stands in which event, and of which
requests there is a ResponseStarted, is kube-apiserver's.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVarTuple

import orjson
import trio

from kubetrio.api.api import Edge
from kubetrio.api.audit.auditbodies import (
    Told,
    code_json,
    delete_json,
    document_json,
    object_json,
    patch_json,
)
from kubetrio.api.audit.auditsource import AGENT_BYTES, source_of
from kubetrio.api.flowcontrol import is_long_running
from kubetrio.api.request import Request
from kubetrio.api.response import (
    JSON,
    AnyResponse,
    Channel,
    Response,
    StreamResponse,
    TunnelResponse,
    text_response,
)
from kubetrio.audit.events import (
    ALLOWED,
    DECISION,
    REASON,
    TRUNCATED,
    AuditEvent,
    ref_json,
    time_json,
)
from kubetrio.audit.policy import Chosen, Level
from kubetrio.gotext.durations import duration_text
from kubetrio.machinery.identity import Decision, UserInfo
from kubetrio.machinery.remember import counted
from kubetrio.schema.kind import Kind
from kubetrio.wire.jsonwire import encode
from kubetrio.wire.negotiate import takes_errors

Object = dict[str, Any]
Args = TypeVarTuple("Args")

SLOW_S = 0.5
MOST_LIST_BYTES = 64 * 1024 * 1024
"""Of a list that is sent in pieces and noted in one."""
MOST_REMEMBERED = 512
"""Characters of a path whose parts are remembered as JSON."""
GONE_S = 5.0
"""Seconds that the last event of a request may take to be written whose client has left."""
LATENCY = "apiserver.latency.k8s.io/"
DEPRECATED = "k8s.io/deprecated"
REMOVED = "k8s.io/removed-release"
_removed = re.compile(r"unavailable in v(\d+\.\d+)\+").search
STATUS_FIELDS = ("metadata", "status", "message", "reason", "details", "code")
PLAIN_STATUS = b'{"kind":"Status","apiVersion":"v1",'


class Record:
    """What is known of a request for its events.

    Args:
        request: the request, whose user is who sent it.
        chosen: what the policy says.
        received: wall clock when it came, as JSON.

    Attributes:
        answer: as it was before it was compressed, None as long as there is none.
        parts: of a list that is sent in pieces.
    """

    __slots__ = (
        "_ref", "_source", "_user", "answer", "chosen", "parts", "received", "request",
        "request_object", "response_object", "size",
    )  # fmt: skip

    def __init__(self, request: Request, chosen: Chosen, received: bytes) -> None:
        self.request = request
        self.chosen = chosen
        self.received = received
        self._user: UserInfo | None = request.user
        self._source = source_of(request)
        self._ref: dict[str, str] | None = None
        self.request_object = self.response_object = b""
        self.answer: AnyResponse | None = None
        self.parts: list[bytes] | None = None
        self.size = 0

    def without_user(self) -> None:
        """Note that the request ended before its user was known."""
        self._user = None

    @property
    def early(self) -> bool:
        """Whether it ended before there was a user."""
        return self._user is None

    @property
    def ref(self) -> dict[str, str]:
        """What the request is about, to be completed by what its body says."""
        if self._ref is None:
            info = self.request.info
            self._ref = {
                "resource": info.resource,
                "namespace": info.namespace,
                "name": info.name,
                "apiGroup": info.group,
                "apiVersion": info.version,
                "subresource": info.subresource,
            }
        return self._ref

    def event(
        self,
        stage: str,
        staged: bytes,
        code: int = 0,
        status: bytes = b"",
        annotations: Mapping[str, str] | None = None,
    ) -> AuditEvent:
        """An event of the request.

        Args:
            stage: what it has come to.
            staged: wall clock, as JSON.
            code: of the answer.
            status: see `AuditEvent`.
            annotations: what was found out.
        """
        request, source = self.request, self._source
        info = request.info
        query = request.raw_query
        if self._ref is not None:
            ref = ref_json(self._ref)
        elif info.is_resource and len(request.raw_path) > MOST_REMEMBERED:
            ref = ref_json(self.ref)
        elif info.is_resource:
            ref = _ref_json(
                info.resource, info.namespace, info.name, info.group, info.version,
                info.subresource,
            )  # fmt: skip
        else:
            ref = b""
        user = request.user
        return AuditEvent(
            self.chosen.level, request.audit_id, stage,
            f"{request.raw_path}?{query}" if query else request.raw_path, info.verb,
            self._user, source.json, source.ip, source.agent, info.namespace, ref,
            self.received, staged,
            user if self._user is not None and user is not self._user and stage != FIRST else None,
            "", code, status, self.request_object, self.response_object, annotations,
        )  # fmt: skip


FIRST = "RequestReceived"
STARTED = "ResponseStarted"
COMPLETE = "ResponseComplete"
PANIC = "Panic"


@counted
@lru_cache(1024)
def _ref_json(
    resource: str, namespace: str, name: str, group: str, version: str, subresource: str
) -> bytes:
    return ref_json(
        {
            "resource": resource,
            "namespace": namespace,
            "name": name,
            "apiGroup": group,
            "apiVersion": version,
            "subresource": subresource,
        }
    )


# ---------------------------------------------------------------------- the way in


def _now(edge: Edge) -> bytes:
    return time_json(edge.env.now())


def _arrived(edge: Edge, request: Request) -> bytes:
    return time_json(edge.env.now() - edge.clock.current_time() + request.arrived)


def received(edge: Edge, request: Request) -> Response | Awaitable[Response | None] | None:
    """Begin to note a request, if the policy wants it; the answer if that cannot be done."""
    auditor = edge.auditor
    if auditor is None:
        return None
    user = request.user
    chosen = auditor.choose(user.name, user.groups, request.info)
    if chosen.level is Level.NONE:
        return None
    record = request.record = Record(request, chosen, _arrived(edge, request))
    if FIRST in chosen.omitted:
        return None
    wait = auditor.take(record.event(FIRST, record.received))
    return None if wait is None else _refused(edge, request, wait)


async def _refused(edge: Edge, request: Request, wait: Awaitable[bool]) -> Response | None:
    if await wait:
        return None
    request.record = None
    if edge.auditor is not None:
        edge.auditor.counting.rejected += 1
    query = f"?{request.raw_query}" if request.raw_query else ""
    uri = encode(request.raw_path + query).decode()
    return text_response(
        f"Internal Server Error: {uri}: failed to store audit event\n", 500, NOSNIFF
    )


NOSNIFF = ((b"X-Content-Type-Options", b"nosniff"),)


def refused_early(edge: Edge, request: Request) -> None:
    """Begin to note a request that ended before its user was known."""
    if edge.auditor is None:
        return
    chosen = edge.auditor.choose("", (), request.info)
    if chosen.level is Level.NONE:
        return
    record = request.record = Record(request, chosen, _arrived(edge, request))
    record.without_user()


# ---------------------------------------------------------------------- bodies


def body_read(edge: Edge, request: Request, resource: Kind) -> Awaitable[None] | None:
    """Note what a request sent, before anything is made of it."""
    record: Record | None = request.record
    body = request.body
    if record is None or body is None:
        return None
    verb = request.info.verb
    needed = record.chosen.level >= Level.REQUEST
    if verb in ("create", "update"):
        _complete(record.ref, body)
    if not needed:
        return None
    make: Callable[[], bytes]
    if verb == "patch":
        make = patch_json(body)
    elif verb in ("create", "update"):
        make = object_json(request, resource, omit=record.chosen.omit_managed_fields)
    else:
        make = delete_json(body)
    if request.heavy:
        return _made(edge, request, record, make)
    record.request_object = make()
    return None


async def _made(edge: Edge, request: Request, record: Record, make: Callable[[], bytes]) -> None:
    record.request_object = await edge.off_loop.run(request, make)


def _complete(ref: dict[str, str], body: Object) -> None:
    meta = body.get("metadata")
    if not isinstance(meta, dict):
        return
    for name in ("namespace", "name", "uid", "resourceVersion"):
        if not ref.get(name):
            ref[name] = meta.get(name) or ""


# ---------------------------------------------------------------------- answers


def answer_made(request: Request, answer: AnyResponse) -> None:
    """Note an answer before it is compressed."""
    record: Record | None = request.record
    if record is None:
        return
    record.answer = answer
    if (
        isinstance(answer, StreamResponse)
        and record.chosen.level is Level.REQUEST_RESPONSE
        and request.info.is_resource
        and not is_long_running(request)
    ):
        record.parts = []
        answer.run = _kept(record, answer.run)


def _kept(
    record: Record, run: Callable[[Channel], Awaitable[None]]
) -> Callable[[Channel], Awaitable[None]]:
    async def kept(channel: Channel) -> None:
        await run(_Keeping(record, channel))

    return kept


class _Keeping:
    """A channel that keeps what goes through it."""

    def __init__(self, record: Record, channel: Channel) -> None:
        self._record = record
        self._channel = channel
        self.framing = channel.framing

    def frame(self, payload: bytes) -> bytes:
        """See `Channel`."""
        record: Record = self._record
        record.size += len(payload)
        if record.parts is not None:
            record.parts.append(payload)
            if record.size > MOST_LIST_BYTES:
                record.parts = None
        return self._channel.frame(payload)

    def offer(self, wire: bytes) -> bool:
        """See `Channel`."""
        return self._channel.offer(wire)

    async def send(self, wire: bytes) -> None:
        """See `Channel`."""
        await self._channel.send(wire)

    async def wait_closed(self) -> None:
        """See `Channel`."""
        await self._channel.wait_closed()


async def answered(edge: Edge, request: Request, response: AnyResponse) -> None:
    """Note the answer of a request, now or as its stream begins and ends."""
    record: Record = request.record
    answer = record.answer or response
    if isinstance(answer, Response):
        told = await _told(edge, request, record, answer)
    else:
        told = Told(answer.status, code_json(answer.status))
    early = record.early
    if (early or is_long_running(request)) and STARTED not in record.chosen.omitted:
        await _taken(_take(edge, record, STARTED, told, with_total=False))
    if early:
        return
    if isinstance(response, TunnelResponse):
        response.run = _until_over(edge, record, told, response.run)
        return
    if isinstance(response, StreamResponse) and request.method != "HEAD":
        response.run = _until_over(edge, record, told, response.run)
        return
    await _taken(_take(edge, record, COMPLETE, told))


def _take(
    edge: Edge, record: Record, stage: str, told: Told, *, with_total: bool = True
) -> Awaitable[bool] | None:
    if edge.auditor is None or stage in record.chosen.omitted:
        return None
    annotations = _annotations(edge, record, told.code, with_total=with_total)
    return edge.auditor.take(record.event(stage, _now(edge), told.code, told.status, annotations))


async def _taken(wait: Awaitable[bool] | None) -> None:
    if wait is not None:
        await wait


def _until_over(
    edge: Edge, record: Record, told: Told, run: Callable[[*Args], Awaitable[None]]
) -> Callable[[*Args], Awaitable[None]]:
    async def audited(*args: *Args) -> None:
        try:
            await run(*args)
        except BaseException:
            with trio.move_on_after(GONE_S, shield=True):
                await _finished(edge, record, told)
            raise
        await _finished(edge, record, told)

    return audited


async def _finished(edge: Edge, record: Record, told: Told) -> None:
    if record.parts:
        answer, body = record.answer, b"".join(record.parts)
        record.parts = None
        if isinstance(answer, StreamResponse):
            whole = Response(answer.status, body, answer.content_type)
            record.response_object = await edge.env.run_bodies(
                partial(document_json, whole, omit=record.chosen.omit_managed_fields)
            )
    await _taken(_take(edge, record, COMPLETE, told))


async def panicked(edge: Edge, request: Request, error: BaseException) -> None:
    """Note that a bug ended a request."""
    record: Record | None = request.record
    request.record = None
    if record is None:
        return
    status = {
        "metadata": {},
        "status": "Failure",
        "message": f"APIServer panic'd: {error}",
        "reason": "InternalError",
        "code": 500,
    }
    await _taken(_take(edge, record, PANIC, Told(500, encode(status)), with_total=False))


async def gone(edge: Edge, request: Request) -> None:
    """Note that the client of a request went away before there was an answer."""
    record: Record | None = request.record
    if record is None:
        return
    status = {"metadata": {}, "status": "Failure", "message": "context canceled", "code": 500}
    with trio.move_on_after(GONE_S, shield=True):
        await _taken(_take(edge, record, COMPLETE, Told(500, encode(status))))


def _annotations(edge: Edge, record: Record, code: int, *, with_total: bool) -> Mapping[str, str]:
    request = record.request
    verdict, resource = request.verdict, request.resource
    spent = edge.clock.current_time() - request.arrived
    if (
        verdict is not None
        and verdict.decision is Decision.ALLOW
        and not (verdict.reason or request.annotations or spent > SLOW_S)
        and not request.body_annotations
        and record.size <= MOST_LIST_BYTES
        and (resource is None or not resource.deprecated)
    ):
        return ALLOWED
    annotations: dict[str, str] = dict(request.annotations) if request.annotations else {}
    if request.body_annotations and record.chosen.level >= Level.REQUEST:
        annotations.update(request.body_annotations)
    if verdict is not None:
        if verdict.decision is Decision.ALLOW:
            annotations.update(ALLOWED)
            if verdict.reason:
                annotations[REASON] = verdict.reason
        elif verdict.error:
            annotations[REASON] = "internal error"
        else:
            annotations[DECISION], annotations[REASON] = "forbid", verdict.reason
    if resource is not None and resource.deprecated and code != 429:
        annotations[DEPRECATED] = "true"
        removed = _removed(resource.deprecated) if resource.builtin else None
        if removed is not None:
            annotations[REMOVED] = removed[1]
    if with_total and spent > SLOW_S and request.info.verb != "watch":
        if request.waited:
            annotations[f"{LATENCY}apf-queue-wait"] = duration_text(request.waited)
        annotations[f"{LATENCY}total"] = duration_text(spent)
    if record.size > MOST_LIST_BYTES:
        annotations[TRUNCATED] = "true"
    return annotations


async def _told(edge: Edge, request: Request, record: Record, answer: Response) -> Told:
    """What is said of a whole answer; its object is kept, if that is wanted."""
    code, body = answer.status, answer.body
    # Who takes no Status is answered past what notes answers.
    if code == 406 or (code >= 400 and not takes_errors(request.header(b"accept"))):
        return Told(code, code_json(code))
    level, omit = record.chosen.level, record.chosen.omit_managed_fields
    plain = answer.content_type == JSON and body.startswith(b'{"kind"')
    if plain and level is not Level.REQUEST_RESPONSE and not body.startswith(PLAIN_STATUS):
        return Told(code, code_json(code))
    if not plain and level is not Level.REQUEST_RESPONSE and code < 400 and len(body) > AGENT_BYTES:
        return Told(code, code_json(code))
    if request.heavy or len(body) > 16 * AGENT_BYTES:
        doc = await edge.env.run_bodies(partial(document_json, answer, omit=omit))
    else:
        doc = document_json(answer, omit=omit)
    if doc.startswith(PLAIN_STATUS):
        status = orjson.loads(doc)
        fields = {name: status[name] for name in STATUS_FIELDS if name in status}
        told = Told(code, encode({**fields, "code": code}))
    else:
        told = Told(code, code_json(code))
    if level is Level.REQUEST_RESPONSE:
        record.response_object = doc
    return told
