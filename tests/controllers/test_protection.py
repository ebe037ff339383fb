"""Storage objects stay while something uses them, and go when nothing does."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.client.client import Client
from kubetrio.controllers.protection import names_class, pod_uses
from kubetrio.kinds.core.pods.digests import PodDigest, pod_digest
from kubetrio.testing.controllers import Controlled, controlled

Object = dict[str, Any]
CLAIMS = "persistentvolumeclaim-protection-controller"
VOLUMES = "persistentvolume-protection-controller"
CLASSES = "volumeattributesclass-protection-controller"
CLAIM: Object = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
CLAIMED: Object = {"persistentVolumeClaim": {"claimName": "c"}}
TEMPLATE: Object = {"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM["spec"]}}}


def pod(node: str, volume: Object, name: str = "p") -> Object:
    """A pod with a volume."""
    spec: Object = {
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", **volume}],
    }
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "default"},
    }  # fmt: skip


def digest(obj: Object, **meta: Any) -> PodDigest:
    """What is kept of a pod with more metadata."""
    return pod_digest(orjson.dumps({**obj, "metadata": {**obj["metadata"], "uid": "u", **meta}}))


async def there(running: Controlled, kind: str, name: str, version: str = "v1") -> bool:
    """Whether an object is still there when all is quiet."""
    await running.settled()
    client = running.client
    found = client.kind(version, kind)
    listed = await client.list(found, "default" if found.namespaced else "")
    return name in {item["metadata"]["name"] for item in listed.items}


def test_a_claim_is_used_by_pods_that_have_a_node() -> None:
    """Pods that nobody has scheduled do not count."""
    assert pod_uses(digest(pod("n", CLAIMED)), {"name": "c"})
    assert not pod_uses(digest(pod("n", CLAIMED)), {"name": "d"})
    assert not pod_uses(digest(pod("", CLAIMED)), {"name": "c"})


def test_an_ephemeral_claim_is_used_by_its_own_pod_until_that_is_shut_down() -> None:
    """A claim with the name that the pod's would have, made by somebody else, is not kept."""
    mine = {"name": "p-v", "ownerReferences": [{"uid": "u", "controller": True}]}
    user = pod("n", TEMPLATE)
    assert pod_uses(digest(user), mine)
    assert not pod_uses(digest(user), {"name": "p-v"})
    assert not pod_uses(digest(user), {**mine, "ownerReferences": [{"uid": "u"}]})
    when = "2020-01-01T00:00:00Z"
    ending = digest(user, deletionTimestamp=when, deletionGracePeriodSeconds=30)
    assert pod_uses(ending, mine)
    ended = digest(user, deletionTimestamp=when, deletionGracePeriodSeconds=0)
    assert not pod_uses(ended, mine)


def test_a_class_is_used_by_what_names_it() -> None:
    """In the spec, as what a claim has now, or as what it is to have."""
    assert names_class({"spec": {"volumeAttributesClassName": "a"}}, "a")
    assert names_class({"status": {"currentVolumeAttributesClassName": "a"}}, "a")
    wanted = {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "a"}}
    assert names_class({"status": wanted}, "a")
    assert not names_class({"spec": {}}, "a")


async def test_a_deleted_claim_goes_with_its_last_pod() -> None:
    """It stays as long as one pod does."""
    async with controlled(CLAIMS) as running:
        client = running.client
        await client.create(CLAIM)
        for name in "pq":
            await client.create(pod("n", CLAIMED, name))
        kinds = client.kind("v1", "PersistentVolumeClaim"), client.kind("v1", "Pod")
        await client.delete(kinds[0], "c", "default")
        for name in "pq":
            assert await there(running, "PersistentVolumeClaim", "c")
            await client.delete(kinds[1], name, "default", gracePeriodSeconds=0)
        assert not await there(running, "PersistentVolumeClaim", "c")


async def test_a_claim_goes_when_no_kubelet_saw_its_pod() -> None:
    """Pods that wait for a node keep nothing; those that are over and still there do."""
    async with controlled(CLAIMS) as running:
        client = running.client
        await client.create(CLAIM)
        await client.create(pod("", CLAIMED))
        await client.delete(client.kind("v1", "PersistentVolumeClaim"), "c", "default")
        assert not await there(running, "PersistentVolumeClaim", "c")


async def test_other_finalizers_stay() -> None:
    """An object with more of them loses one."""
    async with controlled(CLAIMS) as running:
        client = running.client
        mine = {**CLAIM["metadata"], "finalizers": ["example.com/mine"]}
        await client.create({**CLAIM, "metadata": mine})
        kind = client.kind("v1", "PersistentVolumeClaim")
        await client.delete(kind, "c", "default")
        assert await there(running, "PersistentVolumeClaim", "c")
        found = await client.get(kind, "c", "default")
        assert found["metadata"]["finalizers"] == ["example.com/mine"]


async def test_what_lacks_the_finalizer_gets_it() -> None:
    """Who takes it from an object that stays finds it there again."""
    async with controlled(CLAIMS) as running:
        client = running.client
        await client.create(CLAIM)
        kind = client.kind("v1", "PersistentVolumeClaim")
        await client.patch(kind, "c", {"metadata": {"finalizers": None}}, "default")
        await running.settled()
        found = await client.get(kind, "c", "default")
        assert found["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


async def phase(client: Client, name: str) -> None:
    """Say in what phase the volume is."""
    kind = client.kind("v1", "PersistentVolume")
    await client.patch(kind, "v", {"status": {"phase": name}}, subresource="status")


@pytest.mark.parametrize("later", ["Released", "Available", "Failed"])
async def test_a_deleted_volume_goes_when_it_is_not_bound(later: str) -> None:
    """Its own phase says so, whenever it changes."""
    async with controlled(VOLUMES) as running:
        client = running.client
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/x"}}  # fmt: skip
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
        await client.create({**volume, "spec": spec})
        await phase(client, "Bound")
        await client.delete(client.kind("v1", "PersistentVolume"), "v")
        assert await there(running, "PersistentVolume", "v")
        await phase(client, later)
        assert not await there(running, "PersistentVolume", "v")


async def test_a_deleted_class_goes_with_the_last_claim_that_names_it() -> None:
    """The claim goes when it is deleted, and the class after it."""
    async with controlled(CLASSES, CLAIMS) as running:
        client = running.client
        version = "storage.k8s.io/v1"
        await client.create({
            "apiVersion": version, "kind": "VolumeAttributesClass", "metadata": {"name": "gold"},
            "driverName": "d", "parameters": {"a": "b"},
        })  # fmt: skip
        await client.create(
            {**CLAIM, "spec": {**CLAIM["spec"], "volumeAttributesClassName": "gold"}}
        )
        await client.delete(client.kind(version, "VolumeAttributesClass"), "gold")
        assert await there(running, "VolumeAttributesClass", "gold", version)
        await client.delete(client.kind("v1", "PersistentVolumeClaim"), "c", "default")
        assert not await there(running, "VolumeAttributesClass", "gold", version)
