"""OpenAPI documents are closed, complete and what kubectl looks for."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.crd.custom import CustomParts
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema import builtin, openapi
from kubetrio.schema.kind import Kind, Subresource
from kubetrio.schema.openapi_paths import document_paths, group_version_of, operations
from kubetrio.schema.openapi_types import to_v2, to_v3, type_name
from kubetrio.schema.steps import finish
from kubetrio.wire import jsonwire

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
DEPLOYMENT = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"


@cache
def document(path: str) -> dict[str, Any]:
    """A document of a registry with one custom resource, parsed."""
    data = openapi.document(WITH_CUSTOM, path, version=VERSION)
    assert data is not None
    return orjson.loads(data)


@cache
def swagger() -> dict[str, Any]:
    """The v2 document of a registry with one custom resource, as sent."""
    made = openapi.swagger_v2(WITH_CUSTOM, version=VERSION)
    return orjson.loads(orjson.dumps(made))


def rows_of(path: str) -> dict[str, Any]:
    """The recorded operations that a document may have."""
    version = group_version_of(path)
    name = f"{version.group or 'core'}.{version.version}" if version else "root"
    return builtin.load(f"operations/{name}")


def references(value: Any) -> Iterator[str]:
    """All references in a document; a property of that name is a schema, not a text."""
    match value:
        case {"$ref": str(reference)}:
            yield reference
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            yield from references(child)


def parameters(item: dict[str, Any], method: str) -> set[str]:
    """Names of the parameters of one method, with those of the whole path."""
    own = item[method].get("parameters", []) + item.get("parameters", [])
    return {parameter["name"] for parameter in own}


def test_index_names_every_version():
    """The index has every served version, every group, and the plain documents."""
    paths = openapi.index(WITH_CUSTOM, version=VERSION)["paths"]
    plain = {".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version"}
    versions = {
        f"apis/{group}/{version}"
        for group, versions in WITH_CUSTOM.groups.items()
        for version in versions
        if group
    }
    groups = {f"apis/{group}" for group in REGISTRY.groups if group}
    assert set(paths) == plain | versions | groups | {"api/v1"}


def test_index_url():
    """An entry is a URL relative to the server with a SHA-512 in upper-case hexadecimal."""
    url = openapi.index(REGISTRY, version=VERSION)["paths"]["apis/apps/v1"]["serverRelativeURL"]
    path, _, digest = url.partition("?hash=")
    assert path == "/openapi/v3/apis/apps/v1"
    assert len(digest) == 128
    assert digest == digest.upper()


@pytest.mark.parametrize("path", PATHS)
def test_index_hash_is_the_documents(path):
    """The hash in the index is the one a server checks a request against."""
    url = openapi.index(REGISTRY, version=VERSION)["paths"][path]["serverRelativeURL"]
    assert url.endswith(f"?hash={openapi.document_hash(REGISTRY, path, version=VERSION)}")


@pytest.mark.parametrize("path", ["", "apis/apps/v9", "apis/no.such.group", "logs", "healthz"])
def test_unknown_path(path):
    """What the index does not name has no document and no hash."""
    assert openapi.document(REGISTRY, path, version=VERSION) is None
    assert openapi.document_hash(REGISTRY, path, version=VERSION) is None


@pytest.mark.parametrize("path", [*PATHS, CUSTOM_PATH])
def test_references_resolve(path):
    """A document holds exactly the types that it refers to, directly or not."""
    made = document(path)
    prefix = "#/components/schemas/"
    used = {item.removeprefix(prefix) for item in references(made)}
    assert used == set(made["components"].get("schemas", {}))


def test_swagger_references_resolve():
    """The v2 document is closed as well."""
    made = swagger()
    there = {f"#/{place}/{name}" for place in ("definitions", "parameters") for name in made[place]}
    assert set(references(made)) == there


@pytest.mark.parametrize("path", PATHS)
def test_head(path):
    """Every document has version, title and the security scheme."""
    made = document(path)
    assert made["openapi"] == "3.0.0"
    assert made["info"] == {"title": "Kubernetes", "version": VERSION}
    assert made["components"]["securitySchemes"]["BearerToken"]["type"] == "apiKey"


def test_no_operations_of_disabled_versions():
    """Operations of versions that are not served are in no document."""
    paths = {path for name in PATHS for path in document(name)["paths"]}
    mentioned = {group_version_of("/".join(path.split("/")[1:4]).rstrip("/")) for path in paths}
    assert {item for item in mentioned if item and item.group} == {
        item for item in REGISTRY.by_group_version if item.group
    }


def test_no_operations_of_missing_resources():
    """A built-in resource that the registry lacks has no operations in its version's document."""
    key = ("apps", "v1", "deployments")
    resources = {name: item for name, item in REGISTRY.resources.items() if name != key}
    table = operations(replace(REGISTRY, resources=resources), "apis/apps/v1")
    assert table
    assert not [path for path in table if "deployments" in path]


