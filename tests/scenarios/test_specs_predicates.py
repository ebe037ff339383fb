"""What Kubernetes' e2e specs ask of a scheduler's predicates and preemption, step by step.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/scheduling (``predicates.go`` and
``preemption.go``, 1.36); nothing else of them.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from simulated import Cluster, cluster
from specs import Specs, until_running
from trio.testing import MockClock

Object = dict[str, Any]
SPECS = spec = Specs()
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = ("node-0", "node-1")
KEY, LABEL = "kubernetes.io/e2e-mark", {"kubernetes.io/e2e-mark": "42"}
TAINT = {"key": "kubernetes.io/e2e-taint", "value": "testing", "effect": "NoSchedule"}
FOO = "scheduling.k8s.io/foo"


def affine(*rows: Object, fields: str = "matchExpressions") -> Object:
    """Affinity to nodes that one of the rows matches."""
    terms = {"nodeSelectorTerms": [{fields: [row]} for row in rows]}
    return {"nodeAffinity": {REQUIRED: terms}}


def one_of(key: str, *values: str) -> Object:
    """A row of affinity."""
    return {"key": key, "operator": "In", "values": [*values]}


def amounts(**amounts: str) -> Object:
    """Requests and limits of a pod's container; ``foo`` is an extended resource."""
    both = {FOO if name == "foo" else name.replace("_", "-"): amounts[name] for name in amounts}
    return {"name": "c", "image": "pause", "resources": {"requests": both, "limits": both}}


async def pause(there: Cluster, name: str, container: Object | None = None, **more: Any) -> None:
    """Make a pod that pauses.

    Args:
        there: the cluster.
        name: of the pod.
        container: of it.
        more: members of its spec; ``metadata`` are those of its metadata.
    """
    meta = more.pop("metadata", {})
    body = {"containers": [container or {"name": "c", "image": "pause"}], **more}
    await there.make("Pod", name, metadata=meta, spec=body)


async def ran(there: Cluster, name: str, container: Object | None = None, **more: Any) -> str:
    """Make a pod that pauses, and wait until it runs; returns its node."""
    await pause(there, name, container, **more)

    async def runs() -> object:
        return (await there.get("Pod", name))["status"]["phase"] == "Running"

    await there.until(runs)
    return await there.node_of(name)


async def assert_placed(there: Cluster, placed: int, waiting: int) -> None:
    """So many pods have a node, and so many have none."""
    found = [bool(one["spec"].get("nodeName")) for one in await there.all_of("Pod")]
    assert (found.count(True), found.count(False)) == (placed, waiting)


async def marked(there: Cluster, *taints: Object) -> None:
    """Give a node a label and taints."""
    spec = {"taints": [*taints] or None}
    changed = await there.change("Node", "node-0", metadata={"labels": LABEL}, spec=spec)
    assert LABEL.items() <= changed["metadata"]["labels"].items()
    assert (changed["spec"].get("taints") or []) == [*taints]


async def offers(there: Cluster, node: str, amount: str) -> None:
    """Have a node offer an extended resource."""
    added = {name: {FOO: amount} for name in ("capacity", "allocatable")}
    await there.change("Node", node, "status", status=added)


@spec("SchedulerPredicates validates resource limits of pods that are allowed to run")
async def _cpu(there: Cluster) -> None:
    most = 0
    for name in NODES:
        node = await there.change("Node", name, metadata={"labels": {"node": name}})
        cpu = int(node["status"]["allocatable"]["cpu"]) * 1000
        most = max(most, cpu)
        where = affine(one_of("node", name))
        assert await ran(there, f"filler-{name}", amounts(cpu=f"{cpu * 7 // 10}m"),
                         affinity=where) == name  # fmt: skip
    await pause(there, "additional", amounts(cpu=f"{most // 2}m"))
    assert "2 Insufficient cpu" in await there.refused("additional")
    await assert_placed(there, 2, 1)


@spec(
    "SchedulerPredicates validates local ephemeral storage resource limits of pods that are allowed to run"  # noqa: E501
)
async def _storage(there: Cluster) -> None:
    for name in NODES:
        amount = {"ephemeral-storage": "100Gi"}
        await there.change("Node", name, "status",
                           status={"capacity": amount, "allocatable": amount})  # fmt: skip
    tenth = amounts(ephemeral_storage="10Gi")
    for number in range(20):
        await ran(there, f"overcommit-{number}", tenth)
    await pause(there, "additional", tenth)
    assert "2 Insufficient ephemeral-storage" in await there.refused("additional")
    await assert_placed(there, 20, 1)


@spec("SchedulerPredicates validates that NodeSelector is respected if not matching")
async def _no_selector(there: Cluster) -> None:
    await pause(there, "restricted", nodeSelector={"label": "nonempty"})
    assert "didn't match Pod's node affinity/selector" in await there.refused("restricted")
    await assert_placed(there, 0, 1)


@spec("SchedulerPredicates validates that NodeSelector is respected if matching")
async def _selector(there: Cluster) -> None:
    await marked(there)
    assert await ran(there, "with-labels", nodeSelector=LABEL) == "node-0"


