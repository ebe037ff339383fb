"""ComponentStatuses, asked for at their ports."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.backend.dial import DialError
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

COMPONENTS = "/api/v1/componentstatuses"

EVERY = ["scheduler", "controller-manager", "etcd-0"]


async def nobody(host: str, port: str, _tls: Any, _timeout_s: float) -> Any:
    """A machine on which nothing listens."""
    raise DialError(f"dial tcp {host}:{port}: connect: connection refused")


async def test_a_component_that_is_not_there(server: InProcess, client: Client) -> None:
    """It is unhealthy, and the store, which is there, is not."""
    server.api.edge.backends.dial = nobody
    conditions = {
        name: (await client.request("GET", f"{COMPONENTS}/{name}")).json()["conditions"]
        for name in EVERY
    }
    assert conditions == {
        name: [
            {
                "type": "Healthy",
                "status": "False",
                "message": f'Get "https://127.0.0.1:{port}/healthz": dial tcp 127.0.0.1:{port}: '
                "connect: connection refused",
            }
        ]
        for name, port in (("scheduler", 10259), ("controller-manager", 10257))
    } | {"etcd-0": [{"type": "Healthy", "status": "True", "message": "ok"}]}


async def test_an_unknown_component(client: Client) -> None:
    """404, of a resource in the singular."""
    answer = await client.request("GET", f"{COMPONENTS}/nope")
    assert answer.status == 404
    assert answer.json()["message"] == 'componentstatus "nope" not found'
    assert answer.json()["details"] == {"name": "nope", "kind": "componentstatus"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", EVERY),
        ("labelSelector=a", []),
        ("labelSelector=!a", EVERY),
        ("fieldSelector=metadata.name%3Detcd-0", ["etcd-0"]),
        ("fieldSelector=metadata.name%3Dother", []),
        ("limit=1&resourceVersion=5", EVERY),
    ],
)
async def test_components_are_selected(
    server: InProcess, client: Client, query: str, names: list[str]
) -> None:
    """As objects of any resource."""
    server.api.edge.backends.dial = nobody
    found = await client.request("GET", f"{COMPONENTS}?{query}")
    assert [item["metadata"]["name"] for item in found.json()["items"]] == names


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        (
            "fieldSelector=foo%3Dx",
            400,
            '"foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("resourceVersionMatch=Exact", 422, "ListOptions.meta.k8s.io"),
    ],
)
async def test_options_of_components(client: Client, query: str, status: int, words: str) -> None:
    """Are refused as for any list."""
    answer = await client.request("GET", f"{COMPONENTS}?{query}")
    assert answer.status == status
    assert words in answer.json()["message"]


async def test_a_component_that_there_is_not(client: Client) -> None:
    """404, in the words of kube-apiserver, which says the kind."""
    answer = await client.request("GET", f"{COMPONENTS}/nope")
    assert (answer.status, answer.json()["message"]) == (404, 'componentstatus "nope" not found')
    assert answer.json()["details"] == {"name": "nope", "kind": "componentstatus"}