@pytest.mark.parametrize("path", PATHS)
def test_operations_are_all_there(path):
    """Every operation says its id, method, action and kind as recorded."""
    table = rows_of(path)
    for url, item in document(path)["paths"].items():
        for method, row in table[url].items():
            operation = item[method]
            gvk = operation.get("x-kubernetes-group-version-kind", dict.fromkeys(("kind",), ""))
            text = "/".join(gvk.get(key, "") for key in ("group", "version", "kind"))
            assert (operation["operationId"], operation.get("x-kubernetes-action"), text) == (
                row["id"],
                row.get("action"),
                row["gvk"],
            )
            assert sorted(operation["responses"]) == row["codes"]
            assert parameters(item, method) == set(row.get("params", ()))


@pytest.mark.parametrize("name", ["dryRun", "fieldValidation"])
@pytest.mark.parametrize("path", ["api/v1", "apis/apps/v1", CUSTOM_PATH])
def test_patch_parameters_at_operation(path, name):
    """What kubectl looks for is at PATCH itself, for every kind that can be patched."""
    patches = [item["patch"] for item in document(path)["paths"].values() if "patch" in item]
    patches = [item for item in patches if item["x-kubernetes-action"] == "patch"]
    assert patches
    for operation in patches:
        assert name in {parameter["name"] for parameter in operation["parameters"]}
        assert operation["x-kubernetes-group-version-kind"]["kind"]


def test_path_parameters_required():
    """Parameters in the URL are required and said once for the path."""
    shared = document("apis/apps/v1")["paths"][DEPLOYMENT]["parameters"]
    assert shared == [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "uniqueItems": True},
        }
        for name in ("name", "namespace")
    ] + [{"name": "pretty", "in": "query", "schema": {"type": "string", "uniqueItems": True}}]


def test_proxy_path_is_both():
    """The proxy's path is a part of the URL and a query parameter."""
    url = "/api/v1/nodes/{name}/proxy/{path}"
    shared = document("api/v1")["paths"][url]["parameters"]
    places = sorted(item["in"] for item in shared if item["name"] == "path")
    assert places == ["path", "query"]


