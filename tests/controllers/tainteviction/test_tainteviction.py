"""Pods leave nodes with taints."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, pods_of, template

Object = dict[str, Any]
NAME = "taint-eviction-controller"
TAINT = {"key": "gone", "effect": "NoExecute"}


async def taint(client: Client, *taints: Object) -> None:
    """Give the node these taints and no others."""
    await client.patch(client.kind("v1", "Node"), "n", {"spec": {"taints": list(taints) or None}})


async def place(running: Controlled, *tolerations: Object) -> None:
    """Make the node, and a pod on it."""
    client = running.client
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    await taint(client)
    spec = template(nodeName="n", tolerations=list(tolerations))["spec"]
    meta = {"name": "p", "namespace": NAMESPACE}
    await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


async def leaving(running: Controlled) -> bool:
    """Whether the pod is being deleted, when all is quiet."""
    await running.settled()
    (pod,) = await pods_of(running.client)
    return "deletionTimestamp" in pod["metadata"]


async def test_a_pod_that_stands_nothing_is_deleted() -> None:
    """With a condition and an event that say why."""
    async with controlled(NAME) as running:
        client = running.client
        await place(running)
        await taint(client, {**TAINT, "effect": "NoSchedule"})
        assert not await leaving(running)
        await taint(client, TAINT)
        assert await leaving(running)
        (pod,) = await pods_of(client)
        (condition,) = (
            one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget"
        )
        assert (condition["status"], condition["reason"]) == ("True", "DeletionByTaintManager")
        assert await events_of(client, "Pod") == [
            ("Normal", "TaintManagerEviction", "Marking for deletion Pod default/p")
        ]


@pytest.mark.parametrize("back", [False, True])
async def test_a_pod_may_stand_a_taint_for_a_while(autojump_clock: MockClock, back: bool) -> None:
    """It stays when the taint goes in time."""
    async with controlled(NAME) as running:
        await place(running, {**TAINT, "operator": "Exists", "tolerationSeconds": 60})
        await taint(running.client, TAINT)
        await trio.sleep(50)
        assert not await leaving(running)
        if back:
            await taint(running.client)
        await trio.sleep(11)
        assert await leaving(running) is not back
        messages = [message for _, _, message in await events_of(running.client, "Pod")]
        what = "Cancelling deletion of" if back else "Marking for deletion"
        assert messages == [f"{what} Pod default/p"]


async def test_a_pod_that_stands_a_taint_stays(autojump_clock: MockClock) -> None:
    """For ever."""
    async with controlled(NAME) as running:
        await place(running, {"key": "gone", "operator": "Exists"})
        await taint(running.client, TAINT)
        await trio.sleep(3600)
        assert not await leaving(running)
        assert await events_of(running.client, "Pod") == []


async def test_a_pod_that_comes_later_is_deleted_too() -> None:
    """Onto a node that has the taint."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        await taint(client, TAINT)
        spec = template(nodeName="n")["spec"]
        meta = {"name": "p", "namespace": NAMESPACE}
        await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        assert await leaving(running)
