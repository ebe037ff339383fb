"""The ``scale`` subresource of workloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from kubetrio.api import options, patching
from kubetrio.api.applying import applying_change
from kubetrio.api.encoders import (
    AnyEncoder,
    encoder_for,
    offered,
    request_version,
    stored_version,
)
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
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.identity import check_identity, told_key
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema.kind import Kind, ScalePaths
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import APPLIES, OBJECT

if TYPE_CHECKING:
    from kubetrio.api.pipeline import Api

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
    obj = request_version(orjson.loads(found.value), resource)
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
    patching.check_named(request, resource, request.body)
    fields = _field_manager(api, request, chosen)
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
    chosen = options.patch_options(request)
    fields = _field_manager(api, request, chosen)
    make = applying_change if request.patch_type in APPLIES else patching.changer
    change = make(request, SCALE, fields, api.off_loop)
    return await _write(api, request, resource, change, chosen)


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


def _field_manager(api: Api, request: Request, chosen: WriteOptions) -> FieldManager:
    now, subresource = format_time(api.env.now()), request.info.subresource
    return FieldManager(SCALE, chosen.field_manager, now, subresource)


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

    async def scaled(stored: Object | None) -> Object:
        if stored is None:
            raise not_found(resource.group_resource, info.name)
        obj = request_version(stored, resource)
        key = told_key(target.key, dry_run=chosen.dry_run)
        check_identity(resource.group_resource, key, obj["metadata"], {"uid": uid})
        try:
            scale = scale_of(obj, paths)
        except ValueError as error:
            raise ApiError(500, "", str(error)) from error
        owned = obj["metadata"].get("managedFields") or ()
        if owners := owners_of_scale(owned, places_of(resource)):
            scale["metadata"]["managedFields"] = owners
        wanted = await change(scale)
        if (wanted.get("spec") or {}).get("replicas") == UNSET:
            raise bad_request(f"the spec replicas field {_quoted(resource)} cannot be empty")
        return stored_version(with_scale(obj, wanted, resource), resource)

    put = info.verb == "update"
    written = await api.lifecycle.update(target, scaled, chosen, uid_is_precondition=put)
    scale = scale_of(request_version(orjson.loads(written.value), resource), paths)
    return Response(200, encoder.object(jsonwire.encode(scale)), encoder.content_type)


VERBS: Mapping[tuple[str, str], Verb] = {
    ("scale", "get"): get,
    ("scale", "update"): update,
    ("scale", "patch"): patch,
}
