"""What Kubernetes' e2e specs ask of StatefulSets with claims, partitions and pods that are refused.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps (1.36); nothing else of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from simulated import Cluster, cluster
from specs import Specs, claims, until_observed, until_running
from trio.testing import MockClock

Object = dict[str, Any]
SPECS = spec = Specs()
CLAIM = "PersistentVolumeClaim"
REVISION = "controller-revision-hash"
STALE = "9d86d6ae-4e06-4ff1-bc55-f77f52e272e9"


async def until_claims(there: Cluster, *ordinals: int) -> None:
    """Wait until the set has claims of these ordinals and no others."""

    async def exact() -> bool:
        return await there.names(CLAIM) == [f"data-s-{one}" for one in ordinals]

    await there.until(exact)


async def sized(there: Cluster, replicas: int) -> None:
    """Give the set another size, and wait until it has so many pods."""
    await there.updated("StatefulSet", "s", lambda read: read["spec"].update(replicas=replicas))

    async def exact() -> bool:
        return len(await there.names("Pod", "s")) == replicas

    await there.until(exact)


def retention(**policy: str) -> Object:
    """A policy for claims, as a member of a spec."""
    return {"persistentVolumeClaimRetentionPolicy": policy}


async def retain(there: Cluster, **policy: str) -> None:
    """Give the set another policy for its claims."""
    await there.updated("StatefulSet", "s", lambda read: read["spec"].update(retention(**policy)))


async def owned_by(there: Cluster, claim: str, *owners: Object, **meta: Any) -> None:
    """Say who owns a claim."""

    def edit(read: Object) -> None:
        read["metadata"] |= {"ownerReferences": list(owners), **meta}

    await there.updated(CLAIM, claim, edit)


async def owners_of(there: Cluster, claim: str) -> list[Object]:
    """The owners of a claim."""
    owners: list[Object] = (await there.get(CLAIM, claim))["metadata"].get("ownerReferences") or []
    return owners


async def config_map(there: Cluster, **more: bool) -> Object:
    """Make a ConfigMap; returns a reference to it as an owner."""
    stored = await there.make("ConfigMap", "owner")
    uid = stored["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, **more}


@spec(
    "StatefulSet should not delete PVC with OnScaledown policy if another controller owns the PVC"
)
async def _other_controller(there: Cluster) -> None:
    await there.workload("StatefulSet", "s", replicas=3, volumeClaimTemplates=claims())
    await until_claims(there, 0, 1, 2)
    await owned_by(there, "data-s-1", await config_map(there, controller=True))
    await retain(there, whenScaled="Delete")
    await sized(there, 0)
    await until_claims(there, 1)
    await owned_by(there, "data-s-1")
    await sized(there, 2)
    await until_claims(there, 0, 1)
    await sized(there, 1)
    await until_claims(there, 0)


@spec("StatefulSet should delete PVCs after adopting pod (WhenScaled)")
async def _adopted(there: Cluster) -> None:
    await there.workload("StatefulSet", "s", replicas=3, volumeClaimTemplates=claims(),
                         **retention(whenScaled="Delete"))  # fmt: skip
    await until_claims(there, 0, 1, 2)

    async def available() -> object:
        return (await there.get("StatefulSet", "s"))["status"].get("availableReplicas") == 3

    await there.until(available)
    await there.patch("Pod", "s-2", {"metadata": {"ownerReferences": None}}, how="merge")
    await sized(there, 1)
    await until_claims(there, 0)


@spec("StatefulSet should not delete PVCs when there is another controller")
async def _other_owners(there: Cluster) -> None:
    await there.workload("StatefulSet", "s", replicas=4, volumeClaimTemplates=claims())
    await until_claims(there, 0, 1, 2, 3)
    external = await config_map(there)
    await owned_by(there, "data-s-1", external)
    stale = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "unknown", "uid": STALE,
             "controller": True, "blockOwnerDeletion": True}  # fmt: skip
    await owned_by(there, "data-s-3", stale, finalizers=["keep-with/stale-ref"])
    assert await owners_of(there, "data-s-1") == [external]
    assert await owners_of(there, "data-s-3") == [stale]
    await retain(there, whenDeleted="Delete")
    uid = (await there.get("StatefulSet", "s"))["metadata"]["uid"]
    ours = {**stale, "name": "s", "uid": uid}

    async def told() -> object:
        owners = [await owners_of(there, f"data-s-{number}") for number in range(4)]
        return owners == [[ours], [external, ours], [ours], [stale]]

    await there.until(told)
    await owned_by(there, "data-s-0", {**ours, "controller": False})
    await retain(there, whenDeleted="Delete", whenScaled="Delete")

    async def controlled() -> object:
        return await owners_of(there, "data-s-0") == [ours]

    await there.until(controlled)
    await there.remove("StatefulSet", "s")
    await until_claims(there, 1, 3)


# ---------------------------------------------------------------------- partitions


async def until_numbers(there: Cluster, **numbers: int) -> Object:
    """Wait until the status of the set says certain numbers; returns the status."""

    async def counts() -> bool:
        status = (await there.get("StatefulSet", "s"))["status"]
        return all((status.get(name) or 0) == number for name, number in numbers.items())

    await there.until(counts)
    status: Object = (await there.get("StatefulSet", "s"))["status"]
    return status


async def revisions(there: Cluster) -> list[tuple[str, str]]:
    """Images and revisions of the pods."""
    return [
        (one["spec"]["containers"][0]["image"], one["metadata"]["labels"][REVISION])
        for one in await there.all_of("Pod", "s")
    ]


async def _without_first(there: Cluster, *containers: Object, stop_code: int = 0) -> None:
    """Delete the first pod of a set whose others have been updated, while a finalizer holds it.

    Args:
        there: the cluster.
        containers: of the pods, beside the first.
        stop_code: with which the second container of the first pod exits.
    """
    pods = {"containers": [{"name": "c", "image": "i"}, *containers]}
    partition = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    written = there.written("StatefulSet", "s", replicas=3, updateStrategy=partition)
    written["spec"]["template"]["spec"] = pods
    await there.client.create(written)
    await there.until_ready("s", 3)
    status = (await until_observed(there, "StatefulSet", "s"))["status"]
    before = status["currentRevision"]
    assert before == status["updateRevision"]
    assert await revisions(there) == [("i", before)] * 3
    mark = {"simulation.kubetrio.io/stop-code.sleeper": str(stop_code)}
    await there.change("Pod", "s-0", metadata={"finalizers": ["example.com/held"],
                                               "annotations": mark})  # fmt: skip
    await there.updated(
        "StatefulSet", "s",
        lambda read: read["spec"]["template"]["spec"]["containers"][0].update(image="new"),
    )  # fmt: skip
    status = (await until_observed(there, "StatefulSet", "s"))["status"]
    after = status["updateRevision"]
    assert status["currentRevision"] == before != after
    await until_numbers(there, updatedReplicas=2, replicas=3, readyReplicas=3)
    assert await revisions(there) == [("i", before), ("new", after), ("new", after)]
    uid = (await there.get("Pod", "s-0"))["metadata"]["uid"]
    await there.remove("Pod", "s-0")
    await until_numbers(there, readyReplicas=2)

    async def over() -> object:
        pod = await there.get("Pod", "s-0")
        return pod["status"]["phase"] == ("Failed" if stop_code else "Succeeded")

    await there.until(over)
    assert (await there.get("Pod", "s-0"))["metadata"]["uid"] == uid
    await there.change("Pod", "s-0", metadata={"finalizers": None})
    await until_numbers(there, readyReplicas=3)
    assert (await there.get("Pod", "s-0"))["metadata"]["uid"] != uid
    assert await revisions(there) == [("i", before), ("new", after), ("new", after)]


CANARY = (
    "StatefulSet should perform canary updates and phased rolling updates of template modifications"
    " for partiton1 and delete pod-0"
)


@spec(f"{CANARY} without failing container")
async def _deleted(there: Cluster) -> None:
    await _without_first(there)


@spec(f"{CANARY} with failing container")
async def _deleted_and_failed(there: Cluster) -> None:
    await _without_first(there, {"name": "sleeper", "image": "busybox"}, stop_code=1)


# ---------------------------------------------------------------------- pods that are refused


@spec("StatefulSet Should recreate evicted statefulset")
async def _refused(there: Cluster) -> None:
    ports = [{"name": "conflict", "hostPort": 21017, "containerPort": 21017}]
    await there.pod("test-pod", ports=ports, nodeName="node-0")
    await until_running(there, "test-pod", 1)
    since = await there.now("Pod")
    pods = {"ports": ports, "nodeName": "node-0"}
    await there.workload("StatefulSet", "s", replicas=1, pods=pods)
    _, gone = await there.until_event(
        "Pod", since, lambda type_, _: type_ == "DELETED", fields="metadata.name=s-0"
    )
    assert (gone["status"]["phase"], gone["status"]["reason"]) == ("Failed", "NodePorts")
    await there.remove("Pod", "test-pod", gracePeriodSeconds=0)

    async def runs() -> object:
        pod = await there.find("Pod", "s-0")
        if pod is None or pod["status"]["phase"] != "Running":
            return False
        return pod["metadata"]["uid"] != gone["metadata"]["uid"]

    await there.until(runs)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_sets(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
