"""Claims of StatefulSets' members on a server whose controller runs."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, make_ready, pods_of, workload

Object = dict[str, Any]
CLAIM: Object = {
    "metadata": {"name": "data", "labels": {"x": "y"}},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}


async def started(running: Controlled, **spec: Any) -> None:
    """Make a StatefulSet of two members, and have both be ready."""
    await running.client.create(
        workload("StatefulSet", replicas=2, serviceName="s", volumeClaimTemplates=[CLAIM], **spec)
    )
    await running.settled()
    while await make_ready(running.client, running.server.env.now()):
        await running.settled()


async def owners(running: Controlled) -> dict[str, list[str]]:
    """Kinds of the owners of claims."""
    await running.settled()
    client = running.client
    found = await client.list(client.kind("v1", "PersistentVolumeClaim"), NAMESPACE)
    return {
        one["metadata"]["name"]: [
            reference["kind"] for reference in one["metadata"].get("ownerReferences") or ()
        ]
        for one in found.items
    }


async def test_each_member_has_its_claims() -> None:
    """Which stay when it goes."""
    async with controlled("statefulset-controller") as running:
        client = running.client
        await started(running)
        assert await owners(running) == {"data-w-0": [], "data-w-1": []}
        (first, _) = await pods_of(client)
        assert first["spec"]["volumes"][0] == {
            "name": "data", "persistentVolumeClaim": {"claimName": "data-w-0"},
        }  # fmt: skip
        kind = client.kind("v1", "PersistentVolumeClaim")
        claim = await client.get(kind, "data-w-0", NAMESPACE)
        assert claim["metadata"]["labels"] == {"app": "web", "x": "y"}
        assert await events_of(client, "StatefulSet") == [
            ("Normal", "SuccessfulCreate", message)
            for number in range(2)
            for message in (
                f"Create Claim data-w-{number} Pod w-{number} in StatefulSet w success",
                f"Create Pod w-{number} in StatefulSet w successful",
            )
        ]
        scaled = {"spec": {"replicas": 0}}
        await client.patch(client.kind("apps/v1", "StatefulSet"), "w", scaled, NAMESPACE)
        assert await owners(running) == {"data-w-0": [], "data-w-1": []}
        assert await pods_of(client) == []


@pytest.mark.parametrize(
    ("scaled", "deleted", "before", "after"),
    [
        ("Retain", "Delete", ["StatefulSet"], ["StatefulSet"]),
        ("Delete", "Retain", [], ["Pod"]),
        ("Delete", "Delete", ["StatefulSet"], ["Pod"]),
    ],
)
async def test_claims_are_owned_as_the_policy_says(
    scaled: str, deleted: str, before: list[str], after: list[str]
) -> None:
    """The garbage collector deletes them then."""
    async with controlled("statefulset-controller") as running:
        client = running.client
        policy = {"whenScaled": scaled, "whenDeleted": deleted}
        await started(running, persistentVolumeClaimRetentionPolicy=policy)
        assert await owners(running) == {"data-w-0": before, "data-w-1": before}
        size = {"spec": {"replicas": 1}}
        await client.patch(client.kind("apps/v1", "StatefulSet"), "w", size, NAMESPACE)
        assert await owners(running) == {"data-w-0": before, "data-w-1": after}


async def test_a_member_waits_for_the_claim_of_its_former_pod() -> None:
    """It would go with that."""
    async with controlled("statefulset-controller", "garbage-collector-controller") as running:
        client = running.client
        policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
        await started(running, persistentVolumeClaimRetentionPolicy=policy)
        sets = client.kind("apps/v1", "StatefulSet")
        claims = client.kind("v1", "PersistentVolumeClaim")
        held = {"metadata": {"finalizers": ["example.com/hold"]}}
        await client.patch(claims, "data-w-1", held, NAMESPACE)
        await client.patch(sets, "w", {"spec": {"replicas": 1}}, NAMESPACE)
        await running.settled()
        await client.patch(sets, "w", {"spec": {"replicas": 2}}, NAMESPACE)
        await running.settled()
        assert len(await pods_of(client)) == 1
        await client.patch(claims, "data-w-1", {"metadata": {"finalizers": None}}, NAMESPACE)
        await running.settled()
        assert len(await pods_of(client)) == 2


async def test_a_claim_that_was_deleted_is_made_again_for_a_pod_that_waits() -> None:
    """Not for one that runs."""
    async with controlled("statefulset-controller") as running:
        client = running.client
        await started(running)
        assert await owners(running) == {"data-w-0": [], "data-w-1": []}
        (first, second) = await pods_of(client)
        assert first["status"]["phase"] == "Running"
        await client.patch(client.kind("v1", "Pod"), second["metadata"]["name"],
                           {"status": {"phase": "Pending"}}, NAMESPACE,
                           subresource="status")  # fmt: skip
        await running.settled()
        claims = client.kind("v1", "PersistentVolumeClaim")
        before = (await client.get(claims, "data-w-1", NAMESPACE))["metadata"]["uid"]
        for name in ("data-w-0", "data-w-1"):
            bare = {"metadata": {"finalizers": None}}  # as when no pod uses it
            await client.patch(claims, name, bare, NAMESPACE)
            await client.delete(claims, name, NAMESPACE)
        assert await owners(running) == {"data-w-1": []}
        assert (await client.get(claims, "data-w-1", NAMESPACE))["metadata"]["uid"] != before
