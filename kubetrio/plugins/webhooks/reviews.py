"""AdmissionReview: what a webhook is asked, and which answers count.

Source: docs "Dynamic Admission Control" (request, response); ``admission.k8s.io`` v1 and v1beta1.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.criteria import namespace_of
from kubetrio.gotext.text import quote
from kubetrio.machinery.identity import user_info
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.plugins.dynamic.objects import kind_in
from kubetrio.schema.kind import Kind

Object = dict[str, Any]

GROUP, REVIEW = "admission.k8s.io", "AdmissionReview"
VERSIONS = ("v1", "v1beta1")
JSON_PATCH = "JSONPatch"
OPTIONS = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
}


class InvalidAnswer(Exception):
    """A response that does not count; the text says why in kube-apiserver's words."""


def version_for(accepted: object) -> str:
    """The version of reviews that a webhook is sent: the first of its own that is known.

    Args:
        accepted: its ``admissionReviewVersions``.

    Raises:
        ValueError: none of them is known.
    """
    for version in accepted if isinstance(accepted, list) else ():
        if version in VERSIONS:
            return str(version)
    raise ValueError("webhook does not accept known AdmissionReview versions (v1, v1beta1)")


def options_of(attributes: Attributes) -> Object | None:
    """How the client wants it done; None for connections, which have no options."""
    kind = OPTIONS.get(attributes.operation)
    if kind is None:
        return None
    members = {name: value for name, value in attributes.options.items() if value is not None}
    return {**members, "kind": kind, "apiVersion": "meta.k8s.io/v1"}


def review_of(
    version: str,
    uid: str,
    attributes: Attributes,
    matched: Kind,
    *,
    obj: Object | None,
    old: Object | None,
) -> Object:
    """The review that a webhook is sent.

    Args:
        version: of the review.
        uid: of this call.
        attributes: the request.
        matched: the resource as which the webhook means it.
        obj: the object, in the version of that.
        old: the object before, in the same.
    """
    resource, below = attributes.resource, attributes.subresource
    request: Object = {
        "uid": uid,
        "kind": _kind(kind_in(matched, below)),
        "resource": _resource(matched),
    }
    if below:
        request["subResource"] = below
    request["requestKind"] = _kind(kind_in(resource, below))
    request["requestResource"] = _resource(resource)
    if below:
        request["requestSubResource"] = below
    if attributes.name:
        request["name"] = attributes.name
    if namespace := namespace_of(attributes):
        request["namespace"] = namespace
    request["operation"] = attributes.operation.value
    request["userInfo"] = user_info(attributes.user)
    request["object"] = obj
    request["oldObject"] = old
    request["dryRun"] = attributes.dry_run
    request["options"] = options_of(attributes)
    return {"kind": REVIEW, "apiVersion": f"{GROUP}/{version}", "request": request}


def _kind(gvk: GroupVersionKind) -> Object:
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def _resource(resource: Kind) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a webhook answers.

    Args:
        allowed: whether the request may go on.
        status: why it may not.
        patch: what it changes, JSON; empty for nothing.
        patch_type: how that is written.
        warnings: for the client.
        annotations: for the audit log, without the webhook's name.
    """

    allowed: bool
    status: Object | None
    patch: bytes
    patch_type: str
    warnings: tuple[str, ...]
    annotations: Mapping[str, str]


def verified(version: str, uid: str, review: Object, *, mutating: bool) -> Response:
    """The response in a review, if it counts.

    Args:
        version: of the review that was sent.
        uid: of the call.
        review: what came back, its types checked.
        mutating: whether it may change the object.

    Raises:
        InvalidAnswer: it does not count.
    """
    response = review.get("response")
    if response is None:
        raise InvalidAnswer("webhook response was absent")
    patch = base64.b64decode(response.get("patch") or "")
    kind: str | None = response.get("patchType")
    if version == "v1":
        _check(uid, review, response)
        _check_patch(patch, kind, mutating=mutating)
    elif not mutating:
        patch, kind = b"", ""
    else:
        kind = JSON_PATCH if patch else ""
    return Response(
        allowed=response.get("allowed") is True,
        status=response.get("status"),
        patch=patch,
        patch_type=kind or "",
        warnings=tuple(text or "" for text in response.get("warnings") or ()),
        annotations={key: v or "" for key, v in (response.get("auditAnnotations") or {}).items()},
    )


def _check(uid: str, review: Object, response: Object) -> None:
    given = response.get("uid") or ""
    if given != uid:
        raise InvalidAnswer(f"expected response.uid={quote(uid)}, got {quote(given)}")
    kind_answered = f"{review.get('apiVersion') or '/'}, Kind={review.get('kind') or ''}"
    kind_expected = f"{GROUP}/v1, Kind={REVIEW}"
    if kind_answered != kind_expected:
        raise InvalidAnswer(f"expected webhook response of {kind_expected}, got {kind_answered}")


def _check_patch(patch: bytes, kind: str | None, *, mutating: bool) -> None:
    if not mutating:
        if patch:
            raise InvalidAnswer("validating webhook may not return response.patch")
        if kind is not None:
            raise InvalidAnswer("validating webhook may not return response.patchType")
        return
    if patch and kind is None:
        raise InvalidAnswer("webhook returned response.patch but not response.patchType")
    if not patch and kind is not None:
        raise InvalidAnswer("webhook returned response.patchType but not response.patch")
    if kind == "":
        raise InvalidAnswer('webhook returned invalid response.patchType of ""')


def illegal_base64(text: str) -> str:
    """Why Go cannot read a text as base64, empty when it can."""
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        pass
    else:
        return ""
    alphabet = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n")
    plain = "".join(text.split("\n")).replace("\r", "")
    wrong = next((at for at, char in enumerate(text) if char not in alphabet), len(text))
    try:
        base64.b64decode(plain, validate=True)
    except binascii.Error:
        return f"illegal base64 data at input byte {wrong}"
    return ""
