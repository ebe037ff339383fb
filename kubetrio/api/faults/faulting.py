"""Stages that look whether rules of faults are in force for a request.

A 401 comes where authentication would say it.  All other faults come when flow control and
authorizers have let a request pass, its body has been read and its resource is known; so answers
name the object as those of kube-apiserver do, and a connection can go on.

Paths that are not resources, and what other servers serve, have no faults.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import trio

from kubetrio.api import verbs
from kubetrio.api.api import Edge, Stage, Storage
from kubetrio.api.faults.faultywatch import FaultyWatch
from kubetrio.api.flowcontrol import too_many_requests
from kubetrio.api.request import Request
from kubetrio.api.response import ANSWERS, Answer, StreamResponse
from kubetrio.faults.injector import Active, Injector
from kubetrio.faults.rule import FAULTS, Subject
from kubetrio.machinery import status
from kubetrio.machinery.serverstatus import SERVER_RESPONSES
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind

HEADER = b"X-Kubetrio-Fault"
ANNOTATION = "faults.kubetrio.io/rules"
RETRY_AFTER_S = 1
TOKENS = frozenset({"401"})
OTHERS = frozenset(FAULTS) - TOKENS
OUT_OF_TIME = "request did not complete within the allotted timeout"


def _subject(request: Request) -> Subject:
    info = request.info
    name = info.name
    if not name and info.verb == "create":
        name = str(_meta(request).get("name") or "")
    return Subject(
        request.user.name,
        info.verb,
        info.group,
        info.resource,
        info.subresource,
        info.namespace,
        name,
    )


def _meta(request: Request) -> dict[str, Any]:
    body: Any = request.body
    meta: Any = body.get("metadata") if isinstance(body, dict) else None
    return meta if isinstance(meta, dict) else {}


def _mark(request: Request, active: Active) -> None:
    rule_id = active.rule.id
    request.response_headers.append((HEADER, rule_id.encode()))
    before = request.annotations.get(ANNOTATION)
    request.annotations[ANNOTATION] = f"{before},{rule_id}" if before else rule_id


def refuse_token(faults: Injector, request: Request) -> Answer:
    """Refuse credentials as if they had expired.

    Raises:
        ApiError: 401.
    """
    if not faults.active or not request.info.is_resource:
        return None
    for active in faults.of(_subject(request), TOKENS):
        _mark(request, active)
        raise status.unauthorized()
    return None


def inject(
    storage: Storage, edge: Edge, faults: Injector, store: Stage, request: Request
) -> Answer | Awaitable[Answer]:
    """Find what is to go wrong with a request.

    Args:
        storage: whose revisions are stale answers.
        edge: how long requests may take, and how events are written.
        faults: the rules.
        store: the stage behind this one, for watches that are to go wrong.
        request: the request.
    """
    if not faults.active or request.resource is None:
        return None
    actives = faults.of(_subject(request), OTHERS)
    if not actives:
        return None
    return _inject(storage, edge, store, request, request.resource, actives)


async def _inject(
    storage: Storage,
    edge: Edge,
    store: Stage,
    request: Request,
    resource: Kind,
    actives: list[Active],
) -> Answer:
    """Have a request go wrong in all the ways that its rules say.

    Raises:
        ApiError: one of them is an answer.
    """
    stale: int | None = None
    watches: list[Active] = []
    for active in actives:
        _mark(request, active)
        rule = active.rule
        if rule.fault == "latency":
            await _wait(edge.config.request_timeout_s, active)
        elif rule.fault == "stale":
            if request.query and request.query.get("resourceVersion") == "0":
                behind = storage.hub.revision - rule.revisions
                newest = behind if rule.revisions else active.revision
                stale = max(newest, storage.store.compacted, 1)
        elif request.info.verb == "watch" and rule.fault in ON_WATCHES:
            watches.append(active)
        elif rule.fault == "429":
            return too_many_requests(rule.retry_after_s or RETRY_AFTER_S)
        else:
            raise failure(request, resource, active)
    if stale is not None and request.info.verb == "get":
        return await verbs.get_at(storage, edge, request, resource, stale)
    if stale is not None:
        request.query = {
            **request.query, "resourceVersion": str(stale), "resourceVersionMatch": "Exact",
        }  # fmt: skip
    if not watches:
        return None
    answer = store(request)
    if answer is not None and not isinstance(answer, ANSWERS):
        answer = await answer
    return _faulty(storage, edge, request, resource, answer, watches)


ON_WATCHES = frozenset({"410", "watch-drop", "watch-close", "watch-stall", "watch-delay"})


async def _wait(limit_s: float, active: Active) -> None:
    """Wait as long as a rule says; not longer than requests may take.

    Raises:
        ApiError: 504, the time is over.
    """
    with trio.CancelScope() as scope, active.holding(scope.cancel):
        await trio.sleep(min(active.rule.delay_s, limit_s))
        if active.rule.delay_s > limit_s:
            raise status.timeout(OUT_OF_TIME)


def _faulty(
    storage: Storage,
    edge: Edge,
    request: Request,
    resource: Kind,
    answer: Answer,
    watches: list[Active],
) -> Answer:
    if not isinstance(answer, StreamResponse):
        return answer  # no watch came of it
    for active in watches:
        last = b""
        if active.rule.fault == "410":
            revision = storage.hub.revision
            gone = status.expired(f"too old resource version: {_begun(request)} ({revision})")
            last = verbs.watch_error(edge, request, resource, gone.status())
        faulty = FaultyWatch(active, answer.run, answer.content_type, last)
        answer.run = faulty.run
    return answer


def _begun(request: Request) -> str:
    return request.query.get("resourceVersion") or "0"


def failure(request: Request, resource: Kind, active: Active) -> ApiError:
    """What kube-apiserver answers when such a thing goes wrong.

    Args:
        request: that goes wrong.
        resource: what it is about.
        active: the rule, whose fault is a status code.
    """
    rule = active.rule
    match rule.fault:
        case "409":
            return _conflict(request, resource)
        case "410":
            return status.expired("The resourceVersion for the provided list is too old.")
        case "503":
            message = rule.message or SERVER_RESPONSES[503][1]
            return ApiError(503, "ServiceUnavailable", message, retry_after=rule.retry_after_s)
        case "504":
            return status.timeout(OUT_OF_TIME)
        case _:
            return status.internal_error(rule.message or "injected fault")


def _conflict(request: Request, resource: Kind) -> ApiError:
    name, about = request.info.name, resource.group_resource
    if request.info.verb == "create" and not name:
        meta = _meta(request)
        given = meta.get("name")
        if given:
            return status.already_exists(about, str(given))
        return status.already_exists(about, str(meta.get("generateName", "")), generated=True)
    return status.conflict(about, name, status.OBJECT_MODIFIED)
