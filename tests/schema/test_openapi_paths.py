"""Operations of OpenAPI documents."""

from dataclasses import replace
from typing import Any

import pytest
from openapidocuments import (
    CUSTOM,
    CUSTOM_PATH,
    DEPLOYMENT,
    PATHS,
    REGISTRY,
    WITH_CUSTOM,
    document,
    parameters,
)

from kubetrio.schema import builtin
from kubetrio.schema.openapi_paths import document_paths, group_version_of, operations


def rows_of(path: str) -> dict[str, Any]:
    """The recorded operations that a document may have."""
    version = group_version_of(path)
    name = f"{version.group or 'core'}.{version.version}" if version else "root"
    return builtin.load(f"operations/{name}")


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
