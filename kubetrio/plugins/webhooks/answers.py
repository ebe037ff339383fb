"""Bytes that a webhook answers to a review, or why they are none, in the words of Go's client.

Source: client-go's requests (which statuses are errors, and their texts); docs "Dynamic Admission
Control" (response).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.gotext.text import quote
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.plugins.webhooks.reviews import GROUP, REVIEW, illegal_base64
from kubetrio.schema.structural import Report, compile_type
from kubetrio.wire import gojson, jsonwire
from kubetrio.wire.goscan import GoJsonError

Object = dict[str, Any]

SHOWN_BYTES = 2048
"""Of a body that is no review, in messages."""
UNKNOWN = "unknown"
STATUS = GroupVersionKind("", "v1", "Status")
_SCHEME = 'in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"'
_VERSIONS = frozenset({"v1", "v1beta1"})
_STATUS_TYPE = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
_MEDIA_TYPE = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:/[!#$%&'*+\-.^_`|~0-9A-Za-z]+)?")

_TEXTS: Mapping[int, str] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be "
        "processing the request"
    ),
}
_OWN_WORDS = frozenset({403, 406, 415})


class NoReview(Exception):
    """What came back is no review.

    Args:
        text: why.
        code: HTTP status that stands for it in metrics.
    """

    def __init__(self, text: str, code: int = 503) -> None:
        super().__init__(text)
        self.code = code


Check = Callable[[Any, str], Any]
"""Checks the type of a member: (value, what a message says of its place)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewType:
    """A kind of reviews that webhooks answer.

    Args:
        group: API group.
        kind: name of the kind.
        response: Go's name of the type of its response.
        members: of the response, those that count, with the check of each.
    """

    group: str
    kind: str
    response: str
    members: Mapping[str, Check]


def review_in(
    status: int, content_type: str, body: bytes, version: str, review: ReviewType | None = None
) -> Object:
    """The review that an answer holds, with the members that count.

    Args:
        status: HTTP status.
        content_type: media type that the answer says it has.
        body: of the answer.
        version: of the review that was sent.
        review: what kind of review that was; None for one of admission.

    Raises:
        NoReview: it holds none.
    """
    check_status(status, content_type, body)
    try:
        return _decoded(body, version, review or ADMISSION)
    except ValueError as error:
        raise NoReview(str(error)) from None


def check_status(status: int, content_type: str, body: bytes) -> None:
    """Refuse an answer that says it is an error, or says nothing.

    Args:
        status: HTTP status.
        content_type: media type that the answer says it has.
        body: of the answer.

    Raises:
        NoReview: it holds no review, whatever the group.
    """
    if content_type and (wrong := _wrong_media_type(content_type)):
        raise NoReview(f"Internal error occurred: {wrong}", 500)
    if not 200 <= status <= 206:
        raise NoReview(*_failure(status, content_type, body))
    if not body:
        shown = content_type or "application/json"
        raise NoReview(f"0-length response with status code: {status} and content type: {shown}")


def _wrong_media_type(text: str) -> str:
    kind = text.partition(";")[0].strip()
    if not kind:
        return "mime: no media type"
    parts = _MEDIA_TYPE.match(kind)
    if parts is None:
        return "mime: no media type"
    if parts.end() == len(kind):
        return ""
    if "/" in parts.group():
        return "mime: unexpected content after media subtype"
    rest = kind[parts.end() :]
    return (
        "mime: expected token after slash"
        if rest.startswith("/")
        else "mime: expected slash after first token"
    )


def _failure(status: int, content_type: str, body: bytes) -> tuple[str, int]:
    """What is said of an answer with an error, and the code that counts."""
    told = _told(body)
    if told is not None:
        return str(told.get("message") or UNKNOWN), int(told.get("code") or 0)
    text = UNKNOWN
    if not content_type or content_type.strip().lower().startswith("text/"):
        text = body[:SHOWN_BYTES].decode("utf-8", "replace").strip()
    if status in _OWN_WORDS:
        if status == 406 and text in ("", UNKNOWN):
            text = "the server was unable to respond with a content type that the client supports"
        return text, status
    if status in _TEXTS:
        return _TEXTS[status], status
    if status >= 500:
        return (
            f"an error on the server ({quote(text)}) has prevented the request from succeeding",
            status,
        )
    return (
        f"the server responded with the status code {status} but did not return more information",
        status,
    )


