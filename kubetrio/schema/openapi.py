"""OpenAPI v3 documents, derived from a registry snapshot (KEP-2896).

``/openapi/v3`` is an index; each group-version has a document of its own, so that a change of one
CustomResourceDefinition makes clients fetch one document.  A document is built when it is asked
for.  The index carries a hash per document; it covers the facts a document is made from, not its
bytes, so that the index costs no documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

import kubetrio
from kubetrio.schema.openapi_custom import METADATA, custom_types_steps
from kubetrio.schema.openapi_paths import (
    CODES,
    PATHS,
    Operation,
    Parameter,
    document_paths,
    each_path,
    group_version_of,
    has_document,
    is_custom,
    path_item,
)
from kubetrio.schema.openapi_types import (
    V3_PREFIX,
    closure_steps,
    converted_steps,
    cross_registered,
    type_to_v3,
)
from kubetrio.schema.openapi_v2 import json_steps, swagger_steps, swagger_v2
from kubetrio.schema.registry import Registry
from kubetrio.schema.steps import Steps, finish
from kubetrio.wire import jsonwire

__all__ = [
    "document",
    "document_hash",
    "document_steps",
    "index",
    "index_steps",
    "json_steps",
    "protobuf_steps",
    "swagger_steps",
    "swagger_v2",
]

Json = dict[str, Any]

PROTOBUF: Final = (
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
)
"""What v3 documents are sent as in protobuf, and what kubectl asks for, which is no media type."""
SWAGGER_PROTOBUF: Final = (
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
"""Media types of the v2 document in protobuf."""
HASHES: Final = 32
"""Documents that are hashed in a step."""
CUSTOM_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
"""What documents of custom resources alone say they are."""
SECURITY_SCHEMES: Final = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}


def index(registry: Registry, *, version: str) -> Json:
    """The answer of ``GET /openapi/v3``.

    Args:
        registry: what is served.
        version: Kubernetes version, the ``info.version`` of every document.
    """
    return finish(index_steps(registry, version=version))


def index_steps(registry: Registry, *, version: str) -> Steps[Json]:
    """``index`` in steps of some documents; arguments as there."""
    paths = {}
    for path in document_paths(registry):
        digest = _hash(registry, path, version)
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
        if len(paths) % HASHES == 0:
            yield
    return {"paths": paths}


def document_hash(registry: Registry, path: str, *, version: str) -> str | None:
    """The hash by which the index names a document, or None for an unknown path.

    It is the document's entity tag too.  Arguments as for :func:`document`.
    """
    if not has_document(registry, path):
        return None
    return _hash(registry, path, version)


def document(registry: Registry, path: str, *, version: str) -> bytes | None:
    """The answer of ``GET /openapi/v3/<path>`` as JSON, or None for an unknown path.

    Args:
        registry: what is served.
        path: below ``/openapi/v3/``, such as ``api/v1`` or ``apis/apps/v1``.
        version: Kubernetes version, for ``info.version``.
    """
    if not has_document(registry, path):
        return None
    return finish(document_steps(registry, path, version=version))


def document_steps(registry: Registry, path: str, *, version: str) -> Steps[bytes]:
    """``document`` in steps of about a millisecond, for a path that `has_document`."""
    return jsonwire.encode((yield from _value_steps(registry, path, version)))


def protobuf_steps(registry: Registry, path: str, *, version: str) -> Steps[bytes]:
    """``document_steps`` of the document as protobuf."""
    from kubetrio.schema import openapi3_proto  # few ask for it

    value = yield from _value_steps(registry, path, version)
    return (yield from openapi3_proto.MESSAGES.steps(value))


def _value_steps(registry: Registry, path: str, version: str) -> Steps[Json]:
    group_version = group_version_of(path)
    custom = is_custom(path)
    paths: Json = {}
    names: set[str] = set()
    for key, items in each_path(registry, path):
        paths[key] = path_item(items, _operation, _parameter)
        names.update(name for item in items for name in item.type_names())
        if len(paths) % PATHS == 0:
            yield
    own: dict[str, Json] = {}
    if group_version is not None:
        resources = registry.by_group_version[group_version]
        own = yield from custom_types_steps(resources, v2=False)
        names.update(METADATA if own else ())
    types = yield from closure_steps(names - own.keys())
    registered = cross_registered(types, group_version, custom=custom)
    schemas = yield from converted_steps(registered, type_to_v3)
    schemas = dict(sorted({**schemas, **own}.items()))
    components: Json = {"schemas": schemas} if schemas else {}
    if not custom:
        components["securitySchemes"] = SECURITY_SCHEMES
    return {
        "openapi": "3.0.0",
        "info": CUSTOM_INFO if custom else {"title": "Kubernetes", "version": version},
        "paths": paths,
        "components": components,
    }


def _hash(registry: Registry, path: str, version: str) -> str:
    # Built-in types and operations change with releases of this package only.
    facts: list[Any] = [kubetrio.__version__, version, path]
    group_version = group_version_of(path)
    if group_version is not None:
        facts += [
            [
                resource.resource,
                resource.kind,
                resource.namespaced,
                sorted([item.name, *item.kind] for item in resource.subresources.values()),
                None if resource.builtin else resource.type.schema,
            ]
            for resource in registry.by_group_version[group_version]
        ]
    data = orjson.dumps(facts, option=orjson.OPT_SORT_KEYS, default=_plain)
    return hashlib.sha512(data).hexdigest().upper()


def _plain(value: Any) -> Any:
    """A part of a schema that orjson does not know: a fraction as it was written, or a mapping."""
    return float(value) if isinstance(value, float) else dict(value)


def _operation(item: Operation, shared: Sequence[Parameter]) -> Json:
    result: Json = {"tags": [item.tag], "operationId": item.id}
    own = [_parameter(parameter) for parameter in item.parameters if parameter not in shared]
    if own:
        result["parameters"] = own
    if item.accepts:
        result["requestBody"] = {"content": _content(item.accepts, item.body)}
        if item.body_required:
            result["requestBody"]["required"] = True
    result["responses"] = {code: _response(item, code) for code in item.codes}
    if item.action:
        result["x-kubernetes-action"] = item.action
    if item.gvk is not None:
        result["x-kubernetes-group-version-kind"] = item.gvk._asdict()
    return result


def _response(item: Operation, code: str) -> Json:
    response: Json = {"description": CODES[code]}
    if code != "401":
        response["content"] = _content(item.produces, item.response)
    return response


def _content(media_types: Iterable[str], type_name: str) -> Json:
    schema: Mapping[str, str] = {"$ref": V3_PREFIX + type_name} if type_name else {"type": "string"}
    return {media_type: {"schema": schema} for media_type in sorted(media_types)}


def _parameter(parameter: Parameter) -> Json:
    result: Json = {"name": parameter.name, "in": parameter.location}
    if parameter.location == "path":
        result["required"] = True
    return {**result, "schema": {"type": parameter.type, "uniqueItems": True}}
