"""OpenAPI of custom resources, as a kube-apiserver 1.36 publishes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from kubetrio.crd.custom import CustomParts
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema import openapi
from kubetrio.schema.discovery import CUSTOM_VERBS
from kubetrio.schema.kind import Kind, ScalePaths, Subresource
from kubetrio.schema.openapi_custom import PARTS, custom_types_steps
from kubetrio.schema.steps import finish
from kubetrio.testing.server import InProcess

Json = dict[str, Any]
GROUP = "zoo.example.com"
PATH = f"apis/{GROUP}/v1"
BASE = f"/apis/{GROUP}/v1/namespaces/{{namespace}}/beasts"
TYPE = "com.example.zoo.v1.Beast"
V3, V2 = "#/components/schemas/", "#/definitions/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
TEXT = {"type": "string"}
ALTERNATIVES = [{"type": "integer"}, {"type": "string"}]
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}
PARTLY = frozenset({"get", "patch", "update"})


def beasts(schema: Json | None) -> Kind:
    """A custom resource with a schema."""
    scale = Subresource(
        name="scale",
        kind=GroupVersionKind("autoscaling", "v1", "Scale"),
        verbs=PARTLY,
        serves="scale",
        replicas=ScalePaths(".spec.a", ".status.a", ""),
    )
    return Kind(
        group=GROUP,
        version="v1",
        resource="beasts",
        kind="Beast",
        singular="beast",
        namespaced=True,
        verbs=frozenset(CUSTOM_VERBS),
        subresources={"scale": scale},
        parts=CustomParts(schema=schema, selectable=[".spec.a"]),
    )


def published(part: Json, *, v2: bool = False) -> Json:
    """A part of a schema, as a document has it."""
    schema = {"type": "object", "properties": {"part": part}}
    types = finish(custom_types_steps([beasts(schema)], v2=v2))
    found: Json = types[TYPE]["properties"]["part"]
    return found


def document(lists: str = "") -> Json:
    kind = replace(beasts({"type": "object"}), lists=lists)
    served = registry().with_resources([kind])
    data = openapi.document(served, PATH, version="v1.36.0")
    assert data is not None
    found: Json = orjson.loads(data)
    return found


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"x-kubernetes-int-or-string": True}, {"anyOf": ALTERNATIVES}),
        ({"x-kubernetes-int-or-string": True, "anyOf": ALTERNATIVES}, {}),
        ({"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": ALTERNATIVES}]}, {}),
        (
            {"x-kubernetes-int-or-string": True, "anyOf": [{"minLength": 1}]},
            {"allOf": [{"anyOf": ALTERNATIVES}]},
        ),
        ({"type": "object", "anyOf": [{"additionalProperties": False}]}, {"anyOf": [{}]}),
    ],
)
def test_int_or_string_is_said_as_alternatives(part: Json, shown: Json) -> None:
    assert published(part) == {**part, **shown}


def test_resources_inside_have_the_members_of_all() -> None:
    members = {"apiVersion": TEXT, "kind": TEXT, "metadata": {"allOf": [{"$ref": V3 + META}]}}
    found = published({**EMBEDDED, **PRESERVE})
    assert found == {
        **EMBEDDED,
        **PRESERVE,
        "properties": members,
        "required": ["kind", "apiVersion"],
    }
    part = {**EMBEDDED, "properties": {"kind": {"type": "string", "enum": ["A"]}, "a": TEXT}}
    found = published({**part, "required": ["a", "kind"]})
    assert found["properties"] == {"a": TEXT, **members}
    assert found["required"] == ["a", "kind", "apiVersion"]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "object", **PRESERVE, "properties": {"a": TEXT}}, PRESERVE),
        ({**EMBEDDED, **PRESERVE}, {"x-kubernetes-embedded-resource": True, **PRESERVE}),
        (
            {"type": "object", "nullable": True, "additionalProperties": TEXT},
            {"additionalProperties": TEXT},
        ),
        ({"type": "array", "nullable": True, "items": TEXT}, {}),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {**TEXT, "nullable": True}}},
            {"type": "object", "properties": {"a": {}}},
        ),
    ],
)
def test_swagger_has_less(part: Json, shown: Json) -> None:
    assert published(part, v2=True) == shown


def test_swagger_says_nothing_of_a_resource_that_keeps_unknown_members() -> None:
    types = finish(custom_types_steps([beasts({"type": "object", **PRESERVE})], v2=True))
    assert types[TYPE].keys() == {
        "type",
        "x-kubernetes-group-version-kind",
        "x-kubernetes-selectable-fields",
    }


def test_selectable_fields_are_said_of_objects_and_lists() -> None:
    schemas = document()["components"]["schemas"]
    for name in (TYPE, f"{TYPE}List"):
        assert schemas[name]["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.a"}]


def test_the_head_of_a_document_of_custom_resources() -> None:
    made = document()
    assert made["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    assert made["components"].keys() == {"schemas"}
    options = made["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
    groups = {kind["group"] for kind in options["x-kubernetes-group-version-kind"]}
    assert "apps" in groups
    assert not groups & {"admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"}


def test_operations_of_custom_resources() -> None:
    paths = document()["paths"]
    both = {"application/json", "application/yaml"}
    assert paths[BASE]["post"]["requestBody"]["content"].keys() == both
    one = paths[f"{BASE}/{{name}}"]
    assert one["put"]["requestBody"]["content"].keys() == both
    assert one["delete"]["requestBody"]["content"].keys() == both
    assert one["patch"]["responses"].keys() == {"200", "401"}
    many = paths[BASE]["delete"]
    assert "requestBody" not in many
    names = {parameter["name"] for parameter in many["parameters"]}
    assert {"watch", "allowWatchBookmarks", "limit"} <= names
    assert not {"dryRun", "gracePeriodSeconds", "propagationPolicy"} & names
    scale = paths[f"{BASE}/{{name}}/scale"]["get"]
    assert scale["x-kubernetes-group-version-kind"]["kind"] == "Beast"
    content = scale["responses"]["200"]["content"]["application/json"]
    assert content["schema"]["$ref"] == f"{V3}io.k8s.api.autoscaling.v1.Scale"


def test_collections_have_the_name_that_a_definition_gives_them() -> None:
    """Operations refer to the type that the document has."""
    made = document(lists="Herd")
    assert "com.example.zoo.v1.Herd" in made["components"]["schemas"]
    for path in (BASE, f"/apis/{GROUP}/v1/beasts"):
        get = made["paths"][path]["get"]
        [schema] = {
            answer["schema"]["$ref"] for answer in get["responses"]["200"]["content"].values()
        }
        assert schema == f"{V3}com.example.zoo.v1.Herd"
        assert get["x-kubernetes-group-version-kind"]["kind"] == "Beast"


def test_a_large_schema_is_converted_in_steps() -> None:
    properties = {f"m{number}": TEXT for number in range(10 * PARTS)}
    steps = custom_types_steps([beasts({"type": "object", "properties": properties})], v2=False)
    assert sum(1 for _ in steps) == 10


async def test_the_root_of_a_version_answers_to_any_method(server: InProcess) -> None:
    server.api.storage.registry.add([beasts({"type": "object"})])
    async with server.connect() as client:
        found = await client.request("GET", f"/{PATH}")
        assert found.status == 200
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            answer = await client.request(method, f"/{PATH}")
            assert (answer.status, answer.body) == (200, found.body)
        assert (await client.request("POST", "/apis/apps/v1")).status == 405
