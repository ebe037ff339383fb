"""Autoscalers on a server with simulated nodes, with a clock that jumps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.client.client import Client
from kubetrio.config import Simulation
from kubetrio.machinery.timestamps import format_time
from kubetrio.server.parts import Parts
from kubetrio.testing.controllers import Writes, refused, running
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.testing.workloads import LABELS, NAMESPACE, events_of, template, workload

NAME = "horizontal-pod-autoscaler-controller"
CPU = "simulation.kubetrio.io/cpu"
Object = dict[str, Any]


@asynccontextmanager
async def cluster(folder: Path, *, simulated: bool = True) -> AsyncIterator[InProcess]:
    """A server whose autoscalers run, with a simulated node; no role is overstepped."""
    config = replace(in_memory(folder), simulation=Simulation(nodes=int(simulated)))
    writes = Writes()
    async with open_api(config=config, parts=Parts(admission=[writes])) as server:
        client = server.client()
        annotations = {"simulation.kubetrio.io/node": "true"}
        await client.create({"apiVersion": "v1", "kind": "Node",
                             "metadata": {"name": "n", "annotations": annotations}})  # fmt: skip
        async with running(server, NAME):
            yield server
        assert not refused(server, writes.by_controllers())


async def deploy(client: Client, replicas: int, **members: Any) -> None:
    """Create a Deployment, which no controller acts on."""
    body = workload("Deployment", replicas=replicas, template=template())
    await client.create({**body, "metadata": {**body["metadata"], **members}})


async def run_pods(server: InProcess, count: int, cpu: str = "50%", first: int = 0) -> None:
    """Create pods of it that have been ready for long."""
    client, now = server.client(), server.env.now()
    kind = client.kind("v1", "Pod")
    requests = {"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    for number in range(first, first + count):
        meta = {"name": f"p{number}", "namespace": NAMESPACE, "labels": LABELS,
                "annotations": {CPU: cpu}}  # fmt: skip
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i", **requests}]}
        await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        since = format_time(now - 1000)
        status = {"phase": "Running", "startTime": since, "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": since}]}  # fmt: skip
        patch = {"status": status}
        await client.patch(kind, f"p{number}", patch, NAMESPACE, subresource="status")


async def use(client: Client, cpu: str) -> None:
    """Have all pods use something else."""
    kind = client.kind("v1", "Pod")
    for one in (await client.list(kind, NAMESPACE)).items:
        patch = {"metadata": {"annotations": {CPU: cpu}}}
        await client.patch(kind, one["metadata"]["name"], patch, NAMESPACE)


async def autoscale(client: Client, name: str = "h", **spec: Any) -> None:
    """Create an autoscaler of the Deployment."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10, **spec},
    }
    await client.create(body)


def cpu_target(percent: int) -> Object:
    """Metrics of the use of CPU."""
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}


async def looks(count: int = 1) -> None:
    """Let a number of looks pass."""
    await trio.sleep(15 * count + 0.5)
    await wait_all_tasks_blocked(0.002)


async def replicas_of(client: Client) -> int:
    """Replicas that the Deployment wants."""
    found = await client.get(client.kind("apps/v1", "Deployment"), "w", NAMESPACE)
    return int(found["spec"]["replicas"])


async def status_of(client: Client, name: str = "h") -> Object:
    """The status of the autoscaler."""
    kind = client.kind("autoscaling/v2", "HorizontalPodAutoscaler")
    status: Object = (await client.get(kind, name, NAMESPACE)).get("status") or {}
    return status


def reasons(status: Object) -> dict[str, tuple[str, str]]:
    """Status and reason of conditions."""
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}


