"""A kind that is not built in: its documents, subresources and representations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from made_up import AGGREGATED, MERGE, OLDER, PARTIAL, PROTOBUF, TABLE, V1, WIDGETS, owned, post

from kubetrio.config import Config, Storage
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.widgets import widget, widgets

# ---------------------------------------------------------------- documents


async def test_its_group_is_discovered(made: Client) -> None:
    """With its versions, the most stable first, behind the built-in ones."""
    groups = (await made.request("GET", "/apis")).json()["groups"]
    assert groups[-1]["name"] == "example.com"
    assert [version["version"] for version in groups[-1]["versions"]] == ["v1", "v1beta1"]


async def test_its_resources_are_discovered(made: Client) -> None:
    """With its subresources, names and categories."""
    found = (await made.request("GET", V1)).json()["resources"]
    assert [entry["name"] for entry in found] == ["widgets", "widgets/status", "widgets/scale"]
    assert found[0]["shortNames"] == ["wd"]
    assert found[2]["group"] == "autoscaling"


async def test_it_is_in_aggregated_discovery(server: InProcess, client: Client) -> None:
    """Also where the document was asked for before."""
    names = []
    for kinds in ([], widgets()):
        server.api.storage.registry.add(kinds)
        items = (await client.request("GET", "/apis", {"Accept": AGGREGATED})).json()["items"]
        names.append([item["metadata"]["name"] for item in items])
    assert [name for name in names[1] if name not in names[0]] == ["example.com"]


async def test_its_openapi_v3_document(server: InProcess, client: Client) -> None:
    """Is in the index and has its schema; the other documents keep their hashes."""
    before = (await client.request("GET", "/openapi/v3")).json()["paths"]
    server.api.storage.registry.add(widgets())
    after = (await client.request("GET", "/openapi/v3")).json()["paths"]
    assert {path for path in after if after[path] != before.get(path)} == {
        "apis/example.com/v1",
        "apis/example.com/v1beta1",
    }
    url = after["apis/example.com/v1beta1"]["serverRelativeURL"]
    schemas = (await client.request("GET", url)).json()["components"]["schemas"]
    spec = schemas["com.example.v1beta1.Widget"]["properties"]["spec"]
    assert spec["properties"]["extent"]["description"] == "How large it is."


async def test_it_is_in_the_openapi_v2_document(made: Client) -> None:
    """With its schema."""
    document = (await made.request("GET", "/openapi/v2")).json()
    assert "com.example.v1.Widget" in document["definitions"]
    assert WIDGETS.replace("default", "{namespace}") in document["paths"]


# ---------------------------------------------------------------- subresources


async def test_status_is_written_apart(made: Client) -> None:
    """The object's own path leaves it alone, its path leaves all else alone."""
    sent = {**widget("a", size=1), "status": {"replicas": 7}}
    new = (await made.request("POST", WIDGETS, json=sent)).json()
    assert "status" not in new
    new["status"], new["spec"]["size"] = {"replicas": 2}, 9
    new["metadata"]["labels"] = {"a": "b"}
    answer = (await made.request("PUT", f"{WIDGETS}/a/status", json=new)).json()
    assert (answer["spec"], answer["status"]) == ({"size": 1}, {"replicas": 2})
    assert "labels" not in answer["metadata"]
    assert answer["metadata"]["generation"] == 1
    owners = {(one.get("subresource"), *one["fieldsV1"]) for one in owned(answer)}
    assert owners == {(None, "f:spec"), ("status", "f:status")}


async def test_scaled(made: Client) -> None:
    """Through a Scale, which shows what the paths of the kind name."""
    await post(made, "a", replicas=1)
    status = {"status": {"replicas": 1, "selector": "x=y"}}
    await made.request("PATCH", f"{WIDGETS}/a/status", MERGE, json.dumps(status).encode())
    scale = (await made.request("GET", f"{WIDGETS}/a/scale")).json()
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["status"] == {"replicas": 1, "selector": "x=y"}
    scale["spec"]["replicas"] = 4
    put = await made.request("PUT", f"{WIDGETS}/a/scale", json=scale)
    assert put.json()["spec"] == {"replicas": 4}
    got = (await made.request("GET", f"{OLDER}/a")).json()
    assert (got["spec"]["replicas"], got["metadata"]["generation"]) == (4, 2)
    patched = await made.request("PATCH", f"{WIDGETS}/a/scale", MERGE, b'{"spec":{"replicas":5}}')
    assert patched.json()["spec"] == {"replicas": 5}


async def test_scale_of_what_says_no_number(made: Client) -> None:
    """500 for whoever reads it and 400 for whoever writes none, as kube-apiserver has it."""
    await post(made, "a")
    answer = await made.request("GET", f"{WIDGETS}/a/scale")
    words = 'the spec replicas field ".spec.replicas"'
    assert (answer.status, answer.json()["message"]) == (
        500,
        f"Internal error occurred: {words} does not exist",
    )
    patched = await made.request("PATCH", f"{WIDGETS}/a/scale", MERGE, b"{}")
    assert (patched.status, patched.json()["message"]) == (400, f"{words} cannot be empty")


