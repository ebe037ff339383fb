"""The verbs over HTTP: names, statuses, what deletions answer."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (named("two"), "the name of the object (two) does not match the name on the URL (one)"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap"},
            "the name of the object (one based on URL) was undeterminable: name must be provided",
        ),
        (
            named("one", namespace="other"),
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
async def test_a_put_names_the_object_of_the_path(client: Client, body: Any, words: str) -> None:
    """400 in kube-apiserver's words."""
    answer = await client.request("PUT", CONFIGMAPS + "/one", json=body)
    assert (answer.status, answer.json()["message"]) == (400, words)


async def test_what_a_deletion_answers(client: Client) -> None:
    """A Status with the uid of what is gone; the object while finalizers hold it."""
    made = (await client.request("POST", CONFIGMAPS, json=named("one"))).json()
    gone = (await client.request("DELETE", CONFIGMAPS + "/one")).json()
    assert (gone["kind"], gone["status"]) == ("Status", "Success")
    uid = made["metadata"]["uid"]
    assert gone["details"] == {"name": "one", "kind": "configmaps", "uid": uid}
    await client.request("POST", CONFIGMAPS, json=named("two", finalizers=["a/b"]))
    held = (await client.request("DELETE", CONFIGMAPS + "/two")).json()
    assert held["metadata"]["deletionTimestamp"]


async def test_a_deleted_pod_is_shown(client: Client) -> None:
    """Its kind answers with the object."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert (await client.request("POST", PODS, json=pod)).status == 201
    gone = (await client.request("DELETE", PODS + "/p")).json()
    assert (gone["kind"], gone["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)


async def test_deleting_a_collection(client: Client) -> None:
    """What the selector chooses, shown as a list."""
    for number in range(4):
        obj = named(f"c{number}", labels={"even": str(number % 2 == 0)})
        await client.request("POST", CONFIGMAPS, json=obj)
    answer = await client.request("DELETE", CONFIGMAPS + "?labelSelector=even%3DTrue")
    listed = answer.json()
    assert listed["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["c0", "c2"]
    left = (await client.request("GET", CONFIGMAPS)).json()["items"]
    assert [item["metadata"]["name"] for item in left] == ["c1", "c3"]


async def test_a_limit_of_a_deletion(client: Client) -> None:
    """Deletes no more than that."""
    for number in range(4):
        await client.request("POST", CONFIGMAPS, json=named(f"c{number}"))
    await client.request("DELETE", CONFIGMAPS + "?limit=3")
    left = (await client.request("GET", CONFIGMAPS)).json()["items"]
    assert [item["metadata"]["name"] for item in left] == ["c3"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", CONFIGMAPS), ("PUT", CONFIGMAPS + "/one"), ("DELETE", CONFIGMAPS + "/one"),
     ("DELETE", CONFIGMAPS)],
)  # fmt: skip
async def test_dry_runs_store_nothing(
    server: InProcess, client: Client, method: str, path: str
) -> None:
    """Of any verb."""
    await client.request("POST", CONFIGMAPS, json=named("one"))
    revision = server.api.store.revision
    body = (
        None
        if method == "DELETE"
        else named("two" if method == "POST" else "one", labels={"a": "b"})
    )
    answer = await client.request(method, path + "?dryRun=All", json=body)
    assert answer.status in (200, 201)
    assert server.api.store.revision == revision


async def test_a_job_deleted_without_a_policy_warns_of_its_pods(client: Client) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    for query, warned in (("", 1), ("?propagationPolicy=Background", 0)):
        for path in (f"{jobs}/none{query}", f"{jobs}{query}"):
            answer = await client.request("DELETE", path)
            text = answer.head.get(b"warning")
            assert text.count(b"child pods are preserved by default") == warned
