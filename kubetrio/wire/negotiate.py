"""Which representation an answer has and which one a body is in.

An ``Offer`` says what an endpoint can do; asking it twice for the same header costs one lookup.
Requests for built-in resources pass two gates in kube-apiserver, the router and the handler, and
each refuses in its own words; custom resources meet the handler only.
Source: API concepts ("Alternate representations of resources", "Receiving resources as Tables"),
KEP-3352 for aggregated discovery, and recorded answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from kubetrio.machinery import status
from kubetrio.machinery.remember import counted, remembered
from kubetrio.machinery.status import ApiError
from kubetrio.wire.accept import Clause, media_type, names, parse_accept

Serializer = Literal["json", "yaml", "protobuf", "cbor"]

MEDIA_TYPES: dict[Serializer, str] = {
    "json": "application/json",
    "yaml": "application/yaml",
    "protobuf": "application/vnd.kubernetes.protobuf",
    "cbor": "application/cbor",
}
STANDARD: tuple[Serializer, ...] = ("json", "yaml", "protobuf")
"""What a default kube-apiserver speaks; CBOR is behind an alpha gate."""

STREAM_TYPES: dict[Serializer, str] = {
    "json": "application/json",
    "protobuf": "application/vnd.kubernetes.protobuf;stream=watch",
    "cbor": "application/cbor-seq",
}
"""``Content-Type`` of a watch; YAML cannot be watched."""

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
APPLY_CBOR_PATCH = "application/apply-patch+cbor"
APPLIES = frozenset({APPLY_PATCH, APPLY_CBOR_PATCH})
PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
CUSTOM_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)

_META_GROUP = "meta.k8s.io"
_META_VERSIONS = ("v1", "v1beta1")
_METADATA_KINDS = ("PartialObjectMetadata", "PartialObjectMetadataList")
_DISCOVERY = ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")
_CACHED_HEADER_CHARS = 1024
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_PRETTY_AGENTS = ("curl", "Wget", "Mozilla/5.0")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Offer:
    """What an endpoint can answer with.  Compared by identity: make each once.

    Args:
        serializers: representations, the default first.
        plain: those of them an object may have that is not transformed.
        routed: a router checks ``Accept`` first.
        watchable: the route also serves watches, so the router knows their types.
        stream: the answer is a watch.
        transforms: tables and metadata can be asked for.
        tables: tables can, where metadata can.
        discovery: the aggregated discovery document can be asked for.
        others: media types that the router knows beside those of objects.
    """

    serializers: tuple[Serializer, ...] = STANDARD
    plain: tuple[Serializer, ...] = STANDARD
    routed: bool = True
    watchable: bool = False
    stream: bool = False
    transforms: bool = True
    tables: bool = True
    discovery: bool = False
    others: tuple[str, ...] = ()

    def media_types(self) -> list[str]:
        """Media types by which objects are offered."""
        return [MEDIA_TYPES[serializer] for serializer in self.serializers]

    def stream_types(self) -> list[str]:
        """Media types by which watches are offered."""
        return [
            f"{MEDIA_TYPES[serializer]};stream=watch"
            for serializer in self.serializers
            if serializer in STREAM_TYPES
        ]


OBJECT = Offer()
"""One object of a built-in resource, and the answer to a write."""
NO_TABLE = Offer(tables=False)
"""One object of a resource that kube-apiserver has no columns for: what can only be created."""
LOG = Offer(tables=False, others=("text/plain",))
"""Text of a container, which is negotiated as if it were an object."""
COLLECTION = Offer(watchable=True)
"""A list of a built-in resource."""
WATCH = Offer(watchable=True, stream=True)
"""A watch of a built-in resource."""
CUSTOM = Offer(routed=False, plain=("json", "yaml"))
"""An object or a list of a custom resource: no protobuf, unless only metadata is asked for."""
CUSTOM_WATCH = Offer(routed=False, plain=("json", "yaml"), stream=True)
"""A watch of a custom resource."""
WITH_CBOR: tuple[Serializer, ...] = (*STANDARD, "cbor")
"""What a server with the feature gate CBORServingAndStorage speaks."""
CBOR_OFFERS: dict[Offer, Offer] = {
    OBJECT: Offer(serializers=WITH_CBOR, plain=WITH_CBOR),
    NO_TABLE: Offer(serializers=WITH_CBOR, plain=WITH_CBOR, tables=False),
    COLLECTION: Offer(serializers=WITH_CBOR, plain=WITH_CBOR, watchable=True),
    WATCH: Offer(serializers=WITH_CBOR, plain=WITH_CBOR, watchable=True, stream=True),
    CUSTOM: Offer(serializers=WITH_CBOR, plain=("json", "yaml", "cbor"), routed=False),
    CUSTOM_WATCH: Offer(
        serializers=WITH_CBOR, plain=("json", "yaml", "cbor"), routed=False, stream=True
    ),
}
"""Each endpoint on a server that speaks CBOR."""
DOCUMENT = Offer(transforms=False)
"""The discovery document of one version."""
GROUP = Offer(transforms=False, routed=False)
"""The discovery document of one group, which no router sees."""
PLAIN_JSON = Offer(serializers=("json",), plain=("json",), transforms=False)
"""What a router lets pass as JSON only, such as ``/version``."""
CORE_ROOT = Offer(transforms=False, discovery=True)
"""The discovery root ``/api``."""
GROUPS_ROOT = Offer(transforms=False, discovery=True, routed=False)
"""The discovery root ``/apis``, which no router sees."""
_ERROR = Offer(routed=False, transforms=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The representation of an answer.

    Args:
        serializer: how it is written.
        media_type: its ``Content-Type``.
        pretty: indented; only JSON is.
        as_kind: kind it is transformed to, such as ``Table``; empty to leave it as it is.
        as_group: group of that kind.
        as_version: version of that kind, ``v1`` or ``v1beta1``.
        stream: whether it is a watch.
    """

    serializer: Serializer
    media_type: str
    pretty: bool = False
    as_kind: str = ""
    as_group: str = ""
    as_version: str = ""
    stream: bool = False


