"""Pods on simulated nodes, with a clock that jumps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.config import Simulation
from kubetrio.controllers.table import WITH_NODES
from kubetrio.server.files import StartError
from kubetrio.testing.controllers import running
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.testing.workloads import NAMESPACE, events_of, pods_of, template, workload

Object = dict[str, Any]
PULLED = 'Container image "nginx" already present on machine and can be accessed by the pod'


@asynccontextmanager
async def cluster(nodes: int = 1) -> AsyncIterator[InProcess]:
    """A server with simulated nodes and the controllers that run beside them."""
    async with open_api(seed=0) as server:
        config = replace(server.config, simulation=Simulation(nodes=nodes))
        async with running(server, *WITH_NODES, config=config):
            await trio.sleep(1)
            yield server


def pod(name: str = "p", **annotations: str) -> Object:
    """A pod with one container."""
    made = {"apiVersion": "v1", "kind": "Pod", **template("nginx")}
    made["metadata"] = {
        "name": name,
        "namespace": NAMESPACE,
        "annotations": {
            f"simulation.kubetrio.io/{key}": value for key, value in annotations.items()
        },
    }
    return made


async def test_a_deployment_becomes_available(autojump_clock: MockClock) -> None:
    """Its pods get nodes, addresses, and run, within the second."""
    async with cluster(2) as server:
        client = server.client()
        await client.create(workload("Deployment", replicas=3))
        await trio.sleep(1)
        found = await client.get(client.kind("apps/v1", "Deployment"), "w", NAMESPACE)
        assert found["status"]["availableReplicas"] == 3
        pods = await pods_of(client)
        assert {one["status"]["phase"] for one in pods} == {"Running"}
        assert len({one["status"]["podIP"] for one in pods}) == 3
        assert {one["spec"]["nodeName"] for one in pods} == {"node-0", "node-1"}


async def test_events_are_those_of_a_scheduler_and_a_kubelet(autojump_clock: MockClock) -> None:
    """With the node that they come from, and the container that they are about."""
    async with cluster() as server:
        client = server.client()
        await client.create(pod())
        await trio.sleep(5)
        assert await events_of(client, "Pod") == [
            ("Normal", "Scheduled", "Successfully assigned default/p to node-0"),
            ("Normal", "Pulled", PULLED),
            ("Normal", "Created", "Container created"),
            ("Normal", "Started", "Container started"),
        ]  # fmt: skip
        events = (await client.list(client.kind("v1", "Event"), NAMESPACE)).items
        started = next(one for one in events if one["reason"] == "Started")
        assert started["source"] == {"component": "kubelet", "host": "node-0"}
        assert started["reportingInstance"] == "node-0"
        assert started["involvedObject"]["fieldPath"] == "spec.containers{c}"


async def test_a_pod_is_written_twice_on_its_way(autojump_clock: MockClock) -> None:
    """When it is made and when it runs; what is stored is what was meant, so nothing follows."""
    async with cluster() as server:
        client = server.client()
        await client.create(pod())
        await trio.sleep(5)
        (made,) = await pods_of(client)
        await trio.sleep(60)
        assert (await pods_of(client)) == [made]
        managers = {one["manager"] for one in made["metadata"]["managedFields"]}
        assert "kubelet" in managers


async def test_a_pod_goes(autojump_clock: MockClock) -> None:
    """It is stopped, and its address is free again."""
    async with cluster() as server:
        client = server.client()
        await client.create(pod())
        await trio.sleep(1)
        await client.delete(client.kind("v1", "Pod"), "p", NAMESPACE)
        await trio.sleep(1)
        assert await pods_of(client) == []
        assert ("Normal", "Killing", "Stopping container c") in await events_of(client, "Pod")


async def test_a_job_completes(autojump_clock: MockClock) -> None:
    """All of its pods do, and one that fails is replaced."""
    async with cluster() as server:
        client = server.client()
        job = workload("Job", api_version="batch/v1", completions=3, parallelism=2,
                       template=template(restartPolicy="Never"))  # fmt: skip
        del job["spec"]["selector"]
        await client.create(job)
        await trio.sleep(60)
        found = await client.get(client.kind("batch/v1", "Job"), "w", NAMESPACE)
        assert found["status"]["succeeded"] == 3


async def test_a_statefulset_starts_in_order(autojump_clock: MockClock) -> None:
    """Each pod waits for the one before it to be ready."""
    async with cluster() as server:
        client = server.client()
        made = template()
        made["metadata"]["annotations"] = {"simulation.kubetrio.io/ready-seconds": "10"}
        await client.create(workload("StatefulSet", replicas=3, serviceName="w", template=made))
        await trio.sleep(15)
        assert [one["metadata"]["name"] for one in await pods_of(client)] == ["w-0", "w-1"]
        await trio.sleep(30)
        found = await client.get(client.kind("apps/v1", "StatefulSet"), "w", NAMESPACE)
        assert found["status"]["readyReplicas"] == 3


async def test_pods_of_a_lost_node_are_evicted(autojump_clock: MockClock) -> None:
    """After the usual time; their place is taken elsewhere, and they go when the node is back."""
    async with cluster(2) as server:
        client = server.client()
        await client.create(workload("Deployment", replicas=2))
        await trio.sleep(1)
        lost = next(one for one in await pods_of(client) if one["spec"]["nodeName"] == "node-0")
        patch: Object = {"metadata": {"annotations": {"simulation.kubetrio.io/state": "lost"}}}
        await client.patch(client.kind("v1", "Node"), "node-0", patch)
        await trio.sleep(500)
        pods = await pods_of(client)
        there = [one for one in pods if one["spec"]["nodeName"] == "node-0"]
        assert [one["metadata"]["name"] for one in there] == [lost["metadata"]["name"]]
        assert there[0]["metadata"]["deletionTimestamp"]
        assert len(pods) == 3
        patch["metadata"]["annotations"]["simulation.kubetrio.io/state"] = None
        await client.patch(client.kind("v1", "Node"), "node-0", patch)
        await trio.sleep(60)
        assert {one["spec"]["nodeName"] for one in await pods_of(client)} == {"node-1"}


async def test_pods_on_other_nodes_are_left_alone(autojump_clock: MockClock) -> None:
    """A real kubelet has them."""
    async with cluster() as server:
        client = server.client()
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real"}})
        real = pod("real")
        real["spec"]["nodeName"] = "real"
        await client.create(real)
        await trio.sleep(20)
        (found,) = await pods_of(client)
        assert found["status"]["phase"] == "Pending"


STAGE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: fail}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Pending]}
  delay: {durationMilliseconds: 20000}
  next:
    event: {type: Warning, reason: Fate, message: it fails}
    finalizers: {add: [{value: example.com/held}]}
    statusTemplate: |
      phase: Failed
      reason: Fate
      podIP: {{ PodIPWith .spec.nodeName false "" "" "" | Quote }}
"""


