"""What Kubernetes' e2e specs for scheduling ask of resources, volumes, priorities and ranges.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/scheduling (1.36); nothing else of them.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from simulated import SAID, Cluster, cluster, revision
from specs import Specs, until_running
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
SPECS = spec = Specs()
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = ("node-0", "node-1")


async def pod_with(there: Cluster, name: str, resources: Object, **spec: Any) -> None:
    """Make a pod whose container has certain resources."""
    container = {"name": "c", "image": "pause", "resources": resources}
    said = spec.pop("said", {})
    meta = {"labels": {"app": name}, "annotations": {f"{SAID}{one}": said[one] for one in said}}
    await there.make("Pod", name, metadata=meta, spec={"containers": [container], **spec})


async def until_all_run(there: Cluster, *names: str) -> None:
    """Wait until pods run."""

    async def run() -> object:
        phases = {one["metadata"]["name"]: one["status"]["phase"]
                  for one in await there.all_of("Pod")}  # fmt: skip
        return all(phases[name] == "Running" for name in names)

    await there.until(run)


# ---------------------------------------------------------------------- predicates


@spec("SchedulerPredicates verify pod overhead is accounted for")
async def _overhead(there: Cluster) -> None:
    resource = "example.com/beardsecond"
    await there.updated(
        "Node", "node-0", lambda read: read["status"]["capacity"].update({resource: "1000"}),
        "status",
    )  # fmt: skip
    await there.make("RuntimeClass", "test-handler", handler="test-handler",
                     overhead={"podFixed": {resource: "250"}})  # fmt: skip
    most = {resource: "700"}
    await pod_with(there, "filler-pod", {"requests": most, "limits": most})
    await until_all_run(there, "filler-pod")
    assert await there.node_of("filler-pod") == "node-0"
    await pod_with(there, "additional-pod", {"limits": {resource: "200"}},
                   runtimeClassName="test-handler")  # fmt: skip
    assert f"Insufficient {resource}" in await there.refused("additional-pod")
    events = [one for one in await there.all_of("Event")
              if one["involvedObject"]["name"] == "additional-pod"]  # fmt: skip
    assert "FailedScheduling" in [one["reason"] for one in events]
    pods = [(one["metadata"]["name"], one["spec"].get("nodeName"))
            for one in await there.all_of("Pod")]  # fmt: skip
    assert pods == [("additional-pod", None), ("filler-pod", "node-0")]
    assert (await there.get("Pod", "additional-pod"))["spec"]["overhead"] == {resource: "250"}


@spec(
    "SchedulerPredicates when PVC has node-affinity to non-existent/illegal nodes, the pod should be scheduled normally if suitable nodes exist"  # noqa: E501
)
async def _affine_volume(there: Cluster) -> None:
    hosts = {"key": "kubernetes.io/hostname", "operator": "In",
             "values": ["node-0", "absent-1", "absent-2"]}  # fmt: skip
    await there.make("PersistentVolume", "v", spec={
        "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain", "local": {"path": "/tmp"},
        "claimRef": {"namespace": "default", "name": "c"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [hosts]}]}},
    })  # fmt: skip
    await there.make("PersistentVolumeClaim", "c", spec={
        "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": "v",
        "resources": {"requests": {"storage": "2Gi"}},
    })  # fmt: skip
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    await there.pod("p", volumes=volumes)

    async def not_pending() -> object:
        return (await there.get("Pod", "p"))["status"]["phase"] != "Pending"

    await there.until(not_pending)
    assert await there.node_of("p") == "node-0"
    assert (await there.get("PersistentVolume", "v"))["status"]["phase"] == "Bound"


# ---------------------------------------------------------------------- priorities


@spec(
    "SchedulerPreemption validates various priority Pods preempt expectedly with the async preemption"  # noqa: E501
)
async def _preempting(there: Cluster) -> None:
    resource = "scheduling.k8s.io/foo"
    for name, value in (("low", 1), ("medium", 100), ("high", 1000)):
        await there.make("PriorityClass", name, value=value)
    for node in NODES:
        amounts = {"capacity": {resource: "10"}, "allocatable": {resource: "10"}}
        await there.patch("Node", node, {"status": amounts}, below="status")
    share = {"requests": {resource: "1"}, "limits": {resource: "1"}}
    low = []
    for node in NODES:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        for number in range(10):
            low.append(f"low-{node}-{number}")
            await pod_with(there, low[-1], share, priorityClassName="low",
                           said={"stop-seconds": "79"}, terminationGracePeriodSeconds=80,
                           affinity={"nodeAffinity": {REQUIRED: terms}})  # fmt: skip
    await until_all_run(there, *low)
    medium = [f"medium-{number}" for number in range(20)]
    for name in medium:
        await pod_with(there, name, share, priorityClassName="medium")

    async def all_go() -> object:
        marks = [one["metadata"].get("deletionTimestamp") for one in await there.all_of("Pod")
                 if one["metadata"]["name"] in low]  # fmt: skip
        return len(marks) == 20 and all(marks)

    await there.until(all_go, 60)
    high = [f"high-{number}" for number in range(10)]
    for name in high:
        await pod_with(there, name, share, priorityClassName="high")

    async def nominated() -> object:
        pods = [await there.get("Pod", name) for name in high]
        return all(one["status"].get("nominatedNodeName") for one in pods)

    await there.until(nominated, 60)
    for name in low:
        await there.remove("Pod", name, gracePeriodSeconds=0)
    await until_all_run(there, *high)

    async def of_medium() -> int:
        count = sum([bool(await there.node_of(name)) for name in medium])
        assert count <= 10
        return count

    async def half() -> object:
        return await of_medium() == 10

    await there.until(half)
    await trio.sleep(60)
    assert await of_medium() == 10


@spec(
    "SchedulerPreemption verify PriorityClass endpoints can be operated with different HTTP methods"
)
async def _classes(there: Cluster) -> None:
    classes = [await there.make("PriorityClass", f"p{value}", value=value) for value in (1, 2)]
    first, second = (one["metadata"]["name"] for one in classes)
    with pytest.raises(ApiError, match="may not be changed in an update"):
        await there.patch("PriorityClass", first, {"value": 10})
    with pytest.raises(ApiError, match="may not be changed in an update"):
        await there.client.update({**classes[1], "value": 20})
    await there.patch("PriorityClass", first, {"description": "updated description"})
    await there.client.update({**classes[1], "description": "updated description"})
    assert {first, second} <= set(await there.names("PriorityClass"))
    for made in classes:
        live = await there.get("PriorityClass", made["metadata"]["name"])
        assert (live["value"], live["description"]) == (made["value"], "updated description")
        assert revision(live) > revision(made)


@spec(
    "SchedulerPriorities validates pod should be preferably scheduled to node which makes the matching pods more evenly distributed"  # noqa: E501
)
async def _evenly(there: Cluster) -> None:
    key = "kubernetes.io/e2e-pts-score"
    for node in NODES:
        await there.change("Node", node, metadata={"labels": {key: node}})
        half = {"requests": {"cpu": "16", "memory": "64Gi"}}
        await pod_with(there, f"half-{node}", half, nodeSelector={key: node})
    await until_all_run(there, *(f"half-{node}" for node in NODES))
    label = "e2e-pts-score"
    written = there.written("ReplicaSet", "w", replicas=4, pods={"nodeSelector": {key: "node-0"}})
    written["spec"]["template"]["metadata"]["labels"][label] = "foo"
    await there.client.create(written)
    await until_running(there, "w", 4)
    rows = [{"key": key, "operator": "In", "values": [*NODES]}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": rows}]}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway",
                  "labelSelector": {"matchExpressions": [{"key": label,
                                                          "operator": "Exists"}]}}  # fmt: skip
    await there.pod("test-pod", labels={label: "bar"}, topologySpreadConstraints=[constraint],
                    affinity={"nodeAffinity": {REQUIRED: terms}})  # fmt: skip
    await until_all_run(there, "test-pod")
    assert await there.node_of("test-pod") == "node-1"


# ---------------------------------------------------------------------- LimitRange


def amounts(cpu: str, memory: str, storage: str) -> Object:
    """Amounts of the usual resources."""
    return {"cpu": cpu, "memory": memory, "ephemeral-storage": storage}


@spec("LimitRange should list, patch and delete a LimitRange by collection")
async def _ranges(there: Cluster) -> None:
    row = {"type": "Container", "min": amounts("50m", "100Mi", "100Gi"),
           "max": amounts("500m", "500Mi", "500Gi"), "default": amounts("500m", "500Mi", "500Gi"),
           "defaultRequest": amounts("100m", "200Mi", "200Gi")}  # fmt: skip
    labels = {"e2e-test": "l", "l": "created"}
    created = await there.make(
        "LimitRange", "l", metadata={"labels": labels}, spec={"limits": [row]}
    )
    revision(created)
    await there.make("Namespace", "l")
    await there.make("LimitRange", "l", metadata={"labels": labels, "namespace": "l"},
                     spec={"limits": [row]})  # fmt: skip
    assert len(await there.chosen("LimitRange", "e2e-test=l")) == 2
    least = amounts("9m", "49Mi", "49Gi")
    patch = {"metadata": {"labels": {"l": "patched"}}, "spec": {"limits": [{**row, "min": least}]}}
    patched = await there.patch("LimitRange", "l", patch)
    assert patched["metadata"]["labels"]["l"] == "patched"
    assert patched["spec"]["limits"][0]["min"] == least
    assert revision(patched) > revision(created)
    await there.remove_all("LimitRange", "l=patched")

    async def gone() -> object:
        return not await there.chosen("LimitRange", "l=patched")

    await there.until(gone, 10)
    assert len(await there.chosen("LimitRange", "e2e-test=l")) == 1


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_scheduling(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
