"""Volumes without a host, from their claims to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from test_binder import claim, get_claim, told
from trio.testing import MockClock

from kubetrio.controllers.persistentvolumes.hostless import DRIVER, FINALIZER, volume_for
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.controllers import running as run
from kubetrio.testing.workloads import NAMESPACE

Object = dict[str, Any]
NAMES = (
    "persistentvolume-binder-controller",
    "simulated-volume-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
)


@pytest.fixture
async def cluster(autojump_clock: MockClock) -> AsyncIterator[Controlled]:
    """A server that makes volumes."""
    del autojump_clock
    async with controlled(*NAMES) as running:
        await running.settled()
        yield running


async def names_of(cluster: Controlled, kind: str) -> list[str]:
    """Names of objects."""
    api = "v1" if kind.startswith("Persistent") else "storage.k8s.io/v1"
    found = await cluster.client.list(cluster.client.kind(api, kind))
    return [one["metadata"]["name"] for one in found.items]


async def test_the_class(cluster: Controlled) -> None:
    """It is the default one, and its claims wait for their pods."""
    kind = cluster.client.kind("storage.k8s.io/v1", "StorageClass")
    found = await cluster.client.get(kind, "standard")
    assert found["provisioner"] == DRIVER
    assert found["volumeBindingMode"] == "WaitForFirstConsumer"
    annotations = found["metadata"]["annotations"]
    assert annotations == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert await names_of(cluster, "CSIDriver") == [DRIVER]


async def test_no_class_where_there_is_one(autojump_clock: MockClock) -> None:
    """What is there is left alone."""
    async with controlled() as running:
        other = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                 "metadata": {"name": "own"}, "provisioner": "example.com/disk"}  # fmt: skip
        await running.client.create(other)
        async with run(running.server, "simulated-volume-controller"):
            await running.settled()
            assert await names_of(running, "StorageClass") == ["own"]


async def test_from_a_claim_to_its_end(cluster: Controlled) -> None:
    """A volume is made when a node is chosen, and goes with the claim."""
    client = cluster.client
    await client.create(claim(storageClassName="standard"))
    await cluster.settled()
    assert await names_of(cluster, "PersistentVolume") == []
    kind = client.kind("v1", "PersistentVolumeClaim")
    patch = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}}}
    await client.patch(kind, "c", patch, NAMESPACE)
    await cluster.settled()
    bound = await get_claim(client)
    name = f"pvc-{bound['metadata']['uid']}"
    assert bound["spec"]["volumeName"] == name
    assert bound["status"]["phase"] == "Bound"
    assert ("ProvisioningSucceeded", f"Successfully provisioned volume {name}") in await told(
        client
    )
    volume = await client.get(client.kind("v1", "PersistentVolume"), name)
    assert FINALIZER in volume["metadata"]["finalizers"]
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": DRIVER}
    await client.delete(kind, "c", NAMESPACE)
    await cluster.settled()
    assert await names_of(cluster, "PersistentVolume") == []


async def test_a_volume_that_is_kept(cluster: Controlled) -> None:
    """It stays released, and goes when it is deleted."""
    client = cluster.client
    kept = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "k"},
            "provisioner": DRIVER, "reclaimPolicy": "Retain"}  # fmt: skip
    await client.create(kept)
    await client.create(claim(storageClassName="k"))
    await cluster.settled()
    await client.delete(client.kind("v1", "PersistentVolumeClaim"), "c", NAMESPACE)
    await cluster.settled()
    (name,) = await names_of(cluster, "PersistentVolume")
    await client.delete(client.kind("v1", "PersistentVolume"), name)
    await cluster.settled()
    assert await names_of(cluster, "PersistentVolume") == []


def test_what_a_volume_has_of_its_claim_and_class() -> None:
    """Modes, size and class are the claim's, policy and options the class's."""
    wanted = claim(storageClassName="s", volumeMode="Block")
    wanted["metadata"] |= {"uid": "u", "resourceVersion": "5"}
    volume = volume_for(wanted, {"reclaimPolicy": "Retain", "mountOptions": ["ro"]})
    spec = volume["spec"]
    assert spec.pop("claimRef")["resourceVersion"] == "5"
    assert spec == {
        "capacity": {"storage": "1Gi"},
        "csi": {"driver": DRIVER, "volumeHandle": "pvc-u"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "s",
        "volumeMode": "Block",
        "mountOptions": ["ro"],
    }
