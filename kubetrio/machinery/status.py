"""API errors and the ``Status`` objects that carry them.

``ApiError`` is the only exception family a handler may raise; each constructor below holds the
one wording of its case.  Source: apimachinery ``api/errors`` semantics as documented in the API
conventions ("Response Status Kind").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubetrio.gotext.text import aggregate, quote
from kubetrio.machinery.names import GroupKind, GroupResource

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of ``details.causes``.

    Args:
        reason: a cause type such as ``FieldValueInvalid``.
        message: text for people, without the field.
        field: path of the field in Kubernetes' notation, or empty.
    """

    reason: str
    message: str
    field: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    def as_dict(self) -> Json:
        """The JSON form; empty members are left out."""
        out: Json = {"reason": self.reason, "message": self.message}
        if self.field:
            out["field"] = self.field
        return out


MOST_CAUSES: Final = 1_000
"""Told of one object."""
MOST_TOLD_CHARS: Final = 128 * 1024
"""Of all of them together, but for the last."""
MORE: Final = Cause("FieldValueInvalid", "too many errors")
"""In the place of each cause that is not told; alone, where those before it turned out good."""


def told(causes: Sequence[Cause]) -> Sequence[Cause]:
    """The causes that are told: the first, until there are too many or they say too much."""
    if len(causes) < _FEW:
        return causes
    left = MOST_TOLD_CHARS
    all_causes: list[Cause] = []
    for cause in causes:
        if left <= 0 or len(all_causes) == MOST_CAUSES:
            break
        if cause is not MORE:
            all_causes.append(cause)
            left -= len(cause.message) + len(cause.field)
    return all_causes or [MORE]


_FEW = 10  # causes that no object has too many of


REASONS: Mapping[int, str] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""What status codes mean where nothing else says so; others from 500 on are internal errors."""


class ApiError(Exception):
    """A failure with a ``Status`` body.

    Args:
        code: HTTP status code.
        reason: machine-readable reason; empty where kube-apiserver sends none.
        message: text for people.
        details: the ``details`` member (None leaves it out, ``{}`` sends an empty object).
        retry_after: seconds for ``Retry-After`` and ``details.retryAfterSeconds``.
        headers: extra response headers.
        continue_token: goes into ``metadata.continue`` (expired list tokens).
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        retry_after: int | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details) if details is not None else None
        self.retry_after = retry_after
        self.headers = tuple(headers)
        self.continue_token = continue_token
        if retry_after is not None:
            self.details = {**(self.details or {}), "retryAfterSeconds": retry_after}

    @classmethod
    def of(cls, status: Mapping[str, Any]) -> ApiError:
        """The failure that a ``Status`` tells of."""
        details = status.get("details")
        return cls(
            status.get("code", 500),
            status.get("reason", ""),
            status.get("message", ""),
            details,
            retry_after=(details or {}).get("retryAfterSeconds"),
            continue_token=(status.get("metadata") or {}).get("continue", ""),
        )

    @classmethod
    def of_text(cls, code: int, text: str, retry_after: int | None = None) -> ApiError:
        """The failure that an answer without a ``Status`` tells of, with client-go's reasons.

        Source: apimachinery, ``errors.NewGenericServerResponse``.

        Args:
            code: HTTP status code.
            text: what the answer says.
            retry_after: its ``Retry-After``, in seconds.
        """
        reason = REASONS.get(code, "InternalError" if code >= 500 else "")
        return cls(code, reason, text.strip(), {}, retry_after=retry_after)

    def status(self) -> Json:
        """The ``Status`` object, keys in kube-apiserver's order."""
        out: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            out["reason"] = self.reason
        if self.details is not None:
            out["details"] = self.details
        out["code"] = self.code
        return out


def success(details: Mapping[str, Any] | None = None) -> Json:
    """The ``Status`` of a success that has no object to return (deletions)."""
    out: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        out["details"] = dict(details)
    return out


def _object_details(name: str, group: str, kind: str, **more: Any) -> Json:
    out: Json = {}
    if name:
        out["name"] = name
    if group:
        out["group"] = group
    if kind:
        out["kind"] = kind
    out.update(more)
    return out


def resource_details(resource: GroupResource, name: str = "", **more: Any) -> Json:
    """``details`` that name a resource."""
    return _object_details(name, resource.group, resource.resource, **more)


