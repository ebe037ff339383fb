"""Discovery and OpenAPI of this server and others as one."""

from __future__ import annotations

from typing import Any

import orjson
import trio
from registered import SERVICES, post, register

from kubetrio.aggregation import documents
from kubetrio.testing.aggregated import GROUP, NAME, PATH, OtherServer, api_service
from kubetrio.testing.backend import ReceivedRequest
from kubetrio.testing.client import Client

Object = dict[str, Any]
AGGREGATED = "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"
POD = "io.k8s.api.core.v1.Pod"
SWAGGER: Object = {
    "swagger": "2.0",
    "info": {"title": "x", "version": "1"},
    "paths": {
        f"{PATH}/things": {
            "get": {
                "operationId": "listThings",
                "responses": {
                    "200": {"description": "OK", "schema": {"$ref": "#/definitions/ThingList"}}
                },
            }
        },
        "/api/v1/pods": {"get": {"responses": {"200": {"description": "mine"}}}},
        "/apis/other.example/v1/x": {"get": {"responses": {"200": {"description": "x"}}}},
    },
    "definitions": {
        "ThingList": {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"$ref": f"#/definitions/{POD}"}}},
        },
        POD: {"type": "object", "description": "another pod"},
        "Unused": {"type": "object"},
    },
}


async def groups(client: Client) -> dict[str, Object]:
    """The aggregated document by group."""
    answer = await client.request("GET", "/apis", {"Accept": AGGREGATED})
    assert answer.status == 200
    return {item["metadata"]["name"]: item for item in answer.json()["items"]}


async def until_fresh(client: Client, freshness: str) -> Object:
    """The version of the other server as soon as it has a freshness."""
    entry: Object = {}
    with trio.move_on_after(15):
        while entry.get("freshness") != freshness:
            await trio.sleep(0.02)
            found = await groups(client)
            entry = found[GROUP]["versions"][0] if GROUP in found else {}
    assert entry.get("freshness") == freshness, entry
    return entry


async def test_an_older_server(admin: Client, other: OtherServer) -> None:
    """Its list of resources becomes an entry of the aggregated document."""
    await register(admin, other)
    entry = await until_fresh(admin, "Current")
    kind = {"group": "", "version": "", "kind": "Thing"}
    assert entry == {
        "version": "v1",
        "resources": [
            {
                "resource": "things",
                "responseKind": kind,
                "scope": "Namespaced",
                "singularResource": "thing",
                "verbs": ["get", "list"],
                "shortNames": ["th"],
                "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get"]}],
            }
        ],
        "freshness": "Current",
    }


async def test_a_newer_server(admin: Client, other: OtherServer) -> None:
    """What it says of its version is taken over, and what it says of others is not."""

    async def reply(asked: ReceivedRequest) -> None:
        resource = {
            "resource": "gadgets",
            "responseKind": {"group": GROUP, "version": "v1", "kind": "Gadget"},
            "scope": "Cluster",
            "singularResource": "gadget",
            "verbs": ["get"],
            "surprise": 1,
        }
        versions = [{"version": "v1", "resources": [resource]}]
        items = [
            {"metadata": {"name": name}, "versions": versions} for name in (GROUP, "apps", "x")
        ]
        body = orjson.dumps({"kind": "APIGroupDiscoveryList", "items": items})
        await asked.reply(200, body, {"Content-Type": AGGREGATED, "Etag": '"one"'})

    other.answers["/apis"] = reply
    await register(admin, other)
    entry = await until_fresh(admin, "Current")
    assert [one["resource"] for one in entry["resources"]] == ["gadgets"]
    assert "surprise" not in entry["resources"][0]
    found = await groups(admin)
    assert "x" not in found
    apps = {one["resource"] for one in found["apps"]["versions"][0]["resources"]}
    assert "deployments" in apps
    assert "gadgets" not in apps


async def test_order(admin: Client, other: OtherServer) -> None:
    """Groups stand where their priority says, in both documents."""
    await register(admin, other, groupPriorityMinimum=17790)
    walked = (await admin.request("GET", "/apis")).json()["groups"]
    for names in ([one["name"] for one in walked], list(await groups(admin))):
        assert names[0] == "apiregistration.k8s.io"
        assert names[1:4] == ["apps", GROUP, "events.k8s.io"]
    group = (await admin.request("GET", f"/apis/{GROUP}")).json()
    version = {"groupVersion": f"{GROUP}/v1", "version": "v1"}
    assert group == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": GROUP,
        "versions": [version],
        "preferredVersion": version,
    }
    assert PATH in (await admin.request("GET", "/")).json()["paths"]


async def test_gone(admin: Client, other: OtherServer) -> None:
    """A group goes with its APIService."""
    await register(admin, other)
    assert GROUP in await groups(admin)
    await admin.request("DELETE", f"{SERVICES}/{NAME}")
    assert GROUP not in await groups(admin)
    assert (await admin.request("GET", f"/apis/{GROUP}")).status == 404
    assert (await admin.request("GET", PATH)).status == 404
    names = [one["name"] for one in (await admin.request("GET", "/apis")).json()["groups"]]
    assert GROUP not in names


