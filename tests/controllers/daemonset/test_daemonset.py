"""DaemonSets on a server whose controller runs."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import (
    NAMESPACE,
    events_of,
    make_end,
    make_ready,
    pods_of,
    template,
    workload,
)

Object = dict[str, Any]
NAME = "daemonset-controller"


async def add_node(client: Client, name: str, taints: list[Object] | None = None) -> None:
    """A node that is ready, which admission does not take a new one for."""
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": meta})
    await client.patch(client.kind("v1", "Node"), name, {"spec": {"taints": taints}})


async def nodes_with_pods(running: Controlled) -> list[str]:
    """Names of the nodes that pods wait for, when all is quiet."""
    await running.settled()
    found = list[str]()
    for pod in await pods_of(running.client):
        affinity = pod["spec"]["affinity"]["nodeAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        found += term["matchFields"][0]["values"]
    return sorted(found)


async def set_of(running: Controlled) -> Object:
    """The DaemonSet when all is quiet."""
    await running.settled()
    client = running.client
    return await client.get(client.kind("apps/v1", "DaemonSet"), "w", NAMESPACE)


async def change(running: Controlled, **spec: Any) -> None:
    """Change the spec."""
    kind = running.client.kind("apps/v1", "DaemonSet")
    await running.client.patch(kind, "w", {"spec": spec}, NAMESPACE)


async def test_each_node_has_a_pod() -> None:
    """Also one that comes later, and not one with a taint."""
    async with controlled(NAME) as running:
        client = running.client
        await add_node(client, "a")
        await add_node(client, "b", taints=[{"key": "x", "effect": "NoSchedule"}])
        await client.create(workload("DaemonSet"))
        assert await nodes_with_pods(running) == ["a"]
        await add_node(client, "c")
        assert await nodes_with_pods(running) == ["a", "c"]
        await make_ready(client, running.server.env.now())
        found = await set_of(running)
        assert found["status"] == {
            "currentNumberScheduled": 2, "numberMisscheduled": 0, "desiredNumberScheduled": 2,
            "numberReady": 2, "observedGeneration": 1, "updatedNumberScheduled": 2,
            "numberAvailable": 2,
        }  # fmt: skip
        taint = {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}}
        await client.patch(client.kind("v1", "Node"), "a", taint)
        assert await nodes_with_pods(running) == ["c"]
        await client.patch(client.kind("v1", "Node"), "b", {"spec": {"taints": None}})
        assert await nodes_with_pods(running) == ["b", "c"]
        components = {one["source"]["component"] for one in (
            await client.list(client.kind("v1", "Event"), NAMESPACE)).items}  # fmt: skip
        assert components == {"daemonset-controller"}


async def test_the_revision_has_the_name_that_kube_controller_manager_gives() -> None:
    """It is the hash of the template, as a Deployment's."""
    async with controlled(NAME) as running:
        client = running.client
        await add_node(client, "a")
        await client.create(workload("DaemonSet"))
        await running.settled()
        found = await client.list(client.kind("apps/v1", "ControllerRevision"), NAMESPACE)
        (revision,) = found.items
        assert revision["metadata"]["name"] == "w-6bfcccbf84"
        assert revision["metadata"]["labels"] == {
            "app": "web", "controller-revision-hash": "6bfcccbf84",
        }  # fmt: skip
        (pod,) = await pods_of(client)
        assert pod["metadata"]["labels"] == {
            "app": "web",
            "controller-revision-hash": "6bfcccbf84",
            "pod-template-generation": "1",
        }


async def test_an_update_replaces_pod_by_pod() -> None:
    """And goes back to a revision that is known."""
    async with controlled(NAME) as running:
        client, env = running.client, running.server.env
        for name in "abc":
            await add_node(client, name)
        await client.create(workload("DaemonSet", revisionHistoryLimit=1))
        await running.settled()
        await make_ready(client, env.now())
        for image in "jki":
            await change(running, template=template(image))
            await running.settled()
            for _ in range(3):
                images = [pod["spec"]["containers"][0]["image"] for pod in await pods_of(client)]
                waiting = [pod for pod in await pods_of(client) if pod["status"]["phase"] ==
                           "Pending"]  # fmt: skip
                assert (len(images), len(waiting)) == (3, 1)
                await make_ready(client, env.now())
                await running.settled()
        assert {pod["spec"]["containers"][0]["image"] for pod in await pods_of(client)} == {"i"}
        found = await client.list(client.kind("apps/v1", "ControllerRevision"), NAMESPACE)
        assert sorted(one["revision"] for one in found.items) == [3, 4]
        assert (await set_of(running))["status"]["updatedNumberScheduled"] == 3


async def test_on_delete_nothing_is_replaced() -> None:
    """Until a pod is deleted."""
    async with controlled(NAME) as running:
        client = running.client
        await add_node(client, "a")
        await client.create(workload("DaemonSet", updateStrategy={"type": "OnDelete"}))
        await running.settled()
        await change(running, template=template("j"))
        await running.settled()
        (pod,) = await pods_of(client)
        assert pod["spec"]["containers"][0]["image"] == "i"
        await client.delete(client.kind("v1", "Pod"), pod["metadata"]["name"], NAMESPACE)
        await running.settled()
        (pod,) = await pods_of(client)
        assert pod["spec"]["containers"][0]["image"] == "j"


async def test_a_failed_pod_is_deleted_later_and_later(autojump_clock: MockClock) -> None:
    """So that a node that refuses pods gets few."""
    async with controlled(NAME) as running:
        client = running.client
        await add_node(client, "a")
        await client.create(workload("DaemonSet"))
        made = set[str]()
        for _ in range(4):
            await running.settled()
            (pod,) = await pods_of(client)
            made.add(pod["metadata"]["name"])
            await make_end(client, pod["metadata"]["name"], "Failed")
            await trio.sleep(1.1)
        await running.settled()
        made |= {pod["metadata"]["name"] for pod in await pods_of(client)}
        assert 2 <= len(made) <= 4
        await trio.sleep(20)
        (pod,) = await pods_of(client)
        assert pod["status"]["phase"] == "Pending"
        reasons = {reason for _, reason, _ in await events_of(client, "DaemonSet")}
        assert reasons == {"SuccessfulCreate", "FailedDaemonPod", "SuccessfulDelete"}


async def test_a_name_that_is_taken_is_a_collision() -> None:
    """Another hash is tried."""
    async with controlled(NAME) as running:
        client = running.client
        other = {
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": {},
            "metadata": {"name": "w-6bfcccbf84", "namespace": NAMESPACE},
        }  # fmt: skip
        await client.create(other)
        await add_node(client, "a")
        await client.create(workload("DaemonSet"))
        await running.settled()
        await trio.sleep(0.1)
        assert (await set_of(running))["status"]["collisionCount"] == 1
        assert len(await pods_of(client)) == 1
