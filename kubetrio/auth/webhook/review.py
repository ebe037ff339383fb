"""SubjectAccessReviews as webhooks are sent them and send them back.

Source: docs "Webhook Mode"; API reference of SubjectAccessReview; errors have the words of
client-go, since they are shown in reviews.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import Attributes, Selection
from kubetrio.wire.gojson import parse, type_word

Object = dict[str, Any]

GROUP = "authorization.k8s.io"
VERSIONS = ("v1", "v1beta1")
_SCHEME = "k8s.io/client-go/kubernetes/scheme/register.go:82"
_VALUE = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)
_MEMBERS = {"allowed": bool, "denied": bool, "reason": str, "evaluationError": str}

_WORDS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: "unknown",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    415: "unknown",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be "
        "processing the request"
    ),
}
RETRIED = frozenset({429, 500})
"""Codes after which a webhook is asked again."""


class WebhookFailed(Exception):
    """A webhook did not answer with a review.

    Args:
        text: why.
        again: whether asking again may help.
        timed_out: whether it said that it took too long.
    """

    def __init__(self, text: str, *, again: bool = False, timed_out: bool = False) -> None:
        super().__init__(text)
        self.again = again
        self.timed_out = timed_out


class Status(NamedTuple):
    """What a webhook decided.

    Args:
        allowed: yes.
        denied: no, and no other authorizer is asked.
        reason: why.
    """

    allowed: bool = False
    denied: bool = False
    reason: str = ""


def spec_of(attributes: Attributes) -> Object:
    """The spec of a review; members without a value are left out.

    Args:
        attributes: the question.
    """
    spec: Object = {}
    if attributes.resource_request:
        asked = {
            "namespace": attributes.namespace,
            "verb": attributes.verb,
            "group": attributes.api_group,
            "version": attributes.api_version,
            "resource": attributes.resource,
            "subresource": attributes.subresource,
            "name": attributes.name,
        }
        about: Object = {name: value for name, value in asked.items() if value}
        for name, selector in (
            ("fieldSelector", attributes.field_selector),
            ("labelSelector", attributes.label_selector),
        ):
            if selector:
                about[name] = {"requirements": _requirements(selector)}
        spec["resourceAttributes"] = about
    else:
        path = {"path": attributes.path, "verb": attributes.verb}
        spec["nonResourceAttributes"] = {name: value for name, value in path.items() if value}
    user = attributes.user
    if user.name:
        spec["user"] = user.name
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(user.extra[key]) for key in sorted(user.extra)}
    if user.uid:
        spec["uid"] = user.uid
    return spec


def _requirements(selector: Selection) -> list[Object]:
    requirements: list[Object] = []
    for one in selector:
        values = {"values": list(one.values)} if one.values else {}
        requirements.append({"key": one.key, "operator": one.operator, **values})
    return requirements


def body_of(spec: Object, version: str) -> bytes:
    """The review that is sent.

    Args:
        spec: of it.
        version: of group authorization.k8s.io; in v1beta1 groups are ``group``.
    """
    if version == "v1beta1" and "groups" in spec:
        spec = {("group" if name == "groups" else name): value for name, value in spec.items()}
    review = {
        "kind": "SubjectAccessReview",
        "apiVersion": f"{GROUP}/{version}",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": False},
    }
    return orjson.dumps(review) + b"\n"


def status_of(code: int, body: bytes, content_type: str, version: str) -> Status:
    """What a webhook answered.

    Args:
        code: of the answer.
        body: its body.
        content_type: its type.
        version: that it was asked in.

    Raises:
        WebhookFailed: it is no review.
    """
    if not 200 <= code <= 206:
        raise _failed(code, body)
    if not body:
        raise WebhookFailed(
            f"0-length response with status code: {code} and content type: {content_type}"
        )
    try:
        value = parse(body).value
    except ValueError as error:
        raise WebhookFailed(f"couldn't get version/kind; json parse error: {error}") from error
    if value is None:
        return Status()
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {type_word(value)} into Go value of type {_VALUE}"
        raise WebhookFailed(f"couldn't get version/kind; json parse error: {why}")
    _known(value, version)
    return _status(value.get("status"))


def _known(value: Object, version: str) -> None:
    """Check kind and version; what is missing is what was asked for.

    Raises:
        WebhookFailed: it is something else.
    """
    of, kind = value.get("apiVersion") or f"{GROUP}/{version}", value.get("kind")
    kind = kind or "SubjectAccessReview"
    if (of, kind) == (f"{GROUP}/{version}", "SubjectAccessReview"):
        return
    into = f"({version}.SubjectAccessReview): unknown conversion"
    if (of, kind) == ("v1", "Status"):
        raise WebhookFailed(f"converting (v1.Status) to {into}")
    if kind == "SubjectAccessReview" and of in {f"{GROUP}/{one}" for one in VERSIONS}:
        raise WebhookFailed(f"converting ({of.partition('/')[2]}.{kind}) to {into}")
    raise WebhookFailed(
        f"no kind {quote(str(kind))} is registered for version {quote(str(of))} "
        f'in scheme "{_SCHEME}"'
    )


def _status(status: Any) -> Status:
    if status is None:
        return Status()
    struct = "json: cannot unmarshal {} into Go struct field SubjectAccessReview{}"
    if not isinstance(status, dict):
        word = type_word(status)
        raise WebhookFailed(struct.format(word, ".status of type v1.SubjectAccessReviewStatus"))
    for name, type_ in _MEMBERS.items():
        member = status.get(name)
        if member is not None and type(member) is not type_:
            go = "bool" if type_ is bool else "string"
            where = f"Status.status.{name} of type {go}"
            raise WebhookFailed(struct.format(type_word(member), where))
    return Status(
        status.get("allowed") or False, status.get("denied") or False, status.get("reason") or ""
    )


def _failed(code: int, body: bytes) -> WebhookFailed:
    """An answer that is an error: a ``Status`` tells why, else the code has to."""
    text = ""
    try:
        value = parse(body).value
    except ValueError:
        value = None
    if isinstance(value, dict) and value.get("kind") == "Status":
        message = value.get("message")
        text = message if isinstance(message, str) else ""
    if not text:
        text = _WORDS.get(code, "")
    if not text and code >= 500:
        text = 'an error on the server ("unknown") has prevented the request from succeeding'
    if not text:
        text = f"the server responded with the status code {code} but did not return more "
        text += "information"
    return WebhookFailed(text, again=code in RETRIED, timed_out=code == 504)
