"""Server-side apply: a configuration to a function from old object to new.

Source: docs "Server-Side Apply"; KEP-555.
"""

from __future__ import annotations

from typing import Any

from kubetrio.api import bodies
from kubetrio.api.encoders import request_version, stored_version
from kubetrio.api.fieldmanager import FieldManager
from kubetrio.api.patching import Change, check_named, unpinned
from kubetrio.api.request import Request, truthy
from kubetrio.machinery.status import ApiError, bad_request
from kubetrio.resources.defaults import apply_defaults
from kubetrio.schema.registry import ResourceType
from kubetrio.wire import jsonwire, yamlwire

Object = dict[str, Any]


def _configuration(request: Request) -> Object:
    """The applied configuration, as sent.

    Raises:
        ApiError: 400, not YAML or JSON, or not an object.
    """
    try:
        document = yamlwire.decode(request.body)
    except yamlwire.YamlError as error:
        raise bad_request(f"error decoding YAML: {error}") from None
    if document.duplicates:
        validation = request.query.get("fieldValidation") or "Warn"
        if validation == "Strict":
            raise bad_request(f"error strict decoding YAML: {document.strict_error}")
        if validation == "Warn":
            request.warn([document.strict_error])
    if not isinstance(document.value, dict):
        raise bad_request("error decoding YAML: the configuration is not an object")
    return document.value


def applying_change(request: Request, resource: ResourceType, fields: FieldManager) -> Change:
    """The change an apply makes, for `Lifecycle.update`.

    Args:
        request: the request; its body is the configuration.
        resource: the resource, in the version of the request.
        fields: merges, finds conflicts and tracks who owns what.

    Raises:
        ApiError: 400, the configuration cannot be read.
    """
    config = _configuration(request)
    force = truthy(request.query.get("force", "0"))

    async def change(stored: Object | None) -> Object:
        live = None if stored is None else request_version(stored, resource)
        sent = _placed(request, resource, config)
        applied = fields.applied(live, sent, force=force)
        new = _decoded(applied.obj, resource)
        apply_defaults(resource, new)
        check_named(request, new)
        if applied.entries:
            new["metadata"]["managedFields"] = applied.entries
        if live is None:
            new["metadata"].pop("resourceVersion", None)
        else:
            new = unpinned(new, live)
        return stored_version(new, resource)

    return change


def _placed(request: Request, resource: ResourceType, config: Object) -> Object:
    """The configuration with the name and namespace of the path, where it has none."""
    meta = config.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        return config  # refused where types are checked
    meta = dict(meta or {})
    meta.setdefault("name", request.info.name)
    if resource.namespaced:
        meta.setdefault("namespace", request.info.namespace)
    return {**config, "metadata": meta}


def _decoded(obj: Object, resource: ResourceType) -> Object:
    """A merged object, decoded: types, null members dropped.

    Raises:
        ApiError: 400.
    """
    gvk = resource.group_version_kind
    try:
        return bodies.decode_object(jsonwire.encode(obj), gvk, "json").value
    except ApiError as error:
        why = error.message.partition(f"handled as a {gvk.kind}: ")[2] or error.message
        raise ApiError(
            500, "", f"failed to convert merged object to last applied version: {why}"
        ) from error
