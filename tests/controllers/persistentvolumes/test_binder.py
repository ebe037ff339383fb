"""Claims and volumes on a server whose binder runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, template

NAME = "persistentvolume-binder-controller"
Object = dict[str, Any]


@pytest.fixture
async def cluster(autojump_clock: MockClock) -> AsyncIterator[Controlled]:
    """A server with the binder."""
    del autojump_clock
    async with controlled(NAME) as running:
        yield running


def claim(name: str = "c", **spec: Any) -> Object:
    """A claim of no class."""
    usual = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {**usual, **spec},
    }


def volume(name: str = "v", **spec: Any) -> Object:
    """A volume of no class that is kept."""
    usual = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2Gi"},
        "hostPath": {"path": "/x"},
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {**usual, **spec},
    }


def storage_class(provisioner: str, mode: str = "Immediate", **annotations: str) -> Object:
    """A class ``s``."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "s", "annotations": annotations},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


async def get_claim(client: Client, name: str = "c") -> Object:
    """A claim as it is."""
    kind = client.kind("v1", "PersistentVolumeClaim")
    return dict(await client.get(kind, name, NAMESPACE))


async def get_volume(client: Client, name: str = "v") -> Object:
    """A volume as it is."""
    return dict(await client.get(client.kind("v1", "PersistentVolume"), name))


async def told(client: Client, kind: str = "PersistentVolumeClaim") -> list[tuple[str, str]]:
    """Reasons and messages of events."""
    return [(reason, message) for _, reason, message in await events_of(client, kind)]


@pytest.mark.parametrize("first", ["claim", "volume"])
async def test_they_are_bound(cluster: Controlled, first: str) -> None:
    """Whichever comes first; both say so, and by whom."""
    client = cluster.client
    objects = [claim(), volume()]
    for one in objects if first == "claim" else reversed(objects):
        await client.create(one)
        await cluster.settled()
    bound, of = await get_claim(client), await get_volume(client)
    assert bound["spec"]["volumeName"] == "v"
    assert bound["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert bound["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2Gi"},
    }
    assert of["status"]["phase"] == "Bound"
    assert of["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert of["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    before = cluster.writes.count
    await cluster.settled()
    assert cluster.writes.count == before


async def test_two_claims_and_one_volume(cluster: Controlled) -> None:
    """One gets it, the other waits for the next."""
    client = cluster.client
    for name in ("a", "b"):
        await client.create(claim(name))
    await client.create(volume("one"))
    await cluster.settled()
    phases = [(await get_claim(client, name))["status"]["phase"] for name in ("a", "b")]
    assert sorted(phases) == ["Bound", "Pending"]
    await client.create(volume("two"))
    await cluster.settled()
    claims = [await get_claim(client, name) for name in ("a", "b")]
    assert {one["spec"]["volumeName"] for one in claims} == {"one", "two"}


async def test_a_claim_that_names_its_volume(cluster: Controlled) -> None:
    """It waits for that, and is told when it does not suit."""
    client = cluster.client
    await client.create(claim(volumeName="v"))
    await client.create(volume("other"))
    await cluster.settled()
    assert (await get_claim(client))["status"]["phase"] == "Pending"
    await client.create(volume("v", capacity={"storage": "1Mi"}))
    await cluster.settled()
    text = 'Cannot bind to requested volume "v": requested PV is too small'
    assert ("VolumeMismatch", text) in await told(client)
    await client.delete(client.kind("v1", "PersistentVolume"), "v")
    await cluster.settled()


async def test_a_volume_that_is_for_another_claim(cluster: Controlled) -> None:
    """The claim that names it is told."""
    client = cluster.client
    reference = {"namespace": NAMESPACE, "name": "other"}
    await client.create(volume(claimRef=reference))
    await client.create(claim(volumeName="v"))
    await cluster.settled()
    assert (await get_volume(client))["status"]["phase"] == "Available"
    text = 'volume "v" already bound to a different claim.'
    assert ("FailedBinding", text) in await told(client)
    await client.create(claim("other"))
    await cluster.settled()
    bound = await get_volume(client)
    assert bound["status"]["phase"] == "Bound"
    assert "annotations" not in bound["metadata"]  # a user bound it


async def test_without_any_volume(cluster: Controlled) -> None:
    """A claim of no class is told that there is none."""
    await cluster.client.create(claim())
    await cluster.settled()
    text = "no persistent volumes available for this claim and no storage class is set"
    assert await told(cluster.client) == [("FailedBinding", text)]


@pytest.mark.parametrize(
    ("provisioner", "reason", "message"),
    [
        ("", "ProvisioningFailed", 'storageclass.storage.k8s.io "s" not found'),
        (
            "kubernetes.io/no-provisioner",
            "ProvisioningFailed",
            "no volume plugin matched name: kubernetes.io/no-provisioner",
        ),
        (
            "example.com/disk",
            "ExternalProvisioning",
            ("Waiting for a volume to be created either by the external provisioner "
            "'example.com/disk' or manually by the system administrator. If volume creation is "
            "delayed, please verify that the provisioner is running and correctly registered."),
        ),
    ],
)  # fmt: skip
async def test_provisioners_are_asked(
    cluster: Controlled, provisioner: str, reason: str, message: str
) -> None:
    """By annotations, where the class names one that is not part of Kubernetes."""
    client = cluster.client
    if provisioner:
        await client.create(storage_class(provisioner))
    await client.create(claim(storageClassName="s"))
    await cluster.settled()
    assert (reason, message) in await told(client)
    annotations = (await get_claim(client))["metadata"].get("annotations") or {}
    asked = annotations.get("volume.kubernetes.io/storage-provisioner")
    assert asked == (provisioner if reason == "ExternalProvisioning" else None)
    assert annotations.get("volume.beta.kubernetes.io/storage-provisioner") == asked


async def test_a_claim_that_waits_for_its_pod(cluster: Controlled) -> None:
    """Nothing is made for it until a scheduler says for which node."""
    client = cluster.client
    await client.create(storage_class("example.com/disk", "WaitForFirstConsumer"))
    await client.create(volume(storageClassName="s"))
    await client.create(claim(storageClassName="s"))
    await cluster.settled()
    first = ("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    assert await told(client) == [first]
    used = [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]
    meta = {"name": "p", "namespace": NAMESPACE}
    await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta,
                         "spec": {**template()["spec"], "volumes": used}})  # fmt: skip
    await cluster.settled()
    assert ("WaitForPodScheduled", "waiting for pod p to be scheduled") in await told(client)
    patch = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}}}
    await client.patch(client.kind("v1", "PersistentVolumeClaim"), "c", patch, NAMESPACE)
    await cluster.settled()
    annotations = (await get_claim(client))["metadata"]["annotations"]
    assert annotations["volume.kubernetes.io/storage-provisioner"] == "example.com/disk"


