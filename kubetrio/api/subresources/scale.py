"""The ``scale`` subresource of workloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from kubetrio.api import options, patching
from kubetrio.api.api import Api
from kubetrio.api.applying import configuration_of
from kubetrio.api.encoding.encoders import AnyEncoder, encoder_for, offered
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


async def get(api: Api, request: Request, resource: Kind) -> AnyResponse:
    """The scale of a workload."""
    encoder = _encoder(api, request, resource)
    info = request.info
    key = resource.key(object_namespace(request, resource), info.name)
    found = await api.listing.get(key, request.query.get("resourceVersion", ""))
    if found is None:
        raise not_found(resource.group_resource, info.name)
    (obj,) = await from_stored(resource, [orjson.loads(found.value)])
    try:
        scale = scale_of(obj, _paths(resource))
    except ValueError as error:
        raise ApiError(500, "", str(error)) from error
    if scale["spec"].get("replicas") == UNSET:
        raise internal_error(f"the spec replicas field {_quoted(resource)} does not exist")
    body = encoder.object(jsonwire.encode(scale))
    return Response(200, body, encoder.content_type)


async def update(api: Api, request: Request, resource: Kind) -> AnyResponse:
    """A workload scaled by a whole Scale."""
    chosen = options.write_options(request, "UpdateOptions")
    target = _target(request)
    check_named(target, request.body)
    fields = api.operations.fields(target, chosen)
    body: Object = request.body

    async def change(old: Object | None) -> Object:
        new = {**body, "metadata": dict(body.get("metadata") or {})}
        if resource.namespaced:
            new["metadata"].setdefault("namespace", request.info.namespace)
        fields.updated(old or {}, new)
        return new

    return await _write(api, request, resource, change, chosen, uid=body["metadata"].get("uid"))


async def patch(api: Api, request: Request, resource: Kind) -> AnyResponse:
    """A workload scaled by a part of a Scale."""
    chosen = options.patch_options(request)._replace(work=api.off_loop.of(request).work)
    target = _target(request)
    if request.patch_type in APPLIES:
        configuration = configuration_of(request)
        change = api.operations.applying(target, configuration, chosen)
        if _paths(resource) is not None:
            change = _unconverted(change, configuration)
    else:
        change = api.operations.patching(target, patching.maker(request, SCALE, Sent()), chosen)
    return await _write(api, request, resource, change, chosen)


NO_SCALE = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"


def _unconverted(change: Change, configuration: Configuration) -> Change:
    """What becomes of an apply to the scale of a custom resource.

    kube-apiserver looks for a version of the custom resource that is called as that of Scale, and
    fails where it needs one: where nobody owns the replicas, and where they are changed.

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


def _encoder(api: Api, request: Request, resource: Kind) -> AnyEncoder:
    offer = offered(resource, OBJECT, cbor=api.config.cbor)
    return encoder_for(request, SCALE, offer, api.env.now, api.cache)


async def _write(
    api: Api,
    request: Request,
    resource: Kind,
    change: Change,
    chosen: WriteOptions,
    *,
    uid: str | None = None,
) -> Response:
    """Write what a change of the scale makes of the workload, which must have the uid given."""
    encoder = _encoder(api, request, resource)
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
        wanted = await api.operations.mutate_shown(target, await change(scale), scale, chosen)
        if (wanted.get("spec") or {}).get("replicas") == UNSET:
            raise bad_request(f"the spec replicas field {_quoted(resource)} cannot be empty")
        return with_scale(obj, wanted, resource)

    def shown(obj: Object) -> Object:
        scale = scale_of(obj, paths)
        if scale["spec"].get("replicas") == UNSET:
            del scale["spec"]["replicas"]
        return scale

    put, chosen = info.verb == "update", chosen._replace(shown=shown)
    written = await api.operations.change(target, scaled, chosen, uid_is_precondition=put)
    (obj,) = await from_stored(resource, [orjson.loads(written.value)])
    scale = scale_of(obj, paths)
    return Response(200, encoder.object(jsonwire.encode(scale)), encoder.content_type)


VERBS: Mapping[tuple[str, str], Verb] = {
    ("scale", "get"): get,
    ("scale", "update"): update,
    ("scale", "patch"): patch,
}