@spec("SchedulerPredicates validates that NodeAffinity is respected if not matching")
async def _no_affinity(there: Cluster) -> None:
    rows = one_of("foo", "bar", "value2"), one_of("diffkey", "wrong", "value2")
    await pause(there, "restricted", affinity=affine(*rows))
    assert "didn't match Pod's node affinity/selector" in await there.refused("restricted")
    await assert_placed(there, 0, 1)


@spec("SchedulerPredicates validates that required NodeAffinity setting is respected if matching")
async def _affinity(there: Cluster) -> None:
    await marked(there)
    assert await ran(there, "with-labels", affinity=affine(one_of(KEY, "42"))) == "node-0"


@spec("SchedulerPredicates validates that taints-tolerations is respected if matching")
async def _tolerated(there: Cluster) -> None:
    await marked(there, TAINT)
    found = await ran(there, "with-tolerations", tolerations=[TAINT], nodeSelector=LABEL)
    assert found == "node-0"


@spec("SchedulerPredicates validates that taints-tolerations is respected if not matching")
async def _untolerated(there: Cluster) -> None:
    await marked(there, TAINT)
    await pause(there, "no-tolerations", nodeSelector=LABEL)
    assert "untolerated taint" in await there.refused("no-tolerations")
    await assert_placed(there, 0, 1)
    await marked(there)
    assert await there.placed("no-tolerations") == "node-0"
    await assert_placed(there, 1, 0)


def port(number: int, **more: str) -> Object:
    """A container with a port of the node."""
    ports = [{"containerPort": 8080, "hostPort": number, "protocol": "TCP", **more}]
    return {"name": "c", "image": "pause", "ports": ports}


async def address(there: Cluster) -> str:
    """The address of the node that has the label."""
    found = (await there.get("Node", "node-0"))["status"]["addresses"]
    return next(str(one["address"]) for one in found if one["type"] == "InternalIP")


@spec(
    "SchedulerPredicates validates that there is no conflict between pods with same hostPort but different hostIP and protocol"  # noqa: E501
)
async def _no_conflict(there: Cluster) -> None:
    await marked(there)
    host = await address(there)
    ports = (port(54321, hostIP="127.0.0.1"), port(54321, hostIP=host),
             port(54321, hostIP=host, protocol="UDP"))  # fmt: skip
    nodes = [await ran(there, f"pod{number}", one, nodeSelector=LABEL)
             for number, one in enumerate(ports)]  # fmt: skip
    assert nodes == ["node-0"] * 3


@spec(
    "SchedulerPredicates validates that there exists conflict between pods with same hostPort and protocol but one using 0.0.0.0 hostIP"  # noqa: E501
)
async def _conflict(there: Cluster) -> None:
    await marked(there)
    assert await ran(there, "pod4", port(54322), nodeSelector=LABEL) == "node-0"
    await pause(there, "pod5", port(54322, hostIP=await address(there)), nodeSelector=LABEL)
    assert "didn't have free ports" in await there.refused("pod5")


@spec("SchedulerPredicates validates 4 pods with MaxSkew=1 are evenly distributed into 2 nodes")
async def _even(there: Cluster) -> None:
    for name in NODES:
        await there.change("Node", name, metadata={"labels": {KEY: name}})
    chosen = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    constraint = {"maxSkew": 1, "topologyKey": KEY, "whenUnsatisfiable": "DoNotSchedule",
                  "labelSelector": chosen}  # fmt: skip
    pods = {"topologySpreadConstraints": [constraint], "affinity": affine(one_of(KEY, *NODES))}
    await there.workload("ReplicaSet", "w", replicas=4, pods=pods)
    nodes = [one["spec"]["nodeName"] for one in await until_running(there, "w", 4)]
    assert (nodes.count("node-0"), nodes.count("node-1")) == (2, 2)


@spec("SchedulerPredicates validates Pods with non-empty schedulingGates are blocked on scheduling")
async def _gates(there: Cluster) -> None:
    foo, bar = {"name": "foo"}, {"name": "bar"}
    await there.workload("ReplicaSet", "w", replicas=3, pods={"schedulingGates": [foo, bar]})

    async def gated(*gates: Object) -> list[str]:
        await trio.sleep(10)
        pods = await there.all_of("Pod", "w")
        assert len(pods) == 3
        for pod in pods:
            (condition,) = pod["status"]["conditions"]
            assert (pod["status"]["phase"], condition["reason"]) == ("Pending", "SchedulingGated")
            assert pod["spec"]["schedulingGates"] == [*gates]
        return [str(pod["metadata"]["name"]) for pod in pods]

    for name in await gated(foo, bar):
        await there.updated("Pod", name, lambda read: read["spec"].update(schedulingGates=[bar]))
    for name in await gated(bar):
        await there.updated("Pod", name, lambda read: read["spec"].pop("schedulingGates"))
    await there.until_ready("w", 3)


# ---------------------------------------------------------------------- preemption


async def priorities(there: Cluster) -> None:
    """Four classes."""
    for number, name in enumerate(("low", "medium", "high", "top"), 1):
        await there.make("PriorityClass", name, value=number)


