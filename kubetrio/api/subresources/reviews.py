"""Reviews: questions about identities and permissions, answered and not stored.

Source: docs "Authentication" (TokenReview, SelfSubjectReview), "Authorization" (access reviews);
API reference of authentication.k8s.io and authorization.k8s.io.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from kubetrio.api import options
from kubetrio.api.admitting import admitted
from kubetrio.api.api import Api, Edge, Security, Writes
from kubetrio.api.encoding.encoders import encoder_for
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.api.subresources.pods import check_namespace
from kubetrio.api.verbs import Verb
from kubetrio.auth.authenticate import Reviewed
from kubetrio.auth.authorize import Rules
from kubetrio.auth.selectors import reviewed_fields, reviewed_labels
from kubetrio.auth.tokens import parse_bearer
from kubetrio.kinds.common.selectors import field_requirement, label_requirement
from kubetrio.machinery.asking import verdict_of
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.fielderrors import required
from kubetrio.machinery.identity import (
    Attributes,
    Decision,
    Narrowing,
    UserInfo,
    authenticated,
    user_info,
)
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.status import Cause, bad_request, invalid
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.opening import clear_identity
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Check
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import NO_TABLE

Object = dict[str, Any]
AUTHORIZATION = GroupKind("authorization.k8s.io", "")


async def _answer(
    edge: Edge, request: Request, resource: Kind, body: Object, status: Object
) -> Response:
    encoder = encoder_for(request, resource, NO_TABLE, edge.env.now, edge.cache)
    rest = {key: body[key] for key in ("spec",) if key in body}
    shown = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": body.get("metadata") or {},
        **rest,
        "status": status,
    }
    return Response(201, encoder.object(jsonwire.encode(shown)), encoder.content_type)


@asynccontextmanager
async def _admitted(
    writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AsyncIterator[Object]:
    """Admit a review with its owners, as every created object has them; the block checks it.

    Raises:
        ApiError: 400, 403, 404 or 422.
    """
    chosen = options.write_options(request, "CreateOptions")
    body: Object = request.body
    clear_identity(body, namespaced=resource.namespaced)
    if resource.namespaced:
        check_namespace(request)
    now = format_time(edge.env.now())
    FieldManager(resource, chosen.field_manager, now).created(body)
    name = body["metadata"].get("name") or ""
    async with admitted(
        writes, request, resource, body, name=name, dry_run=chosen.dry_run, options=chosen.options
    ) as changed:
        yield changed


async def self_subject(writes: Writes, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """Answer a SelfSubjectReview."""
    async with _admitted(writes, edge, request, resource):
        pass
    meta = {"creationTimestamp": format_time(edge.env.now())}
    status = {"userInfo": user_info(request.user)}
    return await _answer(edge, request, resource, {"metadata": meta}, status)


async def token(
    security: Security, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """Whose token is this."""
    async with _admitted(writes, edge, request, resource) as body:
        spec = body.get("spec") or {}
        text = spec.get("token") or ""
        if not text:
            raise bad_request("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or edge.config.audiences)
    # What would be read of a header with it is asked about, and nothing for one of blanks.
    sent = parse_bearer(b"Bearer " + text.encode("utf-8", "surrogatepass")).token
    reviewed = Reviewed(None) if sent is None else security.authenticator.review(sent, audiences)
    if not isinstance(reviewed, Reviewed):
        reviewed = await reviewed
    answer = reviewed.found
    status: Object = {}
    request.annotations.update(reviewed.annotations)
    if answer is None:
        status["user"] = {}
        if reviewed.error:
            status["error"] = reviewed.error
    else:
        request.warn(answer.warnings)
        user = user_info(authenticated(answer.user))
        status.update(authenticated=True, user=user, audiences=list(answer.audiences))
    return await _answer(edge, request, resource, body, status)


# ---------------------------------------------------------------------- access


def spec_causes(spec: Object, *, subject: bool) -> list[Cause]:
    """What is wrong with the question of an access review.

    Args:
        spec: the question.
        subject: whether it names a user.
    """
    causes: list[Cause] = []
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        causes.append(invalid_value("spec.nonResourceAttributes", _go_path(path), detail))
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.append(invalid_value("spec.resourceAttributes", None, detail))
    if subject and not spec.get("user") and not spec.get("groups"):
        detail = "at least one of user or group must be specified"
        causes.append(invalid_value("spec.user", "", detail))
    for member, check in _REQUIREMENTS.items():
        selector = (resource or {}).get(member)
        if selector is not None:
            _selector(selector, f"spec.resourceAttributes.{member}", causes, check)
    return causes


def _label_requirement(value: Object, path: str, causes: list[Cause]) -> None:
    # clients newer than this server may know operators that it does not
    label_requirement(value, path, causes, any_operator=True)


_REQUIREMENTS: Mapping[str, Check] = {
    "fieldSelector": field_requirement,
    "labelSelector": _label_requirement,
}


def _selector(selector: Object, path: str, causes: list[Cause], check: Check) -> None:
    raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or ()
    if raw and requirements:
        detail = "may not specified at the same time as requirements"
        causes.append(invalid_value(f"{path}.rawSelector", raw, detail))
    if not raw and not requirements:
        detail = f"when {path} is specified, requirements or rawSelector is required"
        causes.append(required(f"{path}.requirements", detail))
    for index, requirement in enumerate(requirements):
        check(requirement, f"{path}.requirements[{index}]", causes)


def _go_path(path: Object) -> Object:
    """Non-resource attributes as messages print them: the members of the Go struct."""
    return {"Path": path.get("path") or "", "Verb": path.get("verb") or ""}


def _check(causes: list[Cause]) -> None:
    if causes:
        raise invalid(AUTHORIZATION, "", causes)


def question(spec: Object, user: UserInfo) -> tuple[Attributes, list[str]]:
    """The question of an access review as authorizers take it, and what of it was not understood.

    Args:
        spec: of the review.
        user: the subject of the review.
    """
    resource = spec.get("resourceAttributes")
    if resource is None:
        path = spec.get("nonResourceAttributes") or {}
        attributes = Attributes(
            user=user,
            verb=path.get("verb") or "",
            resource_request=False,
            path=path.get("path") or "",
        )
        return attributes, []
    fields = reviewed_fields(resource.get("fieldSelector"))
    labels = reviewed_labels(resource.get("labelSelector"))
    attributes = Attributes(
        user=user,
        verb=resource.get("verb") or "",
        namespace=resource.get("namespace") or "",
        api_group=resource.get("group") or "",
        api_version=resource.get("version") or "*",
        resource=resource.get("resource") or "",
        subresource=resource.get("subresource") or "",
        name=resource.get("name") or "",
        narrowing=Narrowing(fields.requirements, labels.requirements),
    )
    ignored = [
        f"spec.resourceAttributes.{member} {'partially ' if read.requirements else ''}"
        "ignored due to parse error"
        for member, read in (("fieldSelector", fields), ("labelSelector", labels))
        if read.failed
    ]
    return attributes, ignored


async def verdict(security: Security, spec: Object, user: UserInfo) -> Object:
    """The status of an access review."""
    asked, ignored = question(spec, user)
    answer = await verdict_of(security.authorizer.authorize, asked)
    status: Object = {"allowed": answer.decision is Decision.ALLOW}
    if answer.decision is Decision.DENY:
        status["denied"] = True
    if answer.reason:
        status["reason"] = answer.reason
    if errors := "; ".join([answer.error, *ignored] if answer.error else ignored):
        status["evaluationError"] = errors
    return status


def subject_of(spec: Object) -> UserInfo:
    """User that an access review is about."""
    extra = spec.get("extra") or {}
    return UserInfo(
        spec.get("user") or "",
        spec.get("uid") or "",
        tuple(spec.get("groups") or ()),
        {key.lower(): tuple(values or ()) for key, values in extra.items()},
    )


def _metadata_causes(meta: Object, allowed: str = "") -> list[Cause]:
    """What is wrong with the metadata of an access review: there are none but its owners."""
    if not set(meta) - {"managedFields", allowed}:
        return []
    detail = f"must be empty except for {allowed}" if allowed else "must be empty"
    return [invalid_value("metadata", meta, detail)]


async def self_access(
    security: Security, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """May I."""
    async with _admitted(writes, edge, request, resource) as body:
        spec = body.get("spec") or {}
        causes = spec_causes(spec, subject=False)
        causes += _metadata_causes(body["metadata"])
        _check(causes)
    return await _answer(edge, request, resource, body, await verdict(security, spec, request.user))


async def subject_access(
    security: Security, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """Answer a SubjectAccessReview."""
    async with _admitted(writes, edge, request, resource) as body:
        spec = body.get("spec") or {}
        causes = spec_causes(spec, subject=True)
        causes += _metadata_causes(body["metadata"])
        _check(causes)
    return await _answer(
        edge, request, resource, body, await verdict(security, spec, subject_of(spec))
    )


def _local_causes(body: Object, spec: Object, namespace: str) -> list[Cause]:
    """What is wrong with a review that is about one namespace."""
    causes = spec_causes(spec, subject=True)
    causes += _metadata_causes(body["metadata"], "namespace")
    asked = spec.get("resourceAttributes")
    if asked is not None and (asked.get("namespace") or "") != namespace:
        detail = "must match metadata.namespace"
        path = "spec.resourceAttributes.namespace"
        causes.append(invalid_value(path, asked.get("namespace") or "", detail))
    path_asked = spec.get("nonResourceAttributes")
    if path_asked is not None:
        detail = "disallowed on this kind of request"
        causes.append(invalid_value("spec.nonResourceAttributes", _go_path(path_asked), detail))
    return causes


async def local_access(
    security: Security, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """Answer a LocalSubjectAccessReview."""
    async with _admitted(writes, edge, request, resource) as body:
        spec = body.get("spec") or {}
        _check(_local_causes(body, spec, request.info.namespace))
    return await _answer(
        edge, request, resource, body, await verdict(security, spec, subject_of(spec))
    )


async def self_rules(
    security: Security, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """Answer a SelfSubjectRulesReview."""
    async with _admitted(writes, edge, request, resource) as body:
        namespace = (body.get("spec") or {}).get("namespace") or ""
        if not namespace:
            raise bad_request("no namespace on request")
    rules = security.authorizer.rules_for(request.user, namespace)
    if not isinstance(rules, Rules):
        rules = await rules
    status: Object = {
        "resourceRules": list(rules.resources),
        "nonResourceRules": list(rules.paths),
        "incomplete": rules.incomplete,
    }
    if rules.error:
        status["evaluationError"] = rules.error
    return await _answer(edge, request, resource, {"spec": {}}, status)


def verbs_of(api: Api) -> Mapping[tuple[str, str], Verb]:
    """See `kubetrio.api.subresources.verbs`."""
    security, writes, edge = api.security, api.writes, api.edge
    return {
        ("selfsubjectreview", "create"): partial(self_subject, writes, edge),
        ("tokenreview", "create"): partial(token, security, writes, edge),
        ("selfsubjectaccessreview", "create"): partial(self_access, security, writes, edge),
        ("subjectaccessreview", "create"): partial(subject_access, security, writes, edge),
        ("localsubjectaccessreview", "create"): partial(local_access, security, writes, edge),
        ("selfsubjectrulesreview", "create"): partial(self_rules, security, writes, edge),
    }
