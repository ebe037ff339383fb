"""Scales of workloads, on a whole server."""

from __future__ import annotations

import pytest
from subresource_objects import deployment

from kubetrio.testing.client import Client

APPS = "/apis/apps/v1/namespaces/default"

MERGE = {"Content-Type": "application/merge-patch+json"}


async def test_scaling_counts_as_a_change_of_the_workload(client: Client) -> None:
    """The generation goes up, and the scale's owner is noted under its subresource, at no time."""
    await client.request("POST", f"{APPS}/deployments", json=deployment("d"))
    path = f"{APPS}/deployments/d"
    patch = {"spec": {"replicas": 4}}
    scaled = await client.request("PATCH", path + "/scale", headers=MERGE, json=patch)
    assert scaled.json()["spec"] == {"replicas": 4}
    now = (await client.request("GET", path)).json()
    assert now["spec"]["replicas"] == 4
    assert now["metadata"]["generation"] == 2
    entries = now["metadata"]["managedFields"]
    owners = [(entry.get("subresource"), "time" in entry) for entry in entries]
    assert owners == [("scale", False), (None, True)]


@pytest.mark.parametrize(
    ("version", "status", "words"),
    [
        ("0", 404, "not found"),
        ("abc", 500, 'strconv.ParseUint: parsing "abc": invalid syntax'),
        ("99999999", 504, "Too large resource version: 99999999"),
    ],
)
async def test_a_scale_of_a_version(
    client: Client, version: str, status: int, words: str, autojump_clock: object
) -> None:
    """Is read as the workload is, even if that is not there."""
    for path in ("deployments/none/scale", "deployments/none"):
        answer = await client.request("GET", f"{APPS}/{path}?resourceVersion={version}")
        assert answer.status == status
        assert words in answer.json()["message"]
