"""Discovery, OpenAPI, version and metrics over HTTP."""

from __future__ import annotations

import re

import pytest

from kubetrio.api.documents import GIT_VERSION, discovery_version, wants_protobuf
from kubetrio.machinery.status import ApiError
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SWAGGER = "application/com.github.proto-openapi.spec.v2{}v1.0+protobuf"


def test_the_version_is_semantic() -> None:
    """Clients parse it (semver.org 2.0.0, with a v before it)."""
    assert re.fullmatch(r"v1\.36\.\d+\+[0-9A-Za-z.-]+", GIT_VERSION)


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("", ""),
        ("*/*", ""),
        ("application/json", ""),
        (AGGREGATED, "v2"),
        (AGGREGATED.replace("v2", "v2beta1") + ", " + AGGREGATED, "v2beta1"),
        ("application/json, " + AGGREGATED, ""),
        (AGGREGATED.replace("v=v2", "v=v9") + ",application/json", ""),
    ],
)
def test_the_form_a_client_prefers(accept: str, version: str) -> None:
    """The first one it names that there is."""
    assert discovery_version(accept) == version


def test_a_form_that_does_not_exist_is_406() -> None:
    """When nothing else would do."""
    with pytest.raises(ApiError) as caught:
        discovery_version(AGGREGATED.replace("v=v2", "v=v9"))
    assert caught.value.code == 406


@pytest.mark.parametrize(
    ("accept", "protobuf"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", False),
        (SWAGGER.format("@"), True),
        (SWAGGER.format("."), True),
        (SWAGGER.format("@") + ", application/json", True),
        ("application/json, " + SWAGGER.format("."), False),
        (SWAGGER.format(".") + ";q=0.5, application/json", False),
        (SWAGGER.replace("v1.0", "v9.0").format(".") + ", */*", False),
    ],
)
def test_the_swagger_form_a_client_prefers(accept: str, protobuf: bool) -> None:
    """JSON unless it names protobuf first."""
    assert wants_protobuf(accept) is protobuf


def test_a_swagger_form_that_does_not_exist_is_406() -> None:
    """Protobuf of another version, and nothing else would do."""
    with pytest.raises(ApiError) as caught:
        wants_protobuf(SWAGGER.replace("v1.0", "v9.0").format("."))
    assert caught.value.code == 406


@pytest.mark.parametrize("separator", ["@", "."])
async def test_swagger_as_protobuf(client: Client, separator: str) -> None:
    """With a type that is valid, and an entity tag of its own."""
    plain = await client.request("GET", "/openapi/v2")
    asked = {"Accept": SWAGGER.format(separator)}
    answer = await client.request("GET", "/openapi/v2", asked)
    assert answer.status == 200
    assert answer.head.get(b"content-type") == SWAGGER.format(".").encode()
    assert b"Accept" in answer.head.get(b"vary")
    assert answer.body.startswith(b"\x0a\x032.0")
    tag = answer.head.get(b"etag")
    assert tag != plain.head.get(b"etag")
    again = await client.request("GET", "/openapi/v2", {**asked, "If-None-Match": tag.decode()})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/api/v1", "APIResourceList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
    ],
)
async def test_legacy_discovery(client: Client, path: str, kind: str) -> None:
    """Each document is of its kind."""
    answer = await client.request("GET", path)
    assert answer.status == 200
    assert answer.json()["kind"] == kind


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_aggregated_discovery(client: Client, path: str) -> None:
    """One document for everything, with the type that was asked for."""
    answer = await client.request("GET", path, {"Accept": AGGREGATED})
    assert answer.head.get(b"content-type") == AGGREGATED.replace("json;", "json;").encode()
    assert answer.json()["kind"] == "APIGroupDiscoveryList"
    assert b"Accept" in answer.head.get(b"vary")


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/openapi/v3", "/openapi/v3/api/v1"])
async def test_documents_are_not_sent_twice(client: Client, path: str) -> None:
    """A client that has the document's ETag gets 304 and nothing."""
    tag = (await client.request("GET", path)).head.get(b"etag").decode()
    assert tag
    again = await client.request("GET", path, {"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    assert again.head.get(b"etag").decode() == tag
    other = await client.request("GET", path, {"If-None-Match": '"other"'})
    assert other.status == 200


async def test_every_document_of_the_openapi_index_is_there(client: Client) -> None:
    """Under the very URL that the index names, for ever cacheable."""
    index = (await client.request("GET", "/openapi/v3")).json()["paths"]
    for name in ("api/v1", "apis/apps/v1", "apis/coordination.k8s.io/v1"):
        answer = await client.request("GET", index[name]["serverRelativeURL"])
        assert answer.status == 200, name
        assert b"immutable" in answer.head.get(b"cache-control")
        assert answer.json()["openapi"].startswith("3.")


async def test_every_path_of_the_root_is_served(client: Client) -> None:
    """What `GET /` lists is there."""
    paths = (await client.request("GET", "/")).json()["paths"]
    assert "/readyz/etcd" in paths
    for path in paths:
        if path.startswith("/openapi"):
            continue  # large; see above
        assert (await client.request("GET", path)).status == 200, path


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/version", "/api", "/apis/apps/v1", "/openapi/v3", "/metrics"])
async def test_documents_are_only_read(client: Client, method: str, path: str) -> None:
    """405 for the rest."""
    assert (await client.request(method, path)).status == 405


async def test_metrics_count_requests(client: Client) -> None:
    """With the labels of kube-apiserver's own metric."""
    await client.request("GET", "/api/v1/namespaces/default")
    answer = await client.request("GET", "/metrics")
    assert answer.head.get(b"content-type").startswith(b"text/plain; version=0.0.4")
    pattern = r'^apiserver_request_total\{[^}]*resource="namespaces"[^}]*verb="GET"[^}]*\} 1'
    assert re.search(pattern, answer.body.decode(), re.MULTILINE)


async def test_metrics_are_not_for_everybody(server: InProcess) -> None:
    """Nor is discovery for anonymous clients."""
    async with server.connect(certificate=None) as anonymous:
        assert (await anonymous.request("GET", "/metrics")).status == 403
        assert (await anonymous.request("GET", "/api")).status == 403
