"""Deleted storage objects go when nothing uses them."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.kinds.core.protection import CLAIMS as PROTECTED
from kubetrio.kinds.core.protection import CLASSES as NAMED
from kubetrio.kinds.core.protection import VOLUMES as BOUND
from kubetrio.kinds.core.protection import Protection, names_class, pod_uses
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

NAMESPACE = "/api/v1/namespaces/default"
CLAIMS = NAMESPACE + "/persistentvolumeclaims"
CLAIM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


CLASS = {"metadata": {"name": "a"}}


def pod(node: str, volume: dict[str, Any]) -> dict[str, Any]:
    spec = {
        "nodeName": node,
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", **volume}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def test_a_claim_is_used_by_pods_that_have_a_node() -> None:
    """Pods that nobody has scheduled do not count; ephemeral volumes do."""
    claimed = {"persistentVolumeClaim": {"claimName": "c"}}
    assert pod_uses(pod("n", claimed), CLAIM)
    assert not pod_uses(pod("", claimed), CLAIM)
    own = {**CLAIM, "metadata": {"name": "p-v"}}
    assert pod_uses(pod("n", {"ephemeral": {}}), own)
    assert not pod_uses(pod("n", {"emptyDir": {}}), own)


def test_a_class_is_used_by_what_names_it() -> None:
    """In the spec, or as what a claim has now."""
    assert names_class({"spec": {"volumeAttributesClassName": "a"}}, CLASS)
    assert names_class({"status": {"currentVolumeAttributesClassName": "a"}}, CLASS)
    assert not names_class({"spec": {}}, CLASS)


async def test_a_deleted_claim_goes_with_its_last_pod(server: InProcess, client: Client) -> None:
    """It stays as long as the pod does."""
    api = server.api
    await client.request("POST", CLAIMS, json=CLAIM)
    user = pod("n", {"persistentVolumeClaim": {"claimName": "c"}})
    await client.request("POST", NAMESPACE + "/pods", json=user)
    protection = Protection("c", PROTECTED, api.registry, api.operations, api.informers.dispatcher)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(protection.run)
        deleted = await client.request("DELETE", CLAIMS + "/c")
        assert "deletionTimestamp" in deleted.json()["metadata"]
        await wait_all_tasks_blocked()
        assert (await client.request("GET", CLAIMS + "/c")).status == 200
        await client.request("DELETE", NAMESPACE + "/pods/p?gracePeriodSeconds=0")
        await wait_all_tasks_blocked()
        assert (await client.request("GET", CLAIMS + "/c")).status == 404
        nursery.cancel_scope.cancel()


VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
MERGE = {"Content-Type": "application/merge-patch+json"}


async def test_a_deleted_volume_goes_when_it_is_not_bound(
    server: InProcess, client: Client
) -> None:
    """Its own phase says so, whenever it changes."""
    api = server.api
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
    }
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    await client.request("POST", VOLUMES, json={**volume, "spec": spec})

    async def phase(name: str) -> None:
        status = {"status": {"phase": name}}
        answer = await client.request("PATCH", VOLUMES + "/v/status", headers=MERGE, json=status)
        assert answer.status == 200

    await phase("Bound")
    protection = Protection("v", BOUND, api.registry, api.operations, api.informers.dispatcher)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(protection.run)
        await client.request("DELETE", VOLUMES + "/v")
        await wait_all_tasks_blocked()
        assert (await client.request("GET", VOLUMES + "/v")).status == 200
        await phase("Released")
        await wait_all_tasks_blocked()
        assert (await client.request("GET", VOLUMES + "/v")).status == 404
        nursery.cancel_scope.cancel()


async def test_a_deleted_class_goes_with_the_last_claim_that_names_it(
    server: InProcess, client: Client
) -> None:
    """One that was deleted before the controller began is found."""
    api = server.api
    made = {"metadata": {"name": "gold"}, "driverName": "d", "parameters": {"a": "b"}}
    assert (await client.request("POST", CLASSES, json=made)).status == 201
    named = {**CLAIM, "spec": {**CLAIM["spec"], "volumeAttributesClassName": "gold"}}
    assert (await client.request("POST", CLAIMS, json=named)).status == 201
    await client.request("DELETE", CLASSES + "/gold")
    dispatcher = api.informers.dispatcher
    protections = [
        Protection("c", protected, api.registry, api.operations, dispatcher)
        for protected in (NAMED, PROTECTED)
    ]
    async with trio.open_nursery() as nursery:
        for protection in protections:
            nursery.start_soon(protection.run)
        await wait_all_tasks_blocked()
        assert (await client.request("GET", CLASSES + "/gold")).status == 200
        await client.request("DELETE", CLAIMS + "/c")
        await wait_all_tasks_blocked()
        assert (await client.request("GET", CLASSES + "/gold")).status == 404
        nursery.cancel_scope.cancel()