async def test_the_default_class_is_given_later(cluster: Controlled) -> None:
    """A claim without a class gets it when it comes."""
    client = cluster.client
    await client.create(claim(storageClassName=None))
    await cluster.settled()
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    await client.create(storage_class("example.com/disk", **default))
    await cluster.settled()
    assert (await get_claim(client))["spec"]["storageClassName"] == "s"


@pytest.mark.parametrize(
    ("spec", "phase", "reason"),
    [
        ({"persistentVolumeReclaimPolicy": "Retain"}, "Released", ""),
        (
            {"persistentVolumeReclaimPolicy": "Delete", "hostPath": None,
             "csi": {"driver": "d", "volumeHandle": "h"}},
            "Released",
            "",
        ),
        (
            {"persistentVolumeReclaimPolicy": "Delete", "hostPath": None,
             "nfs": {"server": "s", "path": "/"}},
            "Failed",
            "VolumeFailedDelete",
        ),
        ({"persistentVolumeReclaimPolicy": "Recycle"}, "Failed", "VolumeFailedRecycle"),
    ],
)  # fmt: skip
async def test_volumes_whose_claim_is_gone(
    cluster: Controlled, spec: Object, phase: str, reason: str
) -> None:
    """They are released; others delete them, or they fail where none can."""
    client = cluster.client
    given = {key: value for key, value in volume(**spec)["spec"].items() if value is not None}
    await client.create({**volume(), "spec": given})
    await client.create(claim())
    await cluster.settled()
    kind = client.kind("v1", "PersistentVolumeClaim")
    await client.patch(kind, "c", {"metadata": {"finalizers": None}}, NAMESPACE)
    await client.delete(kind, "c", NAMESPACE)
    await cluster.settled()
    assert (await get_volume(client))["status"]["phase"] == phase
    reasons = [one for one, _ in await told(client, "PersistentVolume")]
    assert reasons == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("lose", "reason"), [("volume", "ClaimLost"), ("claimRef", "ClaimMisbound")]
)
async def test_lost_claims(cluster: Controlled, lose: str, reason: str) -> None:
    """A claim whose volume is gone, or is another's, is lost."""
    client = cluster.client
    await client.create(volume())
    await client.create(claim())
    await cluster.settled()
    kind = client.kind("v1", "PersistentVolume")
    if lose == "volume":
        await client.patch(kind, "v", {"metadata": {"finalizers": None}})
        await client.delete(kind, "v")
    else:
        other = {"namespace": NAMESPACE, "name": "c", "uid": "another"}
        await client.patch(kind, "v", {"spec": {"claimRef": other}})
    await cluster.settled()
    assert (await get_claim(client))["status"]["phase"] == "Lost"
    assert reason in [one for one, _ in await told(client)]


async def test_modes_that_differ(cluster: Controlled) -> None:
    """Both sides are told."""
    client = cluster.client
    await client.create(claim(volumeMode="Block"))
    found = await get_claim(client)
    reference = {"namespace": NAMESPACE, "name": "c", "uid": found["metadata"]["uid"]}
    await client.create(volume(claimRef=reference))
    await cluster.settled()
    assert "VolumeMismatch" in [one for one, _ in await told(client)]
    assert "VolumeMismatch" in [one for one, _ in await told(client, "PersistentVolume")]


async def test_a_volume_whose_claim_went_elsewhere(cluster: Controlled) -> None:
    """It is free again; one that a user named keeps its name."""
    client = cluster.client
    await client.create(volume())
    await client.create(claim())
    await cluster.settled()
    found = await get_claim(client)
    reference = {"namespace": NAMESPACE, "name": "c", "uid": found["metadata"]["uid"]}
    await client.create(volume("extra", claimRef=reference))
    await cluster.settled()
    extra = await get_volume(client, "extra")
    assert extra["status"]["phase"] == "Available"
    assert "uid" not in extra["spec"]["claimRef"]