async def test_a_server_that_is_not_there(admin: Client, other: OtherServer) -> None:
    """Its version is there without resources, and stale; the group is listed all the same."""
    await post(admin, SERVICES, api_service(other.port, other.ca))
    assert await until_fresh(admin, "Stale") == {"version": "v1", "freshness": "Stale"}
    assert (await admin.request("GET", f"/apis/{GROUP}")).status == 200


async def until_answered(client: Client, status: int) -> None:
    """Wait for the group to be there, or to be gone."""
    with trio.fail_after(10):
        while (await client.request("GET", f"/apis/{GROUP}")).status != status:  # noqa: ASYNC110
            await trio.sleep(0.02)


async def test_what_nobody_serves(admin: Client) -> None:
    """A group that an APIService says is of this server is in the older documents."""
    spec = {"group": GROUP, "version": "v1", "groupPriorityMinimum": 9, "versionPriority": 9}
    body = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "spec": spec}
    assert (await admin.request("GET", f"/apis/{GROUP}")).status == 404
    await post(admin, SERVICES, {**body, "metadata": {"name": NAME}})
    await until_answered(admin, 200)
    listed = (await admin.request("GET", "/apis")).json()["groups"]
    assert listed[-1]["name"] == GROUP
    assert GROUP not in await groups(admin)
    await admin.request("DELETE", f"{SERVICES}/{NAME}")
    await until_answered(admin, 404)


async def test_lies(admin: Client, other: OtherServer) -> None:
    """What is no discovery document makes a version stale, and all else stays as it was."""
    other.documents[PATH] = {"resources": [{"name": ["no"], "verbs": 7}]}
    await register(admin, other)
    await until_fresh(admin, "Stale")
    assert (await admin.request("GET", "/apis", {"Accept": AGGREGATED})).status == 200


async def test_huge_discovery(admin: Client, other: OtherServer) -> None:
    """No more than a bounded part of an answer is read."""
    sent = 0

    async def endless(asked: ReceivedRequest) -> None:
        nonlocal sent
        await asked.head(200, {"Content-Type": AGGREGATED})
        while True:
            await asked.send(b" " * 65536)
            sent += 65536

    other.answers["/apis"] = endless
    await register(admin, other)
    await until_fresh(admin, "Stale")
    await trio.testing.wait_all_tasks_blocked(0.05)
    assert sent < 8 * documents.DISCOVERY_BYTES


async def swagger(client: Client) -> Object:
    """The Swagger document as soon as the other server's paths are in it."""
    found: Object = {}
    with trio.fail_after(20):
        while f"{PATH}/things" not in found.get("paths", {}):
            await trio.sleep(0.1)
            found = (await client.request("GET", "/openapi/v2")).json()
    return found


async def test_swagger(admin: Client, other: OtherServer) -> None:
    """Paths of its version are merged, and what means something else here is renamed."""
    other.documents["/openapi/v2"] = SWAGGER
    await register(admin, other)
    found = await swagger(admin)
    assert "mine" not in str(found["paths"]["/api/v1/pods"])
    assert "/apis/other.example/v1/x" not in found["paths"]
    definitions = found["definitions"]
    items = definitions["ThingList"]["properties"]["items"]["items"]
    assert items == {"$ref": f"#/definitions/{POD}_v2"}
    assert definitions[f"{POD}_v2"]["description"] == "another pod"
    assert "Unused" not in definitions
    assert "properties" in definitions[POD]
    accept = {"Accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    answer = await admin.request("GET", "/openapi/v2", accept)
    assert answer.status == 200
    assert b"ThingList" in answer.body


async def test_swagger_that_fits_no_message(admin: Client, other: OtherServer) -> None:
    """It does not cost clients of protobuf what this server says of itself."""
    broken = {**SWAGGER, "paths": {f"{PATH}/things": {"get": {"parameters": [{"in": 7}]}}}}
    other.documents["/openapi/v2"] = broken
    await register(admin, other)
    await swagger(admin)
    accept = {"Accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    answer = await admin.request("GET", "/openapi/v2", accept)
    assert answer.status == 200
    assert b"Deployment" in answer.body


async def test_openapi_v3(admin: Client, other: OtherServer) -> None:
    """The index names its document, which it is asked for."""
    url = f"/openapi/v3{PATH}?hash=1"
    document = {"openapi": "3.0.0", "paths": {}}
    other.documents["/openapi/v3"] = {
        "paths": {
            PATH[1:]: {"serverRelativeURL": url},
            "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=lie"},
            "apis/x/v1": {"serverRelativeURL": "/openapi/v3/apis/x/v1?hash=1"},
        }
    }
    other.documents[f"/openapi/v3{PATH}"] = document
    await register(admin, other)
    paths: Object = {}
    with trio.fail_after(20):
        while PATH[1:] not in paths:
            await trio.sleep(0.1)
            paths = (await admin.request("GET", "/openapi/v3")).json()["paths"]
    assert paths[PATH[1:]] == {"serverRelativeURL": url}
    assert "lie" not in paths["api/v1"]["serverRelativeURL"]
    assert "apis/x/v1" not in paths
    answer = await admin.request("GET", url)
    assert (answer.status, answer.json()) == (200, document)
    assert other.asked(f"/openapi/v3{PATH}")[0].get("x-remote-user") == "kubernetes-admin"
