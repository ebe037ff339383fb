"""Verbs of subresources: what they answer where there is no node, and in which formats."""

from __future__ import annotations

from typing import Any

import pytest
from subresource_objects import deployment, pod

from kubetrio.testing.client import Client

PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authorization.k8s.io/v1"
APPS = "/apis/apps/v1/namespaces/default"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/p/log", 204),
        ("GET", "/none/log", 404),
        ("GET", "/p/log?container=z", 400),
        ("POST", "/p/exec?command=ls", 400),
        ("POST", "/p/portforward", 400),
        ("GET", "/p/proxy/", 400),
    ],
)
async def test_a_pod_without_a_node(client: Client, method: str, path: str, status: int) -> None:
    """There is nothing to connect to, and the answer says why."""
    await client.request("POST", PODS, json=pod("p"))
    assert (await client.request(method, PODS + path)).status == status


async def test_a_node_must_be_there_and_have_an_address(client: Client) -> None:
    """What is in the way of a kubelet is said."""
    await client.request("POST", PODS, json={**pod("p"), "spec": {
        **pod("p")["spec"], "nodeName": "n"}})  # fmt: skip
    assert (await client.request("GET", PODS + "/p/log")).status == 404
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    await client.request("POST", "/api/v1/nodes", json=node)
    answer = await client.request("GET", PODS + "/p/log")
    assert answer.status == 500
    assert answer.json()["message"] == "no preferred addresses found; known addresses: []"


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
TYPES = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
ONLY_THESE = f"only the following media types are accepted: {TYPES}"
NO_ROUTE = f"406: Not Acceptable\n\nAvailable representations: text/plain, {TYPES}"
NO_LIST = (
    "you requested PartialObjectMetadataList, but the requested object is not a list "
    "(*rest.LocationStreamer)"
)
CREATED_ONLY = [
    (
        f"{REVIEWS}/selfsubjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
        },
    ),
    (
        "/apis/authentication.k8s.io/v1/tokenreviews",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": "x"},
        },
    ),
    (
        f"{PODS}/p/eviction?dryRun=All",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
    ),
    (
        f"{PODS}/p/binding?dryRun=All",
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "p"},
            "target": {"name": "n"},
        },
    ),
]


@pytest.mark.parametrize(("path", "body"), CREATED_ONLY, ids=lambda value: str(value)[:40])
async def test_what_is_only_created_has_no_table(
    client: Client, path: str, body: dict[str, Any]
) -> None:
    """406 for who takes nothing else; who takes more gets the plain object."""
    await client.request("POST", PODS, json=pod("p"))
    refused = await client.request("POST", path, {"Accept": TABLE}, json=body)
    assert (refused.status, refused.json()["message"]) == (
        406,
        ONLY_THESE,
    )
    taken = await client.request("POST", path, {"Accept": f"{TABLE},application/json"}, json=body)
    assert (taken.status, taken.json()["kind"] == "Table") == (201, False)


@pytest.mark.parametrize(
    ("accept", "status", "message"),
    [
        (
            "text/html",
            406,
            NO_ROUTE,
        ),
        (
            "text/plain",
            406,
            ONLY_THESE,
        ),
        (
            TABLE,
            406,
            ONLY_THESE,
        ),
        (
            TABLE.replace("Table", "PartialObjectMetadata"),
            500,
            "object does not implement the Object interfaces",
        ),
        (
            TABLE.replace("Table", "PartialObjectMetadataList"),
            406,
            NO_LIST,
        ),
    ],
)
async def test_a_log_is_negotiated_as_an_object(
    client: Client, accept: str, status: int, message: str
) -> None:
    """Although it is sent as text, whatever was asked for."""
    await client.request("POST", PODS, json=pod("p"))
    answer = await client.request("GET", f"{PODS}/p/log", {"Accept": accept})
    assert (answer.status, answer.json()["message"]) == (status, message)
    assert (await client.request("GET", f"{PODS}/p/log", {"Accept": "*/*"})).status == 204


async def test_a_deletion_is_told_in_the_format_of_the_table(client: Client) -> None:
    """A success is no table, but it is YAML when the table would be."""
    await client.request("POST", f"{APPS}/deployments", json=deployment("d"))
    accept = {"Accept": TABLE.replace("json", "yaml")}
    answer = await client.request("DELETE", f"{APPS}/deployments/d?dryRun=All", accept)
    assert answer.head.get(b"content-type") == b"application/yaml"
    assert b"status: Success\n" in answer.body
