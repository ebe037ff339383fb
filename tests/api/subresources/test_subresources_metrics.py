"""NodeMetrics and PodMetrics of a cluster with simulated nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubetrio.config import Simulation
from kubetrio.testing.client import Client
from kubetrio.testing.server import in_memory, open_api

API = "/apis/metrics.k8s.io/v1beta1"
CORE = "/api/v1"
SAID = "simulation.kubetrio.io/"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def make(client: Client, path: str, body: dict[str, Any], status: dict[str, Any]) -> None:
    """Create an object and write its status."""
    made = await client.request("POST", f"{CORE}/{path}", json=body)
    assert made.status == 201, made.body
    name = body["metadata"]["name"]
    put = {**made.json(), "status": status}
    answer = await client.request("PUT", f"{CORE}/{path}/{name}/status", json=put)
    assert answer.status == 200, answer.body


async def make_pod(client: Client, name: str, node: str, phase: str = "Running") -> None:
    """Create a pod on a node."""
    body = {
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}],
        },
    }
    await make(client, "namespaces/default/pods", body, {"phase": phase})


@pytest.fixture
async def metered(tmp_path: Path) -> AsyncIterator[Client]:
    """A server with two simulated nodes, one of them lost, another node, and pods on each."""
    config = replace(in_memory(tmp_path), simulation=Simulation(nodes=1))
    async with open_api(config=config) as server, server.connect() as client:
        for name, said in (
            ("near", {"node": "true"}),
            ("gone", {"node": "true", "state": "lost"}),
            ("real", {}),
        ):
            annotations = {f"{SAID}{one}": text for one, text in said.items()}
            meta = {"name": name, "annotations": annotations, "labels": {"is": name}}
            await make(client, "nodes", {"metadata": meta}, {})
        for node in ("near", "gone", "real"):
            await make_pod(client, f"on-{node}", node)
        await make_pod(client, "also", "near")
        await make_pod(client, "over", "near", "Succeeded")
        yield client


async def test_discovery(metered: Client) -> None:
    """The group is discovered as metrics-server has it."""
    found = (await metered.request("GET", API)).json()
    assert [(one["name"], one["kind"], one["namespaced"]) for one in found["resources"]] == [
        ("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True),
    ]  # fmt: skip
    assert [one["verbs"] for one in found["resources"]] == [["get", "list"]] * 2
    groups = (await metered.request("GET", "/apis")).json()["groups"]
    assert "metrics.k8s.io" in [one["name"] for one in groups]


async def test_without_simulated_nodes(client: Client) -> None:
    """There is no such group."""
    assert (await client.request("GET", f"{API}/nodes")).status == 404


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("nodes", ["near"]),
        ("nodes?labelSelector=is%3Dother", []),
        ("nodes?fieldSelector=metadata.name%3Dnear", ["near"]),
        ("pods", ["also", "on-near"]),
        ("namespaces/default/pods", ["also", "on-near"]),
        ("namespaces/other/pods", []),
        ("pods?labelSelector=app%3Dalso", ["also"]),
        ("pods?fieldSelector=metadata.namespace!%3Ddefault", []),
    ],
)
async def test_lists(metered: Client, path: str, names: list[str]) -> None:
    """They have what runs on nodes that report, by selectors."""
    answer = await metered.request("GET", f"{API}/{path}")
    assert answer.status == 200, answer.body
    assert [one["metadata"]["name"] for one in answer.json()["items"]] == names
    assert answer.json()["kind"] in ("NodeMetricsList", "PodMetricsList")


async def test_one(metered: Client) -> None:
    """A node uses what its pods use."""
    node = (await metered.request("GET", f"{API}/nodes/near")).json()
    assert node["usage"] == {"cpu": "100m", "memory": "16Mi"}
    pod = (await metered.request("GET", f"{API}/namespaces/default/pods/also")).json()
    assert pod["containers"] == [{"name": "c", "usage": {"cpu": "50m", "memory": "8Mi"}}]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nodes/none", 'nodes "none" not found'),
        ("nodes/gone", 'nodes.metrics.k8s.io "gone" not found'),
        ("namespaces/default/pods/none", 'pods "none" not found'),
        ("namespaces/default/pods/over", 'pods.metrics.k8s.io "default/over" not found'),
        ("namespaces/default/pods/on-real", 'pods.metrics.k8s.io "default/on-real" not found'),
    ],
)
async def test_what_there_is_not(metered: Client, path: str, message: str) -> None:
    """404 tells what is not there: the object, or what it uses."""
    answer = await metered.request("GET", f"{API}/{path}")
    assert (answer.status, answer.json()["message"]) == (404, message)


async def test_tables(metered: Client) -> None:
    """Rows have the columns of metrics-server."""
    table = (await metered.request("GET", f"{API}/pods", TABLE)).json()
    assert [one["name"] for one in table["columnDefinitions"]] == [
        "Name", "cpu", "memory", "Window",
    ]  # fmt: skip
    assert [row["cells"] for row in table["rows"]] == [
        ["also", "50m", "8Mi", "15s"],
        ["on-near", "50m", "8Mi", "15s"],
    ]


async def test_nothing_is_written(metered: Client) -> None:
    """Other verbs are refused."""
    for method in ("POST", "DELETE"):
        answer = await metered.request(method, f"{API}/nodes", json={})
        assert answer.status == 405, (method, answer.body)
    assert (await metered.request("GET", f"{API}/nodes?watch=true")).status == 405


async def test_the_documents_have_them(metered: Client) -> None:
    """OpenAPI describes them."""
    document = (await metered.request("GET", "/openapi/v3/apis/metrics.k8s.io/v1beta1")).json()
    schemas = document["components"]["schemas"]
    assert {"timestamp", "window", "usage"} <= set(
        schemas["io.k8s.metrics.v1beta1.NodeMetrics"]["properties"]
    )


async def test_viewers_may_see_them(metered: Client) -> None:
    """The role of metrics-server is there, and gathered into that of viewers."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:aggregated-metrics-reader"
    role = (await metered.request("GET", path)).json()
    assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert role["rules"] == [
        {"verbs": ["get", "list", "watch"], "apiGroups": ["metrics.k8s.io"],
         "resources": ["pods", "nodes"]},
    ]  # fmt: skip


async def test_that_they_follow_what_changes(metered: Client) -> None:
    """A pod that ends uses nothing more."""
    assert len((await metered.request("GET", f"{API}/pods")).json()["items"]) == 2
    path = f"{CORE}/namespaces/default/pods/also"
    pod = (await metered.request("GET", path)).json()
    pod["status"]["phase"] = "Failed"
    await metered.request("PUT", f"{path}/status", json=pod)
    assert len((await metered.request("GET", f"{API}/pods")).json()["items"]) == 1
