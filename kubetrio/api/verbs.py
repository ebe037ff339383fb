"""One function for each verb: decoded request in, response out.

Which path takes which verb is decided in `routing`; what happens to objects in `resources`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import orjson
import trio

from kubetrio.api import options, patching
from kubetrio.api.api import (
    Api,
    Edge,
    Security,
    Storage,
    Writes,
    attributes_of,
    status_response,
)
from kubetrio.api.applying import configuration_of
from kubetrio.api.encoding.accepting import accept, object_offer, offered
from kubetrio.api.encoding.encoders import AnyEncoder, encoder_for
from kubetrio.api.encoding.largeanswers import (
    encoded,
    finished,
    making_beside,
    written_list,
)
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse
from kubetrio.api.routing import check_name
from kubetrio.machinery.asking import Client
from kubetrio.machinery.status import ApiError, bad_request, not_found, success
from kubetrio.resources import sending
from kubetrio.resources.operations import check_named
from kubetrio.resources.paging import Rest
from kubetrio.resources.readcounts import ReadCounts
from kubetrio.resources.watching import Watch
from kubetrio.resources.writes import (
    DeleteOptions,
    Sent,
    Target,
    WriteOptions,
    Written,
    delete_options,
)
from kubetrio.schema.kind import Kind
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import APPLIES, COLLECTION, WATCH, Offer, check_stream

Object = dict[str, Any]
Verb = Callable[[Request, Kind], Awaitable[AnyResponse]]
"""What answers requests with a verb: a function of this module, bound to the parts it works with.
"""


def _target(request: Request, resource: Kind) -> Target:
    info = request.info
    check_name(info.name)
    return Target(resource, object_namespace(request, resource), info.name, info.subresource)


def object_namespace(request: Request, resource: Kind) -> str:
    """Namespace of the objects meant; a path to a namespace names one without being in one."""
    return request.info.namespace if resource.namespaced else ""


def _encoder(edge: Edge, request: Request, resource: Kind, offer: Offer) -> AnyEncoder:
    offer = offered(resource, offer, cbor=edge.config.cbor)
    return encoder_for(request, resource, offer, edge.env.now, edge.cache)


async def get(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """One object."""
    info = request.info
    encoder = _encoder(edge, request, resource, object_offer(request, resource))
    version = request.query.get("resourceVersion", "") if request.query else ""
    check_name(info.name)
    key = resource.key(object_namespace(request, resource), info.name)
    stored = await storage.listing.get(key, version, cached=resource.cached)
    if stored is None:
        raise not_found(resource.group_resource, info.name)
    if encoder.stored:
        body = encoder.object(stored.value)
    else:
        body = await encoded(edge.off_loop, request, encoder, stored.value)
    return Response(200, body, encoder.content_type)


async def get_at(
    storage: Storage, edge: Edge, request: Request, resource: Kind, revision: int
) -> AnyResponse:
    """One object as it was at a revision that history still has."""
    encoder = _encoder(edge, request, resource, object_offer(request, resource))
    name = request.info.name
    check_name(name)
    key = resource.key(object_namespace(request, resource), name)
    stored = await storage.store.get(key, at=revision)
    if stored is None:
        raise not_found(resource.group_resource, name)
    return Response(
        200, await encoded(edge.off_loop, request, encoder, stored.value), encoder.content_type
    )


async def list_(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """A collection; a large one is streamed."""
    encoder = _encoder(edge, request, resource, COLLECTION)
    chosen = options.list_options(request, resource)
    namespace = object_namespace(request, resource)
    beside = making_beside(edge.off_loop, request, encoder)
    begin, rest = await storage.listing.open(resource, namespace, chosen, encoder, beside)
    if not encoder.stored:
        begin += await finished(storage.listing, edge.off_loop, request, encoder)
    if rest is None:
        return Response(200, begin, encoder.content_type)
    stream = _stream_list(storage, edge, request, encoder, begin, rest)
    return StreamResponse(200, stream, encoder.content_type)


def _stream_list(
    storage: Storage,
    edge: Edge,
    request: Request,
    encoder: AnyEncoder,
    begin: bytes,
    rest: Rest,
) -> Callable[[Channel], Awaitable[None]]:
    begun = [begin]

    async def run(channel: Channel) -> None:
        body, more, before = begun.pop(), True, b""
        while True:
            if more and len(before) + len(body) < sending.FEW_BYTES:
                before += body
            elif body or before:
                await sending.send(channel, body, storage.listing.turns, before)
                before = b""
            if not more:
                return
            body = b""  # let go of while the next piece is read
            body, more = await rest.next()
            if late := await finished(storage.listing, edge.off_loop, request, encoder):
                body += late  # else the very piece that is kept, which may be compressed already

    return run


async def watch(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """Events of a collection or object."""
    offer = offered(resource, WATCH, cbor=edge.config.cbor)
    encoder = encoder_for(request, resource, offer, edge.env.now, edge.cache)
    chosen = options.watch_options(
        request, resource, object_namespace(request, resource), edge.default_watch_timeout()
    )
    check_stream(accept(request, offer), offer)
    encoder.check()
    scopes = edge.kind_streams.of(resource)
    chosen = edge.long_selectors.share(request, resource, chosen)
    counts, started = storage.listing.counts, edge.release_seat(request)
    if chosen.initial_bookmark:
        started = _timed_state(counts, resource, request, started)
    sent = counts.sent(resource)
    beside = None if chosen.start is not None else making_beside(edge.off_loop, request, encoder)
    session = Watch(storage.hub, storage.listing, chosen, encoder, started, scopes, sent, beside)
    return StreamResponse(200, session.run, encoder.stream_type, long_running=True)


def _timed_state(
    counts: ReadCounts, resource: Kind, request: Request, started: Callable[[], None]
) -> Callable[[], None]:
    """What is called when the state of a watch was sent, counting how long that took."""
    info = request.info
    scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
    times = counts.watch_lists[resource.group, resource.version, resource.resource, scope]
    begun = request.arrived

    def sent() -> None:
        times.observe(trio.current_time() - begun)
        started()

    return sent


def watch_error(edge: Edge, request: Request, resource: Kind, status: Object) -> bytes:
    """The event that ends a watch with a failure, as the client takes events."""
    return _encoder(edge, request, resource, WATCH).error(status)


async def _written(
    writes: Writes,
    edge: Edge,
    request: Request,
    resource: Kind,
    encoder: AnyEncoder,
    written: Written,
) -> Response:
    status = 201 if written.created else 200
    subresource = request.info.subresource
    if subresource == "status" and not _is_kubectl(request):
        writes.inert.acted(resource)
    elif written.created and not subresource and _warns_of_inert(edge.config.inert, request):
        text = await writes.inert.warning(resource, written.value)
        if text is not None:
            request.warn([text])
    if encoder.stored:
        body = encoder.object(written.value)
    else:
        body = await encoded(edge.off_loop, request, encoder, written.value)
    return Response(status, body, encoder.content_type)


def _warns_of_inert(clients: str, request: Request) -> bool:
    """Whether the client is warned of objects without a controller: kubectl is, others if asked."""
    return clients == "all" or (clients == "kubectl" and _is_kubectl(request))


def _is_kubectl(request: Request) -> bool:
    """Whether a person asks, and no program of its own accord."""
    return request.headers.get(b"user-agent", b"").startswith(b"kubectl/")


def _followed(verb: Verb) -> Verb:
    """A write that refuses objects nested deeper than this process can follow.

    Where Python's stack ends is no limit that a client should see: such an object is answered as
    one over kube-apiserver's own limit.
    """

    async def run(request: Request, resource: Kind) -> AnyResponse:
        try:
            return await verb(request, resource)
        except RecursionError:
            kind = resource.kind
            raise bad_request(
                f'{kind} in version "{resource.version}" cannot be handled as a {kind}: '
                "exceeded max depth"
            ) from None

    return run


async def create(
    writes: Writes, security: Security, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """A new object."""
    encoder = _encoder(edge, request, resource, object_offer(request, resource))
    chosen = options.write_options(request, "CreateOptions")
    if request.heavy or not resource.builtin:
        chosen = _working(edge, request, chosen)
    if resource.stored.rules.rights is not None:  # for all others the verb says everything
        chosen = for_client(security, request, chosen)
    if request.empties:
        chosen = chosen._replace(sent=Sent(request.empties))
    target = _target(request, resource)
    written = await writes.operations.create(target, request.body, chosen)
    return await _written(writes, edge, request, resource, encoder, written)


async def update(
    writes: Writes, security: Security, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """An object replaced."""
    encoder = _encoder(edge, request, resource, object_offer(request, resource))
    chosen = options.write_options(request, "UpdateOptions")
    sent = Sent(request.empties) if request.empties else None
    chosen = _changing(security, edge, request, chosen, sent)
    info = request.info
    target = Target(resource, object_namespace(request, resource), info.name, info.subresource)
    check_named(target, request.body)  # whichever name it is: this is told first
    check_name(info.name)
    written = await writes.operations.replace(target, request.body, chosen)
    return await _written(writes, edge, request, resource, encoder, written)


async def patch(
    writes: Writes, security: Security, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """An object changed in part."""
    encoder = _encoder(edge, request, resource, object_offer(request, resource))
    chosen = options.patch_options(request)
    target = _target(request, resource)
    sent = Sent()
    chosen = _changing(security, edge, request, chosen, sent)
    if request.patch_type in APPLIES:
        configuration = configuration_of(request)
        written = await writes.operations.apply(target, configuration, chosen)
    else:
        make = patching.maker(request, resource, sent)
        written = await writes.operations.patch(target, make, chosen)
    return await _written(writes, edge, request, resource, encoder, written)


def for_client(security: Security, request: Request, chosen: WriteOptions) -> WriteOptions:
    """Options of a write by a client, whose rights are asked for where the verb does not say all.

    Args:
        security: knows these rights.
        request: the request.
        chosen: the options of the client.
    """
    return chosen._replace(client=_client(security, request))


def _client(security: Security, request: Request) -> Client:
    return Client(security.authorizer.authorize, partial(attributes_of, request))


def _changing(
    security: Security, edge: Edge, request: Request, chosen: WriteOptions, sent: Sent | None
) -> WriteOptions:
    """Return the options of a change: its work may leave the loop, its client has rights.

    Args:
        security: knows the rights of the client.
        edge: works over large objects.
        request: the request.
        chosen: the options of the client.
        sent: what is known of the object beside it.
    """
    one, resource = edge.off_loop.of(request), request.resource
    return chosen._replace(
        work=one.work,
        weigh=one.weigh,
        light=resource is not None and resource.builtin and not request.heavy,
        client=_client(security, request),
        sent=sent,
    )


def _working(edge: Edge, request: Request, chosen: WriteOptions) -> WriteOptions:
    """Options of a write whose object is worked over beside the event loop, if it is large."""
    one = edge.off_loop.of(request)
    return chosen._replace(work=one.work, weigh=one.weigh)


def _who(request: Request, chosen: DeleteOptions, given: Object) -> WriteOptions:
    return WriteOptions(
        user=request.user,
        dry_run=chosen.dry_run,
        warn=request.warn,
        options=given,
        annotations=request.annotations,
    )


async def delete(writes: Writes, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """An object deleted, or on its way."""
    encoder = _encoder(edge, request, resource, object_offer(request, resource))
    raw = request.body if request.body is not None else options.delete_query(request)
    chosen = delete_options(raw)
    _warn_of_orphans(request, resource, chosen)
    target = _target(request, resource)
    last, gone = await writes.operations.delete(target, chosen, _who(request, chosen, raw))
    if not gone or resource.strategy.returns_deleted:
        code = 202 if chosen.waits and not gone else 200
        body = await encoded(edge.off_loop, request, encoder, jsonwire.encode(last))
        return Response(code, body, encoder.content_type)
    meta = last["metadata"]
    details: Object = {}
    if "name" in meta:  # of what another tool has written, members may be missing
        details["name"] = meta["name"]
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.resource
    if "uid" in meta:
        details["uid"] = meta["uid"]
    return status_response(request, success(details), 200)


def _warn_of_orphans(request: Request, resource: Kind, chosen: DeleteOptions) -> None:
    warning = resource.strategy.orphan_warning
    if warning and not chosen.propagation:
        request.warn([warning])


async def _delete_if_there(
    writes: Writes, target: Target, chosen: DeleteOptions, who: WriteOptions
) -> None:
    """Delete an object unless another client was faster."""
    try:
        await writes.operations.delete(target, chosen, who)
    except ApiError as error:
        if error.code != 404:
            raise


async def deletecollection(
    storage: Storage, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """Every object of a collection that the selectors choose."""
    encoder = _encoder(edge, request, resource, COLLECTION)
    listed = options.list_options(request, resource)
    raw = request.body if request.body is not None else options.delete_query(request)
    chosen = delete_options(raw)
    _warn_of_orphans(request, resource, chosen)
    namespace = object_namespace(request, resource)
    found, meta = await storage.listing.collect(resource, namespace, listed, encoder)
    who = _who(request, chosen, raw)._replace(of_collection=True)
    for item in found:
        named = orjson.loads(item.value)["metadata"]
        target = Target(resource=resource, namespace=named.get("namespace", ""), name=named["name"])
        await _delete_if_there(writes, target, chosen, who)
    body = await written_list(storage.listing, edge.off_loop, request, encoder, found, meta)
    return Response(200, body, encoder.content_type)


def verbs_of(api: Api) -> Mapping[str, Verb]:
    """Return the verbs of a server, bound to the parts that each works with.

    Args:
        api: the parts.
    """
    storage, security, writes, edge = api.storage, api.security, api.writes, api.edge
    return {
        "get": partial(get, storage, edge),
        "list": partial(list_, storage, edge),
        "watch": partial(watch, storage, edge),
        "create": _followed(partial(create, writes, security, edge)),
        "update": _followed(partial(update, writes, security, edge)),
        "patch": _followed(partial(patch, writes, security, edge)),
        "delete": partial(delete, writes, edge),
        "deletecollection": partial(deletecollection, storage, writes, edge),
    }
