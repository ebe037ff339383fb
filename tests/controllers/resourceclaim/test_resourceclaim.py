"""Claims of devices from their templates to their end, with a scheduler and simulated pods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from trio.testing import MockClock

from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.devices import (
    claim,
    device,
    device_class,
    pod,
    request,
    resource_slice,
    template,
)
from kubetrio.testing.workloads import NAMESPACE, events_of

Object = dict[str, Any]
NAMES = ("resourceclaim-controller", "kube-scheduler", "garbage-collector-controller")
SUBREQUESTS = (
    "resource claim default/c, request r: has subrequests, but the DRAPrioritizedList feature is "
    "disabled"
)
HELPS = "Preemption is not helpful for scheduling"


@pytest.fixture
async def cluster(mock_clock: MockClock) -> AsyncIterator[Controlled]:
    """A server with two nodes of two devices each."""
    del mock_clock
    async with controlled(*NAMES) as running:
        for name in ("n0", "n1"):
            amounts = {"cpu": "8", "memory": "8Gi", "pods": "100"}
            await running.client.create({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                "status": {"capacity": amounts, "allocatable": amounts},
            })  # fmt: skip
            free = {"spec": {"taints": None}}
            await running.client.patch(running.client.kind("v1", "Node"), name, free)
            slices = resource_slice(name, device("a"), device("b"), node=name)
            await running.client.create(slices)
        await running.client.create(device_class())
        await running.settled()
        yield running


async def make(running: Controlled, *objects: Object) -> None:
    """Make objects."""
    for one in objects:
        await running.client.create(one)
    await running.settled()


async def claims_of(running: Controlled) -> list[Object]:
    """All claims."""
    kind = running.client.kind("resource.k8s.io/v1", "ResourceClaim")
    return list((await running.client.list(kind, NAMESPACE)).items)


async def pod_of(running: Controlled, name: str) -> Object:
    """A pod."""
    return await running.client.get(running.client.kind("v1", "Pod"), name, NAMESPACE)


async def message_of(running: Controlled, name: str) -> str:
    """Why a pod has no node."""
    found = await pod_of(running, name)
    conditions = found["status"].get("conditions") or []
    return next((one.get("message", "") for one in conditions if one["status"] == "False"), "")


async def later(running: Controlled, clock: MockClock) -> None:
    """Let back-offs pass."""
    clock.jump(20)
    await running.settled()


async def end(running: Controlled, name: str) -> None:
    """Have a pod end."""
    kind, over = running.client.kind("v1", "Pod"), {"status": {"phase": "Succeeded"}}
    await running.client.patch(kind, name, over, NAMESPACE, subresource="status")
    await running.settled()


async def test_a_claim_of_a_template(cluster: Controlled) -> None:
    """It is made, gets a device, is reserved, and goes when the pod has ended."""
    await make(cluster, template(), pod("p", template_name="one"))
    (made,) = await claims_of(cluster)
    name = made["metadata"]["name"]
    assert name.startswith("p-dev-")
    assert made["metadata"]["annotations"] == {"resource.kubernetes.io/pod-claim-name": "dev"}
    placed = await pod_of(cluster, "p")
    node = placed["spec"]["nodeName"]
    assert placed["status"]["resourceClaimStatuses"] == [{"name": "dev", "resourceClaimName": name}]
    (result,) = made["status"]["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == (node, "a")
    uid = placed["metadata"]["uid"]
    assert made["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": uid}]
    assert made["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    await end(cluster, "p")
    assert await claims_of(cluster) == []


async def test_a_claim_of_a_user_is_shared_and_stays(
    cluster: Controlled, mock_clock: MockClock
) -> None:
    """Its pods are on one node; after the last of them it has no device."""
    await make(cluster, claim("c"), pod("p", claim_name="c"), pod("q", claim_name="c"))
    await later(cluster, mock_clock)
    nodes = {(await pod_of(cluster, name))["spec"]["nodeName"] for name in ("p", "q")}
    assert len(nodes) == 1
    await end(cluster, "p")
    (left,) = await claims_of(cluster)
    assert [one["name"] for one in left["status"]["reservedFor"]] == ["q"]
    kind = cluster.client.kind("v1", "Pod")
    await cluster.client.delete(kind, "q", NAMESPACE, gracePeriodSeconds=0)
    await cluster.settled()
    (left,) = await claims_of(cluster)
    assert left.get("status", {}) == {}
    assert "finalizers" not in left["metadata"]


async def test_devices_are_given_once(cluster: Controlled) -> None:
    """A fifth pod waits for one of four devices, and gets it when it is free."""
    await make(cluster, template(), *(pod(f"p{one}", template_name="one") for one in range(5)))
    waiting = [
        name
        for name in (f"p{one}" for one in range(5))
        if "nodeName" not in (await pod_of(cluster, name))["spec"]
    ]
    assert len(waiting) == 1
    text = "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, "
    text += f"preemption: 0/2 nodes are available: 2 {HELPS}."
    assert await message_of(cluster, waiting[0]) == text
    used = {
        (one["pool"], one["device"])
        for made in await claims_of(cluster)
        for one in (made["status"].get("allocation") or {"devices": {"results": []}})["devices"][
            "results"
        ]
    }
    assert len(used) == 4


async def test_a_template_that_comes_later(cluster: Controlled) -> None:
    """The pod says what it waits for, and goes on."""
    await make(cluster, pod("p", template_name="one"))
    text = '0/2 nodes are available: pod "default/p": ResourceClaim not created yet.'
    assert (await message_of(cluster, "p")).startswith(text)
    told = await events_of(cluster.client, "Pod")
    assert ("Warning", "FailedResourceClaimCreation") in [one[:2] for one in told]
    await make(cluster, template())
    assert "nodeName" in (await pod_of(cluster, "p"))["spec"]


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([], 'could not find ResourceClaim "default/c"'),
        ([claim("c", request(deviceClassName="none"))],
         "request r: device class none does not exist"),
        ([claim("c", {"name": "r", "firstAvailable": [
            {"name": "s", "deviceClassName": "gpu"}]})],
         SUBREQUESTS),
    ],
)  # fmt: skip
async def test_claims_that_no_node_can_meet(
    cluster: Controlled, objects: list[Object], text: str
) -> None:
    """The pod says why."""
    await make(cluster, *objects, pod("p", claim_name="c"))
    found = await message_of(cluster, "p")
    begin = f"0/2 nodes are available: {text}. no new claims to deallocate, preemption: "
    assert found.startswith(begin)


async def test_devices_of_another_node_are_taken_back(
    cluster: Controlled, mock_clock: MockClock
) -> None:
    """If no pod uses them; then the claim gets others, where the pod can be."""
    await make(cluster, claim("c"))
    kind = cluster.client.kind("resource.k8s.io/v1", "ResourceClaim")
    row = {"key": "metadata.name", "operator": "In", "values": ["n0"]}
    result = {"request": "r", "driver": "gpu.example", "pool": "n0", "device": "b"}
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [row]}]},
    }
    has = {"status": {"allocation": allocation}}
    await cluster.client.patch(kind, "c", has, NAMESPACE, subresource="status")
    nodes = cluster.client.kind("v1", "Node")
    await cluster.client.patch(nodes, "n0", {"spec": {"unschedulable": True}})
    await make(cluster, pod("q", claim_name="c"))
    text = "0/2 nodes are available: 1 node(s) were unschedulable, 1 resourceclaim not available "
    text += "on the node. deallocation of ResourceClaim completed, preemption: "
    assert (await message_of(cluster, "q")).startswith(text)
    await later(cluster, mock_clock)
    (moved,) = await claims_of(cluster)
    assert moved["status"]["allocation"]["devices"]["results"][0]["pool"] == "n1"
    assert (await pod_of(cluster, "q"))["spec"]["nodeName"] == "n1"
