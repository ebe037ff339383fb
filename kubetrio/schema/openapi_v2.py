"""The Swagger 2.0 document of everything that is served, for clients older than OpenAPI v3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kubetrio.schema.openapi_custom import METADATA, custom_types_steps
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
    META,
    V2_PREFIX,
    closure_steps,
    converted_steps,
    cross_registered,
    gvk_object,
    type_to_v2,
)
from kubetrio.schema.registry import Registry
from kubetrio.schema.steps import Steps, finish
from kubetrio.wire import jsonwire

Json = dict[str, Any]

ENTRIES: Final = 64
"""Paths or definitions that are printed in a step."""

SECURITY_DEFINITIONS: Final = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}
# Bodies that many operations share, by the type, and the names of their parameters.
SHARED_BODIES: Final = {
    f"{META}DeleteOptions": "body-2Y1dVQaQ",
    f"{META}Patch": "body-78PwaGsr",
}
PARAMETERS_PREFIX: Final = "#/parameters/"


def swagger_v2(registry: Registry, *, version: str) -> Json:
    """The answer of ``GET /openapi/v2``: one document of all groups and versions.

    It is over a megabyte of JSON that few clients ask for: build it on request, and cache the
    bytes.

    Args:
        registry: what is served.
        version: Kubernetes version, for ``info.version``.
    """
    return finish(swagger_steps(registry, version=version))


def swagger_steps(registry: Registry, *, version: str) -> Steps[Json]:
    """``swagger_v2`` in steps of about a millisecond; arguments as there."""
    paths: Json = {}
    names: set[str] = set()
    shared: Json = {}
    for document in document_paths(registry):
        for path, items in each_path(registry, document):
            paths[path] = path_item(items, _operation, _parameter)
            names.update(name for item in items for name in item.type_names())
            shared.update(_shared(items))
            if len(paths) % PATHS == 0:
                yield
    own = yield from custom_types_steps(registry.resources.values(), v2=True)
    names.update(METADATA if own else ())
    types = yield from closure_steps(names - own.keys())
    definitions = yield from converted_steps(cross_registered(types), type_to_v2)
    definitions = dict(sorted({**definitions, **own}.items()))
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": dict(sorted(paths.items())),
        "definitions": definitions,
        "parameters": dict(sorted(shared.items())),
        "securityDefinitions": SECURITY_DEFINITIONS,
        "security": [{"BearerToken": []}],
    }


def json_steps(document: Json) -> Steps[bytes]:
    """A Swagger document as `jsonwire.encode` prints it, in steps of some entries of its maps.

    Args:
        document: a Swagger 2.0 document.
    """
    parts = [b"{"]
    for member, value in document.items():
        parts += [b"," if len(parts) > 1 else b"", jsonwire.encode(member), b":"]
        entries = list(value.items()) if isinstance(value, dict) else []
        if not entries:
            parts.append(jsonwire.encode(value))
            continue
        for start in range(0, len(entries), ENTRIES):
            parts.append(b"," if start else b"{")
            parts.append(jsonwire.encode(dict(entries[start : start + ENTRIES]))[1:-1])
            yield
        parts.append(b"}")
    parts.append(b"}")
    # A document of many megabytes is copied once, and not together with anything else.
    yield
    return b"".join(parts)


def _shared(items: Iterable[Operation]) -> Iterator[tuple[str, Json]]:
    """Parameters of operations that the document says once, by name."""
    for item in items:
        if item.accepts and item.body in SHARED_BODIES:
            yield SHARED_BODIES[item.body], _body(item)
        for parameter in item.parameters:
            if parameter.shared:
                yield parameter.shared, _whole_parameter(parameter)


def _operation(item: Operation, shared: Sequence[Parameter]) -> Json:
    result: Json = {}
    if item.consumes:
        result["consumes"] = list(item.consumes)
    if item.produces:
        result["produces"] = list(item.produces)
    result |= {"schemes": ["https"], "tags": [item.tag], "operationId": item.id}
    own = [_parameter(parameter) for parameter in item.parameters if parameter not in shared]
    if item.accepts:
        name = SHARED_BODIES.get(item.body)
        own.insert(0, {"$ref": PARAMETERS_PREFIX + name} if name else _body(item))
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
    if parameter.shared:
        return {"$ref": PARAMETERS_PREFIX + parameter.shared}
    return _whole_parameter(parameter)


def _whole_parameter(parameter: Parameter) -> Json:
    result: Json = {
        "uniqueItems": True,
        "type": parameter.type,
        "name": parameter.name,
        "in": parameter.location,
    }
    return {**result, "required": True} if parameter.location == "path" else result
