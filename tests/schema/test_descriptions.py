"""Descriptions of types and fields are complete, short, and where clients look for them."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.schema import builtin, openapi
from kubetrio.schema.descriptions import LIKE, SHARED, Descriptions

VERSION = "v1.36.0"
LONGEST = 120
GVK = {"x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "X", "version": "v1"}]}
PROBE = "io.k8s.api.core.v1.Probe"
PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
# Fields that kube-apiserver has no words on and leaves a plain reference; their types have some.
PLAIN = {
    "io.k8s.api.networking.v1.IngressRule http",
    *(
        f"{PROPS} {field}"
        for field in (
            *("additionalItems", "additionalProperties", "example", "externalDocs"),
            *("items", "not"),
        )
    ),
}


def sentences() -> Iterator[tuple[str, str]]:
    """All sentences, with the file, type and field that each is about."""
    for file in sorted((builtin.folder() / "descriptions").glob("*.json")):
        for short, texts in orjson.loads(file.read_bytes()).items():
            for field, text in texts.items():
                if field != LIKE:
                    yield f"{file.stem} {short} {field}", text


@cache
def built_in() -> dict[str, Any]:
    """The schemas of all built-in types."""
    found: dict[str, Any] = {}
    for file in (builtin.folder() / "types").glob("*.json"):
        found |= orjson.loads(file.read_bytes())
    return found


@cache
def described() -> dict[str, Any]:
    """The same with descriptions."""
    descriptions = Descriptions()
    return {name: descriptions.add(name, schema) for name, schema in built_in().items()}


@cache
def document(path: str) -> dict[str, Any]:
    """The schemas of an OpenAPI v3 document."""
    data = openapi.document(registry(), path, version=VERSION)
    assert data is not None
    return orjson.loads(data)["components"]["schemas"]


@cache
def definitions() -> dict[str, Any]:
    """The schemas of the OpenAPI v2 document."""
    return openapi.swagger_v2(registry(), version=VERSION)["definitions"]


def test_every_type_and_field_is_described():
    """No built-in type and none of its fields is without a sentence, but for plain references."""
    missing = [name for name, schema in described().items() if not schema.get("description")]
    missing += [
        f"{name} {field}"
        for name, schema in described().items()
        for field, child in schema.get("properties", {}).items()
        if not child.get("description")
    ]
    assert sorted(missing) == sorted(PLAIN)


def test_plain_references_stay_plain():
    """A field that kube-apiserver has no words on has none here, so that nothing wraps it."""
    for where in PLAIN:
        name, _, field = where.partition(" ")
        assert described()[name]["properties"][field].keys() == {"$ref"}


def test_nothing_else_is_described():
    """No sentence is left over: each is that of a type or field in some version."""
    used = {
        text
        for schema in described().values()
        for text in (
            schema["description"],
            *(child.get("description") for child in schema.get("properties", {}).values()),
        )
    }
    assert [where for where, text in sentences() if text not in used] == []


def test_sentences_are_short():
    """A sentence is not long, ends with a full stop and has no blanks to spare."""
    wrong = [
        where
        for where, text in sentences()
        if not 0 < len(text) <= LONGEST or not text.endswith(".") or text != " ".join(text.split())
    ]
    assert wrong == []


def test_lenders_exist():
    """A type that borrows sentences names a type of its file."""
    wrong = []
    for file in (builtin.folder() / "descriptions").glob("*.json"):
        types = orjson.loads(file.read_bytes())
        wrong += [short for short, texts in types.items() if texts.get(LIKE, short) not in types]
    assert wrong == []


def test_versions_share_sentences():
    """Versions of a group say the same of the same field."""
    name = "io.k8s.api.autoscaling.{}.HorizontalPodAutoscalerSpec"
    fields = [described()[name.format(version)]["properties"] for version in ("v1", "v2")]
    assert fields[0]["maxReplicas"]["description"] == fields[1]["maxReplicas"]["description"]


def test_borrowed_sentences():
    """A type says itself what differs and borrows the rest."""
    container, ephemeral = (
        described()[f"io.k8s.api.core.v1.{short}"] for short in ("Container", "EphemeralContainer")
    )
    assert ephemeral["description"] != container["description"]
    assert ephemeral["properties"]["image"] == container["properties"]["image"]
    assert ephemeral["properties"]["ports"] != container["properties"]["ports"]


def test_shared_sentences_of_kinds_and_lists():
    """The members that every kind or list has are described for custom kinds as well."""
    schema = {**GVK, "properties": {"kind": {"type": "string"}, "spec": {"type": "object"}}}
    listed = {**GVK, "properties": {"kind": {"type": "string"}, "items": {"type": "array"}}}
    made = Descriptions().add("com.example.v1.X", schema)
    assert made["properties"]["kind"]["description"].startswith("Name of the type of this object")
    assert made["properties"]["spec"] == {"type": "object"}
    assert "description" not in made
    made = Descriptions().add("com.example.v1.XList", listed)
    assert made["properties"]["items"]["description"] == "The objects of the list."


def test_shared_sentences_of_conditions():
    """A condition has the sentences of all conditions."""
    fields = described()["io.k8s.api.core.v1.PodCondition"]["properties"]
    shared = orjson.loads((builtin.folder() / "descriptions" / f"{SHARED}.json").read_bytes())
    assert fields["reason"]["description"] == shared["Condition"]["reason"]


def test_given_descriptions_stay():
    """What a CustomResourceDefinition says of its types and fields is not overwritten."""
    schema = {
        **GVK,
        "description": "Mine.",
        "properties": {"kind": {"type": "string", "description": "Mine too."}},
    }
    assert Descriptions().add("com.example.v1.X", schema) == schema


def test_schemas_are_not_changed():
    """The schema that is given keeps its value; other rooms read the same one."""
    before = orjson.dumps(builtin.type_schema(PROBE))
    Descriptions().add(PROBE, builtin.type_schema(PROBE))
    assert orjson.dumps(builtin.type_schema(PROBE)) == before


@pytest.mark.parametrize("field", ["exec", "failureThreshold"])
def test_v3_describes_beside_references(field):
    """In OpenAPI v3 a description is beside the reference's allOf, as kube-apiserver has it."""
    probe = document("api/v1")[PROBE]
    child = probe["properties"][field]
    assert probe["description"] == described()[PROBE]["description"]
    assert child["description"] == described()[PROBE]["properties"][field]["description"]
    assert "$ref" not in child
    assert ("allOf" in child) == (field == "exec")


@pytest.mark.parametrize("field", ["exec", "failureThreshold"])
def test_v2_describes_beside_references(field):
    """In OpenAPI v2 a description is beside the reference itself, as kube-apiserver has it."""
    probe = definitions()[PROBE]
    child = probe["properties"][field]
    assert probe["description"] == described()[PROBE]["description"]
    assert child["description"] == described()[PROBE]["properties"][field]["description"]
    assert ("$ref" in child) == (field == "exec")


def test_documents_describe_all_their_types():
    """Whatever a document refers to comes with a sentence, from its own group or another."""
    for made in (document("api/v1"), document("apis/apps/v1"), definitions()):
        assert [name for name, schema in made.items() if not schema.get("description")] == []
