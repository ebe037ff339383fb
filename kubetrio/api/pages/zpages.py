"""Which representation ``/statusz`` and ``/flagz`` have: text, or an object of ``config.k8s.io``.

A program asks for the object by group, version and kind in ``Accept``; without them there is only
text, so that no program parses the text.

Source: KEP-4827 (statusz) and KEP-4828 (flagz).
"""

from __future__ import annotations

from typing import Any

from kubetrio.api.encoding.serializers import dump
from kubetrio.api.request import Request
from kubetrio.api.response import Response, text_response
from kubetrio.machinery.status import not_acceptable
from kubetrio.wire.accept import Clause, parse_accept
from kubetrio.wire.negotiate import MEDIA_TYPES, Accepted, Serializer, wants_pretty

GROUP = "config.k8s.io"
VERSIONS = ("v1alpha1", "v1beta1")
DEPRECATED = frozenset({"v1alpha1"})
COMPONENT = "apiserver"
"""Name of the objects, as kube-apiserver gives it."""
_OBJECTS: tuple[Serializer, ...] = ("json", "yaml")
_TEXT = "text/plain"
_ACCEPTED = (*(MEDIA_TYPES[serializer] for serializer in _OBJECTS), _TEXT)


def answer(request: Request, kind: str, text: str, fields: dict[str, Any]) -> Response:
    """The page in the representation that a client accepts.

    Args:
        request: the request.
        kind: ``Statusz`` or ``Flagz``.
        text: the page for people.
        fields: what the object has beside its metadata.

    Raises:
        ApiError: 406.
    """
    header = request.header(b"accept").strip()
    accepted = _chosen(header, kind) if header else None
    if accepted is None:
        return text_response(text)
    version = accepted.as_version
    if version in DEPRECATED:
        page = kind.lower()
        request.warn(
            [f"This version of the {page} endpoint is deprecated. Please use a newer version."]
        )
    obj = {
        "kind": kind,
        "apiVersion": f"{GROUP}/{version}",
        "metadata": {"name": COMPONENT},
        **fields,
    }
    pretty = accepted.pretty or wants_pretty(
        request.query.get("pretty"), request.header(b"user-agent")
    )
    body = dump(
        obj, Accepted(serializer=accepted.serializer, media_type=accepted.media_type, pretty=pretty)
    )
    return Response(200, body, accepted.media_type.encode())


def _chosen(header: str, kind: str) -> Accepted | None:
    """What a header asks for, None for text.

    Raises:
        ApiError: 406.
    """
    for clause in parse_accept(header):
        if clause.parameters.get("stream") or clause.parameters.get("sv"):
            continue
        for serializer in _OBJECTS:
            if _matches(clause, MEDIA_TYPES[serializer]) and _wants(clause, kind):
                version = clause.parameters["v"]
                media = f"{MEDIA_TYPES[serializer]};g={GROUP};v={version};as={kind}"
                return Accepted(
                    serializer=serializer,
                    media_type=media,
                    pretty=clause.parameters.get("pretty") == "1",
                    as_version=version,
                )
        if _matches(clause, _TEXT) and clause.parameters.keys().isdisjoint(("as", "g", "v")):
            return None
    raise not_acceptable(_ACCEPTED)


def _matches(clause: Clause, media: str) -> bool:
    type_, _, subtype = media.partition("/")
    return (clause.type == type_ and clause.subtype in (subtype, "*")) or (
        clause.type == clause.subtype == "*"
    )


def _wants(clause: Clause, kind: str) -> bool:
    parameters = clause.parameters
    return (
        parameters.get("as") == kind
        and parameters.get("g") == GROUP
        and parameters.get("v") in VERSIONS
    )