async def test_no_negative_scale(made: Client) -> None:
    """The kind itself refuses it, by its path."""
    await post(made, "a", replicas=1)
    answer = await made.request("PATCH", f"{WIDGETS}/a/scale", MERGE, b'{"spec":{"replicas":-1}}')
    assert answer.status == 422
    assert answer.json()["message"] == (
        'Widget.example.com "a" is invalid: .spec.replicas: Invalid value: -1: '
        "should be a non-negative integer"
    )


async def test_who_scales_owns_the_replicas(made: Client) -> None:
    """And whoever owned them before does no more."""
    await post(made, "a", replicas=1, size=1)
    path = f"{WIDGETS}/a/scale?fieldManager=autoscaler"
    await made.request("PATCH", path, MERGE, b'{"spec":{"replicas":2}}')
    got = (await made.request("GET", f"{WIDGETS}/a")).json()
    owners = {one["manager"]: one["fieldsV1"]["f:spec"] for one in owned(got)}
    assert owners.pop("autoscaler") == {"f:replicas": {}}
    assert [list(fields) for fields in owners.values()] == [[".", "f:size"]]


async def test_subresources_there_are_not(made: Client) -> None:
    """404 as of the object."""
    answer = await made.request("GET", f"{WIDGETS}/a/log")
    assert answer.status == 404
    assert answer.json()["message"] == 'widgets.example.com "a" not found'


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("PUT", WIDGETS, 400, "name must be provided"),
        ("POST", f"{WIDGETS}/a/status", 405,
            'create is not supported on resources of kind "widgets.example.com"'),
        ("DELETE", f"{V1}/widgets", 404, "404 page not found\n"),
        ("GET", f"{V1}/gadgets", 404, "404 page not found\n"),
        ("GET", "/apis/example.com/v2/widgets", 404, "404 page not found\n"),
    ],
)  # fmt: skip
async def test_paths_no_router_stands_before(
    made: Client, method: str, path: str, status: int, words: str
) -> None:
    """Refused as the server of custom resources does it, which has no routes."""
    answer = await made.request(method, path, json=widget("a") if method == "PUT" else None)
    assert answer.status == status
    text = answer.body.decode()
    assert (json.loads(text)["message"] if text.startswith("{") else text) == words


# ---------------------------------------------------------------- representations


async def test_table(made: Client) -> None:
    """With its own columns, in each version."""
    await post(made, "a", size=3)
    rows = []
    for path in (WIDGETS, OLDER):
        table = (await made.request("GET", path, {"Accept": TABLE})).json()
        names = [column["name"] for column in table["columnDefinitions"]]
        rows.append((names, table["rows"][0]["cells"][:2]))
    assert rows == [(["Name", "Size", "Age"], ["a", 3]), (["Name", "Extent"], ["a", 3])]


async def test_metadata_alone(made: Client) -> None:
    """Which can be had in protobuf too."""
    await post(made, "a", size=3)
    got = (await made.request("GET", f"{WIDGETS}/a", {"Accept": PARTIAL})).json()
    assert got["kind"] == "PartialObjectMetadata"
    assert "spec" not in got
    binary = PARTIAL.replace("application/json", PROTOBUF)
    answer = await made.request("GET", f"{WIDGETS}/a", {"Accept": binary})
    assert (answer.status, answer.body[:4]) == (200, b"k8s\x00")


async def test_yaml(made: Client) -> None:
    """Taken and given."""
    body = yaml.safe_dump(widget("a", size=3)).encode()
    media = {"Content-Type": "application/yaml", "Accept": "application/yaml"}
    answer = await made.request("POST", WIDGETS, media, body)
    assert answer.status == 201
    assert yaml.safe_load(answer.body)["spec"] == {"size": 3}


async def test_cbor(tmp_path: Path) -> None:
    """Taken and given where the server speaks it."""
    pytest.importorskip("cbor2", reason="the extra cbor is not installed")
    from kubetrio.wire import cborwire

    config = Config(
        data_dir=tmp_path / "data",
        storage=Storage(durability="normal"),
        feature_gates={"CBORServingAndStorage": True},
    )
    async with open_api(config=config) as server, server.connect() as client:
        server.api.storage.registry.add(widgets())
        media = {"Content-Type": "application/cbor", "Accept": "application/cbor"}
        body = cborwire.encode(widget("a", size=3))
        answer = await client.request("POST", WIDGETS, media, body)
        assert answer.status == 201, answer.body
        assert cborwire.decode(answer.body)["spec"] == {"size": 3}
        listed = await client.request("GET", WIDGETS, media)
        assert cborwire.decode(listed.body)["items"][0]["spec"] == {"size": 3}


@pytest.mark.parametrize("path", [WIDGETS, f"{WIDGETS}/a", f"{WIDGETS}?watch=1"])
async def test_no_protobuf_is_given(made: Client, path: str) -> None:
    """406, although it is named: metadata alone can be had in it."""
    answer = await made.request("GET", path, {"Accept": PROTOBUF})
    assert answer.status == 406
    assert b"application/json, application/yaml, application/vnd.kubernetes" in answer.body


async def test_no_protobuf_is_taken(made: Client) -> None:
    """No Go type has fields for it."""
    body = b"k8s\x00\n\x18\n\x0eexample.com/v1\x12\x06Widget"
    answer = await made.request("POST", WIDGETS, {"Content-Type": PROTOBUF}, body)
    assert answer.status == 400
    assert answer.json()["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: '
        "Object 'Kind' is missing in 'object has no kind field '"
    )
