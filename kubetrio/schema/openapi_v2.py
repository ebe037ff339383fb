"""The Swagger 2.0 document of everything that is served, for clients older than OpenAPI v3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubetrio.schema.openapi_paths import (
    CODES,
    PATHS,
    Operation,
    Parameter,
    document_paths,
    each_path,
    path_item,
)
from kubetrio.schema.openapi_types import (
    V2_PREFIX,
    CustomSchemas,
    closure_steps,
    converted_steps,
    custom_types,
    gvk_object,
    to_v2,
)
from kubetrio.schema.registry import Registry
from kubetrio.schema.steps import Steps, finish
from kubetrio.wire import jsonwire

Json = dict[str, Any]

ENTRIES: Final = 64
"""Paths or definitions that are printed in a step."""

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
    return finish(swagger_steps(registry, version=version, custom=custom))


def swagger_steps(
    registry: Registry, *, version: str, custom: CustomSchemas | None = None
) -> Steps[Json]:
    """``swagger_v2`` in steps of about a millisecond; arguments as there."""
    paths: Json = {}
    names: set[str] = set()
    for document in document_paths(registry):
        for path, items in each_path(registry, document):
            paths[path] = path_item(items, _operation, _parameter)
            names.update(name for item in items for name in item.type_names())
            if len(paths) % PATHS == 0:
                yield
    types = yield from closure_steps(names, custom_types(registry.resources.values(), custom or {}))
    definitions = yield from converted_steps(types, to_v2)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": dict(sorted(paths.items())),
        "definitions": definitions,
        "securityDefinitions": SECURITY_DEFINITIONS,
        "security": [{"BearerToken": []}],
    }


def json_steps(document: Json) -> Steps[bytes]:
    """A Swagger document as `jsonwire.encode` prints it, in steps of some entries of its maps.

    Args:
        document: a Swagger 2.0 document.
    """
    members = []
    for member, value in document.items():
        entries = list(value.items()) if isinstance(value, dict) else []
        if not entries:
            members.append(b"%b:%b" % (jsonwire.encode(member), jsonwire.encode(value)))
            continue
        parts = []
        for start in range(0, len(entries), ENTRIES):
            parts.append(jsonwire.encode(dict(entries[start : start + ENTRIES]))[1:-1])
            yield
        members.append(b"%b:{%b}" % (jsonwire.encode(member), b",".join(parts)))
    return b"{%b}" % b",".join(members)


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