async def test_up_and_down(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Use above the target adds replicas; use below it takes them five minutes later."""
    async with cluster(tmp_path) as server:
        client = server.client()
        await deploy(client, 2)
        await run_pods(server, 2, "90%")
        await autoscale(client, **cpu_target(50))
        await trio.sleep(14)
        assert await replicas_of(client) == 2
        await looks()
        assert await replicas_of(client) == 4
        status = await status_of(client)
        assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 4)
        assert status["currentMetrics"] == [
            {"type": "Resource", "resource": {
                "name": "cpu", "current": {"averageUtilization": 90, "averageValue": "90m"}}},
        ]  # fmt: skip
        assert reasons(status) == {
            "AbleToScale": ("True", "SucceededRescale"),
            "ScalingActive": ("True", "ValidMetricFound"),
            "ScalingLimited": ("False", "DesiredWithinRange"),
        }
        await run_pods(server, 2, "50%", first=2)
        await use(client, "10%")
        await looks(2)
        assert await replicas_of(client) == 4
        assert reasons(await status_of(client))["AbleToScale"] == ("True", "ScaleDownStabilized")
        await looks(21)
        assert await replicas_of(client) == 1
        more = "New size: 4; reason: cpu resource utilization (percentage of request) above target"
        assert await events_of(client, "HorizontalPodAutoscaler") == [
            ("Normal", "SuccessfulRescale", more),
            ("Normal", "SuccessfulRescale", "New size: 1; reason: All metrics below target"),
        ]


@pytest.mark.parametrize(
    ("replicas", "least", "most", "expected", "reason"),
    [
        (12, 1, 10, 10, "Current number of replicas above Spec.MaxReplicas"),
        (1, 3, 10, 3, "Current number of replicas below Spec.MinReplicas"),
    ],
)
async def test_bounds(
    autojump_clock: MockClock, tmp_path: Path,
    replicas: int, least: int, most: int, expected: int, reason: str,
) -> None:  # fmt: skip
    """They hold without any metrics."""
    async with cluster(tmp_path, simulated=False) as server:
        client = server.client()
        await deploy(client, replicas)
        await autoscale(client, minReplicas=least, maxReplicas=most)
        await looks()
        assert await replicas_of(client) == expected
        assert await events_of(client, "HorizontalPodAutoscaler") == [
            ("Normal", "SuccessfulRescale", f"New size: {expected}; reason: {reason}"),
        ]


async def test_zero_replicas_disable_it(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Nothing is scaled until there are some again."""
    async with cluster(tmp_path) as server:
        client = server.client()
        await deploy(client, 0)
        await autoscale(client)
        await looks()
        assert reasons(await status_of(client))["ScalingActive"] == ("False", "ScalingDisabled")
        assert await replicas_of(client) == 0


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
            'deployments.apps "none" not found',
        ),
        (
            {"apiVersion": "apps/v1", "kind": "Nope", "name": "w"},
            'no matches for kind "Nope" in group "apps"',
        ),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "name": "w"},
            "the server could not find the requested resource",
        ),
    ],
)
async def test_without_a_scale(
    autojump_clock: MockClock, tmp_path: Path, target: Object, text: str
) -> None:
    """The condition and an event say why."""
    async with cluster(tmp_path) as server:
        client = server.client()
        await autoscale(client, scaleTargetRef=target)
        await looks()
        (condition,) = (await status_of(client))["conditions"]
        assert (condition["type"], condition["status"]) == ("AbleToScale", "False")
        told = "the HPA controller was unable to get the target's current scale: "
        assert condition["message"] == told + text
        events = await events_of(client, "HorizontalPodAutoscaler")
        assert events == [("Warning", "FailedGetScale", text)]


