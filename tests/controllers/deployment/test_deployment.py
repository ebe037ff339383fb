"""Deployments on a server whose controllers run."""

from __future__ import annotations

from typing import Any

import trio

from kubetrio.client.client import Client
from kubetrio.controllers.deployment.annotations import REVISION
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import (
    NAMESPACE,
    events_of,
    make_ready,
    pods_of,
    template,
    workload,
)

Object = dict[str, Any]
NAMES = ("deployment-controller", "replicaset-controller")


async def change(client: Client, **spec: Any) -> None:
    """Change the spec."""
    kind = client.kind("apps/v1", "Deployment")
    await client.patch(kind, "w", {"spec": spec}, NAMESPACE)


async def deployment_of(running: Controlled) -> Object:
    """The Deployment when all is quiet."""
    await running.settled()
    client = running.client
    return await client.get(client.kind("apps/v1", "Deployment"), "w", NAMESPACE)


async def sizes_of(running: Controlled) -> dict[str, int]:
    """Sizes of the ReplicaSets by revision."""
    await running.settled()
    client = running.client
    found = await client.list(client.kind("apps/v1", "ReplicaSet"), NAMESPACE)
    return {
        one["metadata"]["annotations"][REVISION]: one["spec"]["replicas"] for one in found.items
    }


def reasons(deployment: Object) -> dict[str, str]:
    """Reasons of conditions by type."""
    return {one["type"]: one["reason"] for one in deployment["status"]["conditions"]}


async def roll(running: Controlled) -> list[dict[str, int]]:
    """Have pods become ready until nothing changes; returns the sizes in between."""
    seen = [await sizes_of(running)]
    while await make_ready(running.client, running.server.env.now()):
        seen.append(await sizes_of(running))
    return seen


async def test_a_deployment_gets_its_pods() -> None:
    """Its ReplicaSet has the name that kube-controller-manager gives it."""
    async with controlled(*NAMES) as running:
        client = running.client
        await client.create(workload("Deployment", replicas=3))
        deployment = await deployment_of(running)
        assert deployment["metadata"]["annotations"] == {REVISION: "1"}
        assert reasons(deployment) == {
            "Available": "MinimumReplicasUnavailable", "Progressing": "ReplicaSetUpdated",
        }  # fmt: skip
        replica_sets = await client.list(client.kind("apps/v1", "ReplicaSet"), NAMESPACE)
        assert [one["metadata"]["name"] for one in replica_sets.items] == ["w-6bfcccbf84"]
        await roll(running)
        deployment = await deployment_of(running)
        assert reasons(deployment) == {
            "Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable",
        }  # fmt: skip
        assert await events_of(client, "Deployment") == [
            ("Normal", "ScalingReplicaSet", "Scaled up replica set w-6bfcccbf84 from 0 to 3")
        ]


async def test_a_new_template_is_rolled_out_and_back() -> None:
    """Within the bounds; an old ReplicaSet is taken again, with a new revision."""
    async with controlled(*NAMES) as running:
        client = running.client
        await client.create(workload("Deployment", replicas=4))
        await roll(running)
        await change(client, template=template("j"))
        seen = await roll(running)
        assert all(3 <= sum(one.values()) <= 5 for one in seen)
        assert seen[-1] == {"1": 0, "2": 4}
        await change(client, template=template("i"))
        assert (await roll(running))[-1] == {"2": 0, "3": 4}
        replica_sets = await client.list(client.kind("apps/v1", "ReplicaSet"), NAMESPACE)
        (newest,) = [one for one in replica_sets.items if one["spec"]["replicas"]]
        notes = newest["metadata"]["annotations"]
        assert notes["deployment.kubernetes.io/revision-history"] == "1"
        assert notes["deployment.kubernetes.io/desired-replicas"] == "4"


async def test_recreate_ends_old_pods_before_it_makes_new_ones() -> None:
    """Also those that take their time."""
    async with controlled(*NAMES) as running:
        client = running.client
        strategy = {"type": "Recreate"}
        await client.create(
            workload("Deployment", replicas=2, strategy=strategy, template=template(nodeName="n"))
        )
        await roll(running)
        await change(client, template=template("j", nodeName="n"))
        assert await sizes_of(running) == {"1": 0}
        deleting = [pod["metadata"]["name"] for pod in await pods_of(client)]
        assert len(deleting) == 2
        for name in deleting:
            await client.delete(client.kind("v1", "Pod"), name, NAMESPACE, gracePeriodSeconds=0)
        assert await sizes_of(running) == {"1": 0, "2": 2}