async def full(there: Cluster) -> list[str]:
    """Have two pods on each node, the first of the least priority; returns their names."""
    await priorities(there)
    names: list[str] = []
    for node in NODES:
        await offers(there, node, "5")
        for number in range(2):
            names.append(f"pod-{node}-{number}")
            where = affine(one_of("metadata.name", node), fields="matchFields")
            priority = "low" if len(names) == 1 else "medium"
            found = await ran(there, names[-1], amounts(foo="2"), affinity=where,
                              priorityClassName=priority)  # fmt: skip
            assert found == node
    return names


async def only_first(there: Cluster, names: list[str]) -> None:
    """The first pod is gone or on its way, and the others stay."""
    found = {one["metadata"]["name"]: one["metadata"] for one in await there.all_of("Pod")}
    assert "deletionTimestamp" in found.get(names[0], {"deletionTimestamp": ""})
    assert all("deletionTimestamp" not in found[one] for one in names[1:])


@spec("SchedulerPreemption validates basic preemption works")
async def _preempts(there: Cluster) -> None:
    names = await full(there)
    assert await ran(there, "preemptor", amounts(foo="2"), priorityClassName="high") == "node-0"
    await only_first(there, names)


@spec("SchedulerPreemption validates lower priority pod preemption by critical pod")
async def _critical(there: Cluster) -> None:
    names = await full(there)
    body = {"priorityClassName": "system-cluster-critical", "containers": [amounts(foo="2")]}
    await there.make("Pod", "critical", metadata={"namespace": "kube-system"}, spec=body)

    async def runs() -> object:
        found = await there.client.get(there.kind("Pod"), "critical", "kube-system")
        return found["status"]["phase"] == "Running"

    await there.until(runs)
    await only_first(there, names)


@spec("SchedulerPreemption validates pod disruption condition is added to the preempted pod")
async def _told(there: Cluster) -> None:
    await priorities(there)
    await offers(there, "node-0", "1")
    where = {"affinity": affine(one_of("metadata.name", "node-0"), fields="matchFields")}
    await ran(there, "victim", amounts(foo="1"), priorityClassName="low", **where,
              metadata={"finalizers": ["example.com/held"]})  # fmt: skip
    await pause(there, "preemptor", amounts(foo="1"), priorityClassName="high", **where)

    async def terminating() -> object:
        return (await there.get("Pod", "victim"))["metadata"].get("deletionTimestamp")

    await there.until(terminating)
    condition = await there.condition("Pod", "victim", "DisruptionTarget")
    assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
    await there.change("Pod", "victim", metadata={"finalizers": None})
    assert await there.placed("preemptor") == "node-0"


@spec("SchedulerPreemption validates proper pods are preempted")
async def _proper(there: Cluster) -> None:
    await priorities(there)
    for name in NODES:
        await there.change("Node", name, metadata={"labels": {KEY: name}})
        await offers(there, name, "10")
    how = {"affinity": affine(one_of(KEY, *NODES)), "metadata": {"labels": {"mark": ""}}}
    await ran(there, "high", amounts(foo="9"), priorityClassName="high", **how)
    for number in range(3):
        await ran(there, f"low-{number}", amounts(foo="3"), priorityClassName="low", **how)
    chosen = {"matchExpressions": [{"key": "mark", "operator": "Exists"}]}
    constraint = {"maxSkew": 1, "topologyKey": KEY, "whenUnsatisfiable": "DoNotSchedule",
                  "labelSelector": chosen}  # fmt: skip
    await ran(there, "medium", amounts(foo="3"), priorityClassName="medium",
              topologySpreadConstraints=[constraint], **how)  # fmt: skip

    async def three() -> object:
        return len(await there.names("Pod")) == 3

    await there.until(three)
    left = [name.partition("-")[0] for name in await there.names("Pod")]
    assert left == ["high", "low", "medium"]


@spec("PreemptionExecutionPath runs ReplicaSets to verify preemption running path")
async def _sets(there: Cluster) -> None:
    await priorities(there)
    await offers(there, "node-0", "1000")
    where = {"nodeSelector": {"kubernetes.io/hostname": "node-0"}}
    since = await there.now("Pod")
    classes = {"pod1": ("low", "200"), "pod2": ("medium", "300"), "pod3": ("high", "450")}
    for name, (priority, amount) in classes.items():
        written = there.written("ReplicaSet", name, replicas=1,
                                pods={"priorityClassName": priority, **where})  # fmt: skip
        written["spec"]["template"]["spec"]["containers"] = [amounts(foo=amount)]
        await there.client.create(written)
        await there.until_ready(name, 1)
    assert await ran(there, "pod4", amounts(foo="500"), priorityClassName="top",
                     **where) == "node-0"  # fmt: skip
    await trio.sleep(30)
    await pause(there, "last")
    made: list[str] = []

    def last(type_: str, pod: Object) -> bool:
        made.extend([pod["metadata"]["name"].partition("-")[0]] if type_ == "ADDED" else [])
        return bool(pod["metadata"]["name"] == "last")

    await there.until_event("Pod", since, last)
    assert [made.count(name) for name in classes] == [2, 2, 1]


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_predicates(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
