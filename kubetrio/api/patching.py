"""PATCH: a body in one of the patch media types to a function from old object to new.

Source: docs "API concepts" (patch), RFC 6902, RFC 7386.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.api import bodies
from kubetrio.api.encoders import request_version, stored_version
from kubetrio.api.fieldmanager import FieldManager
from kubetrio.api.request import Request
from kubetrio.machinery import fielderrors, jsonpatch
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.status import ApiError, bad_request, invalid, not_found
from kubetrio.resources.defaults import apply_defaults
from kubetrio.schema.registry import ResourceType
from kubetrio.wire import gojson, jsonwire, negotiate

Object = dict[str, Any]
Change = Callable[[Object | None], Awaitable[Object]]


def _parse(body: bytes) -> gojson.Parsed:
    try:
        return gojson.parse(body)
    except gojson.GoJsonError as error:
        raise bad_request(f"error decoding patch: {error}") from None


@dataclass(frozen=True, slots=True)
class Patched:
    """A patched document.

    Args:
        doc: the result, not decoded yet.
        shown: what messages about it show.
        strict: complaints about the patch itself (unknown and duplicate members).
    """

    doc: Any
    shown: str
    strict: Sequence[str] = ()


Apply = Callable[[Object], Patched]


def _json_patch(parsed: gojson.Parsed) -> Apply:
    patch = parsed.value
    if not isinstance(patch, list):
        word = gojson.type_word(patch)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {word} into Go value of type "
            "[]handlers.jsonPatchOp"
        )
    strict = jsonpatch.unknown_members(patch)

    def apply(doc: Object) -> Patched:
        result = jsonpatch.apply_json_patch(doc, patch)
        return Patched(result, jsonwire.encode(result).decode(), strict)

    return apply


def _merge_patch(parsed: gojson.Parsed) -> Apply:
    patch = parsed.value
    if not isinstance(patch, dict):
        word = gojson.type_word(patch)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {word} into Go value of type "
            "map[string]interface {}"
        )
    strict = [f'duplicate field "{path}"' for path in parsed.duplicates]

    def apply(doc: Object) -> Patched:
        result = jsonpatch.apply_merge_patch(doc, patch)
        return Patched(result, jsonwire.encode(result).decode(), strict)

    return apply


def _strategic_patch(parsed: gojson.Parsed, type_name: str) -> Apply:
    from kubetrio.machinery import strategicpatch
    from kubetrio.machinery.strategicvalues import go_text
    from kubetrio.schema import patchmeta

    schema = patchmeta.for_type(type_name)
    strict = [f'duplicate field "{path}"' for path in parsed.duplicates]

    def apply(doc: Object) -> Patched:
        merged = strategicpatch.merge_strategic_patch(doc, parsed.value, schema)
        return Patched(merged.doc, go_text(merged.rest), strict)

    return apply


def _applier(request: Request, type_name: str) -> Apply:
    """What applies the patch of a request to an object.

    Raises:
        ApiError: 400.
    """
    parsed = _parse(request.body)
    match request.patch_type:
        case negotiate.JSON_PATCH:
            return _json_patch(parsed)
        case negotiate.MERGE_PATCH:
            return _merge_patch(parsed)
        case _:
            return _strategic_patch(parsed, type_name)


def _refused(patched: Patched, why: str) -> ApiError:
    """422 for a patch whose result is no object of the kind, as kube-apiserver words it."""
    return invalid(GroupKind("", ""), "", [fielderrors.invalid("patch", patched.shown, why)])


def _decode(request: Request, patched: Patched, resource: ResourceType) -> Object:
    """The patched document, decoded as any body is: types, unknown fields.

    Raises:
        ApiError: 422.
    """
    gvk = resource.group_version_kind
    try:
        decoded = bodies.decode_object(jsonwire.encode(patched.doc), gvk, "json")
    except ApiError as error:
        why = error.message.partition(f"handled as a {gvk.kind}: ")[2] or error.message
        raise _refused(patched, why) from error
    strict = [*patched.strict, *decoded.strict]
    validation = request.query.get("fieldValidation") or "Warn"
    if strict and validation == "Strict":
        raise _refused(patched, f"strict decoding error: {', '.join(strict)}")
    if validation == "Warn":
        request.warn(strict)
    return decoded.value


def changer(request: Request, resource: ResourceType, fields: FieldManager) -> Change:
    """The change a PATCH makes, for `Lifecycle.update`.

    Args:
        request: the request; its body is the patch.
        resource: the resource, in the version of the request.
        fields: tracks who owns what.

    Raises:
        ApiError: 400, the patch cannot be read.
    """
    apply = _applier(request, resource.schema_name)

    async def change(stored: Object | None) -> Object:
        if stored is None:
            raise not_found(resource.group_resource, request.info.name)
        old = request_version(stored, resource)
        new = _decode(request, apply(old), resource)
        apply_defaults(resource, new)
        check_named(request, new)
        fields.updated(old, new)
        return stored_version(unpinned(new, old), resource)

    return change


def check_named(request: Request, new: Object) -> None:
    """A patch must not rename.

    Raises:
        ApiError: 400.
    """
    name = (new.get("metadata") or {}).get("name") or ""
    if name != request.info.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({request.info.name})"
        )


def unpinned(new: Object, old: Object) -> Object:
    """A patched object without the version it has from the old one.

    Nobody named a version then, and the write may be tried again on a newer object.
    """
    meta = new["metadata"]
    if meta.get("resourceVersion") != old["metadata"]["resourceVersion"]:
        return new
    return {**new, "metadata": {k: v for k, v in meta.items() if k != "resourceVersion"}}
