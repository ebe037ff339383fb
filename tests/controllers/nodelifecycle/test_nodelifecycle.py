"""Nodes that are silent, with a clock that jumps."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.machinery.timestamps import format_micro, format_time
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, make_ready, pods_of, template

Object = dict[str, Any]
NAME = "node-lifecycle-controller"


async def add_node(running: Controlled, name: str, ready: str = "True") -> None:
    """A node whose kubelet said once how it is."""
    client = running.client
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    time = format_time(running.server.env.now())
    condition = {"type": "Ready", "status": ready, "lastHeartbeatTime": time,
                 "lastTransitionTime": time, "reason": "r", "message": "m"}  # fmt: skip
    status = {"status": {"conditions": [condition]}}
    await client.patch(client.kind("v1", "Node"), name, status, subresource="status")


async def keep_alive(running: Controlled, *names: str) -> None:
    """Renew the Leases of nodes for ever."""
    client = running.client
    kind = client.kind("coordination.k8s.io/v1", "Lease")
    for name in names:
        await client.create(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": name, "namespace": "kube-node-lease"},
             "spec": {"holderIdentity": name, "leaseDurationSeconds": 40}}
        )  # fmt: skip
    while True:
        for name in names:
            spec = {"spec": {"renewTime": format_micro(running.server.env.now())}}
            await client.patch(kind, name, spec, "kube-node-lease")
        await trio.sleep(10)


async def taints_of(client: Client, name: str) -> set[tuple[str, str]]:
    """Keys, without their prefix, and effects."""
    node = await client.get(client.kind("v1", "Node"), name)
    return {
        (one["key"].removeprefix("node.kubernetes.io/"), one["effect"])
        for one in node["spec"].get("taints") or ()
    }


async def ready_of(client: Client, name: str) -> tuple[str, str]:
    """Status and reason of the condition."""
    node = await client.get(client.kind("v1", "Node"), name)
    (found,) = (one for one in node["status"]["conditions"] if one["type"] == "Ready")
    return found["status"], found["reason"]


async def test_a_silent_node_is_unknown_and_its_pods_are_not_ready(
    autojump_clock: MockClock,
) -> None:
    """It gets taints, which go when it is heard of again; one that is heard of stays."""
    async with controlled(NAME) as running, trio.open_nursery() as nursery:
        client = running.client
        for name in "ab":
            await add_node(running, name)
        nursery.start_soon(keep_alive, running, "b")
        meta = {"name": "p", "namespace": NAMESPACE}
        spec = template(nodeName="a")["spec"]
        await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        await make_ready(client, running.server.env.now())
        await trio.sleep(30)
        assert await taints_of(client, "a") == set()
        await trio.sleep(40)
        assert await ready_of(client, "a") == ("Unknown", "NodeStatusUnknown")
        assert await taints_of(client, "a") == {
            ("unreachable", "NoSchedule"), ("unreachable", "NoExecute"),
        }  # fmt: skip
        assert await ready_of(client, "b") == ("True", "r")
        (pod,) = await pods_of(client)
        assert [one["status"] for one in pod["status"]["conditions"]] == ["False"]
        assert await events_of(client, "Pod") == [("Warning", "NodeNotReady", "Node is not ready")]
        time = format_time(running.server.env.now())
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": time}
        status = {"status": {"conditions": [condition]}}
        await client.patch(client.kind("v1", "Node"), "a", status, subresource="status")
        await trio.sleep(6)
        assert await taints_of(client, "a") == set()
        events = await client.list(client.kind("v1", "Event"), "default")
        told = {one["message"] for one in events.items if one["involvedObject"].get("name") == "a"}
        assert told == {
            "Node a event: Registered Node a in Controller",
            "Node a status is now: NodeNotReady",
        }
        nursery.cancel_scope.cancel()


async def test_where_all_are_lost_nobody_is_evicted(autojump_clock: MockClock) -> None:
    """It is more likely that the network is."""
    async with controlled(NAME) as running:
        for name in "abc":
            await add_node(running, name)
        await trio.sleep(120)
        for name in "abc":
            assert await ready_of(running.client, name) == ("Unknown", "NodeStatusUnknown")
            assert await taints_of(running.client, name) == {("unreachable", "NoSchedule")}


async def test_a_node_that_never_said_how_it_is_gets_longer(autojump_clock: MockClock) -> None:
    """A minute."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        await trio.sleep(58)
        node = await client.get(client.kind("v1", "Node"), "n")
        assert "conditions" not in node["status"]
        await trio.sleep(10)
        assert await ready_of(client, "n") == ("Unknown", "NodeStatusNeverUpdated")


async def test_conditions_and_cordons_are_taints() -> None:
    """At once."""
    async with controlled(NAME) as running:
        client = running.client
        await add_node(running, "n", "False")
        cordon = {"spec": {"unschedulable": True}, "metadata": {"labels": {
            "kubernetes.io/os": "linux"}}}  # fmt: skip
        await client.patch(client.kind("v1", "Node"), "n", cordon)
        await running.settled()
        assert await taints_of(client, "n") == {
            ("not-ready", "NoSchedule"), ("unschedulable", "NoSchedule"),
        }  # fmt: skip
        node = await client.get(client.kind("v1", "Node"), "n")
        assert node["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux"


async def test_nodes_get_taints_one_after_another(autojump_clock: MockClock) -> None:
    """One in ten seconds; a node that is gone is told."""
    async with controlled(NAME) as running, trio.open_nursery() as nursery:
        client = running.client
        for name in "abcdef":
            await add_node(running, name)
        nursery.start_soon(keep_alive, running, *"abcd")
        await trio.sleep(57)

        async def evicting() -> int:
            return sum(
                [("unreachable", "NoExecute") in await taints_of(client, name) for name in "ef"]
            )

        assert await evicting() == 1
        await trio.sleep(15)
        assert await evicting() == 2
        await client.delete(client.kind("v1", "Node"), "f")
        await trio.sleep(6)
        events = await client.list(client.kind("v1", "Event"), "default")
        reasons = {one["reason"] for one in events.items}
        assert "RemovingNode" in reasons
        nursery.cancel_scope.cancel()
