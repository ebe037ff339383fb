"""The ``scale`` subresource of workloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from kubetrio.api import options, patching
from kubetrio.api.api import Api
from kubetrio.api.applying import configuration_of
from kubetrio.api.encoders import encoder_for
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.api.verbs import Verb
from kubetrio.kinds.autoscaling.scale import SCALE, owners_of_scale, scale_of, with_scale
from kubetrio.machinery.status import not_found
from kubetrio.resources.identity import check_identity, told_key
from kubetrio.resources.operations import check_named
from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema.kind import Kind
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import APPLIES, OBJECT

Object = dict[str, Any]
Change = Callable[[Object | None], Awaitable[Object]]


async def get(api: Api, request: Request, resource: Kind) -> AnyResponse:
    """The scale of a workload."""
    encoder = encoder_for(request, SCALE, OBJECT, api.env.now, api.cache)
    info = request.info
    key = resource.key(info.namespace, info.name)
    found = await api.listing.get(key, request.query.get("resourceVersion", ""))
    if found is None:
        raise not_found(resource.group_resource, info.name)
    body = encoder.object(jsonwire.encode(scale_of(orjson.loads(found.value))))
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
        new["metadata"].setdefault("namespace", request.info.namespace)
        fields.updated(old or {}, new)
        return new

    return await _write(api, request, resource, change, chosen, uid=body["metadata"].get("uid"))


async def patch(api: Api, request: Request, resource: Kind) -> AnyResponse:
    """A workload scaled by a part of a Scale."""
    chosen = options.patch_options(request)._replace(work=api.off_loop.of(request).work)
    target = _target(request)
    if request.patch_type in APPLIES:
        change = api.operations.applying(target, configuration_of(request), chosen)
    else:
        change = api.operations.patching(target, patching.maker(request, SCALE), chosen)
    return await _write(api, request, resource, change, chosen)


def _target(request: Request) -> Target:
    """The scale of a request."""
    info = request.info
    return Target(SCALE, info.namespace, info.name, info.subresource)


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
    encoder = encoder_for(request, SCALE, OBJECT, api.env.now, api.cache)
    info = request.info
    target = Target(
        resource=resource, namespace=info.namespace, name=info.name, subresource=info.subresource
    )

    async def scaled(obj: Object | None) -> Object:
        if obj is None:
            raise not_found(resource.group_resource, info.name)
        key = told_key(target.key, dry_run=chosen.dry_run)
        check_identity(resource.group_resource, key, obj["metadata"], {"uid": uid})
        scale = scale_of(obj)
        owners = owners_of_scale(obj["metadata"].get("managedFields") or ())
        if owners:
            scale["metadata"]["managedFields"] = owners
        return with_scale(obj, await change(scale), resource)

    put = info.verb == "update"
    written = await api.lifecycle.update(target, scaled, chosen, uid_is_precondition=put)
    scale = scale_of(orjson.loads(written.value))
    return Response(200, encoder.object(jsonwire.encode(scale)), encoder.content_type)


VERBS: Mapping[tuple[str, str], Verb] = {
    ("scale", "get"): get,
    ("scale", "update"): update,
    ("scale", "patch"): patch,
}
