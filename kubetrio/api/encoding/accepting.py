"""What endpoints offer, and what clients accept of it.

An offer lists media types and shapes (`wire.negotiate`); what a client accepts of one is remembered
by its headers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from kubetrio.api.request import Request, parse_query
from kubetrio.machinery.remember import counted
from kubetrio.schema.kind import Kind
from kubetrio.wire import negotiate
from kubetrio.wire.negotiate import Accepted

REMEMBERED_BYTES = 1024  # of what a client says about the answers that it takes


def object_offer(request: Request, resource: Kind) -> negotiate.Offer:
    """What the endpoint of an object can answer with.

    Args:
        request: the request.
        resource: the resource.
    """
    verbs = resource.verbs
    if name := request.info.subresource:
        below = resource.subresources.get(name)
        if below is not None:
            if not below.columns:
                return negotiate.NO_TABLE
            verbs = below.verbs
    return negotiate.NO_TABLE if verbs == CREATED_ONLY else negotiate.OBJECT


def offered(resource: Kind, offer: negotiate.Offer, *, cbor: bool) -> negotiate.Offer:
    """What an endpoint of a resource can answer with.

    Args:
        resource: the resource.
        offer: what that of a built-in resource can.
        cbor: whether CBOR is spoken.
    """
    if not resource.builtin:
        offer = negotiate.CUSTOM_WATCH if offer.stream else negotiate.CUSTOM
    return negotiate.CBOR_OFFERS[offer] if cbor else offer


def go_type(resource: Kind, *, is_list: bool) -> str:
    """Go's name of the type of objects or lists, as messages print it."""
    if not resource.builtin:
        return "*unstructured.UnstructuredList" if is_list else "*unstructured.Unstructured"
    package = GO_PACKAGES.get(resource.group, resource.group.split(".")[0])
    return f"*{package}.{resource.list_kind if is_list else resource.kind}"


CREATED_ONLY = frozenset({"create"})
GO_PACKAGES = {
    "": "core",
    "events.k8s.io": "core",
    "internal.apiserver.k8s.io": "apiserverinternal",
    "rbac.authorization.k8s.io": "rbac",
}


def accept(request: Request, offer: negotiate.Offer) -> Accepted:
    """What a client accepts of an offer, pretty-printing decided too.

    Raises:
        ApiError: 406.
    """
    known = request.accepted
    if known is not None and known[0] is offer:
        return known[1]
    headers = request.headers
    header, agent = headers.get(b"accept", b""), headers.get(b"user-agent", b"")
    pretty = request.query.get("pretty") if request.query else None
    if len(header) + len(agent) + len(pretty or "") > REMEMBERED_BYTES:
        accepted: Accepted = _accept.__wrapped__(header, agent, pretty, offer)
    else:
        accepted = _accept(header, agent, pretty, offer)
    request.accepted = (offer, accepted)  # a write asks before its body is read, and again
    return accepted


def accept_error(request: Request) -> Accepted:
    """What a client accepts of a ``Status`` that reports a failure, pretty-printing decided too.

    Args:
        request: the request, however far it came.
    """
    accepted = negotiate.negotiate_error(request.header(b"accept"))
    if accepted.serializer != "json" or accepted.pretty:
        return accepted
    pretty = parse_query(request.raw_query).get("pretty") if request.raw_query else None
    if negotiate.wants_pretty(pretty, request.header(b"user-agent")):
        return replace(accepted, pretty=True)
    return accepted


@counted
@lru_cache(1024)
def _accept(header: bytes, agent: bytes, pretty: str | None, offer: negotiate.Offer) -> Accepted:
    accepted = negotiate.negotiate(header.decode("latin-1") or None, offer)
    if (
        accepted.serializer == "json"
        and not accepted.pretty
        and not offer.stream
        and negotiate.wants_pretty(pretty, agent.decode("latin-1"))
    ):
        return replace(accepted, pretty=True)
    return accepted
