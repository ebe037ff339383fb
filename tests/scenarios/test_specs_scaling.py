"""What Kubernetes' e2e specs ask of autoscalers by metrics of pods and containers.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/autoscaling (1.36); nothing else of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
import trio
from simulated import SAID, Cluster, cluster
from specs import Specs
from trio.testing import MockClock

Object = dict[str, Any]
SPECS = spec = Specs()
UP = "Should scale from 1 pod to 3 pods and then from 3 pods to 5 pods"
DOWN = "Should scale from 5 pods to 3 pods and then from 3 pods to 1 pod"
CPU = "Horizontal pod autoscaling (scale resource: CPU)"
MEMORY = "Horizontal pod autoscaling (scale resource: Memory)"
SHAPED = "Horizontal pod autoscaling (non-default behavior)"
TOLERANT = "Horizontal pod autoscaling (configurable tolerance)"
REACTION_S = 330.0
"""How long a change of use may take until it has an effect, as the specs have it."""
SPARE_S = 120.0


class Consumer:
    """Has the pods of a workload use a total of CPU or memory, each as much as the others.

    Args:
        there: the cluster.
        unit: of the total: ``m`` for CPU, ``Mi`` for memory.
        container: that uses it.
        total: in this unit.
    """

    def __init__(self, there: Cluster, unit: str, container: str, total: int) -> None:
        self._there = there
        self._unit = unit
        self._name = f"{SAID}{'cpu' if unit == 'm' else 'memory'}.{container}"
        self.total = total

    async def run(self) -> None:
        """Divide the total among the pods that are there, again and again."""
        while True:
            names = await self._there.names("Pod", "w")
            for name in names:
                use = {self._name: f"{self.total // len(names)}{self._unit}"}
                pod = await self._there.find("Pod", name)
                if pod is not None and use.items() <= pod["metadata"]["annotations"].items():
                    continue
                if pod is not None:
                    await self._there.change("Pod", name, metadata={"annotations": use})
            await trio.sleep(5)


class Case(NamedTuple):
    """A spec of an autoscaler.

    Args:
        kind: of the workload.
        unit: ``m`` for CPU, ``Mi`` for memory.
        start: pods at first.
        use: of all pods at first.
        target: of each pod, in percent of its request or in the unit.
        share: whether the target is a share.
        sizes: to which it is scaled, one after the other.
        later: use of all pods after the first size.
        request: of each pod or container.
        by_container: whether the metric is about one container.
        sidecar: whether a second container is there.
        busy: the container that uses it.
        stays_s: for how long the first size stays.
        of_pod: request of the pod as a whole.
        most: pods at most.
        behavior: of the autoscaler.
    """

    kind: str = "Deployment"
    unit: str = "m"
    start: int = 1
    use: int = 250
    target: int = 20
    share: bool = True
    sizes: tuple[int, ...] = (3, 5)
    later: int = 700
    request: int = 500
    by_container: bool = False
    sidecar: bool = False
    busy: str = "c"
    stays_s: float = 0.0
    of_pod: int = 0
    most: int = 5
    behavior: Object | None = None


def _metric(case: Case) -> Object:
    """The metric of an autoscaler."""
    name = "cpu" if case.unit == "m" else "memory"
    target: Object = {"type": "AverageValue", "averageValue": f"{case.target}{case.unit}"}
    if case.share:
        target = {"type": "Utilization", "averageUtilization": case.target}
    if case.by_container:
        source = {"container": "c", "name": name, "target": target}
        return {"type": "ContainerResource", "containerResource": source}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


@asynccontextmanager
async def autoscaled(there: Cluster, case: Case) -> AsyncIterator[Consumer]:
    """Make a workload, what it uses, and its autoscaler, which run while the block lasts."""
    name = "cpu" if case.unit == "m" else "memory"
    requests = {"requests": {name: f"{case.request}{case.unit}"}} if case.request else {}
    containers = [{"name": "c", "image": "i", "resources": requests}]
    if case.sidecar:
        containers.append({"name": "sidecar", "image": "i", "resources": requests})
    written = there.written(case.kind, "w", replicas=case.start)
    pods = written["spec"]["template"]["spec"]
    pods["containers"] = containers
    if case.of_pod:
        amounts = {"cpu": f"{case.of_pod}m", "memory": f"{case.of_pod}Mi"}
        pods["resources"] = {"requests": amounts, "limits": amounts}
    idle = {f"{SAID}cpu": "1m", f"{SAID}memory": "1Mi"}
    written["spec"]["template"]["metadata"]["annotations"] |= idle
    await there.client.create(written)
    await there.until_ready("w", case.start)
    consumer = Consumer(there, case.unit, case.busy, case.use)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(consumer.run)
        more = {} if case.behavior is None else {"behavior": case.behavior}
        target = {"apiVersion": "apps/v1", "kind": case.kind, "name": "w"}
        least = 1 if case.behavior is None else case.start
        await there.make("HorizontalPodAutoscaler", "w", spec={
            "scaleTargetRef": target, "minReplicas": least, "maxReplicas": case.most,
            "metrics": [_metric(case)], **more,
        })  # fmt: skip
        yield consumer
        nursery.cancel_scope.cancel()


async def until_size(there: Cluster, kind: str, size: int, limit_s: float = 900) -> None:
    """Wait until a workload has so many ready pods."""

    async def has() -> object:
        status = (await there.get(kind, "w")).get("status") or {}
        return status.get("readyReplicas") == size

    await there.until(has, limit_s)


async def stays(there: Cluster, kind: str, least: int, most: int, seconds: float) -> None:
    """A workload has so many ready pods for some time, and its autoscaler wants no others."""
    end = trio.current_time() + seconds
    while trio.current_time() < end:
        status = (await there.get(kind, "w"))["status"]
        assert least <= (status.get("readyReplicas") or 0) <= most
        wish = (await there.get("HorizontalPodAutoscaler", "w"))["status"]["desiredReplicas"]
        assert not wish or least <= wish <= most  # none before its first look
        await trio.sleep(10)


def _scales(case: Case) -> Callable[[Cluster], Awaitable[None]]:
    async def scenario(there: Cluster) -> None:
        async with autoscaled(there, case) as consumer:
            if not case.sizes:
                await stays(there, case.kind, case.start, case.start, case.stays_s)
                return
            await until_size(there, case.kind, case.sizes[0])
            await stays(there, case.kind, case.sizes[0], case.sizes[0] + 1, case.stays_s)
            if len(case.sizes) > 1:
                consumer.total = case.later
                await until_size(there, case.kind, case.sizes[1])

    return scenario


FEWER = Case(start=5, use=325, target=30, sizes=(3, 1), later=10)
LIGHT = Case(kind="ReplicaSet", request=200, target=50, most=2)
CASES = {
    f"{CPU} Deployment (Pod Resource) {UP} using Average Utilization for aggregation": Case(),
    f"{CPU} Deployment (Pod Resource) {DOWN} using Average Utilization for aggregation": FEWER,
    f"{CPU} Deployment (Pod Resource) {UP} using Average Value for aggregation":
        Case(target=100, share=False),
    f"{CPU} Deployment (Container Resource) {UP} using Average Utilization for aggregation":
        Case(by_container=True),
    f"{CPU} Deployment (Container Resource) {UP} using Average Value for aggregation":
        Case(target=100, share=False, by_container=True),
    f"{CPU} Deployment (Pod-level Resources Resource Metric) {UP}"
    " using Average Utilization for aggregation": Case(request=0, of_pod=500),
    f"{CPU} Deployment (Pod-level Resources ContainerResource Metric) {UP}"
    " using Average Utilization for aggregation":
        Case(request=250, of_pod=500, use=125, later=350, by_container=True),
    f"{CPU} ReplicaSet {UP}": Case(kind="ReplicaSet"),
    f"{CPU} ReplicaSet {DOWN}": FEWER._replace(kind="ReplicaSet"),
    f"{CPU} ReplicaSet {UP} and verify decision stability":
        Case(kind="ReplicaSet", stays_s=600),
    f"{CPU} ReplicaSet {DOWN} and verify decision stability":
        FEWER._replace(kind="ReplicaSet", stays_s=600),
    f"{CPU} ReplicaSet light Should scale from 1 pod to 2 pods":
        LIGHT._replace(use=150, sizes=(2,)),
    f"{CPU} ReplicaSet light Should scale from 2 pods to 1 pod":
        LIGHT._replace(start=2, use=50, sizes=(1,)),
    f"{CPU} ReplicaSet with idle sidecar (ContainerResource use case) {UP}"
    " on a busy application with an idle sidecar container":
        Case(kind="ReplicaSet", use=125, request=250, later=500, by_container=True, sidecar=True),
    f"{CPU} ReplicaSet with idle sidecar (ContainerResource use case)"
    " Should not scale up on a busy sidecar with an idle application":
        Case(kind="ReplicaSet", sizes=(), by_container=True, sidecar=True, busy="sidecar",
             stays_s=60),
    f"{MEMORY} Deployment (Pod Resource) {UP} using Average Utilization for aggregation":
        Case(unit="Mi"),
    f"{MEMORY} Deployment (Pod Resource) {UP} using Average Value for aggregation":
        Case(unit="Mi", target=100, share=False),
    f"{MEMORY} Deployment (Container Resource) {UP} using Average Utilization for aggregation":
        Case(unit="Mi", by_container=True),
    f"{MEMORY} Deployment (Container Resource) {UP} using Average Value for aggregation":
        Case(unit="Mi", target=100, share=False, by_container=True),
}  # fmt: skip

for title_of_case, of_case in CASES.items():
    spec(title_of_case)(_scales(of_case))


def use_of(replicas: int, request: int = 500, target: int = 25) -> int:
    """The use of half a pod less than so many, at the target."""
    each = request * target // 100
    return replicas * each - each // 2


def shaped(start: int, behavior: Object, most: int = 5) -> Case:
    """A Deployment with a behavior of its autoscaler."""
    return Case(start=start, use=use_of(start), target=25, most=most, behavior=behavior)


BOTH = f"{SHAPED} with both scale up and down controls configured"


@spec(f"{BOTH} should keep recommendation within the range over two stabilization windows")
async def _two_windows(there: Cluster) -> None:
    window = {"stabilizationWindowSeconds": 180}
    case = shaped(1, {"scaleUp": window, "scaleDown": window})
    async with autoscaled(there, case) as consumer:
        consumer.total = use_of(3)
        await stays(there, case.kind, 1, 1, 180)
        await until_size(there, case.kind, 3, REACTION_S + SPARE_S)
        consumer.total = use_of(2)
        await stays(there, case.kind, 3, 3, 180)
        await until_size(there, case.kind, 2, REACTION_S + SPARE_S)


@spec(
    f"{BOTH} should keep recommendation within the range with stabilization window and pod limit rate"  # noqa: E501
)
async def _window_and_rate(there: Cluster) -> None:
    up = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}]}
    case = shaped(2, {"scaleUp": up, "scaleDown": {"stabilizationWindowSeconds": 180}})
    async with autoscaled(there, case) as consumer:
        consumer.total = use_of(4)
        await stays(there, case.kind, 2, 3, 120)
        await until_size(there, case.kind, 4, 120 + REACTION_S + SPARE_S)
        consumer.total = use_of(2)
        await stays(there, case.kind, 4, 4, 180)
        await until_size(there, case.kind, 2, REACTION_S + SPARE_S)


@spec(f"{TOLERANT} with large configurable tolerance should not scale")
async def _tolerant(there: Cluster) -> None:
    rule = {"tolerance": "10"}
    case = shaped(1, {"scaleUp": rule, "scaleDown": rule}, 10)
    async with autoscaled(there, case) as consumer:
        consumer.total = use_of(8)
        await stays(there, case.kind, 1, 1, REACTION_S + SPARE_S)
        assert (await there.get("Deployment", "w"))["spec"]["replicas"] == 1


@spec(
    f"{TOLERANT} with small scale-up, large scale-down tolerances should scale up but should not scale down"  # noqa: E501
)
async def _tolerances(there: Cluster) -> None:
    behavior = {"scaleUp": {"tolerance": "20m"}, "scaleDown": {"tolerance": "300m"}}
    case = Case(start=10, use=use_of(10, 200, 60), request=200, target=60, most=12,
                behavior=behavior)  # fmt: skip
    async with autoscaled(there, case) as consumer:
        await until_size(there, case.kind, 10)
        await stays(there, case.kind, 10, 10, REACTION_S)
        for size in (11, 12):
            consumer.total = use_of(size, 200, 60)
            await until_size(there, case.kind, size, REACTION_S + SPARE_S)
        consumer.total = use_of(10, 200, 60)
        await stays(there, case.kind, 12, 12, REACTION_S + SPARE_S)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_scaling(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