async def test_stages_of_a_file_take_the_place_of_the_life(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """Status, event and finalizers are theirs, at their time."""
    file = tmp_path / "stages.yaml"
    file.write_text(STAGE)
    async with open_api(seed=0) as server:
        config = replace(server.config, simulation=Simulation(nodes=1, stages=file))
        async with running(server, *WITH_NODES, config=config):
            await trio.sleep(1)
            client = server.client()
            await client.create(pod())
            await trio.sleep(15)
            assert (await pods_of(client))[0]["status"]["phase"] == "Pending"
            await trio.sleep(10)
            (found,) = await pods_of(client)
            shown = [found["status"][name] for name in ("phase", "reason", "podIP")]
            assert shown == ["Failed", "Fate", "100.64.0.1"]
            assert found["metadata"]["finalizers"] == ["example.com/held"]
            assert ("Warning", "Fate", "it fails") in await events_of(client, "Pod")


async def test_a_server_with_bad_stages_does_not_start(tmp_path: Path) -> None:
    """It says what is wrong with them."""
    file = tmp_path / "stages.yaml"
    file.write_text("kind: Stage")
    config = replace(in_memory(tmp_path), simulation=Simulation(nodes=1, stages=file))
    with pytest.raises(StartError, match=r"--simulation-stages .*: document 1: is no Stage"):
        async with open_api(config=config):
            pass