async def test_a_paused_deployment_is_scaled_and_not_rolled_out() -> None:
    """Until it is resumed."""
    async with controlled(*NAMES) as running:
        client = running.client
        await client.create(workload("Deployment", replicas=2))
        await roll(running)
        await change(client, paused=True)
        await change(client, template=template("j"), replicas=3)
        assert await roll(running) == [{"1": 3}, {"1": 3}]
        assert reasons(await deployment_of(running))["Progressing"] == "DeploymentPaused"
        await change(client, paused=False)
        assert (await roll(running))[-1] == {"1": 0, "2": 3}
        assert reasons(await deployment_of(running))["Progressing"] == "NewReplicaSetAvailable"


async def test_a_rollout_in_progress_is_scaled_in_proportion() -> None:
    """Both ReplicaSets grow."""
    async with controlled(*NAMES) as running:
        client = running.client
        strategy = {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
        await client.create(workload("Deployment", replicas=10, strategy=strategy))
        await roll(running)
        await change(client, template=template("j"))
        assert await sizes_of(running) == {"1": 8, "2": 5}
        await change(client, replicas=15)
        assert await sizes_of(running) == {"1": 11, "2": 7}


async def test_old_replica_sets_go_beyond_the_history() -> None:
    """The oldest first."""
    async with controlled(*NAMES) as running:
        client = running.client
        await client.create(workload("Deployment", replicas=1, revisionHistoryLimit=1))
        for image in "ijkl":
            await change(client, template=template(image))
            await roll(running)
        await running.settled()
        assert await sizes_of(running) == {"3": 0, "4": 1}


async def test_no_progress_is_told(autojump_clock: object) -> None:
    """When the deadline has passed, without anything that happens."""
    async with controlled(*NAMES) as running:
        await running.client.create(workload("Deployment", replicas=1, progressDeadlineSeconds=60))
        await running.settled()
        await trio.sleep(70)
        deployment = await deployment_of(running)
        assert reasons(deployment)["Progressing"] == "ProgressDeadlineExceeded"
        (condition,) = (
            one for one in deployment["status"]["conditions"] if one["type"] == "Progressing"
        )
        assert condition["message"] == 'ReplicaSet "w-6bfcccbf84" has timed out progressing.'


async def test_annotations_and_readiness_reach_the_replica_set() -> None:
    """Without another revision."""
    async with controlled(*NAMES) as running:
        client = running.client
        await client.create(workload("Deployment", replicas=1))
        await running.settled()
        kind = client.kind("apps/v1", "Deployment")
        await client.patch(kind, "w", {"metadata": {"annotations": {"a": "b"}}}, NAMESPACE)
        await change(client, minReadySeconds=7)
        await running.settled()
        found = await client.list(client.kind("apps/v1", "ReplicaSet"), NAMESPACE)
        (only,) = found.items
        assert only["metadata"]["annotations"]["a"] == "b"
        assert only["spec"]["minReadySeconds"] == 7


async def test_a_replica_set_is_adopted_with_its_pods() -> None:
    """As when a Deployment was deleted and its ReplicaSets were left."""
    async with controlled(*NAMES) as running:
        client = running.client
        await client.create(workload("Deployment", replicas=2))
        await roll(running)
        kind = client.kind("apps/v1", "Deployment")
        before = {pod["metadata"]["uid"] for pod in await pods_of(client)}
        sets = client.kind("apps/v1", "ReplicaSet")
        await client.delete(kind, "w", NAMESPACE)
        nothing = {"metadata": {"ownerReferences": None}}
        await client.patch(sets, "w-6bfcccbf84", nothing, NAMESPACE)
        await client.create(workload("Deployment", replicas=2))
        deployment = await deployment_of(running)
        assert {pod["metadata"]["uid"] for pod in await pods_of(client)} == before
        assert reasons(deployment)["Progressing"] == "NewReplicaSetAvailable"
