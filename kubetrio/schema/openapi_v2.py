"""The Swagger 2.0 document of everything that is served, for clients older than OpenAPI v3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubetrio.schema.openapi_paths import (
    CODES,
    Operation,
    Parameter,
    document_paths,
    operations,
    shared_parameters,
)
from kubetrio.schema.openapi_types import (
    V2_PREFIX,
    CustomSchemas,
    closure,
    custom_types,
    gvk_object,
    to_v2,
)
from kubetrio.schema.registry import Registry

Json = dict[str, Any]

SECURITY_DEFINITIONS: Final = {
    "BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}
}


def swagger_v2(registry: Registry, *, version: str, custom: CustomSchemas | None = None) -> Json:
    """The answer of ``GET /openapi/v2``: one document of all groups and versions.

    It is over a megabyte of JSON that few clients ask for: build it on request, and cache the
    bytes.

    Args:
        registry: what is served.
        version: Kubernetes version, for ``info.version``.
        custom: OpenAPI v3 schema of each custom kind.
    """
    table = {
        path: items
        for name in document_paths(registry)
        for path, items in operations(registry, name).items()
    }
    own = custom_types(registry.resources.values(), custom or {})
    names = {name for items in table.values() for item in items for name in item.type_names()}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": {path: _path_item(table[path]) for path in sorted(table)},
        "definitions": {name: to_v2(schema) for name, schema in closure(names, own).items()},
        "securityDefinitions": SECURITY_DEFINITIONS,
        "security": [{"BearerToken": []}],
    }


def _path_item(items: Sequence[Operation]) -> Json:
    shared = shared_parameters(items)
    result: Json = {item.method: _operation(item, shared) for item in items}
    if shared:
        result["parameters"] = [_parameter(item) for item in shared]
    return result


def _operation(item: Operation, shared: Sequence[Parameter]) -> Json:
    result: Json = {"schemes": ["https"], "tags": [item.tag], "operationId": item.id}
    if item.accepts:
        result["consumes"] = list(item.accepts)
    if item.produces:
        result["produces"] = list(item.produces)
    own = [_parameter(parameter) for parameter in item.parameters if parameter not in shared]
    if item.accepts:
        own.insert(0, _body(item))
    if own:
        result["parameters"] = own
    result["responses"] = {code: _response(item, code) for code in item.codes}
    if item.action:
        result["x-kubernetes-action"] = item.action
    if item.gvk is not None:
        result["x-kubernetes-group-version-kind"] = gvk_object(item.gvk)
    return result


def _body(item: Operation) -> Json:
    body: Json = {"name": "body", "in": "body"}
    if item.body_required:
        body["required"] = True
    return {**body, "schema": {"$ref": V2_PREFIX + item.body}}


def _response(item: Operation, code: str) -> Json:
    response: Json = {"description": CODES[code]}
    if code != "401":
        response["schema"] = (
            {"$ref": V2_PREFIX + item.response} if item.response else {"type": "string"}
        )
    return response


def _parameter(parameter: Parameter) -> Json:
    result: Json = {"name": parameter.name, "in": parameter.location}
    if parameter.location == "path":
        result["required"] = True
    return {**result, "type": parameter.type, "uniqueItems": True}
