"""Pods get nodes, wait for them, and have others go for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.config import Scheduler as SchedulerConfig
from kubetrio.config import Simulation
from kubetrio.testing.controllers import running
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import NAMESPACE, events_of, pods_of, template

Object = dict[str, Any]
NAMES = ("simulated-node-controller", "node-lifecycle-controller", "kube-scheduler")


@asynccontextmanager
async def cluster(nodes: int) -> AsyncIterator[InProcess]:
    """A server with simulated nodes on which nothing runs."""
    async with open_api(seed=0) as server:
        config = replace(server.config, simulation=Simulation(nodes=nodes))
        async with running(server, *NAMES, config=config):
            await trio.sleep(1)
            yield server


def pod(name: str, **spec: Any) -> Object:
    """A pod with one container."""
    made = {"apiVersion": "v1", "kind": "Pod", **template(**spec)}
    made["metadata"] = {"name": name, "namespace": NAMESPACE}
    return made


async def places(server: InProcess) -> dict[str, str]:
    """The node of each pod, empty for none."""
    return {
        one["metadata"]["name"]: one["spec"].get("nodeName", "")
        for one in await pods_of(server.client())
    }


async def test_pods_are_spread(autojump_clock: MockClock) -> None:
    """Nodes have as many pods as the next; a pod has the zone of its node in its labels."""
    async with cluster(3) as server:
        client = server.client()
        for number in range(9):
            await client.create(pod(f"p{number}"))
        await trio.sleep(1)
        found = list((await places(server)).values())
        assert {name: found.count(name) for name in found} == {
            "node-0": 3, "node-1": 3, "node-2": 3,
        }  # fmt: skip
        one = (await pods_of(client))[0]
        zone = one["metadata"]["labels"]["topology.kubernetes.io/zone"]
        assert zone == "simulated-" + "abc"[int(one["spec"]["nodeName"][-1])]
        scheduled = {row["type"]: row["status"] for row in one["status"]["conditions"]}
        assert scheduled["PodScheduled"] == "True"


async def test_selectors_and_taints_count(autojump_clock: MockClock) -> None:
    """A pod goes where its spec allows it, and waits where nothing does until that changes."""
    async with cluster(2) as server:
        client = server.client()
        nodes = client.kind("v1", "Node")
        await client.patch(nodes, "node-0", {"spec": {"unschedulable": True}})
        await trio.sleep(1)
        await client.create(pod("any"))
        await client.create(pod("there", nodeSelector={"kubernetes.io/hostname": "node-0"}))
        stands = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
        await client.create(
            pod("stands", nodeSelector={"kubernetes.io/hostname": "node-0"}, tolerations=[stands])
        )
        await trio.sleep(1)
        assert await places(server) == {"any": "node-1", "there": "", "stands": "node-0"}
        text = (
            "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
            "1 node(s) were unschedulable. no new claims to deallocate, preemption: "
            "0/2 nodes are available: "
            "2 Preemption is not helpful for scheduling."
        )
        assert ("Warning", "FailedScheduling", text) in await events_of(client, "Pod")
        waiting = (await pods_of(client))[2]["status"]["conditions"][0]
        assert (waiting["type"], waiting["reason"]) == ("PodScheduled", "Unschedulable")
        await client.patch(nodes, "node-0", {"spec": {"unschedulable": None}})
        await trio.sleep(3)
        assert (await places(server))["there"] == "node-0"


async def test_a_full_node_takes_no_more(autojump_clock: MockClock) -> None:
    """The number of pods that it says it has room for; one that goes makes room."""
    async with cluster(1) as server:
        client = server.client()
        status = {"status": {"allocatable": {"pods": "2"}}}
        await client.patch(client.kind("v1", "Node"), "node-0", status, subresource="status")
        for number in range(3):
            await client.create(pod(f"p{number}"))
            await trio.sleep(1)
        assert await places(server) == {"p0": "node-0", "p1": "node-0", "p2": ""}
        await client.delete(client.kind("v1", "Pod"), "p0", NAMESPACE, gracePeriodSeconds=0)
        await trio.sleep(5)
        assert await places(server) == {"p1": "node-0", "p2": "node-0"}


async def test_a_pod_that_is_to_go_helps_when_it_is_gone(autojump_clock: MockClock) -> None:
    """Until then the pod for whose sake it goes is not tried again, and told of once."""
    async with cluster(2) as server:
        client, share = server.client(), {"limits": {"example.com/foo": "1"}}
        status = {"status": {"capacity": {"example.com/foo": "1"}}}
        await client.patch(client.kind("v1", "Node"), "node-1", status, subresource="status")
        await trio.sleep(1)
        for name, value in (("low", 1), ("high", 1000)):
            await client.create({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value,
            })  # fmt: skip
            body = pod(name, priorityClassName=name)
            body["spec"]["containers"][0]["resources"] = share
            await client.create(body)
            await trio.sleep(5)
        text = "0/2 nodes are available: 2 Insufficient example.com/foo."
        events = await events_of(client, "Pod")
        refusals = [row for row in events if row[1] == "FailedScheduling"]
        assert refusals == [("Warning", "FailedScheduling", text)]
        await client.delete(client.kind("v1", "Pod"), "low", NAMESPACE, gracePeriodSeconds=0)
        await trio.sleep(5)
        assert await places(server) == {"high": "node-1"}


@pytest.mark.parametrize(
    "spec",
    [{"schedulerName": "mine"}, {"schedulingGates": [{"name": "example.com/later"}]}],
)
async def test_some_pods_are_not_for_it(autojump_clock: MockClock, spec: Object) -> None:
    """Those of other schedulers, and those that are held back."""
    async with cluster(1) as server:
        await server.client().create(pod("p", **spec))
        await trio.sleep(5)
        assert await places(server) == {"p": ""}


async def make_class(server: InProcess, name: str, value: int) -> None:
    """Make a PriorityClass."""
    made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    await server.client().create({**made, "metadata": {"name": name}, "value": value})


def needs(name: str, cpu: str, **spec: Any) -> Object:
    """A pod that requests CPU."""
    made = pod(name, terminationGracePeriodSeconds=5, **spec)
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return made


async def test_a_pod_of_higher_priority_gets_room(autojump_clock: MockClock) -> None:
    """The least important goes and is told why; its node is kept for the pod until it is gone."""
    async with cluster(1) as server:
        client = server.client()
        for name, value in (("low", 1), ("high", 10)):
            await make_class(server, name, value)
        await client.create(needs("low", "20", priorityClassName="low"))
        await client.create(needs("other", "10", priorityClassName="high"))
        await trio.sleep(1)
        await client.create(needs("high", "20", priorityClassName="high"))
        await client.create(needs("late", "20", priorityClassName="low"))
        await trio.sleep(1)
        found = {one["metadata"]["name"]: one for one in await pods_of(client)}
        assert found["high"]["status"]["nominatedNodeName"] == "node-0"
        reasons = {row["type"]: row.get("reason") for row in found["low"]["status"]["conditions"]}
        assert reasons["DisruptionTarget"] == "PreemptionByScheduler"
        assert "deletionTimestamp" in found["low"]["metadata"]
        await client.delete(client.kind("v1", "Pod"), "low", NAMESPACE, gracePeriodSeconds=0)
        await trio.sleep(3)
        assert await places(server) == {"high": "node-0", "other": "node-0", "late": ""}
        uid = found["high"]["metadata"]["uid"]
        told = await events_of(client, "Pod")
        assert ("Normal", "Preempted", f"Preempted by pod {uid} on node node-0") in told
        text = "0/1 nodes are available: 1 Insufficient cpu."
        assert ("Warning", "FailedScheduling", text) in told
        (high,) = [one for one in await pods_of(client) if one["metadata"]["name"] == "high"]
        assert "nominatedNodeName" not in high["status"]


async def test_the_more_important_pod_comes_first(autojump_clock: MockClock) -> None:
    """Of those that wait for a node, however long each has waited."""
    async with open_api(seed=0) as server:
        client = server.client()
        for name, value in (("low", 1), ("high", 10)):
            await make_class(server, name, value)
        config = replace(server.config, simulation=Simulation(nodes=1))
        async with running(server, *NAMES, config=config):
            await trio.sleep(1)
            nodes = client.kind("v1", "Node")
            status = {"status": {"allocatable": {"pods": "0"}}}
            await client.patch(nodes, "node-0", status, subresource="status")
            await client.create(pod("low", priorityClassName="low"))
            await client.create(
                pod("high", priorityClassName="high", preemptionPolicy="PreemptLowerPriority")
            )
            await trio.sleep(20)
            status = {"status": {"allocatable": {"pods": "1"}}}
            await client.patch(nodes, "node-0", status, subresource="status")
            await trio.sleep(20)
            assert await places(server) == {"high": "node-0", "low": ""}


async def test_gates_hold_a_pod_back_until_they_are_gone(autojump_clock: MockClock) -> None:
    """Then it gets a node at once."""
    async with cluster(1) as server:
        client = server.client()
        await client.create(pod("p", schedulingGates=[{"name": "example.com/later"}]))
        await trio.sleep(5)
        await client.patch(
            client.kind("v1", "Pod"), "p", {"spec": {"schedulingGates": None}}, NAMESPACE
        )
        await trio.sleep(0.1)
        assert await places(server) == {"p": "node-0"}


async def test_nothing_is_lost_by_a_pause(autojump_clock: MockClock) -> None:
    """What was decided of another time is decided anew."""
    async with open_api(seed=0) as server:
        config = replace(server.config, simulation=Simulation(nodes=1))
        async with running(server, *NAMES, config=config) as controllers:
            await trio.sleep(1)
            (scheduler,) = [one for one in controllers if one.name == "kube-scheduler"]
            await scheduler.pause()
            await server.client().create(pod("p"))
            await trio.sleep(1)
            assert await places(server) == {"p": ""}
            scheduler.begin_anew()
            scheduler.resume()
            await trio.sleep(1)
            assert await places(server) == {"p": "node-0"}


PROFILES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  plugins:
    multiPoint: {disabled: [{name: PodTopologySpread}, {name: DefaultPreemption}]}
  pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
  - name: NodeResourcesBalancedAllocation
"""


