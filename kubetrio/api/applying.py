"""Server-side apply: a configuration to a function from old object to new.

Source: docs "Server-Side Apply"; KEP-555.
"""

from __future__ import annotations

from typing import Any

from kubetrio.api import bodies
from kubetrio.api.changing import Change, stored_change
from kubetrio.api.offloop import OffLoop
from kubetrio.api.patching import check_named
from kubetrio.api.request import Request, truthy
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.status import ApiError, bad_request
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.schema.kind import Kind
from kubetrio.wire import cborwire, gojson, yamlwire
from kubetrio.wire.negotiate import APPLY_CBOR_PATCH

Object = dict[str, Any]


def _configuration(request: Request) -> yamlwire.Document:
    """The applied configuration, as sent.

    Raises:
        ApiError: 400, not YAML or JSON, or not an object.
    """
    if request.patch_type == APPLY_CBOR_PATCH:
        try:
            return _object(yamlwire.Document(cborwire.decode(request.body)), "CBOR")
        except ValueError as error:
            raise bad_request(f"error decoding CBOR: {error}") from None
    try:
        document = yamlwire.decode(request.body)
    except yamlwire.YamlError as error:
        raise bad_request(f"error decoding YAML: {CONVERTING}{error}") from None
    return _object(document, "YAML")


def _object(document: yamlwire.Document, language: str) -> yamlwire.Document:
    """A document that is an object, or nothing.

    Raises:
        ApiError: 400.
    """
    if document.value is not None and not isinstance(document.value, dict):
        word = gojson.type_word(document.value)
        raise bad_request(
            f"error decoding {language}: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
        )
    return document


CONVERTING = "error converting YAML to JSON: "


def _check_strict(request: Request, document: yamlwire.Document) -> None:
    """Refuse repeated keys, or warn of them, as ``fieldValidation`` says.

    Raises:
        ApiError: 400 for ``Strict``.
    """
    if not document.duplicates:
        return
    validation = request.query.get("fieldValidation") or "Warn"
    if validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {CONVERTING}{document.strict_error}")
    if validation == "Warn":
        bodies.warn_strict(request, [f"{CONVERTING}{document.strict_error}"])


def applying_change(
    request: Request, resource: Kind, fields: FieldManager, off_loop: OffLoop
) -> Change:
    """The change an apply makes, for `Lifecycle.update`.

    Args:
        request: the request; its body is the configuration.
        resource: the resource, in the version of the request.
        fields: merges, finds conflicts and tracks who owns what.
        off_loop: works over a large configuration.
    """
    document: yamlwire.Document | None = None
    force = truthy(request.query.get("force", "0"))

    def changed(live: Object | None) -> Object:
        nonlocal document
        if document is None:
            document = _configuration(request)
        applied = fields.applied(live, document.value or {}, force=force)
        # What did not change is not printed anew: opaque JSON keeps its text.
        new = copy_json(applied.obj) if applied.kept else _decoded(applied.obj, resource)
        _check_strict(request, document)
        resource.rules.default(new)
        new = _with_annotations_read(new, resource)
        check_named(request, resource, new)
        if applied.entries:
            new["metadata"]["managedFields"] = applied.entries
        if live is None:
            new["metadata"].pop("resourceVersion", None)
        return new

    return stored_change(request, resource, fields, off_loop, changed)


def _decoded(obj: Object, resource: Kind) -> Object:
    """A merged object as one of its type: known members, no nulls.

    Raises:
        ApiError: 500, as kube-apiserver has it for a value that fits the schema and not the type.
    """
    try:
        return resource.type.restore(obj, [])
    except ValueError as error:
        kind, which = _shown(obj, resource)
        raise ApiError(
            500,
            "",
            f"failed to convert new object ({which}) to proper version: unable to convert "
            f"unstructured object to {kind}: {error}",
        ) from error


def _with_annotations_read(obj: Object, resource: Kind) -> Object:
    """A merged object whose annotations were read.

    Raises:
        ApiError: 500, as kube-apiserver has it for what is wrong with them.
    """
    try:
        return resource.type.read_annotations(obj)
    except ValueError as error:
        _, which = _shown(obj, resource)
        raise ApiError(500, "", f"failed to convert to unversioned ({which}): {error}") from error


def _shown(obj: Object, resource: Kind) -> tuple[str, str]:
    """The kind and the object as messages print them."""
    gvk, meta = resource.group_version_kind, obj.get("metadata") or {}
    kind = f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"
    return kind, f"{meta.get('namespace', '')}/{meta.get('name', '')}; {kind}"
