"""What Kubernetes' e2e specs ask of Jobs and CronJobs beside the usual: evictions, resources.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps (1.36); nothing else of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from simulated import SAID, Cluster, cluster
from specs import Specs, until_complete, until_running
from trio.testing import MockClock

Object = dict[str, Any]
SPECS = spec = Specs()
LONG = {"run-seconds": "100000"}


def requests(cpu: str, memory: str) -> Object:
    """Requests of a container."""
    return {"requests": {"cpu": cpu, "memory": memory}}


FEW, MORE = requests("100m", "128Mi"), requests("200m", "256Mi")


@spec(
    "Job should allow to use a pod failure policy to ignore failure matching on DisruptionTarget condition"  # noqa: E501
)
async def _evicted(there: Cluster) -> None:
    rule = {"action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}  # fmt: skip
    await there.workload("Job", "j", said={**LONG, "stop-code": "137"}, parallelism=3,
                         completions=3, backoffLimit=2, completionMode="Indexed",
                         podFailurePolicy={"rules": [rule]},
                         pods={"nodeSelector": {"kubernetes.io/hostname": "node-0"}})  # fmt: skip

    async def ready() -> object:
        return (await there.get("Job", "j"))["status"].get("ready") == 3

    await there.until(ready)
    first = await until_running(there, "j", 3)
    for pod in first:
        meta = pod["metadata"]
        await there.evict({"apiVersion": "policy/v1", "kind": "Eviction",
                           "metadata": {"name": meta["name"], "namespace": "default"}})  # fmt: skip

        async def gone(name: str = meta["name"]) -> object:
            return await there.find("Pod", name) is None

        await there.until(gone)
    for pod in await until_running(there, "j", 3):  # a second pod of an index ends
        short = {f"{SAID}run-seconds": "1"}
        await there.change("Pod", pod["metadata"]["name"], metadata={"annotations": short})
    job = await until_complete(there, "j", 3)
    assert not job["status"].get("failed")


@spec("Job containers restarted by container restart policy should not trigger PodFailurePolicy")
async def _restarted(there: Cluster) -> None:
    codes = {"containerName": "c", "operator": "In", "values": [1]}
    written = there.written("Job", "j", said={"exit-code": "1", "run-seconds": "5"}, parallelism=1,
                            completions=1, backoffLimit=1,
                            podFailurePolicy={"rules": [{"action": "FailJob",
                                                         "onExitCodes": codes}]})  # fmt: skip
    written["spec"]["template"]["spec"]["containers"][0]["restartPolicy"] = "OnFailure"
    await there.client.create(written)
    (pod,) = await until_running(there, "j", 1)
    name = pod["metadata"]["name"]

    async def failed_once() -> object:
        (status,) = (await there.get("Pod", name))["status"]["containerStatuses"]
        return status["restartCount"]

    await there.until(failed_once)
    await there.change("Pod", name, metadata={"annotations": {f"{SAID}exit-code": "0"}})
    status = (await until_complete(there, "j", 1))["status"]
    assert (await there.condition("Job", "j", "Complete"))["status"] == "True"
    assert [status.get(one) or 0 for one in ("active", "ready", "terminating")] == [0, 0, 0]
    assert await there.names("Pod", "j") == [name]


async def _suspended(there: Cluster, *, whether: bool) -> None:
    """Suspend the Job, or let it go on."""
    await there.updated("Job", "j", lambda read: read["spec"].update(suspend=whether))


async def _with_more(there: Cluster) -> None:
    """Give the pods of the Job more resources."""

    def edit(read: Object) -> None:
        for container in read["spec"]["template"]["spec"]["containers"]:
            container["resources"] = MORE

    await there.updated("Job", "j", edit)


async def _has_more(there: Cluster) -> None:
    """The pods of the Job have the resources that it was given."""
    pods = await there.all_of("Pod", "j")
    assert pods
    for pod in pods:
        assert [one["resources"] for one in pod["spec"]["containers"]] == [MORE]


@spec("Job should allow updating pod resources for a suspended job")
async def _resized(there: Cluster) -> None:
    await there.workload("Job", "j", parallelism=1, completions=1, suspend=True,
                         pods={"requests": FEW["requests"]})  # fmt: skip
    await there.until_condition("Job", "j", "Suspended")
    assert await there.names("Pod", "j") == []
    await _with_more(there)
    await _suspended(there, whether=False)
    await until_complete(there, "j", 1)
    await _has_more(there)


@spec("Job should allow updating pod resources for a job that started and then was suspended")
async def _resized_later(there: Cluster) -> None:
    await there.workload("Job", "j", said=LONG, parallelism=2, completions=4, suspend=False,
                         pods={"requests": FEW["requests"]})  # fmt: skip
    await until_running(there, "j", 2)
    await _suspended(there, whether=True)
    await until_running(there, "j", 0)
    await _with_more(there)
    await _suspended(there, whether=False)
    await until_running(there, "j", 2)
    await _has_more(there)


@spec("CronJob should be able to schedule after more than 100 missed schedule")
async def _missed(there: Cluster) -> None:
    pods = {"metadata": {"annotations": {f"{SAID}run-seconds": "100000"}},
            "spec": {"restartPolicy": "OnFailure",
                     "containers": [{"name": "c", "image": "i"}]}}  # fmt: skip
    await there.make(
        "CronJob", "concurrent", metadata={"creationTimestamp": "2023-08-07T00:00:00Z"},
        status={"lastScheduleTime": "2023-08-08T00:00:00Z"},
        spec={"schedule": "*/1 * * * ?", "concurrencyPolicy": "Forbid",
              "jobTemplate": {"spec": {"template": pods}}},
    )  # fmt: skip

    async def active() -> object:
        status = (await there.get("CronJob", "concurrent")).get("status") or {}
        return len(status.get("active") or ()) == 1

    await there.until(active)
    jobs = await there.all_of("Job")
    conditions = [(one.get("status") or {}).get("conditions") for one in jobs]
    assert [one for one in conditions if not one]
    await there.remove("CronJob", "concurrent", propagationPolicy="Background")

    async def gone() -> object:
        return await there.find("CronJob", "concurrent") is None

    await there.until(gone)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_jobs(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
