"""Pods that nobody else deletes."""

from __future__ import annotations

from typing import Any

import trio

from kubetrio.client.client import Client
from kubetrio.controllers.podgc import PodGC
from kubetrio.testing.controllers import Controlled, context_of, controlled

Object = dict[str, Any]
NAME = "pod-garbage-collector-controller"


async def add_pod(client: Client, name: str, node: str = "", phase: str = "") -> None:
    """A pod on a node, in a phase."""
    spec: Object = {"containers": [{"name": "c", "image": "i"}]}
    await client.create({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "finalizers": ["example.com/seen"]},
        "spec": {**spec, **({"nodeName": node} if node else {})},
    })  # fmt: skip
    if phase:
        kind = client.kind("v1", "Pod")
        status = {"status": {"phase": phase}}
        await client.patch(kind, name, status, "default", subresource="status")


async def add_node(client: Client, name: str, **spec: Any) -> None:
    """A node."""
    await client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec}
    )


async def pods_of(running: Controlled) -> dict[str, Object]:
    """Pods by name when all is quiet; a finalizer keeps those that are deleted."""
    await running.settled()
    found = await running.client.list(running.client.kind("v1", "Pod"), "default")
    return {one["metadata"]["name"]: one for one in found.items}


def ended(pod: Object) -> bool:
    """Whether somebody deleted a pod at once."""
    return pod["metadata"].get("deletionGracePeriodSeconds") == 0


async def test_pods_go_with_their_node_after_a_while(autojump_clock: object) -> None:
    """Forty seconds later, with a condition that says why; those of others stay."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        for node in ("n", "m"):
            await add_node(client, node)
            await add_pod(client, node, node, "Running")
        await trio.sleep(100)
        await client.delete(client.kind("v1", "Node"), "n")
        await trio.sleep(38)
        assert not ended((await pods_of(running))["n"])
        await trio.sleep(4)
        pods = await pods_of(running)
        assert ended(pods["n"])
        assert not ended(pods["m"])
        status = pods["n"]["status"]
        assert status["phase"] == "Failed"
        condition = {
            name: status["conditions"][0][name]
            for name in ("type", "status", "reason", "message", "observedGeneration")
        }
        assert condition == {
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists", "observedGeneration": 1,
        }  # fmt: skip


async def test_a_node_that_comes_back_keeps_its_pods(autojump_clock: object) -> None:
    """Or one that is only late."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        await add_pod(client, "p", "n", "Running")
        await trio.sleep(20)
        await add_node(client, "n")
        await trio.sleep(100)
        assert not ended((await pods_of(running))["p"])


async def test_pods_without_a_node_are_ended(autojump_clock: object) -> None:
    """No kubelet would; who deleted them has a moment to do it."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        await add_pod(client, "p")
        await add_pod(client, "q")
        await client.delete(client.kind("v1", "Pod"), "p", "default", gracePeriodSeconds=30)
        assert (await pods_of(running))["p"]["status"]["phase"] == "Pending"
        await trio.sleep(6)
        pods = await pods_of(running)
        assert ended(pods["p"])
        assert pods["p"]["status"]["phase"] == "Failed"
        assert "deletionTimestamp" not in pods["q"]["metadata"]


async def test_pods_on_abandoned_nodes_are_ended() -> None:
    """Those that are being deleted, when somebody says that the node does not come back."""
    async with controlled(NAME) as running:
        client = running.client
        await add_node(client, "n")
        for name in "pq":
            await add_pod(client, name, "n", "Running")
        await client.delete(client.kind("v1", "Pod"), "p", "default", gracePeriodSeconds=30)
        assert not ended((await pods_of(running))["p"])
        taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
        await client.patch(client.kind("v1", "Node"), "n", {"spec": {"taints": [taint]}})
        pods = await pods_of(running)
        assert ended(pods["p"])
        assert "deletionTimestamp" not in pods["q"]["metadata"]


async def test_the_oldest_of_too_many_go() -> None:
    """Pods that are over count, others do not."""
    async with controlled() as running:
        collection = PodGC(context_of(running.server), threshold=2)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(collection.run)
            for number, phase in enumerate(["Running", "Succeeded", "Failed", "Succeeded"]):
                await add_pod(running.client, f"p{number}", "", phase)
            found = {name: ended(pod) for name, pod in (await pods_of(running)).items()}
            # One that a finalizer keeps is over all the same, and not deleted twice.
            assert found == {"p0": False, "p1": True, "p2": False, "p3": False}
            nursery.cancel_scope.cancel()
