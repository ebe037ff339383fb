"""ReplicationControllers on a server whose controller runs."""

from __future__ import annotations

from kubetrio.testing.controllers import controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, pods_of, workload


async def test_pods_are_made_by_labels() -> None:
    """Its status has no number of pods that are being deleted."""
    async with controlled("replicationcontroller-controller") as running:
        client = running.client
        owner = workload("ReplicationController", api_version="v1", replicas=2)
        owner["spec"]["selector"] = {"app": "web"}
        await client.create(owner)
        await running.settled()
        kind = client.kind("v1", "ReplicationController")
        found = await client.get(kind, "w", NAMESPACE)
        assert found["status"] == {
            "replicas": 2, "fullyLabeledReplicas": 2, "observedGeneration": 1,
        }  # fmt: skip
        for pod in await pods_of(client):
            (reference,) = pod["metadata"]["ownerReferences"]
            assert (reference["apiVersion"], reference["kind"]) == ("v1", "ReplicationController")
        events = await client.list(client.kind("v1", "Event"), NAMESPACE)
        assert {one["source"]["component"] for one in events.items} == {"replication-controller"}
        assert len(await events_of(client, "ReplicationController")) == 2