async def test_without_metrics(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Nothing is scaled, and what is missing is told."""
    async with cluster(tmp_path, simulated=False) as server:
        client = server.client()
        await deploy(client, 2)
        await run_pods(server, 2)
        await autoscale(client, **cpu_target(50))
        await looks()
        status = await status_of(client)
        condition = next(one for one in status["conditions"] if one["type"] == "ScalingActive")
        why = (
            "failed to get cpu utilization: unable to get metrics for resource cpu: unable to "
            "fetch metrics from resource metrics API: the server could not find the requested "
            "resource (get pods.metrics.k8s.io)"
        )
        assert condition["reason"] == "FailedGetResourceMetric"
        assert condition["message"] == f"the HPA was unable to compute the replica count: {why}"
        whole = "invalid metrics (1 invalid out of 1), first error is: "
        whole += f"failed to get cpu resource metric value: {why}"
        assert await events_of(client, "HorizontalPodAutoscaler") == [
            ("Warning", "FailedGetResourceMetric", why),
            ("Warning", "FailedComputeMetricsReplicas", whole),
        ]


async def test_one_metric_of_two_is_enough_to_grow(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """With one that says nothing there are not fewer replicas."""
    async with cluster(tmp_path) as server:
        client = server.client()
        await deploy(client, 2)
        await run_pods(server, 2, "90%")
        hits = {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "1"}}
        metrics = [*cpu_target(50)["metrics"], {"type": "Pods", "pods": hits}]
        await autoscale(client, metrics=metrics)
        await looks()
        assert await replicas_of(client) == 4
        assert (await status_of(client))["currentMetrics"][1] == {"type": ""}
        await use(client, "1%")
        await looks(24)
        assert await replicas_of(client) == 4
        active = reasons(await status_of(client))["ScalingActive"]
        assert active == ("False", "FailedGetPodsMetric")


async def test_two_autoscalers_of_the_same_pods(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Neither scales when both are known."""
    async with cluster(tmp_path) as server:
        client = server.client()
        await deploy(client, 2)
        await run_pods(server, 2, "50%")
        for name in ("a", "b"):
            await autoscale(client, name, **cpu_target(50))
        await looks(2)
        for name in ("a", "b"):
            active = reasons(await status_of(client, name))["ScalingActive"]
            assert active == ("False", "AmbiguousSelector")
        events = await events_of(client, "HorizontalPodAutoscaler")
        assert (
            "Warning", "AmbiguousSelector",
            "pods by selector app=web are controlled by multiple HPAs: [default/a default/b]",
        ) in events  # fmt: skip


async def test_a_behavior_slows_it(autojump_clock: MockClock, tmp_path: Path) -> None:
    """One pod a minute is added, as its policy says."""
    async with cluster(tmp_path) as server:
        client = server.client()
        await deploy(client, 2)
        await run_pods(server, 2, "90%")
        policies = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
        behavior = {"scaleUp": {"policies": policies}}
        await autoscale(client, behavior=behavior, **cpu_target(30))
        await looks()
        assert await replicas_of(client) == 3
        assert reasons(await status_of(client))["ScalingLimited"] == ("True", "ScaleUpLimit")
        await looks(3)
        assert await replicas_of(client) == 3
        await looks(2)
        assert await replicas_of(client) == 4


async def test_the_scale_is_written_as_a_client_writes_it(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """The replicas belong to the controller, by the scale."""
    async with cluster(tmp_path) as server:
        client = server.client()
        await deploy(client, 12)
        await autoscale(client)
        await looks()
        found = await client.get(client.kind("apps/v1", "Deployment"), "w", NAMESPACE)
        owners = {one["manager"]: one for one in found["metadata"]["managedFields"]}
        mine = [one for one in owners.values() if one.get("subresource") == "scale"]
        assert [one["fieldsV1"] for one in mine] == [{"f:spec": {"f:replicas": {}}}]
        assert found["metadata"]["generation"] == 2


async def test_a_quiet_cluster_is_not_written(autojump_clock: MockClock, tmp_path: Path) -> None:
    """The status is written when it says something else."""
    async with cluster(tmp_path) as server:
        client = server.client()
        await deploy(client, 2)
        await run_pods(server, 2, "50%")
        await autoscale(client, **cpu_target(50))
        await looks(2)
        before = (await status_of(client)), server.api.storage.hub.revision
        assert reasons(before[0])["AbleToScale"] == ("True", "ReadyForNewScale")
        await looks(10)
        assert server.api.storage.hub.revision == before[1]
