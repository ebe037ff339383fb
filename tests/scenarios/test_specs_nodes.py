"""What Kubernetes' e2e specs for scheduling, autoscaling and nodes ask of a cluster.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/scheduling, autoscaling and node (1.36);
nothing else of them.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from simulated import Cluster, cluster, revision
from specs import Specs
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
SPECS = spec = Specs()
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TAINT = {"key": "evict", "value": "yes", "effect": "NoExecute"}


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


def three(cpu: str, memory: str, storage: str) -> Object:
    """Amounts of a container, without those that are empty."""
    found = {"cpu": cpu, "memory": memory, "ephemeral-storage": storage}
    return {name: amount for name, amount in found.items() if amount}


async def made(there: Cluster, name: str, requests: Object, limits: Object) -> Object:
    """Make a pod; returns the resources that its container has then."""
    resources = {"requests": requests, "limits": limits}
    containers = [{"name": "c", "image": "pause", "resources": resources}]
    pod = await there.make("Pod", name, spec={"containers": containers})
    return dict(pod["spec"]["containers"][0]["resources"])


@spec(
    "LimitRange should create a LimitRange with defaults and ensure pod has those defaults applied."
)
async def _limits(there: Cluster) -> None:
    kind = "LimitRange"
    most, usual = three("500m", "500Mi", "500Gi"), three("100m", "200Mi", "200Gi")
    row = {"type": "Container", "min": three("50m", "100Mi", "100Gi"), "max": most,
           "default": most, "defaultRequest": usual}  # fmt: skip
    since = await there.now(kind, "time=now")
    await there.make(kind, "l", metadata={"labels": {"time": "now"}}, spec={"limits": [row]})
    await there.until_event(kind, since, lambda type_, _: type_ == "ADDED", selector="time=now")
    (stored,) = (await there.get(kind, "l"))["spec"]["limits"]
    assert (stored["default"], stored["defaultRequest"]) == (most, usual)
    assert await made(there, "none", {}, {}) == {"requests": usual, "limits": most}
    partly = await made(there, "part", three("", "150Mi", "150Gi"), three("300m", "", ""))
    assert partly == {"requests": three("300m", "150Mi", "150Gi"),
                      "limits": three("300m", "500Mi", "500Gi")}  # fmt: skip
    little, much = three("10m", "50Mi", "50Gi"), three("600m", "600Mi", "600Gi")
    with pytest.raises(ApiError, match="minimum"):
        await made(there, "little", little, {})
    with pytest.raises(ApiError, match=r"must be less than or equal to|maximum"):
        await made(there, "much", much, {})
    least = three("9m", "49Mi", "49Gi")
    await there.updated(kind, "l", lambda read: read["spec"]["limits"][0].update(min=least))
    assert (await there.get(kind, "l"))["spec"]["limits"][0]["min"] == least
    await made(there, "little", little, {})
    with pytest.raises(ApiError, match=r"must be less than or equal to|maximum"):
        await made(there, "much", much, {})
    await there.remove(kind, "l", gracePeriodSeconds=30)
    assert await there.names(kind) == []
    assert (await made(there, "much", much, {}))["requests"] == much


# ---------------------------------------------------------------------- taints of nodes


async def on_first(there: Cluster, name: str, *tolerations: Object) -> None:
    """A pod runs on the first node."""
    await there.pod(name, nodeSelector={HOST: "node-0"}, tolerations=list(tolerations))
    await there.placed(name)


async def taint(there: Cluster) -> None:
    """Taint the first node."""
    changed = await there.change("Node", "node-0", spec={"taints": [TAINT]})
    assert TAINT.items() <= changed["spec"]["taints"][0].items()


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
    await on_first(there, "p")
    await there.change("Pod", "p", metadata={"finalizers": ["example.com/held"]})
    await taint(there)

    async def terminating() -> object:
        return (await there.get("Pod", "p"))["metadata"].get("deletionTimestamp")

    await there.until(terminating, 75)
    condition = await there.condition("Pod", "p", "DisruptionTarget")
    assert (condition["status"], condition["reason"]) == ("True", "DeletionByTaintManager")
    await there.change("Pod", "p", metadata={"finalizers": None})
    await until_gone(there, "p")


@spec("NoExecuteTaintManager Multiple Pods only evicts pods without tolerations from tainted nodes")
async def _only(there: Cluster) -> None:
    await on_first(there, "p")
    await on_first(there, "q", stands())
    await taint(there)
    await until_gone(there, "p")
    await trio.sleep(65)
    assert "deletionTimestamp" not in (await there.get("Pod", "q"))["metadata"]


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
    ready = {"type": "Ready", "status": "True", "reason": "E2E", "message": "Set from a test"}
    created = await there.make("Node", "made", spec={"unschedulable": True},
                               status={"phase": "Running", "conditions": [ready]})  # fmt: skip
    assert created["metadata"]["name"] == "made"
    assert (await there.get("Node", "made"))["metadata"]["uid"] == created["metadata"]["uid"]
    patched = await there.patch("Node", "made", {"metadata": {"labels": {"made": "patched"}}})
    assert patched["metadata"]["labels"]["made"] == "patched"
    assert revision(patched) > revision(created)
    assert len(await there.chosen("Node", "made=patched")) == 1
    updated = await there.updated(
        "Node", "made", lambda read: read["metadata"]["labels"].update(made="updated")
    )
    assert updated["metadata"]["labels"]["made"] == "updated"
    await there.remove("Node", "made")

    async def gone() -> object:
        return await there.find("Node", "made") is None

    await there.until(gone, 180)


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
