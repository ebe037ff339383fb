"""PATCH: a body in one of the patch media types to a function from old object to new.

Source: docs "API concepts" (patch), RFC 6902, RFC 7386.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

from kubetrio.api import bodies
from kubetrio.api.request import Request
from kubetrio.machinery import fielderrors, jsonpatch
from kubetrio.machinery.names import GroupKind, GroupResource
from kubetrio.machinery.status import ApiError, bad_request, invalid, not_found
from kubetrio.resources.operations import Make
from kubetrio.resources.writes import Sent
from kubetrio.schema.kind import Kind
from kubetrio.wire import gojson, jsonwire, negotiate
from kubetrio.wire.places import MAX_STRICT_ERRORS
from kubetrio.wire.report import Report

Object = dict[str, Any]


DECODING = "error decoding patch: "


def _parse(body: bytes, prefix: str = "") -> gojson.Parsed:
    try:
        return gojson.parse(body)
    except gojson.GoJsonError as error:
        raise bad_request(f"{prefix}{error}") from None


@dataclass(frozen=True, slots=True)
class Patched:
    """A patched document.

    Args:
        doc: the result, not decoded yet.
        shown: makes what messages about it show.
        strict: complaints about the patch itself (unknown and duplicate members).
        before: the document that was patched, where the result shares what did not change with it.
    """

    doc: Any
    shown: Callable[[], str]
    strict: Sequence[str] = ()
    before: Object | None = None


Apply = Callable[[Object], Patched]
Given = Callable[[Any], Any]
"""A document as Go prints it before a patch: of a custom resource, with all members sorted."""


def _as_stored(doc: Any) -> Any:
    return doc


def _text(doc: Any) -> str:
    return jsonwire.encode(doc).decode()


def _json_patch(body: bytes, given: Given, *, lenient: bool) -> Apply:
    parsed = _parse(body, "" if lenient else DECODING)
    patch = parsed.value
    duplicates = (f'json patch duplicate field "{path}"' for path in parsed.duplicates)
    strict = list(islice(chain(jsonpatch.unknown_members(patch), duplicates), MAX_STRICT_ERRORS))

    def apply(doc: Object) -> Patched:
        result, marshalled = jsonpatch.patched_json(doc, patch, lenient=lenient)

        def shown() -> str:
            if given is _as_stored:
                return _text(marshalled())
            return _text(jsonpatch.patched_json(given(doc), patch, lenient=lenient)[1]())

        return Patched(result, shown, strict)

    return apply


def _merge_patch(body: bytes, given: Given, *, lenient: bool) -> Apply:
    try:
        parsed = _parse(body, DECODING)
    except ApiError:
        if lenient:
            raise bad_request(jsonpatch.BAD_MERGE_PATCH) from None
        raise
    strict = [f'duplicate field "{path}"' for path in parsed.duplicates]

    def apply(doc: Object) -> Patched:
        patch = parsed.value
        result = jsonpatch.apply_merge_patch(doc, patch, lenient=lenient)

        def shown() -> str:
            return _text(given(jsonpatch.marshalled_merge(doc, patch, result)))

        return Patched(result, shown, strict, doc)

    return apply


def _strategic_patch(body: bytes, type_name: str) -> Apply:
    from kubetrio.machinery import strategicpatch
    from kubetrio.machinery.strategicvalues import go_text
    from kubetrio.schema import patchmeta

    parsed = _parse(body)
    schema = patchmeta.for_type(type_name)
    strict = [f'duplicate field "{path}"' for path in parsed.duplicates]

    def apply(doc: Object) -> Patched:
        merged = strategicpatch.merge_strategic_patch(doc, parsed.value, schema)
        return Patched(merged.doc, partial(go_text, merged.rest), strict)

    return apply


def _applier(request: Request, resource: Kind) -> Apply:
    """What applies the patch of a request to an object.

    Raises:
        ApiError: 400.
    """
    lenient = request.query.get("fieldValidation") == "Ignore"
    given = _as_stored if resource.builtin else jsonpatch.sorted_members
    match request.patch_type:
        case negotiate.JSON_PATCH:
            return _json_patch(request.body, given, lenient=lenient)
        case negotiate.MERGE_PATCH:
            return _merge_patch(request.body, given, lenient=lenient)
        case _:
            return _strategic_patch(request.body, resource.schema_name)


def _refused(patched: Patched, why: str) -> ApiError:
    """422 for a patch whose result is no object of the kind, as kube-apiserver words it."""
    return invalid(GroupKind("", ""), "", [fielderrors.invalid("patch", patched.shown(), why)])


def _decode(request: Request, patched: Patched, resource: Kind, sent: Sent) -> Object:
    """The patched document, decoded: types, unknown fields.

    Raises:
        ApiError: 422, 400 for a document that has lost its apiVersion, or 500.
    """
    try:
        if request.patch_type == negotiate.STRATEGIC_PATCH:
            value, report = _restored(patched.doc, resource)
        else:
            value, report = _read_changed(request, patched, resource)
    except ValueError as error:
        raise _refused(patched, str(error)) from error
    sent.empties = report.empties
    strict = [*patched.strict, *report.strict]
    validation = request.query.get("fieldValidation") or "Warn"
    if strict and validation == "Strict":
        raise _refused(patched, f"strict decoding error: {', '.join(strict)}")
    if validation == "Warn":
        bodies.warn_strict(request, strict)
    if request.patch_type == negotiate.STRATEGIC_PATCH:
        value = _with_annotations_read(value, resource)
    return value


def _restored(doc: Object, resource: Kind) -> tuple[Object, Report]:
    """A document made by a strategic merge patch: no patch makes another kind of it.

    Raises:
        ValueError: a member has a type that does not fit.
    """
    report = Report()
    gvk = resource.group_version_kind
    restored = resource.type.restore(doc, report)
    return {**restored, "kind": gvk.kind, "apiVersion": gvk.api_version}, report


def _with_annotations_read(obj: Object, resource: Kind) -> Object:
    """A document of a strategic merge patch whose annotations were read.

    Raises:
        ApiError: 500, as kube-apiserver has it for what is wrong with them.
    """
    try:
        return resource.type.read_annotations(obj)
    except ValueError as error:
        raise ApiError(500, "", str(error)) from error


def _read_changed(request: Request, patched: Patched, resource: Kind) -> tuple[Object, Report]:
    """Read a document made by one of the other patches; what did not change was read before.

    That holds of objects of a built-in kind in the version that is stored; those of a heavy request
    are read in pieces, which lets others run.

    Raises:
        ValueError: it is no object of the kind.
    """
    doc, before = patched.doc, patched.before
    if (
        before is not None
        and not request.heavy
        and resource.stored is resource
        and type(doc) is dict
        and doc.get("kind") == resource.kind
        and doc.get("apiVersion") == resource.api_version
    ):
        value = resource.type.decode_changed(doc, before)
        if value is not None:
            return value, Report()
    return _read_again(doc, resource)


def _read_again(doc: Any, resource: Kind) -> tuple[Object, Report]:
    """A document made by one of the other patches: printed and decoded as any body is.

    Raises:
        ValueError: it is no object of the kind.
    """
    gvk = resource.group_version_kind
    if type(doc) is dict and resource.builtin and _is_unversioned(doc):
        # Read as the internal version then, whose members have other names.
        unknown = [f'unknown field "{name}"' for name in sorted(doc) if name not in TYPE_META]
        return {"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": {}}, Report(unknown)
    custom = None if resource.builtin else resource.type
    try:
        decoded = bodies.decode_object(jsonwire.encode(doc), gvk, "json", custom=custom)
    except ApiError as error:
        raise ValueError(reason_of(error, gvk.kind)) from error
    return decoded.value, Report(decoded.strict, decoded.empties)


def _is_unversioned(doc: Object) -> bool:
    """Whether a document names no version, and its kind, if it names one, is a text."""
    kind = doc.get("kind")
    return doc.get("apiVersion") in (None, "") and (kind is None or isinstance(kind, str))


def reason_of(error: ApiError, kind: str) -> str:
    """What the decoder said, without what is put around it for the body of a request."""
    unfit = error.message.partition(f"handled as a {kind}: ")[2]
    unrecognised = error.message.partition(f"(must be of type {kind}): ")[2]
    return unfit or unrecognised.rpartition(" (")[0] or error.message


TYPE_META = frozenset({"kind", "apiVersion"})


def maker(request: Request, resource: Kind, sent: Sent) -> Make:
    """What the patch of a request makes of an object, for `Operations.patch`.

    The patch is read when there is something to patch: whether there is comes first, and for
    kube-apiserver an object without a uid is not there (handlers/patch.go, `createNewObject`).

    Args:
        request: the request; its body is the patch.
        resource: the kind, in the version of the request.
        sent: receives what is known of the object that is made beside it.
    """
    apply: Apply | None = None

    def make(old: Object) -> Object:
        nonlocal apply
        if not old["metadata"].get("uid"):  # what another tool has written is no object to patch
            info = request.info
            raise not_found(GroupResource(info.group, info.resource), info.name)
        if apply is None:
            apply = _applier(request, resource)
        return _decode(request, apply(old), resource, sent)

    return make
