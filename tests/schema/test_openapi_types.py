"""Types of OpenAPI documents."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapidocuments import CUSTOM, CUSTOM_PATH, KIND, REGISTRY, VERSION, document, swagger

from kubetrio.crd.custom import CustomParts
from kubetrio.schema import openapi
from kubetrio.schema.openapi_types import to_v3, type_name


def test_reference_with_default_is_wrapped():
    """A reference beside a default is inside allOf; a plain one is not."""
    schema = document("apis/apps/v1")["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    spec = schema["properties"]["spec"]
    assert spec["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec"}]
    assert spec["default"] == {}
    assert to_v3({"$ref": "x.Y"}) == {"$ref": "#/components/schemas/x.Y"}


def test_reference_of_property_is_wrapped():
    """Beside a property kube-apiserver has words, so its reference is wrapped without default."""
    schemas = document("apis/apps/v1")["components"]["schemas"]
    spec = schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]
    selector = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"
    assert spec["selector"].keys() == {"allOf", "description"}
    assert spec["selector"]["allOf"] == [{"$ref": selector}]


def test_reference_without_words_is_bare():
    """A field that has neither words nor a default stays a plain reference."""
    schemas = document("apis/networking.k8s.io/v1")["components"]["schemas"]
    assert schemas["io.k8s.api.networking.v1.IngressRule"]["properties"]["http"] == {
        "$ref": "#/components/schemas/io.k8s.api.networking.v1.HTTPIngressRuleValue"
    }


@pytest.mark.parametrize("kind", ["DeleteOptions", "WatchEvent"])
@pytest.mark.parametrize(
    ("path", "kinds"),
    [("apis/apps/v1", [("", "v1"), ("apps", "v1")]), ("api/v1", [("", "v1")])],
)
def test_kinds_of_shared_types(kind, path, kinds):
    """A v3 document says of a type that all versions share that it is its own and the core's."""
    name = f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"
    listed = document(path)["components"]["schemas"][name]["x-kubernetes-group-version-kind"]
    assert [(item["group"], item["version"], item["kind"]) for item in listed] == [
        (*item, kind) for item in kinds
    ]


def test_property_named_like_a_keyword():
    """Names of properties are not taken for keywords."""
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    made = document("apis/apiextensions.k8s.io/v1")["components"]["schemas"][name]
    assert made["properties"]["$ref"]["type"] == "string"
    assert "default" in swagger()["definitions"][name]["properties"]


@given(
    st.recursive(
        st.fixed_dictionaries(
            {"type": st.just("string")}, optional={"default": st.text(max_size=3)}
        ),
        lambda inner: st.fixed_dictionaries(
            {}, optional={"properties": st.dictionaries(st.text(max_size=3), inner), "items": inner}
        ),
        max_leaves=6,
    )
)
@settings(max_examples=30)
def test_to_v3_keeps_schemas_without_references(schema):
    """Only references are rewritten; the source is left alone."""
    before = orjson.dumps(schema)
    assert to_v3(schema) == schema
    assert orjson.dumps(schema) == before


def test_custom_type():
    """A custom type is its schema with the members that every object has, and its kind."""
    schema = document(CUSTOM_PATH)["components"]["schemas"]["com.example.stable.v1.CronTab"]
    assert list(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "stable.example.com", "kind": "CronTab", "version": "v1"}
    ]


def test_custom_list_type():
    """The list of a custom kind requires its items."""
    name = "com.example.stable.v1.CronTabList"
    schema = document(CUSTOM_PATH)["components"]["schemas"][name]
    assert schema["required"] == ["items"]
    assert schema["properties"]["items"]["items"]["$ref"].endswith(".CronTab")


def test_custom_type_without_schema():
    """A custom kind whose schema is not given takes anything."""
    registry = REGISTRY.with_resources([replace(CUSTOM, parts=CustomParts())])
    data = openapi.document(registry, CUSTOM_PATH, version=VERSION)
    assert data is not None
    schemas = orjson.loads(data)["components"]["schemas"]
    assert schemas[type_name(KIND)]["x-kubernetes-preserve-unknown-fields"] is True