def test_patch_body():
    """PATCH takes the four patch types, each a Patch, and needs a body."""
    body = document("apis/apps/v1")["paths"][DEPLOYMENT]["patch"]["requestBody"]
    assert body["required"] is True
    assert set(body["content"]) == {
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    }
    schemas = {item["schema"]["$ref"] for item in body["content"].values()}
    assert schemas == {"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}


def test_delete_body_optional():
    """DELETE takes options of any media type, and may do without."""
    body = document("apis/apps/v1")["paths"][DEPLOYMENT]["delete"]["requestBody"]
    assert set(body) == {"content"}
    assert set(body["content"]) == {"*/*"}


@pytest.mark.parametrize(
    ("path", "url", "method", "expected"),
    [
        ("apis/apps/v1", DEPLOYMENT, "get", "io.k8s.api.apps.v1.Deployment"),
        ("apis/apps/v1", DEPLOYMENT, "delete", "io.k8s.apimachinery.pkg.apis.meta.v1.Status"),
        ("api/v1", "/api/v1/pods", "get", "io.k8s.api.core.v1.PodList"),
        ("api/v1", "/api/v1/nodes/{name}", "get", "io.k8s.api.core.v1.Node"),
        (
            "api/v1",
            "/api/v1/persistentvolumes/{name}",
            "delete",
            "io.k8s.api.core.v1.PersistentVolume",
        ),
        ("api/v1", "/api/v1/watch/pods", "get", "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"),
        ("api/v1", "/api/v1/", "get", "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList"),
        ("apis/apps", "/apis/apps/", "get", "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup"),
        ("apis", "/apis/", "get", "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList"),
        ("version", "/version/", "get", "io.k8s.apimachinery.pkg.version.Info"),
        ("apis/apps/v1", f"{DEPLOYMENT}/scale", "get", "io.k8s.api.autoscaling.v1.Scale"),
    ],
)
def test_response_type(path, url, method, expected):
    """Answers refer to the type that the server sends."""
    content = document(path)["paths"][url][method]["responses"]["200"]["content"]
    schemas = {item["schema"]["$ref"] for item in content.values()}
    assert schemas == {f"#/components/schemas/{expected}"}


@pytest.mark.parametrize(
    ("path", "url", "media_type"),
    [
        ("api/v1", "/api/v1/namespaces/{namespace}/pods/{name}/log", "text/plain"),
        ("api/v1", "/api/v1/namespaces/{namespace}/pods/{name}/exec", "*/*"),
        ("openid/v1/jwks", "/openid/v1/jwks/", "application/jwk-set+json"),
    ],
)
def test_text_response(path, url, media_type):
    """Answers that are no object are text of their own media type."""
    content = document(path)["paths"][url]["get"]["responses"]["200"]["content"]
    assert content[media_type] == {"schema": {"type": "string"}}


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


@pytest.mark.parametrize("kind", ["DeleteOptions", "WatchEvent"])
def test_kinds_of_shared_types_in_v2(kind):
    """The v2 document has every version that the scheme knows, those that are not served too."""
    name = f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"
    listed = swagger()["definitions"][name]["x-kubernetes-group-version-kind"]
    found = {(item["group"], item["version"]) for item in listed}
    assert {(item.group, item.version) for item in REGISTRY.by_group_version} <= found
    assert ("extensions", "v1beta1") in found
    assert len(listed) == len(found) == 60


def test_property_named_like_a_keyword():
    """Names of properties are not taken for keywords."""
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    made = document("apis/apiextensions.k8s.io/v1")["components"]["schemas"][name]
    assert made["properties"]["$ref"]["type"] == "string"
    assert "default" in swagger()["definitions"][name]["properties"]


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


def shared(parameter: dict[str, Any]) -> dict[str, Any]:
    """A parameter of the v2 document itself, where an operation refers to it."""
    prefix = "#/parameters/"
    reference = parameter.get("$ref", "")
    return swagger()["parameters"][reference.removeprefix(prefix)] if reference else parameter


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


def test_operation_ids_unique():
    """No two operations share an id, custom ones included."""
    ids = [
        operation.id
        for path in document_paths(WITH_CUSTOM)
        for items in operations(WITH_CUSTOM, path).values()
        for operation in items
    ]
    assert len(ids) == len(set(ids))


def test_custom_operations():
    """A custom resource has the operations of a built-in one, named after its group."""
    ids = {
        f"{operation.method} {path.removeprefix('/' + CUSTOM_PATH)}": operation.id
        for path, items in operations(WITH_CUSTOM, CUSTOM_PATH).items()
        for operation in items
    }
    many, one = "/namespaces/{namespace}/crontabs", "/namespaces/{namespace}/crontabs/{name}"
    base = "StableExampleComV1"
    assert ids == {
        "get /crontabs": f"list{base}CronTabForAllNamespaces",
        f"get {many}": f"list{base}NamespacedCronTab",
        f"post {many}": f"create{base}NamespacedCronTab",
        f"delete {many}": f"delete{base}CollectionNamespacedCronTab",
        f"get {one}": f"read{base}NamespacedCronTab",
        f"put {one}": f"replace{base}NamespacedCronTab",
        f"patch {one}": f"patch{base}NamespacedCronTab",
        f"delete {one}": f"delete{base}NamespacedCronTab",
        f"get {one}/scale": f"read{base}NamespacedCronTabScale",
        f"put {one}/scale": f"replace{base}NamespacedCronTabScale",
        f"patch {one}/scale": f"patch{base}NamespacedCronTabScale",
    }


def test_custom_has_no_strategic_patch():
    """Custom resources do not take strategic merge patches."""
    patches = [item["patch"] for item in document(CUSTOM_PATH)["paths"].values() if "patch" in item]
    accepted = {name for item in patches for name in item["requestBody"]["content"]}
    assert "application/strategic-merge-patch+json" not in accepted
    assert "application/merge-patch+json" in accepted


def test_custom_cluster_scope():
    """A cluster-scoped custom resource has no namespace in its paths or parameters."""
    resource = replace(CUSTOM, namespaced=False)
    registry = REGISTRY.with_resources([resource])
    table = operations(registry, CUSTOM_PATH)
    assert set(table) == {
        f"/{CUSTOM_PATH}/crontabs{rest}" for rest in ("", "/{name}", "/{name}/scale")
    }
    names = {item.name for items in table.values() for one in items for item in one.parameters}
    assert "namespace" not in names


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


def test_hash_changes_with_custom_schema():
    """A new schema changes the hash of its own document and of no other."""
    others = [replace(CUSTOM, parts=CustomParts(schema={"type": "object"}))]
    old, new = (
        openapi.index(served, version=VERSION)["paths"]
        for served in (WITH_CUSTOM, REGISTRY.with_resources(others))
    )
    assert {path for path in old if old[path] != new[path]} == {CUSTOM_PATH}


def test_hash_changes_with_version():
    """Another Kubernetes version changes every hash, since it is in every document."""
    old, new = (openapi.index(REGISTRY, version=item)["paths"] for item in (VERSION, "v1.36.1"))
    assert all(old[path] != new[path] for path in old)


def test_hash_changes_with_resources():
    """A resource that appears in a version changes the hash of that version."""
    other = replace(CUSTOM, resource="others", kind="Other")
    registry = WITH_CUSTOM.with_resources([other])
    assert openapi.document_hash(registry, CUSTOM_PATH, version=VERSION) != openapi.document_hash(
        WITH_CUSTOM, CUSTOM_PATH, version=VERSION
    )


@pytest.mark.parametrize("path", PATHS)
def test_a_document_in_steps_is_the_document(path):
    """Whoever takes a step at a time ends with the same bytes, and has many steps to take."""
    taken = list(steps := Recorded(openapi.document_steps(REGISTRY, path, version=VERSION)))
    assert steps.result == openapi.document(REGISTRY, path, version=VERSION)
    assert len(taken) >= len(orjson.loads(steps.result)["paths"]) // 4


def test_swagger_in_steps():
    """The document, and its JSON as it would be printed at once, are made of small steps."""
    taken = list(steps := Recorded(openapi.swagger_steps(REGISTRY, version=VERSION)))
    made = openapi.swagger_v2(REGISTRY, version=VERSION)
    assert steps.result == made
    assert len(taken) >= len(made["paths"]) // 4
    taken = list(steps := Recorded(openapi.json_steps(made)))
    assert steps.result == jsonwire.encode(made)
    assert len(taken) >= len(made["paths"]) // 64


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.text() | st.lists(st.text()))))
def test_json_in_steps_is_json(value):
    """Whatever the members hold, empty ones included."""
    assert finish(openapi.json_steps(value)) == jsonwire.encode(value)


class Recorded:
    """Steps, and the result when they are over."""

    def __init__(self, steps):
        self._steps = steps
        self.result = None

    def __iter__(self):
        self.result = yield from self._steps


def test_document_is_repeatable():
    """The same registry gives the same bytes."""
    first, second = (openapi.document(REGISTRY, "apis/apps/v1", version=VERSION) for _ in range(2))
    assert first == second
