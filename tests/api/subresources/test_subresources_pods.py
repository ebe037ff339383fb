"""Bindings and evictions, on a whole server."""

from __future__ import annotations

from typing import Any

import pytest
from subresource_objects import deployment, pod

from kubetrio.testing.client import Client

PODS = "/api/v1/namespaces/default/pods"

APPS = "/apis/apps/v1/namespaces/default"

MERGE = {"Content-Type": "application/merge-patch+json"}


async def test_writes_may_name_the_object_they_mean(client: Client) -> None:
    """By its uid; kube-apiserver tells where it is stored."""
    workload = (await client.request("POST", f"{APPS}/deployments", json=deployment("d"))).json()
    bare = (await client.request("POST", PODS, json=pod("p"))).json()
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d", "uid": "zz"},
        "spec": {"replicas": -1},
    }
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "uid": "zz"},
        "target": {"name": "n"},
    }
    for answer, resource, stored in (
        (
            await client.request("PUT", f"{APPS}/deployments/d/scale", json=scale),
            "deployments.apps",
            workload,
        ),
        (await client.request("POST", f"{PODS}/p/binding", json=binding), "pods", bare),
    ):
        name, plural = stored["metadata"]["name"], resource.partition(".")[0]
        assert (answer.status, answer.json()["message"]) == (
            409,
            (
                f'Operation cannot be fulfilled on {resource} "{name}": StorageError: invalid '
                f"object, Code: 4, Key: /registry/{plural}/default/{name}, ResourceVersion: 0, "
                "AdditionalErrorMsg: Precondition failed: UID in precondition: zz, UID in object "
                f"meta: {stored['metadata']['uid']}"
            ),
        )


async def test_an_eviction_deletes_if_the_budget_allows(client: Client) -> None:
    """A running pod under a budget without disruptions stays."""
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    budget = {**kind, "metadata": {"name": "b"}, "spec": spec}
    await client.request("POST", budgets, json=budget)
    await client.request("POST", PODS, json=pod("p"))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    path = PODS + "/p"
    await client.request("PATCH", path + "/status", headers=MERGE, json={"status": ready})
    counted = {"status": {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 1}}
    await client.request("PATCH", budgets + "/b/status", headers=MERGE, json=counted)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    refused = await client.request("POST", path + "/eviction", json=eviction)
    assert refused.status == 429
    allowed = {"status": {"disruptionsAllowed": 1}}
    await client.request("PATCH", budgets + "/b/status", headers=MERGE, json=allowed)
    done = await client.request("POST", path + "/eviction", json=eviction)
    assert done.json()["code"] == 201
    assert (await client.request("GET", path)).status == 404
    after = (await client.request("GET", budgets + "/b")).json()
    assert list(after["status"]["disruptedPods"]) == ["p"]


async def test_an_older_version_of_eviction(client: Client) -> None:
    """policy/v1beta1 does as well as policy/v1 (EvictionREST.AcceptsGroupVersion)."""
    await client.request("POST", PODS, json=pod("old"))
    body = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "old"}}
    path = f"{PODS}/old/eviction"
    unknown = await client.request("POST", path + "?fieldValidation=Strict", json={**body, "x": 1})
    assert unknown.json()["message"] == (
        'Eviction in version "v1beta1" cannot be handled as a Eviction: '
        'strict decoding error: unknown field "x"'
    )
    other = await client.request("POST", PODS, json=body)
    assert other.json()["message"].endswith(
        "converting (v1beta1.Eviction) to (core.Pod): unknown conversion"
    )
    assert (await client.request("POST", path, json=body)).status == 201
    assert (await client.request("GET", f"{PODS}/old")).status == 404


@pytest.mark.parametrize(
    ("chosen", "name", "status", "message"),
    [
        (
            {"ignoreStoreReadErrorWithClusterBreakingPotential": True, "dryRun": ["x"]},
            "q",
            422,
            (
                'Eviction.policy "q" is invalid: '
                "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: "
                "Invalid value: true: can not be set for pod eviction, "
                "try after removing the option"
            ),
        ),
        (
            {"dryRun": ["x"]},
            "q",
            500,
            "Non-matching dry-run options in request and content: [All] and [x]",
        ),
        ({"dryRun": ["x"]}, "r", 400, "name in URL does not match name in Eviction object"),
    ],
)
async def test_evictions_that_make_no_sense(
    client: Client, chosen: dict[str, Any], name: str, status: int, message: str
) -> None:
    """The name is looked at first, then the options; before the pod is looked for."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    path = f"{PODS}/q/eviction?dryRun=All"
    got = await client.request("POST", path, json={**body, "deleteOptions": chosen})
    assert (got.status, got.json()["message"]) == (status, message)
