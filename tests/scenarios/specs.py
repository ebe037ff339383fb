"""Scenarios of Kubernetes' e2e specs by their titles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from simulated import Cluster

Object = dict[str, Any]
Scenario = Callable[[Cluster], Awaitable[None]]


class Specs(dict[str, Scenario]):
    """Scenarios by title; called with a title, it notes the scenario that follows."""

    def __call__(self, title: str) -> Callable[[Scenario], Scenario]:
        """Note the scenario of a spec."""

        def note(scenario: Scenario) -> Scenario:
            assert title not in self
            self[title] = scenario
            return scenario

        return note


def claims(name: str = "data") -> list[Object]:
    """Templates of claims."""
    wish = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return [{"metadata": {"name": name}, "spec": wish}]


async def until_complete(there: Cluster, name: str, completions: int) -> Object:
    """Wait until a Job has completed as it was meant to; returns it."""

    async def succeeded() -> object:
        job = await there.get("Job", name)
        failed = await there.condition("Job", name, "Failed")
        assert failed.get("status") != "True"
        return (job.get("status") or {}).get("succeeded") == completions

    await there.until(succeeded)
    condition = await there.until_condition("Job", name, "Complete")
    assert condition["reason"] == "CompletionsReached"
    return await there.get("Job", name)


async def until_running(there: Cluster, app: str, count: int) -> list[Object]:
    """Wait until an application has so many pods, all of which run; returns them."""

    async def running() -> bool:
        pods = await there.all_of("Pod", app)
        return len(pods) == count and all(one["status"]["phase"] == "Running" for one in pods)

    await there.until(running)
    return await there.all_of("Pod", app)


async def until_observed(there: Cluster, kind: str, name: str) -> Object:
    """Wait until a controller has seen an object as it is; returns it."""

    async def observed() -> bool:
        stored = await there.get(kind, name)
        seen = (stored.get("status") or {}).get("observedGeneration") or 0
        return bool(seen >= stored["metadata"]["generation"])

    await there.until(observed)
    return await there.get(kind, name)


async def scaled(there: Cluster, kind: str, name: str) -> None:
    """Read, replace and patch the size of a workload of one pod by its subresource ``scale``."""
    place = there.kind(kind)
    read = await there.client.get(place, name, there.where(kind), subresource="scale")
    assert (read["spec"]["replicas"], read["status"]["replicas"]) == (1, 1)
    read["metadata"].pop("resourceVersion")
    read["spec"]["replicas"] = 2
    written = await there.client.update(read, kind=place, subresource="scale")
    assert written["spec"]["replicas"] == 2
    assert (await there.get(kind, name))["spec"]["replicas"] == 2
    await there.patch(kind, name, {"spec": {"replicas": 4}}, below="scale")
    assert (await there.get(kind, name))["spec"]["replicas"] == 4
    await there.until_ready(str(read["metadata"]["name"]), 4)
