"""OpenAPI documents of a registry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson

from kubetrio.crd.custom import CustomParts
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema import openapi
from kubetrio.schema.kind import Kind, Subresource
from kubetrio.schema.openapi_paths import document_paths

VERSION = "v1.36.0"


REGISTRY = registry()


PATHS = document_paths(REGISTRY)


KIND = GroupVersionKind("stable.example.com", "v1", "CronTab")


CUSTOM_SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}},
}


CUSTOM = Kind(
    group=KIND.group,
    version=KIND.version,
    resource="crontabs",
    kind=KIND.kind,
    singular="crontab",
    namespaced=True,
    verbs=frozenset({"get", "list"}),
    subresources={
        "scale": Subresource(
            name="scale",
            kind=GroupVersionKind("autoscaling", "v1", "Scale"),
            verbs=frozenset({"get", "patch", "update"}),
        ),
    },
    parts=CustomParts(schema=CUSTOM_SCHEMA),
)


CUSTOM_PATH = "apis/stable.example.com/v1"


WITH_CUSTOM = REGISTRY.with_resources([CUSTOM])


@cache
def document(path: str) -> dict[str, Any]:
    """A document of a registry with one custom resource, parsed."""
    data = openapi.document(WITH_CUSTOM, path, version=VERSION)
    assert data is not None
    return orjson.loads(data)


def references(value: Any) -> Iterator[str]:
    """All references in a document; a property of that name is a schema, not a text."""
    match value:
        case {"$ref": str(reference)}:
            yield reference
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            yield from references(child)


class Recorded:
    """Steps, and the result when they are over."""

    def __init__(self, steps):
        self._steps = steps
        self.result = None

    def __iter__(self):
        self.result = yield from self._steps


DEPLOYMENT = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"


@cache
def swagger() -> dict[str, Any]:
    """The v2 document of a registry with one custom resource, as sent."""
    made = openapi.swagger_v2(WITH_CUSTOM, version=VERSION)
    return orjson.loads(orjson.dumps(made))


def parameters(item: dict[str, Any], method: str) -> set[str]:
    """Names of the parameters of one method, with those of the whole path."""
    own = item[method].get("parameters", []) + item.get("parameters", [])
    return {parameter["name"] for parameter in own}


def shared(parameter: dict[str, Any]) -> dict[str, Any]:
    """A parameter of the v2 document itself, where an operation refers to it."""
    prefix = "#/parameters/"
    reference = parameter.get("$ref", "")
    return swagger()["parameters"][reference.removeprefix(prefix)] if reference else parameter
