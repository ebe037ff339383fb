"""PATCH over HTTP: media types, results that are no objects, races."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.testing.client import Answer, Client
from kubetrio.testing.server import InProcess

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
JSON, MERGE, STRATEGIC = "json-patch", "merge-patch", "strategic-merge-patch"


@pytest.fixture
async def one(client: Client) -> Any:
    """A ConfigMap named one."""
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
    return (await client.request("POST", CONFIGMAPS, json=obj)).json()


async def patch(client: Client, kind: str, body: Any, query: str = "") -> Answer:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    media = {"Content-Type": f"application/{kind}+json"}
    return await client.request("PATCH", f"{CONFIGMAPS}/one{query}", media, raw)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (JSON, [{"op": "add", "path": "/data/b", "value": "2"}]),
        (MERGE, {"data": {"b": "2"}}),
        (STRATEGIC, {"data": {"b": "2"}}),
    ],
)
async def test_each_kind_of_patch(client: Client, one: Any, kind: str, body: Any) -> None:
    """Changes what it names."""
    answer = await patch(client, kind, body)
    assert answer.status == 200
    assert answer.json()["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(("kind", "body"), [(JSON, []), (MERGE, {}), (STRATEGIC, {})])
async def test_an_empty_patch_writes_nothing(
    server: InProcess, client: Client, one: Any, kind: str, body: Any
) -> None:
    """The same version comes back."""
    revision = server.api.store.revision
    assert (await patch(client, kind, body)).json() == one
    assert server.api.store.revision == revision


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        (JSON, {}, 400),
        (MERGE, [], 400),
        (MERGE, b"{", 400),
        (JSON, [{"op": "test", "path": "/data/a", "value": "9"}], 422),
        (MERGE, {"data": {"a": {"b": 1}}}, 422),
        (MERGE, {"metadata": {"name": "two"}}, 400),
        ("unknown-patch", {}, 415),
    ],
)
async def test_patches_that_are_refused(
    server: InProcess, client: Client, one: Any, kind: str, body: Any, code: int
) -> None:
    """And nothing is written."""
    revision = server.api.store.revision
    assert (await patch(client, kind, body)).status == code
    assert server.api.store.revision == revision


async def test_a_version_in_a_patch_is_a_precondition(client: Client, one: Any) -> None:
    """409 when it is old."""
    version = one["metadata"]["resourceVersion"]
    body = {"metadata": {"resourceVersion": version}, "data": {"b": "2"}}
    assert (await patch(client, MERGE, body)).status == 200
    assert (await patch(client, MERGE, {**body, "data": {"b": "3"}})).status == 409


async def test_a_dry_patch_writes_nothing(server: InProcess, client: Client, one: Any) -> None:
    """It shows what would be."""
    revision = server.api.store.revision
    answer = await patch(client, MERGE, {"data": {"b": "2"}}, "?dryRun=All")
    assert answer.json()["data"] == {"a": "1", "b": "2"}
    assert server.api.store.revision == revision


async def test_unknown_fields_of_a_patch(client: Client, one: Any) -> None:
    """Warned of, refused when that is asked for."""
    warned = await patch(client, MERGE, {"nonsense": 1})
    assert b'unknown field \\"nonsense\\"' in warned.head.get(b"warning")
    strict = await patch(client, MERGE, {"nonsense": 1}, "?fieldValidation=Strict")
    assert strict.status == 422


async def test_a_patch_of_nothing_is_404(client: Client) -> None:
    """Only apply creates."""
    assert (await patch(client, MERGE, {})).status == 404
