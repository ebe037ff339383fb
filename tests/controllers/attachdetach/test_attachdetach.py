"""Volumes are attached to the nodes of pods and detached from them, with a clock that jumps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.controllers.attachdetach.attachable import attachment_name
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.controllers import running as run
from kubetrio.testing.workloads import NAMESPACE, events_of, pods_of

Object = dict[str, Any]
ATTACHES = "persistentvolume-attach-detach-controller"
NAMES = (
    "persistentvolume-binder-controller",
    ATTACHES,
    "simulated-attachment-controller",
    "simulated-pod-controller",
    "pod-garbage-collector-controller",
)
DRIVER = "disk.example"
UNIQUE = f"kubernetes.io/csi/{DRIVER}^handle-v"
MANAGED = "volumes.kubernetes.io/controller-managed-attach-detach"


@pytest.fixture
async def cluster(autojump_clock: MockClock) -> AsyncIterator[Controlled]:
    """A server with two simulated nodes, a driver, and a volume that is bound to a claim."""
    del autojump_clock
    async with controlled(*NAMES) as running:
        await furnish(running)
        yield running


async def furnish(running: Controlled, mode: str = "ReadWriteOnce") -> None:
    """Make the nodes, the driver, the volume and the claim."""
    client = running.client
    said = {"simulation.kubetrio.io/node": "true", MANAGED: "true"}
    for number in range(2):
        await client.create({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"n{number}", "annotations": said},
            "spec": {"podCIDR": f"100.64.{number}.0/24"},
            "status": {"addresses": [{"type": "InternalIP", "address": f"198.18.0.{number + 1}"}],
                       "conditions": [{"type": "Ready", "status": "True"}]},
        })  # fmt: skip
    await client.create({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
        "metadata": {"name": DRIVER, "annotations": {"simulation.kubetrio.io/driver": "true"}},
        "spec": {},
    })  # fmt: skip
    await client.create({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": [mode],
                 "csi": {"driver": DRIVER, "volumeHandle": "handle-v"},
                 "claimRef": {"namespace": NAMESPACE, "name": "c"},
                 "storageClassName": ""},
    })  # fmt: skip
    await client.create({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": NAMESPACE},
        "spec": {"accessModes": [mode], "volumeName": "v", "storageClassName": "",
                 "resources": {"requests": {"storage": "1Gi"}}},
    })  # fmt: skip
    await running.settled()


async def use(running: Controlled, name: str, node: str, **annotations: str) -> None:
    """Make a pod with the claim on a node."""
    said = {f"simulation.kubetrio.io/{key}": value for key, value in annotations.items()}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
    await running.client.create({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": said},
        "spec": {"nodeName": node, "volumes": [volume],
                 "containers": [{"name": "c", "image": "i"}]},
    })  # fmt: skip
    await running.settled()


async def remove(running: Controlled, name: str) -> None:
    """Delete a pod."""
    await running.client.delete(running.client.kind("v1", "Pod"), name, NAMESPACE)
    await running.settled()


async def attachments(running: Controlled) -> list[tuple[str, bool]]:
    """Nodes of all attachments, and whether they are attached."""
    kind = running.client.kind("storage.k8s.io/v1", "VolumeAttachment")
    found = (await running.client.list(kind)).items
    return sorted((one["spec"]["nodeName"], one["status"]["attached"]) for one in found)


async def volumes_of(running: Controlled, node: str) -> tuple[list[str], list[str]]:
    """Volumes that a node is told of, and those that it has in use."""
    found = await running.client.get(running.client.kind("v1", "Node"), node)
    status = found["status"]
    told = [one["name"] for one in status.get("volumesAttached", ())]
    return told, status.get("volumesInUse", [])


async def phases(running: Controlled) -> dict[str, str]:
    """Phases of pods, by name."""
    return {
        pod["metadata"]["name"]: pod["status"]["phase"] for pod in await pods_of(running.client)
    }


async def test_a_volume_comes_and_goes_with_its_pod(cluster: Controlled) -> None:
    """The pod runs when the node has the volume, which it loses after the pod."""
    await use(cluster, "p", "n0")
    assert await attachments(cluster) == [("n0", True)]
    assert await volumes_of(cluster, "n0") == ([UNIQUE], [UNIQUE])
    assert await phases(cluster) == {"p": "Running"}
    told = [one for one in await events_of(cluster.client, "Pod") if "Attach" in one[1]]
    text = 'AttachVolume.Attach succeeded for volume "v" '
    assert told == [("Normal", "SuccessfulAttachVolume", text)]
    await remove(cluster, "p")
    assert await attachments(cluster) == []
    assert await volumes_of(cluster, "n0") == ([], [])


async def test_a_pod_that_has_ended_needs_no_volume(cluster: Controlled) -> None:
    """It need not be deleted for that."""
    await use(cluster, "p", "n0", **{"run-seconds": "5"})
    kind = cluster.client.kind("v1", "Pod")
    assert await attachments(cluster) == [("n0", True)]
    end = {"status": {"phase": "Succeeded"}}
    await cluster.client.patch(kind, "p", end, NAMESPACE, subresource="status")
    await cluster.settled()
    assert await attachments(cluster) == []


async def test_a_volume_is_on_one_node(cluster: Controlled) -> None:
    """A pod on another node waits, is told who has the volume, and gets it afterwards."""
    await use(cluster, "first", "n0")
    await use(cluster, "second", "n1")
    assert await attachments(cluster) == [("n0", True)]
    assert await phases(cluster) == {"first": "Running", "second": "Pending"}
    told = [one for one in await events_of(cluster.client, "Pod") if one[0] == "Warning"]
    text = 'Multi-Attach error for volume "v" Volume is already used by pod(s) first'
    assert told == [("Warning", "FailedAttachVolume", text)]
    await remove(cluster, "first")
    assert await attachments(cluster) == [("n1", True)]
    assert await phases(cluster) == {"second": "Running"}


async def test_pods_on_one_node_share_a_volume(cluster: Controlled) -> None:
    """It is detached after the last of them."""
    await use(cluster, "a", "n0")
    await use(cluster, "b", "n0")
    await remove(cluster, "a")
    assert await phases(cluster) == {"b": "Running"}
    assert await volumes_of(cluster, "n0") == ([UNIQUE], [UNIQUE])
    await remove(cluster, "b")
    assert await attachments(cluster) == []


async def test_a_volume_for_many(autojump_clock: MockClock) -> None:
    """Its access mode allows several nodes."""
    async with controlled(*NAMES) as running:
        await furnish(running, "ReadWriteMany")
        await use(running, "a", "n0")
        await use(running, "b", "n1")
        assert await attachments(running) == [("n0", True), ("n1", True)]
        assert await phases(running) == {"a": "Running", "b": "Running"}


async def test_a_driver_that_fails(cluster: Controlled) -> None:
    """An annotation of the volume says why, until it is gone."""
    kind = cluster.client.kind("v1", "PersistentVolume")
    said: Object = {"simulation.kubetrio.io/attach-error": "no quota"}
    await cluster.client.patch(kind, "v", {"metadata": {"annotations": said}})
    await use(cluster, "p", "n0")
    told = [one for one in await events_of(cluster.client, "Pod") if one[0] == "Warning"]
    text = 'AttachVolume.Attach failed for volume "v" : no quota'
    assert told == [("Warning", "FailedAttachVolume", text)]
    assert await attachments(cluster) == [("n0", False)]
    assert await phases(cluster) == {"p": "Pending"}
    await cluster.client.patch(kind, "v", {"metadata": {"annotations": dict.fromkeys(said)}})
    await cluster.settled()
    assert await attachments(cluster) == [("n0", True)]
    assert await phases(cluster) == {"p": "Running"}


async def lose(running: Controlled, name: str) -> None:
    """Have a node be silent, and its condition say so."""
    kind = running.client.kind("v1", "Node")
    lost = {"metadata": {"annotations": {"simulation.kubetrio.io/state": "lost"}}}
    await running.client.patch(kind, name, lost)
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    await running.client.patch(kind, name, unknown, subresource="status")


async def forced(running: Controlled, name: str) -> None:
    """Delete a pod at once."""
    kind = running.client.kind("v1", "Pod")
    await running.client.delete(kind, name, NAMESPACE, gracePeriodSeconds=0)
    await running.settled()


async def test_a_lost_node_holds_its_volumes_for_six_minutes(
    cluster: Controlled, autojump_clock: MockClock
) -> None:
    """It does not say that it has let go of them; then they are taken from it."""
    await use(cluster, "p", "n0")
    await lose(cluster, "n0")
    await forced(cluster, "p")
    await use(cluster, "q", "n1")
    await trio.sleep(359)
    await cluster.settled()
    assert await attachments(cluster) == [("n0", True)]
    await trio.sleep(2)
    await cluster.settled()
    assert await attachments(cluster) == [("n1", True)]
    assert await phases(cluster) == {"q": "Running"}
    text = "Volume is already exclusively attached to one node and can't be attached to another"
    told = [one for one in await events_of(cluster.client, "Pod") if one[0] == "Warning"]
    assert told == [("Warning", "FailedAttachVolume", f'Multi-Attach error for volume "v" {text}')]


async def test_a_node_out_of_service_loses_its_volumes_at_once(cluster: Controlled) -> None:
    """Its taint says that it is shut down."""
    await use(cluster, "p", "n0")
    await lose(cluster, "n0")
    await forced(cluster, "p")
    assert await attachments(cluster) == [("n0", True)]
    kind = cluster.client.kind("v1", "Node")
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    await cluster.client.patch(kind, "n0", {"spec": {"taints": [taint]}})
    await cluster.settled()
    assert await attachments(cluster) == []


async def test_a_node_that_attaches_by_itself_is_left_alone(cluster: Controlled) -> None:
    """It has no annotation that says otherwise."""
    kind = cluster.client.kind("v1", "Node")
    await cluster.client.patch(kind, "n0", {"metadata": {"annotations": {MANAGED: None}}})
    await use(cluster, "p", "n0")
    assert await attachments(cluster) == []
    await cluster.client.patch(kind, "n0", {"metadata": {"annotations": {MANAGED: "true"}}})
    await cluster.settled()
    assert await attachments(cluster) == [("n0", True)]


async def test_what_is_attached_and_not_wanted_is_detached(autojump_clock: MockClock) -> None:
    """After a restart too, when no pod tells of the volume."""
    async with controlled() as running:
        await furnish(running)
        source = {"persistentVolumeName": "v"}
        name = attachment_name(DRIVER, "handle-v", "n0")
        await running.client.create({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": name},
            "spec": {"attacher": DRIVER, "nodeName": "n0", "source": source},
        })  # fmt: skip
        async with run(running.server, ATTACHES):
            await running.settled()
            assert await attachments(running) == []
