"""Objects of a request as webhooks and policies see them, and what they make of them put back.

Admission holds objects in the version in which writes work; a webhook is asked in the version that
its rules name.  What is below an object is a kind of its own: a scale is seen in place of its
workload, and bodies such as Evictions are no objects that are stored, and are seen as they came.

Source: docs "Dynamic Admission Control" (``matchPolicy``), ``AdmissionRequest``.
"""

from __future__ import annotations

from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.gotext.text import quote
from kubetrio.kinds.autoscaling.scale import SCALE
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError, internal_error
from kubetrio.resources.conversion import between
from kubetrio.schema.kind import Kind
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.wire import gojson
from kubetrio.wire.jsonwire import find_kind, with_defaults
from kubetrio.wire.report import Report

Object = dict[str, Any]


def kind_in(resource: Kind, subresource: str) -> GroupVersionKind:
    """What kind of object a request for a resource, or for what is below it, is about."""
    below = resource.subresources.get(subresource)
    return resource.group_version_kind if below is None else below.kind


def _is_scale(attributes: Attributes) -> bool:
    return kind_in(attributes.resource, attributes.subresource) == SCALE.group_version_kind


def _is_stored(attributes: Attributes, resource: Kind) -> bool:
    """Whether the objects of a request are those of the resource itself."""
    if attributes.operation is Operation.CONNECT:
        return False
    below = resource.subresources.get(attributes.subresource)
    return below is None or below.kind == resource.group_version_kind


async def in_version(obj: Object | None, resource: Kind, wanted: Kind) -> Object | None:
    """An object of a request in the version of another resource.

    Args:
        obj: the object, in the version in which writes work.
        resource: of the request.
        wanted: the resource in the version wanted.

    Raises:
        ValueError: it cannot be converted.
    """
    if obj is None:
        return None
    try:
        return await between(obj, resource.hub, wanted)
    except ApiError as error:
        raise ValueError(error.message) from error


def object_kind(attributes: Attributes, matched: Kind) -> Kind:
    """The kind of the objects of a request, in the version in which they are looked at."""
    return SCALE if _is_scale(attributes) else matched


async def shown(obj: Object | None, attributes: Attributes, matched: Kind) -> Object | None:
    """An object of a request as a webhook or a policy sees it.

    Args:
        obj: the object.
        attributes: the request.
        matched: the resource as which the webhook means it.

    Raises:
        ValueError: it cannot be converted.
    """
    if obj is None:
        return None
    if _is_stored(attributes, matched):
        return await in_version(obj, attributes.resource, matched)
    gvk = kind_in(matched, attributes.subresource)
    return {"kind": gvk.kind, "apiVersion": _version(gvk), **obj}


def _version(gvk: GroupVersionKind) -> str:
    return f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version


def read_back(
    patched: Any, attributes: Attributes, matched: Kind, *, strict: bool = False
) -> Object:
    """A patched object as its type has it, its defaults filled in.

    Args:
        patched: the object after the patch.
        attributes: the request.
        matched: the resource as which the webhook or the policy meant it.
        strict: whether unknown fields are an error.

    Raises:
        ApiError: 500, it is another kind or does not fit.
    """
    report = Report()
    obj = _read_back(patched, attributes, matched, report)
    if strict and report:
        raise internal_error(report.error)
    return obj


def _read_back(patched: Any, attributes: Attributes, matched: Kind, report: Report) -> Object:
    kind_expected = kind_in(matched, attributes.subresource)
    try:
        gvk_named = find_kind(gojson.Parsed(patched, [], {}))
    except ValueError as error:
        raise internal_error(str(error)) from None
    if not matched.builtin and kind_expected == matched.group_version_kind:
        return _custom(patched, gvk_named, kind_expected, matched, report)
    gvk, scheme = with_defaults(gvk_named, kind_expected), scheme_of(kind_expected.group)
    if not scheme.knows(gvk):
        shown_as = _version(gvk)
        raise internal_error(
            f"no kind {quote(gvk.kind)} is registered for version {quote(shown_as)} in scheme "
            f'"{scheme.location()}"'
        )
    try:
        decoded = scheme.decode(gvk, patched, report, {})
    except ValueError as error:
        raise internal_error(str(error)) from None
    if gvk != kind_expected:
        versioned = scheme.go_names(gvk)[0]
        internal = scheme.go_names(kind_expected)[1]
        raise ApiError(500, "", f"converting ({versioned}) to ({internal}): unknown conversion")
    obj: Object = {**decoded, "kind": kind_expected.kind, "apiVersion": _version(kind_expected)}
    if _is_stored(attributes, matched):
        matched.rules.default(obj)
    return obj


def _custom(
    patched: Any,
    said: GroupVersionKind,
    wanted: GroupVersionKind,
    matched: Kind,
    report: Report,
) -> Object:
    """A patched custom resource, which keeps all that it has."""
    if not said.kind:
        raise internal_error("Object 'Kind' is missing in the patched object")
    if said != wanted:
        raise internal_error(f"the patched object is no {wanted.kind}")
    try:
        decoded: Object = matched.type.decode(patched, report)
    except ValueError as error:
        raise internal_error(str(error)) from None
    matched.rules.default(decoded)
    return decoded


async def put_back(changed: Object, attributes: Attributes, matched: Kind) -> None:
    """Put what a webhook made of an object in its place.

    Args:
        changed: as the webhook left it.
        attributes: the request; its object is changed.
        matched: the resource as which the webhook meant it.

    Raises:
        ApiError: it cannot be converted.
    """
    old = attributes.obj
    if old is None:
        return
    if _is_stored(attributes, matched):
        changed = await between(changed, matched, attributes.resource.hub)
    put_in_place(old, changed)


def put_in_place(old: Object, new: Object) -> None:
    """Put an object in the place of another, whose metadata others hold on to as well."""
    meta = old.setdefault("metadata", {})
    new_meta = new.get("metadata") or {}
    if new_meta is meta:
        new_meta = dict(meta)
    old.clear()
    old.update(new)
    meta.clear()
    meta.update(new_meta)
    old["metadata"] = meta
