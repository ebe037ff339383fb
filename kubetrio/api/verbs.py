"""One function a verb: decoded request in, response out.

Which path takes which verb is decided in `routing`; what happens to objects in `resources`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from kubetrio.api import options
from kubetrio.api.encoders import encoder_for, json_encoder
from kubetrio.api.request import Request
from kubetrio.api.response import (
    AnyResponse,
    Channel,
    Headers,
    Response,
    StreamResponse,
    json_response,
)
from kubetrio.machinery.status import bad_request, not_found, success
from kubetrio.resources.listing import CHUNK_BYTES, ListOptions, Pager
from kubetrio.resources.representation import Encoder
from kubetrio.resources.watching import Watch
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions, delete_options
from kubetrio.schema.registry import ResourceType
from kubetrio.store.model import Range

if TYPE_CHECKING:
    from kubetrio.api.pipeline import Api

Object = dict[str, Any]
Verb = Callable[["Api", Request, ResourceType], Awaitable[AnyResponse]]

DELETE_STEP = 100  # objects read at a time by deletecollection


def _target(request: Request, resource: ResourceType) -> Target:
    info = request.info
    return Target(
        resource=resource,
        namespace=object_namespace(request, resource),
        name=info.name,
        subresource=info.subresource,
    )


def object_namespace(request: Request, resource: ResourceType) -> str:
    """Namespace of the objects meant; a path to a namespace names one without being in one."""
    return request.info.namespace if resource.namespaced else ""


async def get(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """One object."""
    info = request.info
    encoder = encoder_for(resource, request.header(b"accept"))
    version = request.query.get("resourceVersion", "") if request.query else ""
    key = resource.key(object_namespace(request, resource), info.name)
    found = await api.listing.get(key, version)
    if found is None:
        raise not_found(resource.group_resource, info.name)
    return Response(200, encoder.object(found.value), encoder.content_type)


async def list_(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """A collection; a large one is streamed."""
    encoder = encoder_for(resource, request.header(b"accept"))
    chosen = options.list_options(request, resource)
    namespace = object_namespace(request, resource)
    begin, pager = await api.listing.open(resource, namespace, chosen, encoder)
    if pager is None:
        return Response(200, begin, encoder.content_type)
    return StreamResponse(200, _rest_of_list(begin, pager, encoder), encoder.content_type)


def _rest_of_list(
    begin: bytes, pager: Pager, encoder: Encoder
) -> Callable[[Channel], Awaitable[None]]:
    async def run(channel: Channel) -> None:
        await channel.send(channel.frame(begin))
        more = True
        while more:
            page = await pager.read(0, CHUNK_BYTES)
            more = page.more
            body = encoder.separator + page.body if page.count else b""
            if not more:
                body += encoder.list_close(empty=False)
            if body:
                await channel.send(channel.frame(body))

    return run


async def watch(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """Events of a collection or object."""
    encoder = encoder_for(resource, request.header(b"accept"))
    chosen = options.watch_options(
        request, resource, object_namespace(request, resource), api.default_watch_timeout()
    )
    session = Watch(api.hub, api.listing, chosen, encoder, api.release_seat(request), api.streams)
    return StreamResponse(200, session.run, encoder.stream_type, long_running=True)


def _written(api: Api, request: Request, value: bytes, created: bool) -> Response:
    resource = request.resource
    if resource is None:
        raise AssertionError("a write has a resource")
    del api
    encoder = encoder_for(resource, request.header(b"accept"))
    return Response(
        201 if created else 200,
        encoder.object(value),
        encoder.content_type,
        _warnings(request),
    )


def _warnings(request: Request) -> Headers:
    return request.response_headers


async def create(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """A new object."""
    encoder_for(resource, request.header(b"accept"))
    chosen = options.write_options(request, "CreateOptions")
    written = await api.lifecycle.create(_target(request, resource), request.body, chosen)
    return _written(api, request, written.value, created=True)


async def update(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """An object replaced."""
    encoder_for(resource, request.header(b"accept"))
    chosen = options.write_options(request, "UpdateOptions")
    body: Object = request.body
    _check_name(request, resource, body)

    async def change(_old: Object | None) -> Object:
        return {**body, "metadata": dict(body.get("metadata") or {})}

    written = await api.lifecycle.update(_target(request, resource), change, chosen)
    return _written(api, request, written.value, written.created)


def _check_name(request: Request, resource: ResourceType, body: Object) -> None:
    """The body must name the object of the path.

    Raises:
        ApiError: 400.
    """
    meta = body.get("metadata") or {}
    name = meta.get("name") or ""
    if not name:
        raise bad_request(
            f"the name of the object ({request.info.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != request.info.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({request.info.name})"
        )
    namespace = meta.get("namespace") or ""
    if resource.namespaced and namespace and namespace != request.info.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _who(request: Request, chosen: DeleteOptions) -> WriteOptions:
    return WriteOptions(user=request.user, dry_run=chosen.dry_run)


async def delete(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """An object deleted, or on its way."""
    encoder_for(resource, request.header(b"accept"))
    raw = request.body if request.body is not None else options.delete_query(request)
    chosen = delete_options(raw)
    target = _target(request, resource)
    last, gone = await api.lifecycle.delete(target, chosen, _who(request, chosen))
    if gone and not api.returns_deleted(resource):
        meta = last["metadata"]
        details: Object = {"name": meta["name"]}
        if resource.group:
            details["group"] = resource.group
        details["kind"] = resource.resource
        details["uid"] = meta["uid"]
        return json_response(success(details), headers=request.response_headers)
    return json_response(last, headers=request.response_headers)


async def deletecollection(api: Api, request: Request, resource: ResourceType) -> AnyResponse:
    """Every object of a collection that the selectors choose."""
    encoder = json_encoder(resource)
    raw = request.body if request.body is not None else options.delete_query(request)
    chosen = delete_options(raw)
    listed: ListOptions = options.list_options(request, resource)
    namespace = object_namespace(request, resource)
    keys = Range.prefix(resource.prefix(namespace))
    deleted: list[bytes] = []
    more, revision = True, api.hub.revision
    while more and not (listed.limit and len(deleted) >= listed.limit):
        page = await api.store.range(keys, limit=DELETE_STEP)
        more = page.more
        for item in page.items:
            keys = keys.after(item.key)
            if listed.selection is not None and not listed.selection.matches_bytes(item.value):
                continue
            meta = orjson.loads(item.value)["metadata"]
            target = Target(
                resource=resource, namespace=meta.get("namespace", ""), name=meta["name"]
            )
            if await api.delete_if_there(target, chosen, _who(request, chosen)):
                deleted.append(item.value)
            if listed.limit and len(deleted) >= listed.limit:
                break
        revision = max(revision, page.revision)
    meta_list = api.list_meta(revision)
    empty = not deleted
    body = (
        encoder.list_open(meta_list, empty=empty)
        + encoder.items(deleted)
        + encoder.list_close(empty=empty)
    )
    return Response(200, body, encoder.content_type, request.response_headers)


VERBS: Mapping[str, Verb] = {
    "get": get,
    "list": list_,
    "watch": watch,
    "create": create,
    "update": update,
    "delete": delete,
    "deletecollection": deletecollection,
}