def negotiate(accept: str | None, offer: Offer = OBJECT) -> Accepted:
    """Choose the representation of an answer.

    Args:
        accept: the first ``Accept`` header as it came, or None.
        offer: what the endpoint can do.

    Raises:
        ApiError: 406, nothing offered is accepted.
    """
    if accept is None:
        return _negotiate("", offer)
    if len(accept) > _CACHED_HEADER_CHARS:
        return _negotiate.__wrapped__(accept, offer)
    return _negotiate(accept, offer)


@counted
@lru_cache(1024)
def _negotiate(accept: str, offer: Offer) -> Accepted:
    if offer.routed:
        pass_router(accept, offer)
    chosen = _choose(accept, offer)
    if chosen is None:
        raise status.not_acceptable(offer.media_types())
    return chosen


def check_stream(accepted: Accepted, offer: Offer) -> None:
    """Refuse a watch in a representation that none can have.

    It is told behind what is wrong with the options of the watch.

    Args:
        accepted: the representation.
        offer: what the endpoint can do.

    Raises:
        ApiError: 406.
    """
    if accepted.serializer not in STREAM_TYPES:
        raise status.not_acceptable(offer.stream_types())


@remembered(1024, _CACHED_HEADER_CHARS)
def negotiate_error(accept: str) -> Accepted:
    """Choose the representation of a ``Status`` that reports a failure; never fails.

    A client that asks for a table, or for nothing that is known, gets indented JSON.

    Args:
        accept: the first ``Accept`` header as it came, or empty.
    """
    return _choose(accept, _ERROR) or Accepted(
        serializer="json", media_type=MEDIA_TYPES["json"], pretty=True
    )


def takes_errors(accept: str) -> bool:
    """Whether a client accepts a ``Status`` at all, which one does not that takes tables only.

    Args:
        accept: the first ``Accept`` header as it came, or empty.
    """
    return _choose(accept, _ERROR) is not None


def wants_pretty(query_value: str | None, user_agent: str) -> bool:
    """Whether JSON is indented although ``Accept`` does not say so.

    Args:
        query_value: first value of the ``pretty`` parameter, or None.
        user_agent: the ``User-Agent`` header, or empty.
    """
    if query_value:
        return query_value in _TRUE
    return user_agent.startswith(_PRETTY_AGENTS)


def pass_router(accept: str, offer: Offer) -> None:
    """Refuse what kube-apiserver's router refuses before it calls a handler.

    Args:
        accept: the first ``Accept`` header as it came, or empty.
        offer: what the endpoint can do.

    Raises:
        ApiError: 406.
    """
    known = [*offer.others, *offer.media_types()]
    if accept and not any(name == "*/*" or name in known for name in names(accept)):
        if offer.watchable:
            known += offer.stream_types()
        raise ApiError(
            406,
            "NotAcceptable",
            f"406: Not Acceptable\n\nAvailable representations: {', '.join(known)}",
            {},
        )


def _choose(accept: str, offer: Offer) -> Accepted | None:
    if not accept:
        serializer = offer.serializers[0]
        return Accepted(
            serializer=serializer, media_type=_content_type(serializer, offer), stream=offer.stream
        )
    clauses = parse_accept(accept)
    if offer.discovery:
        # Aggregated discovery is taken if it is anywhere in the header.
        for clause, serializer in _candidates(clauses, offer):
            if _target(clause) == _DISCOVERY and _allowed(clause, serializer, offer):
                return _accepted(clause, serializer, offer)
    for clause, serializer in _candidates(clauses, offer):
        if _allowed(clause, serializer, offer) and _transformable(clause, serializer, offer):
            return _accepted(clause, serializer, offer)
    return None