def _told(body: bytes) -> Object | None:
    """A failure that a body tells of as a ``Status``."""
    if not body.lstrip().startswith(b"{"):
        return None
    try:
        parsed = gojson.parse(body)
        if jsonwire.find_kind(parsed) != STATUS:
            return None
        status = compile_type(_STATUS_TYPE).decode(parsed.value, Report())
    except ValueError:
        return None
    return status if status.get("status") == "Failure" else None


def _decoded(body: bytes, version: str, review: ReviewType) -> Object:
    """A review of the version that was sent, its types checked.

    Raises:
        ValueError: it is none; the texts are those of Go's decoder.
    """
    parsed = _parsed(body)
    gvk_named = jsonwire.find_kind(parsed)
    kind = review.kind
    sent = GroupVersionKind(review.group, version, kind)
    gvk = jsonwire.with_defaults(gvk_named, sent)
    if gvk != sent:
        if gvk == STATUS:
            raise ValueError(f"converting (v1.Status) to ({version}.{kind}): unknown conversion")
        if gvk.group != sent.group or gvk.version not in _VERSIONS or gvk.kind != kind:
            shown = f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version
            raise ValueError(
                f"no kind {quote(gvk.kind)} is registered for version {quote(shown)} {_SCHEME}"
            )
        raise ValueError(
            f"converting ({gvk.version}.{kind}) to ({version}.{kind}): unknown conversion"
        )
    return _checked(parsed.value or {}, version, review)


def _parsed(body: bytes) -> gojson.Parsed:
    try:
        if body.lstrip().startswith(b"{"):
            return gojson.parse(body)
    except GoJsonError as error:
        why = f"couldn't get version/kind; json parse error: {error}"
        raise ValueError(why) from None
    from kubetrio.wire import yamlwire

    return gojson.Parsed(yamlwire.decode(body).value, [], {})


# --- types ---


def unfit(value: Any, place: str, go_type: str) -> ValueError:
    """What Go's decoder says of a value of the wrong type.

    Args:
        value: the value.
        place: the struct and its member, in JSON's names.
        go_type: the type that it should have.
    """
    word = gojson.type_word(value)
    return ValueError(
        f"json: cannot unmarshal {word} into Go struct field {place} of type {go_type}"
    )


def text(go_type: str = "string") -> Check:
    """The check of texts, of a type with a name of its own or none."""

    def check(value: Any, place: str) -> Any:
        if not isinstance(value, str):
            raise unfit(value, place, go_type)
        return value

    return check


_text = text()


def _flag(value: Any, place: str) -> Any:
    if not isinstance(value, bool):
        raise unfit(value, place, "bool")
    return value


def _bytes(value: Any, place: str) -> Any:
    if not isinstance(value, str):
        raise unfit(value, place, "[]uint8")
    if wrong := illegal_base64(value):
        raise ValueError(wrong)
    return value


def _texts(value: Any, place: str) -> Any:
    if not isinstance(value, list):
        raise unfit(value, place, "[]string")
    return [None if item is None else _text(item, place) for item in value]


def _annotations(value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise unfit(value, place, "map[string]string")
    return {key: None if item is None else _text(item, place) for key, item in value.items()}


def result(value: Any, place: str) -> Any:
    """The check of a ``Status`` inside of a response."""
    if not isinstance(value, dict):
        raise unfit(value, place, "v1.Status")
    path = place.partition(".")[2]
    try:
        return compile_type(_STATUS_TYPE).decode(value, Report())
    except GoJsonError as error:
        told = re.sub(r"(Go struct field [^.]+)\.", rf"\1.{path}.", str(error))
        raise ValueError(told) from None


ADMISSION = ReviewType(
    group=GROUP,
    kind=REVIEW,
    response="AdmissionResponse",
    members={
        "uid": text("types.UID"),
        "allowed": _flag,
        "status": result,
        "patch": _bytes,
        "patchType": text("v1.PatchType"),
        "auditAnnotations": _annotations,
        "warnings": _texts,
    },
)


def _checked(review: Object, version: str, kind: ReviewType) -> Object:
    """A review with the members that count, their types checked."""
    members = {name: review[name] for name in ("kind", "apiVersion") if review.get(name)}
    response = review.get("response")
    if response is None:
        return members
    if not isinstance(response, dict):
        raise unfit(response, f"{kind.kind}.response", f"{version}.{kind.response}")
    checked = {
        name: check(response[name], f"{kind.response}.response.{name}")
        for name, check in kind.members.items()
        if response.get(name) is not None
    }
    return {**members, "response": checked}