async def test_pods_choose_among_profiles(autojump_clock: MockClock, tmp_path: Path) -> None:
    """One spreads pods, the other packs them; events come from the profile; others wait."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(PROFILES)
    async with open_api(seed=0) as server:
        config = replace(
            server.config, simulation=Simulation(nodes=3), scheduler=SchedulerConfig(file=file)
        )
        async with running(server, *NAMES, config=config):
            await trio.sleep(1)
            client = server.client()
            for number in range(6):
                made = pod(f"p{number}", schedulerName="packing")
                requests = {"cpu": "1", "memory": "1Gi"}
                made["spec"]["containers"][0]["resources"] = {"requests": requests}
                await client.create(made)
                await trio.sleep(1)
            await client.create(pod("other", schedulerName="unknown"))
            await client.create(pod("big", schedulerName="packing", nodeSelector={"a": "b"}))
            await trio.sleep(1)
            found = await places(server)
            assert len({found[f"p{number}"] for number in range(6)}) == 1
            assert found["other"] == found["big"] == ""
            events = (await client.list(client.kind("v1", "Event"), NAMESPACE)).items
            about = {one["involvedObject"]["name"]: one for one in events}
            assert about["p0"]["source"]["component"] == "packing"
            # Without the plugin for it, nothing is said of preemption.
            assert about["big"]["message"].endswith("selector. no new claims to deallocate")
            assert "other" not in about
