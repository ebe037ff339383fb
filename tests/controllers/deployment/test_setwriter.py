"""ReplicaSets that cannot be made, and what Deployments say of it."""

from __future__ import annotations

from typing import Any

import trio

from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, pods_of, workload

Object = dict[str, Any]
NAMES = ("deployment-controller", "replicaset-controller")


async def deployment_of(running: Controlled) -> Object:
    """The Deployment when all is quiet."""
    await running.settled()
    client = running.client
    return await client.get(client.kind("apps/v1", "Deployment"), "w", NAMESPACE)


async def test_a_name_that_is_taken_is_a_collision() -> None:
    """Another hash is tried."""
    async with controlled(*NAMES) as running:
        client = running.client
        other = workload("ReplicaSet", "w-6bfcccbf84", replicas=0)
        other["spec"]["selector"]["matchLabels"] = {"app": "web", "a": "b"}
        other["spec"]["template"]["metadata"]["labels"]["a"] = "b"
        await client.create(other)
        await client.create(workload("Deployment", replicas=1))
        await running.settled()
        await trio.sleep(0.1)
        deployment = await deployment_of(running)
        assert deployment["status"]["collisionCount"] == 1
        assert len(await pods_of(client)) == 1


async def test_a_replica_set_that_is_refused_is_told(autojump_clock: object) -> None:
    """By a condition and an event; it is tried again."""
    async with controlled(*NAMES) as running:
        client = running.client
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": NAMESPACE},
            "spec": {"hard": {"count/replicasets.apps": "0"}},
        }
        await client.create(quota)
        used = {"hard": {"count/replicasets.apps": "0"}, "used": {"count/replicasets.apps": "0"}}
        kind = client.kind("v1", "ResourceQuota")
        await client.patch(kind, "q", {"status": used}, NAMESPACE, subresource="status")
        await client.create(workload("Deployment", replicas=1))
        deployment = await deployment_of(running)
        (condition,) = deployment["status"]["conditions"]
        assert (condition["reason"], condition["status"]) == ("ReplicaSetCreateError", "False")
        assert condition["message"].startswith('Failed to create new replica set "w-6bfcccbf84": ')
        event = (await events_of(client, "Deployment"))[0]
        assert event == ("Warning", "ReplicaSetCreateError", condition["message"])
        await client.delete(kind, "q", NAMESPACE)
        await trio.sleep(60)
        await running.settled()
        assert len(await pods_of(client)) == 1
