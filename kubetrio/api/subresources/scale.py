"""The ``scale`` subresource of workloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import orjson

from kubetrio.api import options, patching
from kubetrio.api.api import Api, Edge, Storage, Writes
from kubetrio.api.applying import configuration_of
from kubetrio.api.encoding.accepting import offered
from kubetrio.api.encoding.encoders import AnyEncoder, encoder_for
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.api.verbs import Verb, object_namespace
from kubetrio.kinds.autoscaling.scale import (
    SCALE,
    UNSET,
    owners_of_scale,
    places_of,
    scale_of,
    with_scale,
)
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.status import ApiError, bad_request, internal_error, not_found
from kubetrio.resources.conversion import from_stored
from kubetrio.resources.operations import Configuration, check_named
from kubetrio.resources.preconditions import check_identity, told_key
from kubetrio.resources.writes import Sent, Target, WriteOptions
from kubetrio.schema.kind import Kind, ScalePaths
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import APPLIES, OBJECT

Object = dict[str, Any]
Change = Callable[[Object | None], Awaitable[Object]]


async def get(storage: Storage, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """The scale of a workload."""
    encoder = _encoder(edge, request, resource)
    info = request.info
    key = resource.key(object_namespace(request, resource), info.name)
    stored = await storage.listing.get(key, request.query.get("resourceVersion", ""))
    if stored is None:
        raise not_found(resource.group_resource, info.name)
    (obj,) = await from_stored(resource, [orjson.loads(stored.value)])
    try:
        scale = scale_of(obj, _paths(resource))
    except ValueError as error:
        raise ApiError(500, "", str(error)) from error
    if scale["spec"].get("replicas") == UNSET:
        raise internal_error(f"the spec replicas field {_quoted(resource)} does not exist")
    body = encoder.object(jsonwire.encode(scale))
    return Response(200, body, encoder.content_type)


async def update(writes: Writes, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """A workload scaled by a whole Scale."""
    chosen = options.write_options(request, "UpdateOptions")
    target = _target(request)
    check_named(target, request.body)
    fields = writes.operations.fields(target, chosen)
    body: Object = request.body

    async def change(old: Object | None) -> Object:
        new = {**body, "metadata": dict(body.get("metadata") or {})}
        if resource.namespaced:
            new["metadata"].setdefault("namespace", request.info.namespace)
        fields.updated(old or {}, new)
        return new

    return await _write(
        writes, edge, request, resource, change, chosen, uid=body["metadata"].get("uid")
    )


async def patch(writes: Writes, edge: Edge, request: Request, resource: Kind) -> AnyResponse:
    """A workload scaled by a part of a Scale."""
    chosen = options.patch_options(request)._replace(work=edge.off_loop.of(request).work)
    target = _target(request)
    if request.patch_type in APPLIES:
        configuration = configuration_of(request)
        change = writes.operations.applying(target, configuration, chosen)
        if _paths(resource) is not None:
            change = _unconverted(change, configuration)
    else:
        change = writes.operations.patching(target, patching.maker(request, SCALE, Sent()), chosen)
    return await _write(writes, edge, request, resource, change, chosen)


NO_SCALE = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"


def _unconverted(change: Change, configuration: Configuration) -> Change:
    """What becomes of an apply to the scale of a custom resource.

    kube-apiserver looks for a version of the custom resource that is called as that of Scale, and
    fails where it needs one: where the replicas have no owner, and where they are changed.

    Args:
        change: what the apply makes of a scale.
        configuration: what is applied.
    """

    async def applied(live: Object | None) -> Object:
        owned = bool(live and live["metadata"].get("managedFields"))
        try:
            new = await change(live)
        except ApiError as error:
            if error.code != 409 or owned:
                raise
        else:
            if owned and live is not None and new.get("spec") == live.get("spec"):
                return new
        where, why = "/", "failed to create manager for existing fields: failed to convert live"
        if owned:
            meta = configuration.read().get("metadata") or {}
            where = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}"
            why = "failed to convert new"
        raise ApiError(500, "", f"{why} object ({where}; autoscaling/v1, Kind=Scale) {NO_SCALE}")

    return applied


def _target(request: Request) -> Target:
    """The scale of a request."""
    info = request.info
    return Target(SCALE, info.namespace, info.name, info.subresource)


def _paths(resource: Kind) -> ScalePaths | None:
    """Where a custom resource has what its scale shows; None for what is built in."""
    return resource.subresources["scale"].replicas


def _quoted(resource: Kind) -> str:
    """The path of the replicas wanted of a custom resource, in quotes."""
    paths = _paths(resource)
    return quote("" if paths is None else paths.wanted)


def _encoder(edge: Edge, request: Request, resource: Kind) -> AnyEncoder:
    offer = offered(resource, OBJECT, cbor=edge.config.cbor)
    return encoder_for(request, SCALE, offer, edge.env.now, edge.cache)


async def _write(
    writes: Writes,
    edge: Edge,
    request: Request,
    resource: Kind,
    change: Change,
    chosen: WriteOptions,
    *,
    uid: str | None = None,
) -> Response:
    """Write what a change of the scale makes of the workload, which must have the uid given."""
    encoder = _encoder(edge, request, resource)
    info, paths = request.info, _paths(resource)
    namespace = object_namespace(request, resource)
    target = Target(
        resource=resource, namespace=namespace, name=info.name, subresource=info.subresource
    )

    async def scaled(obj: Object | None) -> Object:
        if obj is None:
            raise not_found(resource.group_resource, info.name)
        key = told_key(target.key, dry_run=chosen.dry_run)
        check_identity(resource.group_resource, key, obj["metadata"], {"uid": uid})
        try:
            scale = scale_of(obj, paths)
            owned = obj["metadata"].get("managedFields") or ()
            if owners := owners_of_scale(owned, places_of(resource)):
                scale["metadata"]["managedFields"] = owners
        except ValueError as error:
            raise ApiError(500, "", str(error)) from error
        wanted = await writes.operations.mutate_shown(target, await change(scale), scale, chosen)
        if (wanted.get("spec") or {}).get("replicas") == UNSET:
            raise bad_request(f"the spec replicas field {_quoted(resource)} cannot be empty")
        return with_scale(obj, wanted, resource)

    def shown(obj: Object) -> Object:
        scale = scale_of(obj, paths)
        if scale["spec"].get("replicas") == UNSET:
            del scale["spec"]["replicas"]
        return scale

    put, chosen = info.verb == "update", chosen._replace(shown=shown)
    written = await writes.operations.change(target, scaled, chosen, uid_is_precondition=put)
    (obj,) = await from_stored(resource, [orjson.loads(written.value)])
    scale = scale_of(obj, paths)
    return Response(200, encoder.object(jsonwire.encode(scale)), encoder.content_type)


def verbs_of(api: Api) -> Mapping[tuple[str, str], Verb]:
    """See `kubetrio.api.subresources.verbs`."""
    return {
        ("scale", "get"): partial(get, api.storage, api.edge),
        ("scale", "update"): partial(update, api.writes, api.edge),
        ("scale", "patch"): partial(patch, api.writes, api.edge),
    }