def _candidates(clauses: Sequence[Clause], offer: Offer) -> Iterator[tuple[Clause, Serializer]]:
    for clause in clauses:
        for serializer in offer.serializers:
            type_, _, subtype = MEDIA_TYPES[serializer].partition("/")
            matches = clause.type == type_ and clause.subtype in (subtype, "*")
            if matches or clause.type == clause.subtype == "*":
                yield clause, serializer


def _target(clause: Clause) -> tuple[str, str, str] | None:
    """Group, version and kind a clause asks for; None for the object as it is."""
    parameters = clause.parameters
    if parameters.keys().isdisjoint(("as", "g", "v")):
        return None
    return (parameters.get("g", ""), parameters.get("v", ""), parameters.get("as", ""))


def _allowed(clause: Clause, serializer: Serializer, offer: Offer) -> bool:
    """Whether the parameters that are not about a transformation can be met."""
    stream = clause.parameters.get("stream")
    if stream and (stream != "watch" or serializer not in STREAM_TYPES):
        return False
    version = clause.parameters.get("sv")
    return not version or (offer.transforms and version == "v1")


def _transformable(clause: Clause, serializer: Serializer, offer: Offer) -> bool:
    target = _target(clause)
    if target is None:
        return serializer in offer.plain
    group, version, kind = target
    if not offer.transforms or group != _META_GROUP or version not in _META_VERSIONS:
        return False
    if kind == "Table":
        return offer.tables and serializer in ("json", "yaml")
    return kind in _METADATA_KINDS


def _accepted(clause: Clause, serializer: Serializer, offer: Offer) -> Accepted:
    group, version, kind = _target(clause) or ("", "", "")
    content_type = _content_type(serializer, offer)
    if offer.discovery and kind:
        content_type = f"{content_type};g={group};v={version};as={kind}"
    return Accepted(
        serializer=serializer,
        media_type=content_type,
        pretty=serializer == "json" and clause.parameters.get("pretty") == "1",
        as_kind=kind,
        as_group=group,
        as_version=version,
        stream=offer.stream,
    )


def _content_type(serializer: Serializer, offer: Offer) -> str:
    if offer.stream:
        return STREAM_TYPES.get(serializer, MEDIA_TYPES[serializer])
    return MEDIA_TYPES[serializer]


def metadata_shape_mismatch(as_kind: str, go_type: str, *, is_list: bool) -> ApiError:
    """406: metadata of one object was asked for and there is a list, or the other way round.

    Args:
        as_kind: the kind asked for.
        go_type: Go's name of what there is, such as ``*core.ConfigMapList``.
        is_list: whether that is a list.
    """
    shape = "a list" if is_list else "not a list"
    return ApiError(
        406,
        "NotAcceptable",
        f"you requested {as_kind}, but the requested object is {shape} ({go_type})",
    )


def body_codec(
    content_type: str | None, serializers: tuple[Serializer, ...] = STANDARD
) -> Serializer:
    """How the body of a write (not a patch) is written.

    Args:
        content_type: the header as it came; None or empty means the default.
        serializers: what the endpoint can read, the default first.

    Raises:
        ApiError: 415, none of these.
    """
    if not content_type:
        return serializers[0]
    if len(content_type) > _CACHED_HEADER_CHARS:
        return _body_codec.__wrapped__(content_type, serializers)
    return _body_codec(content_type, serializers)


@counted
@lru_cache(1024)
def _body_codec(content_type: str, serializers: tuple[Serializer, ...]) -> Serializer:
    name = media_type(content_type)
    for serializer in serializers:
        if MEDIA_TYPES[serializer] == name:
            return serializer
    raise status.unsupported_media_type([MEDIA_TYPES[serializer] for serializer in serializers])


def patch_type(content_type: str | None, *, custom: bool = False, cbor: bool = False) -> str:
    """Which patch a body is, as its media type.

    Args:
        content_type: the header as it came, or None.
        custom: of a custom resource, which has no strategic merge and is not behind the router.
        cbor: whether CBOR is spoken.

    Raises:
        ApiError: 415, none the resource takes.
    """
    header = content_type or ""
    more = (APPLY_CBOR_PATCH,) if cbor else ()
    if custom:
        # Here the rest is cut off, not parsed, and case counts.
        name = header.partition(";")[0]
        known = CUSTOM_PATCH_TYPES + more
        if name in known:
            return name
        raise status.unsupported_media_type(known)
    known = PATCH_TYPES + more
    if any(name in known for name in names(header)):
        name = header.partition(";")[0]
        if name in known:
            return name
        raise status.unsupported_media_type(known)
    raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
