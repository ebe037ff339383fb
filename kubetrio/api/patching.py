"""PATCH: a body in one of the patch media types to a function from old object to new.

Source: docs "API concepts" (patch), RFC 6902, RFC 7386.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubetrio.api import bodies
from kubetrio.api.encoders import stored_version
from kubetrio.api.request import Request
from kubetrio.machinery import jsonpatch
from kubetrio.machinery.status import ApiError, bad_request, not_found
from kubetrio.schema.convert import convert
from kubetrio.schema.registry import ResourceType
from kubetrio.wire import gojson, jsonwire, negotiate

Object = dict[str, Any]
Change = Callable[[Object | None], Awaitable[Object]]


def _parse(body: bytes) -> Any:
    try:
        return gojson.parse(body).value
    except gojson.GoJsonError as error:
        raise bad_request(f"error decoding patch: {error}") from None


def _applier(request: Request) -> Callable[[Object], Any]:
    """What applies the patch of a request to an object.

    Raises:
        ApiError: 400, or 415 for media types without an implementation.
    """
    patch = _parse(request.body)
    if request.patch_type == negotiate.JSON_PATCH:
        if not isinstance(patch, list):
            word = gojson.type_word(patch)
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {word} into Go value of type "
                "[]handlers.jsonPatchOp"
            )
        return lambda doc: jsonpatch.apply_json_patch(doc, patch)
    if request.patch_type == negotiate.MERGE_PATCH:
        if not isinstance(patch, dict):
            word = gojson.type_word(patch)
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {word} into Go value of type "
                "map[string]interface {}"
            )
        return lambda doc: jsonpatch.apply_merge_patch(doc, patch)
    raise ApiError(
        501, "NotImplemented", f"patches of type {request.patch_type} are not implemented", {}
    )


def changer(request: Request, resource: ResourceType) -> Change:
    """The change a PATCH makes, for `Lifecycle.update`.

    Raises:
        ApiError: 400, the patch cannot be read.
    """
    apply = _applier(request)

    async def change(old: Object | None) -> Object:
        if old is None:
            raise not_found(resource.group_resource, request.info.name)
        if resource.stored_as != resource.group_version:
            old = convert(old, resource.stored_as, resource.group_version)
        patched = apply(old)
        # The patched document is decoded as any body is: types, unknown fields, defaults.
        gvk = resource.group_version_kind
        decoded = bodies.decode_object(jsonwire.encode(patched), gvk, "json")
        bodies.check_fields(request, decoded)
        new = decoded.value
        name = (new.get("metadata") or {}).get("name") or ""
        if name != request.info.name:
            raise bad_request(
                f"the name of the object ({name}) does not match the name on the URL "
                f"({request.info.name})"
            )
        meta, was = new["metadata"], old["metadata"]
        if meta.get("resourceVersion") == was["resourceVersion"]:
            # Nobody named a version: the write may be tried again on a newer one.
            new = {**new, "metadata": {k: v for k, v in meta.items() if k != "resourceVersion"}}
        return stored_version(new, resource)

    return change
