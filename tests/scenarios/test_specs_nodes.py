"""What Kubernetes' e2e specs for scheduling, autoscaling and nodes ask of a cluster.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/scheduling, autoscaling and node (1.36);
nothing else of them.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from simulated import Cluster, cluster
from specs import Specs
from trio.testing import MockClock

Object = dict[str, Any]
SPECS = spec = Specs()
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TAINT = {"key": "evict", "value": "yes", "effect": "NoExecute"}


# ---------------------------------------------------------------------- predicates


@spec("SchedulerPredicates validates resource limits of pods that are allowed to run")
async def _cpu(there: Cluster) -> None:
    for number in range(2):
        await there.pod(f"fill-{number}", requests={"cpu": "20"})
        await there.placed(f"fill-{number}")
    await there.pod("more", requests={"cpu": "20"})
    assert "Insufficient cpu" in await there.refused("more")


@spec(
    "SchedulerPredicates validates local ephemeral storage resource limits of pods that are allowed to run"  # noqa: E501
)
async def _storage(there: Cluster) -> None:
    await there.pod("big", requests={"ephemeral-storage": "300Gi"})
    assert "Insufficient ephemeral-storage" in await there.refused("big")


@spec("SchedulerPredicates validates that NodeSelector is respected if not matching")
async def _no_selector(there: Cluster) -> None:
    await there.pod("p", nodeSelector={"label": "none"})
    assert "didn't match Pod's node affinity/selector" in await there.refused("p")


@spec("SchedulerPredicates validates that NodeSelector is respected if matching")
async def _selector(there: Cluster) -> None:
    await there.change("Node", "node-1", metadata={"labels": {"label": "one"}})
    await there.pod("p", nodeSelector={"label": "one"})
    assert await there.placed("p") == "node-1"


def affine(key: str, *values: str) -> Object:
    """Affinity to nodes with a label."""
    row = {"key": key, "operator": "In", "values": list(values)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [row]}]}
    return {"nodeAffinity": {REQUIRED: terms}}


@spec("SchedulerPredicates validates that NodeAffinity is respected if not matching")
async def _no_affinity(there: Cluster) -> None:
    await there.pod("p", affinity=affine("foo", "bar", "value2"))
    assert "didn't match Pod's node affinity/selector" in await there.refused("p")


@spec("SchedulerPredicates validates that required NodeAffinity setting is respected if matching")
async def _affinity(there: Cluster) -> None:
    await there.pod("p", affinity=affine(HOST, "node-1"))
    assert await there.placed("p") == "node-1"


async def _tainted(there: Cluster) -> None:
    """All nodes have a taint."""
    for name in ("node-0", "node-1"):
        taint = {**TAINT, "effect": "NoSchedule"}
        await there.change("Node", name, spec={"taints": [taint]})


@spec("SchedulerPredicates validates that taints-tolerations is respected if matching")
async def _tolerated(there: Cluster) -> None:
    await _tainted(there)
    await there.pod("p", tolerations=[{**TAINT, "effect": "NoSchedule"}])
    await there.placed("p")


@spec("SchedulerPredicates validates that taints-tolerations is respected if not matching")
async def _untolerated(there: Cluster) -> None:
    await _tainted(there)
    await there.pod("p")
    assert "untolerated taint" in await there.refused("p")
    await there.change("Node", "node-0", spec={"taints": None})
    assert await there.placed("p") == "node-0"


def port(number: int, **more: str) -> list[Object]:
    """A port of the node."""
    return [{"containerPort": number, "hostPort": number, **more}]


@spec(
    "SchedulerPredicates validates that there is no conflict between pods with same hostPort but different hostIP and protocol"  # noqa: E501
)
async def _no_conflict(there: Cluster) -> None:
    where = {"nodeSelector": {HOST: "node-0"}}
    await there.pod("a", ports=port(54321, hostIP="127.0.0.1"), **where)
    await there.pod("b", ports=port(54321, hostIP="127.0.0.2"), **where)
    await there.pod("c", ports=port(54321, hostIP="127.0.0.2", protocol="UDP"), **where)
    assert [await there.placed(one) for one in "abc"] == ["node-0"] * 3


@spec(
    "SchedulerPredicates validates that there exists conflict between pods with same hostPort and protocol but one using 0.0.0.0 hostIP"  # noqa: E501
)
async def _conflict(there: Cluster) -> None:
    where = {"nodeSelector": {HOST: "node-0"}}
    await there.pod("a", ports=port(54322), **where)
    await there.placed("a")
    await there.pod("b", ports=port(54322, hostIP="127.0.0.1"), **where)
    assert "didn't have free ports" in await there.refused("b")


@spec("SchedulerPredicates validates 4 pods with MaxSkew=1 are evenly distributed into 2 nodes")
async def _even(there: Cluster) -> None:
    constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule",
                  "labelSelector": {"matchLabels": {"app": "w"}}}  # fmt: skip
    pods = {"topologySpreadConstraints": [constraint]}
    await there.workload("ReplicaSet", "w", replicas=4, pods=pods)
    await there.until_ready("w", 4)
    nodes = [one["spec"]["nodeName"] for one in await there.all_of("Pod", "w")]
    assert (nodes.count("node-0"), nodes.count("node-1")) == (2, 2)


@spec("SchedulerPredicates validates Pods with non-empty schedulingGates are blocked on scheduling")
async def _gates(there: Cluster) -> None:
    gates = {"schedulingGates": [{"name": "foo"}, {"name": "bar"}]}
    await there.workload("ReplicaSet", "w", replicas=3, pods=gates)
    await trio.sleep(10)
    pods = await there.all_of("Pod", "w")
    assert [one["spec"].get("nodeName") for one in pods] == [None] * 3
    reasons = {one["status"]["conditions"][0]["reason"] for one in pods}
    assert reasons == {"SchedulingGated"}
    for one in pods:
        await there.change("Pod", one["metadata"]["name"], spec={"schedulingGates": None})
    await there.until_ready("w", 3)


# ---------------------------------------------------------------------- preemption


async def priorities(there: Cluster) -> None:
    """Two classes."""
    await there.make("PriorityClass", "low", value=1)
    await there.make("PriorityClass", "high", value=1000)


async def fill(there: Cluster, **more: Any) -> None:
    """Fill both nodes with pods of low priority."""
    await priorities(there)
    for number in range(2):
        await there.pod(f"low-{number}", priorityClassName="low", requests={"cpu": "20"},
                        nodeSelector={HOST: f"node-{number}"}, **more)  # fmt: skip
        await there.placed(f"low-{number}")


@spec("SchedulerPreemption validates basic preemption works")
async def _preempts(there: Cluster) -> None:
    await fill(there)
    await there.pod("high", priorityClassName="high", requests={"cpu": "20"})
    await there.placed("high")
    left = [name for name in await there.names("Pod") if name.startswith("low")]
    assert len(left) == 1


@spec("SchedulerPreemption validates lower priority pod preemption by critical pod")
async def _critical(there: Cluster) -> None:
    await fill(there)
    await there.pod("critical", priorityClassName="system-cluster-critical",
                    requests={"cpu": "20"})  # fmt: skip
    await there.placed("critical")


@spec("SchedulerPreemption validates pod disruption condition is added to the preempted pod")
async def _told(there: Cluster) -> None:
    await priorities(there)
    await there.pod("low", priorityClassName="low", requests={"cpu": "20"},
                    nodeSelector={HOST: "node-0"}, said={"stop-seconds": "20"})  # fmt: skip
    await there.placed("low")
    await trio.sleep(5)
    await there.pod("high", priorityClassName="high", requests={"cpu": "20"},
                    nodeSelector={HOST: "node-0"})  # fmt: skip

    async def told() -> object:
        condition = await there.condition("Pod", "low", "DisruptionTarget")
        return condition.get("reason") == "PreemptionByScheduler"

    await there.until(told, 30)
    assert await there.placed("high") == "node-0"


@spec("PreemptionExecutionPath runs ReplicaSets to verify preemption running path")
async def _sets(there: Cluster) -> None:
    await priorities(there)
    where = {"requests": {"cpu": "5"}, "nodeSelector": {HOST: "node-0"}}
    await there.workload(
        "ReplicaSet", "low", replicas=5, pods={"priorityClassName": "low", **where}
    )
    await there.until_ready("low", 5)
    await there.workload("ReplicaSet", "top", replicas=4,
                         pods={"priorityClassName": "high", **where})  # fmt: skip
    await there.until_ready("top", 4)
    assert len(await there.ready("low")) == 2


@spec("SchedulerPreemption validates proper pods are preempted")
async def _proper(there: Cluster) -> None:
    await priorities(there)
    await there.make("PriorityClass", "middle", value=100)
    for name, kind in (("a", "low"), ("b", "middle")):
        await there.pod(name, priorityClassName=kind, requests={"cpu": "15"},
                        nodeSelector={HOST: "node-0"})  # fmt: skip
        await there.placed(name)
    await there.pod("c", priorityClassName="high", requests={"cpu": "15"},
                    nodeSelector={HOST: "node-0"})  # fmt: skip
    await there.placed("c")
    assert await there.names("Pod") == ["b", "c"]


# ---------------------------------------------------------------------- priorities, zones


@spec(
    "SchedulerPriorities Pod should be scheduled to node that don't match the PodAntiAffinity terms"
)
async def _away(there: Cluster) -> None:
    await there.pod("first", labels={"security": "S1"})
    node = await there.placed("first")
    term = {"labelSelector": {"matchLabels": {"security": "S1"}}, "topologyKey": HOST}
    row = {"weight": 10, "podAffinityTerm": term}
    await there.pod("second", affinity={"podAntiAffinity": {PREFERRED: [row]}})
    assert await there.placed("second") != node


@spec("SchedulerPriorities Pod should be preferably scheduled to nodes pod can tolerate")
async def _prefers(there: Cluster) -> None:
    taints = [{"key": f"k{number}", "effect": "PreferNoSchedule"} for number in range(10)]
    await there.change("Node", "node-0", spec={"taints": taints})
    await there.pod("p")
    assert await there.placed("p") == "node-1"
    await there.change("Node", "node-1", spec={"taints": [{**one, "key": "x" + one["key"]}
                                                         for one in taints]})  # fmt: skip
    tolerations = [{"key": one["key"], "operator": "Exists"} for one in taints]
    await there.pod("q", tolerations=tolerations)
    assert await there.placed("q") == "node-0"


async def _zones(there: Cluster, kind: str) -> None:
    """Pods of a Service or controller are in both zones."""
    if kind == "Service":
        await there.make("Service", "w", spec={"selector": {"app": "w"}, "ports": [{"port": 80}]})
        for number in range(4):
            await there.pod(f"p{number}", labels={"app": "w"})
            await there.placed(f"p{number}")
    else:
        await there.workload(kind, "w", replicas=4)
        await there.until_ready("w", 4)
    nodes = [one["spec"]["nodeName"] for one in await there.all_of("Pod", "w")]
    assert (nodes.count("node-0"), nodes.count("node-1")) == (2, 2)


@spec("Multi-AZ Clusters should spread the pods of a service across zones")
async def _service_zones(there: Cluster) -> None:
    await _zones(there, "Service")


@spec("Multi-AZ Clusters should spread the pods of a replication controller across zones")
async def _controller_zones(there: Cluster) -> None:
    await _zones(there, "ReplicationController")


@spec(
    "LimitRange should create a LimitRange with defaults and ensure pod has those defaults applied."
)
async def _limits(there: Cluster) -> None:
    row = {"type": "Container", "defaultRequest": {"cpu": "100m"}, "default": {"cpu": "500m"},
           "max": {"cpu": "1"}}  # fmt: skip
    await there.make("LimitRange", "l", spec={"limits": [row]})
    await trio.sleep(2)
    await there.pod("p")
    resources = (await there.get("Pod", "p"))["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}}


# ---------------------------------------------------------------------- taints of nodes


async def on_first(there: Cluster, name: str, *tolerations: Object) -> None:
    """A pod runs on the first node."""
    await there.pod(name, nodeSelector={HOST: "node-0"}, tolerations=list(tolerations))
    await there.placed(name)


async def taint(there: Cluster) -> None:
    """Taint the first node."""
    await there.change("Node", "node-0", spec={"taints": [TAINT]})


async def until_gone(there: Cluster, name: str, limit_s: float = 60) -> None:
    """Wait until a pod is gone."""

    async def gone() -> object:
        return await there.find("Pod", name) is None

    await there.until(gone, limit_s)


def stands(seconds: int | None = None) -> Object:
    """A toleration of the taint, for so long."""
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    return {**TAINT, "operator": "Equal", **limit}


@spec("NoExecuteTaintManager Single Pod evicts pods from tainted nodes")
async def _evicts(there: Cluster) -> None:
    await on_first(there, "p")
    await taint(there)
    await until_gone(there, "p")


@spec("NoExecuteTaintManager Single Pod doesn't evict pod with tolerations from tainted nodes")
async def _stands(there: Cluster) -> None:
    await on_first(there, "p", stands())
    await taint(there)
    await trio.sleep(300)
    assert await there.find("Pod", "p") is not None


@spec(
    "NoExecuteTaintManager Single Pod eventually evict pod with finite tolerations from tainted nodes"  # noqa: E501
)
async def _for_a_while(there: Cluster) -> None:
    await on_first(there, "p", stands(60))
    await taint(there)
    await trio.sleep(50)
    assert await there.find("Pod", "p") is not None
    await until_gone(there, "p")


@spec("NoExecuteTaintManager Single Pod removing taint cancels eviction")
async def _cancels(there: Cluster) -> None:
    await on_first(there, "p", stands(60))
    await taint(there)
    await trio.sleep(50)
    await there.change("Node", "node-0", spec={"taints": None})
    await trio.sleep(120)
    assert await there.find("Pod", "p") is not None


@spec(
    "NoExecuteTaintManager Single Pod pods evicted from tainted nodes have pod disruption condition"
)
async def _condition(there: Cluster) -> None:
    await there.pod("p", nodeSelector={HOST: "node-0"}, said={"stop-seconds": "20"})
    await there.placed("p")
    await trio.sleep(5)
    await taint(there)

    async def told() -> object:
        condition = await there.condition("Pod", "p", "DisruptionTarget")
        return condition.get("reason") == "DeletionByTaintManager"

    await there.until(told, 30)


@spec("NoExecuteTaintManager Multiple Pods only evicts pods without tolerations from tainted nodes")
async def _only(there: Cluster) -> None:
    await on_first(there, "p")
    await on_first(there, "q", stands())
    await taint(there)
    await until_gone(there, "p")
    assert await there.find("Pod", "q") is not None


@spec("NoExecuteTaintManager Multiple Pods evicts pods with minTolerationSeconds")
async def _least(there: Cluster) -> None:
    await on_first(there, "p", stands(30))
    await on_first(there, "q", stands(90))
    await taint(there)
    await until_gone(there, "p")
    assert await there.find("Pod", "q") is not None
    await until_gone(there, "q", 120)


@spec("Node Lifecycle should run through the lifecycle of a node")
async def _lifecycle(there: Cluster) -> None:
    await there.make("Node", "made", status={"phase": "Running"})
    await there.change("Node", "made", metadata={"labels": {"e2e": "patched"}})
    await there.change("Node", "made", "status", status={"phase": "Terminated"})
    found = await there.get("Node", "made")
    assert found["metadata"]["labels"]["e2e"] == "patched"
    assert found["status"]["phase"] == "Terminated"
    await there.remove("Node", "made")
    assert await there.find("Node", "made") is None


# ---------------------------------------------------------------------- autoscaling


async def scaled(there: Cluster, use: str, replicas: int, behavior: Object | None = None) -> None:
    """A Deployment whose pods use so much of their request, and an autoscaler for half of it."""
    await there.workload("Deployment", "w", said={"cpu": use}, replicas=replicas,
                         pods={"requests": {"cpu": "200m"}})  # fmt: skip
    await there.until_ready("w", replicas)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
    half = {"type": "Utilization", "averageUtilization": 50}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": half}}
    more = {} if behavior is None else {"behavior": behavior}
    await there.make("HorizontalPodAutoscaler", "w", spec={
        "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10, "metrics": [metric], **more,
    })  # fmt: skip


async def replicas(there: Cluster) -> int:
    """The size of the Deployment."""
    return int((await there.get("Deployment", "w"))["spec"]["replicas"])


async def until_size(there: Cluster, size: int, limit_s: float = 900) -> None:
    """Wait until the Deployment has a size."""

    async def has() -> object:
        return await replicas(there) == size

    await there.until(has, limit_s)


async def use(there: Cluster, share: str) -> None:
    """Have all pods use another share."""
    for name in await there.names("Pod", "w"):
        await there.change(
            "Pod", name, metadata={"annotations": {"simulation.kubetrio.io/cpu": share}}
        )


SHAPED = "Horizontal pod autoscaling (non-default behavior)"


@spec(
    f"{SHAPED} with short downscale stabilization window should scale down soon after the stabilization period"  # noqa: E501
)
async def _soon(there: Cluster) -> None:
    await scaled(there, "50%", 3, {"scaleDown": {"stabilizationWindowSeconds": 60}})
    await trio.sleep(60)
    await use(there, "10%")
    await trio.sleep(40)
    assert await replicas(there) == 3
    await until_size(there, 1, 90)


@spec(
    f"{SHAPED} with long upscale stabilization window should scale up only after the stabilization period"  # noqa: E501
)
async def _late(there: Cluster) -> None:
    await scaled(there, "50%", 2, {"scaleUp": {"stabilizationWindowSeconds": 180}})
    await trio.sleep(200)
    await use(there, "100%")
    await trio.sleep(150)
    assert await replicas(there) == 2
    await until_size(there, 4, 120)


@spec(f"{SHAPED} with autoscaling disabled shouldn't scale up")
async def _not_up(there: Cluster) -> None:
    await scaled(there, "100%", 2, {"scaleUp": {"selectPolicy": "Disabled"}})
    await trio.sleep(300)
    assert await replicas(there) == 2


@spec(f"{SHAPED} with autoscaling disabled shouldn't scale down")
async def _not_down(there: Cluster) -> None:
    await scaled(there, "10%", 3, {"scaleDown": {"selectPolicy": "Disabled"}})
    await trio.sleep(600)
    assert await replicas(there) == 3


def policy(kind: str, value: int) -> Object:
    """A limit of changes in a minute."""
    return {"stabilizationWindowSeconds": 0,
            "policies": [{"type": kind, "value": value, "periodSeconds": 60}]}  # fmt: skip


@spec(
    f"{SHAPED} with scale limited by number of Pods rate should scale up no more than given number of Pods per minute"  # noqa: E501
)
async def _pods_up(there: Cluster) -> None:
    await scaled(there, "500%", 1, {"scaleUp": policy("Pods", 1)})
    await until_size(there, 2)
    start = trio.current_time()
    await until_size(there, 3)
    assert trio.current_time() - start >= 45


@spec(
    f"{SHAPED} with scale limited by number of Pods rate should scale down no more than given number of Pods per minute"  # noqa: E501
)
async def _pods_down(there: Cluster) -> None:
    await scaled(there, "1%", 4, {"scaleDown": policy("Pods", 1)})
    await until_size(there, 3)
    start = trio.current_time()
    await until_size(there, 2)
    assert trio.current_time() - start >= 45


@spec(
    f"{SHAPED} with scale limited by percentage should scale up no more than given percentage of current Pods per minute"  # noqa: E501
)
async def _share_up(there: Cluster) -> None:
    await scaled(there, "500%", 2, {"scaleUp": policy("Percent", 50)})
    await until_size(there, 3)
    start = trio.current_time()
    await until_size(there, 5)
    assert trio.current_time() - start >= 45


@spec(
    f"{SHAPED} with scale limited by percentage should scale down no more than given percentage of current Pods per minute"  # noqa: E501
)
async def _share_down(there: Cluster) -> None:
    await scaled(there, "1%", 8, {"scaleDown": policy("Percent", 25)})
    await until_size(there, 6)
    start = trio.current_time()
    await until_size(there, 4)
    assert trio.current_time() - start >= 45


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_nodes(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