def not_found(resource: GroupResource, name: str) -> ApiError:
    """404 for a named object."""
    return ApiError(
        404, "NotFound", f"{resource} {quote(name)} not found", resource_details(resource, name)
    )


def unknown_path() -> ApiError:
    """404 for a resource the server does not have (below a known prefix)."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> ApiError:
    """405 for a verb the path does not take."""
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        {},
    )


def not_supported(resource: GroupResource, action: str) -> ApiError:
    """405 for something that a resource with such a path cannot do."""
    return ApiError(
        405,
        "MethodNotAllowed",
        f'{action} is not supported on resources of kind "{resource}"',
        resource_details(resource),
    )


def already_exists(resource: GroupResource, name: str, *, generated: bool = False) -> ApiError:
    """409 for a create of an existing name.

    Args:
        resource: of what.
        name: the name.
        generated: whether the client left it to the server to find one.
    """
    why = ", the server was not able to generate a unique name for the object" if generated else ""
    return ApiError(
        409,
        "AlreadyExists",
        f"{resource} {quote(name)} already exists{why}",
        resource_details(resource, name),
        retry_after=1 if generated else None,
    )


def conflict(resource: GroupResource, name: str, why: str) -> ApiError:
    """409 for a lost optimistic lock or a failed precondition."""
    return ApiError(
        409,
        "Conflict",
        f"Operation cannot be fulfilled on {resource} {quote(name)}: {why}",
        resource_details(resource, name),
    )


OBJECT_MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def bad_request(message: str) -> ApiError:
    """400 with a message and no details."""
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    """401: credentials were given and none was good."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: GroupResource, name: str, why: str) -> ApiError:
    """403 about a resource."""
    subject = f"{resource} {quote(name)}" if name else str(resource)
    return ApiError(
        403, "Forbidden", f"{subject} is forbidden: {why}", resource_details(resource, name)
    )


def invalid(kind: GroupKind, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 with field causes; several are listed in brackets, as an aggregate.

    Of very many the first are told.
    """
    causes = told(causes)
    joined = aggregate(map(str, causes))
    message = f"{kind} {quote(name)} is invalid"
    if joined:
        message += f": {joined}"
    details = _object_details(name, kind.group, kind.kind)
    if causes:
        details["causes"] = [cause.as_dict() for cause in causes]
    return ApiError(422, "Invalid", message, details)


def expired(message: str) -> ApiError:
    """410: the revision asked for is compacted."""
    return ApiError(410, "Expired", message)


def too_large_resource_version(
    requested: int, current: int, *, retry_after: int | None = 1
) -> ApiError:
    """504: a revision from the future did not come in time.

    Args:
        requested: the revision asked for.
        current: the newest one.
        retry_after: seconds after which to try again, None to say nothing of it.
    """
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {requested}, current: {current}",
        {"causes": [cause.as_dict()]},
        retry_after=retry_after,
    )


def entity_too_large(limit: int) -> ApiError:
    """413: the body is over the limit (bytes)."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def too_many_values() -> ApiError:
    """413: the body is within the limit, and made of so many values that it would take too much."""
    return ApiError(413, "RequestEntityTooLarge", "Request entity too large: too many values")


def too_large_to_store() -> ApiError:
    """500: an object is larger than the store takes.

    These are etcd's words, which are no error of the API, and so without a reason
    (endpoints/handlers/responsewriters/status.go, ErrorToAPIStatus).
    """
    return ApiError(500, "", "etcdserver: request is too large")


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    """415: no decoder for the body's media type."""
    return ApiError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted),
    )


def not_acceptable(accepted: Sequence[str]) -> ApiError:
    """406: no encoder for what the client accepts."""
    return ApiError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: " + ", ".join(accepted),
    )


def too_many_requests(message: str, retry_after: int) -> ApiError:
    """429 with ``Retry-After``."""
    return ApiError(429, "TooManyRequests", message, retry_after=retry_after)


TOO_LATE = "request did not complete within the allotted timeout"


def timeout(message: str) -> ApiError:
    """504: the request took longer than it may."""
    return ApiError(504, "Timeout", f"Timeout: {message}", {})


def internal_error(message: str) -> ApiError:
    """500 with kube-apiserver's wording for a bug."""
    return ApiError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        {"causes": [{"message": message}]},
    )
