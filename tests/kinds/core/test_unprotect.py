"""Deleted storage objects go when nothing uses them."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.kinds.core.protection import Unprotect, names_class, pod_uses
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

NAMESPACE = "/api/v1/namespaces/default"
CLAIMS = NAMESPACE + "/persistentvolumeclaims"
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


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
    assert names_class({"spec": {"volumeAttributesClassName": "a"}}, "a")
    assert names_class({"status": {"currentVolumeAttributesClassName": "a"}}, "a")
    assert not names_class({"spec": {}}, "a")


async def test_a_deleted_claim_goes_with_its_last_pod(server: InProcess, client: Client) -> None:
    """It stays as long as the pod does."""
    api = server.api
    await client.request("POST", CLAIMS, json=CLAIM)
    user = pod("n", {"persistentVolumeClaim": {"claimName": "c"}})
    await client.request("POST", NAMESPACE + "/pods", json=user)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Unprotect(api.registry, api.operations, api.store).run)
        deleted = await client.request("DELETE", CLAIMS + "/c")
        assert "deletionTimestamp" in deleted.json()["metadata"]
        await wait_all_tasks_blocked()
        assert (await client.request("GET", CLAIMS + "/c")).status == 200
        await client.request("DELETE", NAMESPACE + "/pods/p?gracePeriodSeconds=0")
        await wait_all_tasks_blocked()
        assert (await client.request("GET", CLAIMS + "/c")).status == 404
        nursery.cancel_scope.cancel()
