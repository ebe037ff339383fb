"""What Kubernetes' e2e specs ask of StatefulSets, step by step, as scenarios of their titles.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps/statefulset.go (1.36); nothing else
of it. `test_specs_sets` has those that need a second owner, a partition or a node that refuses.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from simulated import SAID, Cluster, cluster
from specs import Specs, claims, scaled, until_observed, until_running
from trio.testing import MockClock

Object = dict[str, Any]
SPECS = spec = Specs()
CLAIM = "PersistentVolumeClaim"
REVISION = "controller-revision-hash"
INDEX = "apps.kubernetes.io/pod-index"
SICK = {"annotations": {f"{SAID}state": "not-ready"}}
WELL = {"annotations": {f"{SAID}state": None}}


async def stateful(there: Cluster, **how: Any) -> Object:
    """Make a StatefulSet and its headless Service."""
    await there.make("Service", "s", spec={"clusterIP": "None", "selector": {"app": "s"}})
    return await there.workload("StatefulSet", "s", **how)


async def edit(there: Cluster, **members: Any) -> None:
    """Change members of the spec of the set."""
    await there.updated("StatefulSet", "s", lambda read: read["spec"].update(members))


async def until_status(there: Cluster, **numbers: int) -> None:
    """Wait until the status of the set says certain numbers."""

    async def counts() -> bool:
        status = (await there.get("StatefulSet", "s")).get("status") or {}
        return all((status.get(name) or 0) == number for name, number in numbers.items())

    await there.until(counts)


async def until_begun(there: Cluster, running: int, ready: int) -> None:
    """Wait until the set has so many pods, all of which run and some of which are ready."""
    await until_running(there, "s", running)

    async def enough() -> object:
        return len(await there.ready("s")) == ready

    await there.until(enough)


async def resume(there: Cluster, ordinal: int) -> None:
    """Have a pod that waits become ready."""
    await there.change("Pod", f"s-{ordinal}", metadata=WELL)


async def saturate(there: Cluster, count: int) -> None:
    """Have the pods become ready one after the other; each waits for the one before it."""
    for ordinal in range(count):
        await until_begun(there, ordinal + 1, ordinal)
        await trio.sleep(5)
        assert len(await there.names("Pod", "s")) == ordinal + 1
        await resume(there, ordinal)
    await there.until_ready("s", count)


async def revisions(there: Cluster) -> tuple[str, str]:
    """The current and the updated revision, once the set was seen as it is."""
    status = (await until_observed(there, "StatefulSet", "s"))["status"]
    return status["currentRevision"], status["updateRevision"]


async def rows(there: Cluster) -> list[tuple[str, str]]:
    """Images and revisions of the pods, by ordinal."""
    return [
        (one["spec"]["containers"][0]["image"], one["metadata"]["labels"][REVISION])
        for one in await there.all_of("Pod", "s")
    ]


async def with_image(there: Cluster, name: str) -> None:
    """Give the pods another image."""
    await there.updated(
        "StatefulSet", "s",
        lambda read: read["spec"]["template"]["spec"]["containers"][0].update(image=name),
    )  # fmt: skip


async def restarted(there: Cluster, *ordinals: int) -> None:
    """Delete pods, and wait until others are ready in their places."""
    before = {one["metadata"]["uid"] for one in await there.all_of("Pod", "s")}
    count = len(before)
    for ordinal in ordinals:
        await there.remove("Pod", f"s-{ordinal}")

    async def replaced() -> object:
        ready = {one["metadata"]["uid"] for one in await there.ready("s")}
        return len(ready) == count and len(ready - before) == len(ordinals)

    await there.until(replaced)


def controller(pod: Object) -> tuple[str, str, str] | None:
    """Kind, name and uid of the controller of an object, None for none."""
    for one in pod["metadata"].get("ownerReferences") or ():
        if one.get("controller"):
            return one["kind"], one["name"], one["uid"]
    return None


@spec("StatefulSet should provide basic identity")
async def _identity(there: Cluster) -> None:
    await stateful(there, replicas=3, volumeClaimTemplates=claims(), said={"state": "not-ready"})
    await saturate(there, 3)

    async def look() -> list[str]:
        """Check names of pods and claims; returns the volumes of the claims."""
        pods = await there.all_of("Pod", "s")
        assert [one["metadata"]["name"] for one in pods] == ["s-0", "s-1", "s-2"]
        for ordinal, pod in enumerate(pods):
            named = pod["spec"]["hostname"], pod["spec"]["subdomain"]
            assert named == (f"s-{ordinal}", "s")
            assert pod["metadata"]["labels"][INDEX] == str(ordinal)
            (claim,) = [one["persistentVolumeClaim"]["claimName"]
                        for one in pod["spec"]["volumes"] if one["name"] == "data"]  # fmt: skip
            assert claim == f"data-s-{ordinal}"
        return [one["spec"]["volumeName"] for one in await there.all_of(CLAIM)]

    volumes = await look()
    assert len(set(volumes)) == 3
    await edit(there, replicas=0)
    await there.until_ready("s", 0)
    await until_status(there, replicas=0)
    await edit(there, replicas=3)
    await saturate(there, 3)
    assert await look() == volumes


@spec("StatefulSet should adopt matching orphans and release non-matching pods")
async def _orphans(there: Cluster) -> None:
    made = await stateful(there, replicas=1)
    await there.until_ready("s", 1)
    ours = ("StatefulSet", "s", made["metadata"]["uid"])

    async def until_controller(wanted: tuple[str, str, str] | None) -> None:
        async def told() -> bool:
            found = controller(await there.get("Pod", "s-0"))
            assert found in (None, ours)
            return found == wanted

        await there.until(told)

    pod = await there.get("Pod", "s-0")
    assert controller(pod) == ours
    await there.updated("Pod", "s-0", lambda read: read["metadata"].pop("ownerReferences"))
    await until_controller(ours)
    await there.updated("Pod", "s-0", lambda read: read["metadata"].pop("labels"))
    await until_controller(None)
    labels = pod["metadata"]["labels"]
    await there.updated("Pod", "s-0", lambda read: read["metadata"].update(labels=labels))
    await until_controller(ours)
    assert (await there.get("Pod", "s-0"))["metadata"]["uid"] == pod["metadata"]["uid"]


@spec("StatefulSet should not deadlock when a pod's predecessor fails")
async def _predecessor(there: Cluster) -> None:
    await stateful(there, replicas=2, said={"state": "not-ready"})
    await until_begun(there, 1, 0)
    await resume(there, 0)
    await until_begun(there, 2, 1)
    uid = (await there.get("Pod", "s-0"))["metadata"]["uid"]
    await there.remove("Pod", "s-0")

    async def replaced() -> object:
        found = await there.find("Pod", "s-0")
        return found is not None and found["metadata"]["uid"] != uid

    await there.until(replaced)
    await resume(there, 0)
    await until_begun(there, 2, 1)
    await resume(there, 1)
    await there.until_ready("s", 2)


async def _rolled(there: Cluster, name: str, revision: str) -> None:
    """Wait until the pods were updated from the last to the first, and check them."""
    seen: list[str] = []

    async def over() -> bool:
        for one in await there.all_of("Pod", "s"):
            pod, labels = one["metadata"]["name"], one["metadata"]["labels"]
            if labels[REVISION] == revision and pod not in seen:
                seen.append(pod)
        current, updated = await revisions(there)
        return current == updated and len(await there.ready("s")) == 3

    await there.until(over)
    assert seen == ["s-2", "s-1", "s-0"]
    assert await revisions(there) == (revision, revision)
    assert await rows(there) == [(name, revision)] * 3


async def _forth_and_back(there: Cluster, **how: Any) -> None:
    """Update the template and go back, each time while a pod is unready at first."""
    await stateful(there, replicas=3, said={"ready-seconds": "5"}, **how)
    await there.until_ready("s", 3)
    first, updated = await revisions(there)
    assert first == updated
    assert await rows(there) == [("i", first)] * 3

    async def change(was: str, name: str) -> str:
        await there.change("Pod", "s-1", metadata=SICK)
        await until_begun(there, 3, 2)
        await with_image(there, name)
        current, after = await revisions(there)
        assert current != after
        await trio.sleep(30)
        assert await rows(there) == [(was, current)] * 3, "the update does not wait for a pod"
        await resume(there, 1)
        await _rolled(there, name, after)
        return after

    assert await change("i", "new") != first
    assert await change("new", "i") == first


@spec("StatefulSet should perform rolling updates and roll backs of template modifications")
async def _rolls(there: Cluster) -> None:
    await _forth_and_back(there)


@spec(
    "StatefulSet should perform rolling updates and roll backs of template modifications with PVCs"
)
async def _rolls_with_claims(there: Cluster) -> None:
    await _forth_and_back(there, volumeClaimTemplates=claims())
    assert await there.names(CLAIM) == ["data-s-0", "data-s-1", "data-s-2"]


@spec(
    "StatefulSet should perform canary updates and phased rolling updates of template modifications"
)
async def _canary(there: Cluster) -> None:
    def partition(number: int) -> Object:
        return {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}

    await stateful(there, replicas=3, updateStrategy=partition(3))
    await there.until_ready("s", 3)
    before, after = await revisions(there)
    assert before == after
    assert await rows(there) == [("i", before)] * 3
    await with_image(there, "new")
    assert (await revisions(there))[0] == before
    after = (await revisions(there))[1]
    assert after != before
    await trio.sleep(60)
    assert await rows(there) == [("i", before)] * 3

    async def until_phase(number: int) -> None:
        wanted = [("i", before)] * number + [("new", after)] * (3 - number)

        async def phased() -> object:
            return await rows(there) == wanted and len(await there.ready("s")) == 3

        await edit(there, updateStrategy=partition(number))
        await there.until(phased)
        await trio.sleep(30)
        assert await rows(there) == wanted

    await until_phase(2)
    await restarted(there, 0, 2)
    assert await rows(there) == [("i", before)] * 2 + [("new", after)]
    await until_phase(1)
    await until_phase(0)
    assert await revisions(there) == (after, after)


@spec("StatefulSet should implement legacy replacement when the update strategy is OnDelete")
async def _on_delete(there: Cluster) -> None:
    await stateful(there, replicas=3, updateStrategy={"type": "OnDelete"})
    await there.until_ready("s", 3)
    before, after = await revisions(there)
    assert before == after
    assert await rows(there) == [("i", before)] * 3
    await restarted(there, 0, 1, 2)
    assert await rows(there) == [("i", before)] * 3
    await with_image(there, "new")
    current, after = await revisions(there)
    assert current == before != after
    await trio.sleep(60)
    assert await rows(there) == [("i", before)] * 3
    await restarted(there, 0, 1, 2)
    assert await rows(there) == [("new", after)] * 3


async def _all(there: Cluster, how: Object, count: int) -> None:
    """Have the pods be ready or not, and wait until the set says so."""
    for name in await there.names("Pod", "s"):
        await there.change("Pod", name, metadata=how)
    await until_status(there, readyReplicas=0 if how is SICK else count)


async def _in_order(there: Cluster, since: str, type_: str, *names: str) -> None:
    """Pods came or went in this order."""
    seen: list[str] = []

    def over(kind: str, pod: Object) -> bool:
        seen.extend([pod["metadata"]["name"]] if kind == type_ else [])
        return len(seen) == len(names)

    await there.until_event("Pod", since, over, selector="app=s")
    assert seen == [*names]


@spec(
    "StatefulSet Scaling should happen in predictable order and halt if any stateful pod is unhealthy"  # noqa: E501
)
async def _halts(there: Cluster) -> None:
    since = await there.now("Pod", "app=s")
    await stateful(there, replicas=1)
    await there.until_ready("s", 1)
    await _all(there, SICK, 1)
    await edit(there, replicas=3)
    for _ in range(30):
        assert await there.names("Pod", "s") == ["s-0"]
        await trio.sleep(2)
    await resume(there, 0)
    await there.until_ready("s", 3)
    await _in_order(there, since, "ADDED", "s-0", "s-1", "s-2")
    since = await there.now("Pod", "app=s")
    await _all(there, SICK, 3)
    await edit(there, replicas=0)
    for _ in range(30):
        assert await there.names("Pod", "s") == ["s-0", "s-1", "s-2"]
        await trio.sleep(2)
    for name in ("s-0", "s-1", "s-2"):
        await there.change("Pod", name, metadata=WELL)
    await there.until_ready("s", 0)
    await _in_order(there, since, "DELETED", "s-2", "s-1", "s-0")


@spec("StatefulSet Burst scaling should run to completion even with unhealthy pods")
async def _burst(there: Cluster) -> None:
    await stateful(there, replicas=1, podManagementPolicy="Parallel")
    await there.until_ready("s", 1)
    await _all(there, SICK, 1)
    await edit(there, replicas=3)
    await until_running(there, "s", 3)
    await _all(there, WELL, 3)
    await there.until_ready("s", 3)
    await _all(there, SICK, 3)
    await edit(there, replicas=0)
    await there.until_ready("s", 0)
    await until_status(there, replicas=0)


@spec("StatefulSet should have a working scale subresource")
async def _scale(there: Cluster) -> None:
    await stateful(there, replicas=1)
    await there.until_ready("s", 1)
    await until_observed(there, "StatefulSet", "s")
    await scaled(there, "StatefulSet", "s")


@spec(
    "StatefulSet AvailableReplicas should get updated accordingly when MinReadySeconds is enabled"
)
async def _available(there: Cluster) -> None:
    await stateful(there, replicas=2, minReadySeconds=30)
    await until_status(there, availableReplicas=0)
    await trio.sleep(5)
    await until_status(there, availableReplicas=0, readyReplicas=1)
    await until_status(there, availableReplicas=2)
    await edit(there, minReadySeconds=3600)
    await until_status(there, availableReplicas=0)
    await edit(there, minReadySeconds=0)
    await until_status(there, availableReplicas=2)


@spec("StatefulSet MinReadySeconds should be honored when enabled")
async def _min_ready(there: Cluster) -> None:
    await stateful(there, replicas=2, minReadySeconds=30)
    await trio.sleep(20)
    assert await there.names("Pod", "s") == ["s-0"]
    await until_status(there, availableReplicas=1)
    await there.until_ready("s", 2)


# ---------------------------------------------------------------------- claims


async def until_claims(there: Cluster, *ordinals: int, owner: str = "") -> None:
    """Wait until the set has claims of these ordinals, whose owner has that uid, empty for none."""
    wanted = [(f"data-s-{one}", [owner] if owner else []) for one in ordinals]

    async def exact() -> object:
        return wanted == [
            (
                one["metadata"]["name"],
                [ref["uid"] for ref in one["metadata"].get("ownerReferences") or ()],
            )
            for one in await there.all_of(CLAIM)
        ]

    await there.until(exact)


async def _retained(there: Cluster, **policy: str) -> str:
    """Make a set of three pods with a policy for claims; returns its uid."""
    made = await stateful(there, replicas=3, volumeClaimTemplates=claims(),
                          persistentVolumeClaimRetentionPolicy=policy)  # fmt: skip
    return str(made["metadata"]["uid"])


@spec("StatefulSet should delete PVCs with a WhenDeleted policy")
async def _when_deleted(there: Cluster) -> None:
    await until_claims(there, 0, 1, 2, owner=await _retained(there, whenDeleted="Delete"))
    await there.remove("StatefulSet", "s")
    await until_claims(there)


@spec("StatefulSet should delete PVCs with a OnScaledown policy")
async def _when_scaled(there: Cluster) -> None:
    await _retained(there, whenScaled="Delete")
    await until_claims(there, 0, 1, 2)
    await edit(there, replicas=1)
    await until_claims(there, 0)


@spec("StatefulSet should delete PVCs after adopting pod (WhenDeleted)")
async def _adopted(there: Cluster) -> None:
    uid = await _retained(there, whenDeleted="Delete")
    await until_claims(there, 0, 1, 2, owner=uid)
    await there.until_ready("s", 3)
    await there.patch("Pod", "s-2", {"metadata": {"ownerReferences": None}}, how="merge")
    await there.remove("StatefulSet", "s")
    await until_claims(there)


@spec("StatefulSet PVC should be recreated when pod is pending due to missing PVC")
async def _missing(there: Cluster) -> None:
    await stateful(there, replicas=1, volumeClaimTemplates=claims(),
                   pods={"nodeSelector": {"kubernetes.io/hostname": "node-1"}})  # fmt: skip
    await until_claims(there, 0)
    await until_status(there, readyReplicas=1)
    old = await there.get("Pod", "s-0"), await there.get(CLAIM, "data-s-0")
    assert old[0]["spec"]["nodeName"] == "node-1"
    await there.change("Node", "node-1", spec={"unschedulable": True})
    await there.remove("Pod", "s-0")

    async def again() -> object:
        found = await there.find("Pod", "s-0")
        return found is not None and found["metadata"]["uid"] != old[0]["metadata"]["uid"]

    await there.until(again)
    await until_status(there, currentReplicas=1, readyReplicas=0)
    assert (await there.get("Pod", "s-0"))["status"]["phase"] == "Pending"
    await there.remove(CLAIM, "data-s-0")
    await there.change("Node", "node-1", spec={"unschedulable": None})
    await until_claims(there, 0)
    await until_status(there, readyReplicas=1)
    assert (await there.get("Pod", "s-0"))["spec"]["nodeName"] == "node-1"
    claim = await there.get(CLAIM, "data-s-0")
    assert claim["metadata"]["uid"] != old[1]["metadata"]["uid"]
    assert "deletionTimestamp" not in claim["metadata"]


# ---------------------------------------------------------------------- ordinals


async def _ordinals(
    there: Cluster, before: int | None, after: int | None, replicas: int = 2
) -> None:
    """Change the first ordinal of a set of two pods, and perhaps its size."""

    async def settled(first: int, size: int) -> None:
        await until_observed(there, "StatefulSet", "s")
        wanted = [f"s-{one}" for one in range(first, first + size)]

        async def exact() -> object:
            return await there.names("Pod", "s") == wanted

        await there.until(exact)
        await until_status(there, replicas=size, readyReplicas=size)

    await stateful(there, replicas=2, **({} if before is None else {"ordinals": {"start": before}}))
    await there.until_ready("s", 2)
    await settled(before or 0, 2)
    await edit(there, replicas=replicas, ordinals=None if after is None else {"start": after})
    await settled(after or 0, replicas)


@spec("StatefulSet Setting .start.ordinal")
async def _set_start(there: Cluster) -> None:
    await _ordinals(there, None, 2, 3)


@spec("StatefulSet Increasing .start.ordinal")
async def _more_start(there: Cluster) -> None:
    await _ordinals(there, 2, 4)


@spec("StatefulSet Decreasing .start.ordinal")
async def _less_start(there: Cluster) -> None:
    await _ordinals(there, 3, 2)


@spec("StatefulSet Removing .start.ordinal")
async def _no_start(there: Cluster) -> None:
    await _ordinals(there, 3, None)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_stateful_sets(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
