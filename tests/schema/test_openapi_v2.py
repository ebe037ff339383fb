"""OpenAPI v2: the documents of v3, as a Swagger document."""

import pytest
from openapidocuments import (
    CUSTOM_PATH,
    DEPLOYMENT,
    PATHS,
    REGISTRY,
    VERSION,
    Recorded,
    document,
    references,
    shared,
    swagger,
)

from kubetrio.schema import openapi
from kubetrio.schema.openapi_types import to_v2
from kubetrio.wire import jsonwire


def test_swagger_references_resolve():
    """The v2 document is closed as well."""
    made = swagger()
    there = {f"#/{place}/{name}" for place in ("definitions", "parameters") for name in made[place]}
    assert set(references(made)) == there


@pytest.mark.parametrize("kind", ["DeleteOptions", "WatchEvent"])
def test_kinds_of_shared_types_in_v2(kind):
    """The v2 document has every version that the scheme knows, those that are not served too."""
    name = f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"
    listed = swagger()["definitions"][name]["x-kubernetes-group-version-kind"]
    found = {(item["group"], item["version"]) for item in listed}
    assert {(item.group, item.version) for item in REGISTRY.by_group_version} <= found
    assert ("extensions", "v1beta1") in found
    assert len(listed) == len(found) == 60


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "default": ""}, {"type": "string"}),
        ({"$ref": "x.Y", "default": {}}, {"$ref": "#/definitions/x.Y"}),
        (
            {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
            {"format": "int-or-string", "type": "string"},
        ),
        ({"type": "object", "nullable": True, "properties": {"a": {}}}, {}),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {}},
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            {"type": "array", "items": {"not": {}, "type": "integer"}},
            {"type": "array", "items": {"type": "integer"}},
        ),
    ],
)
def test_to_v2(schema, expected):
    """Swagger 2.0 keeps what it has words for."""
    assert to_v2(schema) == expected


def test_swagger_has_all_operations():
    """The v2 document has every path of every v3 document."""
    paths = {path for name in [*PATHS, CUSTOM_PATH] for path in document(name)["paths"]}
    assert set(swagger()["paths"]) == paths


def test_swagger_patch():
    """In v2 the body is a parameter and the parameters carry their types."""
    operation = swagger()["paths"][DEPLOYMENT]["patch"]
    used = [shared(item) for item in operation["parameters"]]
    assert used[0] == {
        "name": "body",
        "in": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"},
    }
    assert {"name": "force", "in": "query", "type": "boolean", "uniqueItems": True} in used


@pytest.mark.parametrize("name", ["dryRun", "fieldValidation", "name"])
def test_parameters_that_are_not_shared(name):
    """Clients look at each operation for them, or they have words of their own."""
    assert name not in {item["name"] for item in swagger()["parameters"].values()}


@pytest.mark.parametrize(
    ("path", "method", "name", "reference"),
    [
        (DEPLOYMENT, "patch", "fieldManager", "fieldManager-7c6nTn1T"),
        (DEPLOYMENT, "put", "fieldManager", "fieldManager-Qy4HdaTW"),
        (DEPLOYMENT, "delete", "body", "body-2Y1dVQaQ"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/exec", "", "tty", "tty-s0flW37O"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/attach", "", "tty", "tty-g7MlET_l"),
        ("/api/v1/nodes/{name}/proxy/{path}", "", "path", "path-z6Ciiujn"),
        ("/api/v1/nodes/{name}/proxy/{path}", "", "path", "path-rFDtV0x9"),
    ],
)
def test_shared_parameters_by_use(path, method, name, reference):
    """A parameter that is said otherwise elsewhere is shared under a name for each use."""
    item = swagger()["paths"][path]
    own = (item[method] if method else item)["parameters"]
    found = [each["$ref"].rpartition("/")[2] for each in own if "$ref" in each]
    assert reference in [each for each in found if swagger()["parameters"][each]["name"] == name]


PATCHES = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]


JSON_YAML_PROTOBUF = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
]


@pytest.mark.parametrize(
    ("path", "method", "consumes"),
    [
        (DEPLOYMENT, "get", ["*/*"]),
        (DEPLOYMENT, "put", ["*/*"]),
        (DEPLOYMENT, "patch", PATCHES),
        ("/apis/apps/v1/", "get", JSON_YAML_PROTOBUF),
        ("/version/", "get", ["application/json"]),
        ("/openid/v1/jwks/", "get", None),
        (f"/{CUSTOM_PATH}/crontabs", "get", ["application/json", "application/yaml"]),
    ],
)
def test_consumes(path, method, consumes):
    """What a v2 document says of bodies, without one too, in kube-apiserver's order."""
    assert swagger()["paths"][path][method].get("consumes") == consumes


def test_produces_in_order():
    """Media types of answers are in the order in which kube-apiserver prefers them."""
    produces = swagger()["paths"]["/api/v1/pods"]["get"]["produces"]
    assert produces == [
        *JSON_YAML_PROTOBUF,
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
    ]


def test_swagger_in_steps():
    """The document, and its JSON as it would be printed at once, are made of small steps."""
    taken = list(steps := Recorded(openapi.swagger_steps(REGISTRY, version=VERSION)))
    made = openapi.swagger_v2(REGISTRY, version=VERSION)
    assert steps.result == made
    assert len(taken) >= len(made["paths"]) // 4
    taken = list(steps := Recorded(openapi.json_steps(made)))
    assert steps.result == jsonwire.encode(made)
    assert len(taken) >= len(made["paths"]) // 64
