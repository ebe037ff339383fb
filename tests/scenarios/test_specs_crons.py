"""What Kubernetes' e2e specs ask of CronJobs, step by step, as scenarios of their titles.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps/cronjob.go (1.36); nothing else of
it.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from simulated import SAID, Cluster, cluster
from specs import Specs
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import parse_time

Object = dict[str, Any]
SPECS = spec = Specs()
LIMIT_S = 300  # how long a spec waits for a CronJob


async def _cron(there: Cluster, run_s: int = 0, exit_code: int = 0, **more: Any) -> Object:
    """Make a CronJob that is due each minute, with pods that run for so long."""
    said = {f"{SAID}run-seconds": str(run_s), f"{SAID}exit-code": str(exit_code)}
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/data"}]}
    pods = {"metadata": {"annotations": said},
            "spec": {"restartPolicy": "OnFailure", "containers": [container],
                     "volumes": [{"name": "v", "emptyDir": {}}]}}  # fmt: skip
    job = {"parallelism": 1, "completions": 1, "backoffLimit": 1, "template": pods}
    how = {"schedule": "*/1 * * * ?", "concurrencyPolicy": "Allow", **more}
    return await there.make("CronJob", "c", spec={**how, "jobTemplate": {"spec": job}})


async def active(there: Cluster) -> list[str]:
    """Names of the active Jobs of the CronJob, as it says."""
    status = (await there.get("CronJob", "c")).get("status") or {}
    return [str(one["name"]) for one in status.get("active") or ()]


async def jobs(there: Cluster, *, over: bool) -> list[Object]:
    """The Jobs that are over, or those that are not."""
    return [
        one
        for one in await there.all_of("Job")
        if over
        is any(
            (row["type"] in ("Complete", "Failed")) and row["status"] == "True"
            for row in (one.get("status") or {}).get("conditions") or ()
        )
    ]


async def until_active(there: Cluster, number: int) -> None:
    """Wait until at least so many Jobs are active."""

    async def enough() -> object:
        return len(await active(there)) >= number

    await there.until(enough, LIMIT_S)


async def until_over(there: Cluster) -> list[Object]:
    """Wait until a Job is over; returns those that are."""

    async def some() -> object:
        return await jobs(there, over=True)

    await there.until(some, LIMIT_S)
    return await jobs(there, over=True)


async def until_jobs(there: Cluster, number: int) -> None:
    """Wait until there are so many Jobs or more."""

    async def enough() -> object:
        return len(await there.names("Job")) >= number

    await there.until(enough, LIMIT_S)


async def reasons(there: Cluster) -> set[str]:
    """The reasons of the events about the CronJob."""
    events = await there.all_of("Event")
    return {one["reason"] for one in events if one["involvedObject"]["kind"] == "CronJob"}


async def remove(there: Cluster) -> None:
    """Delete the CronJob, and wait until its Jobs and pods are gone."""
    await there.remove("CronJob", "c", propagationPolicy="Background")

    async def gone() -> object:
        return not (await there.names("Job") or await there.names("Pod"))

    await there.until(gone)


async def one_active(there: Cluster) -> str:
    """Wait for the first Job, which is the only one; returns its name."""
    await until_active(there, 1)
    (name,) = await active(there)
    assert [one["metadata"]["name"] for one in await jobs(there, over=False)] == [name]
    return name


@spec("CronJob should schedule multiple jobs concurrently")
async def _concurrent(there: Cluster) -> None:
    await _cron(there, 300)
    await until_active(there, 2)
    assert len(await jobs(there, over=False)) >= 2
    await remove(there)


@spec("CronJob should not schedule jobs when suspended")
async def _suspended(there: Cluster) -> None:
    await _cron(there, 300, suspend=True)
    for _ in range(LIMIT_S // 2):
        assert await active(there) == []
        await trio.sleep(2)
    assert await there.names("Job") == []
    await remove(there)


@spec("CronJob should not schedule new jobs when ForbidConcurrent")
async def _forbid(there: Cluster) -> None:
    await _cron(there, 300, concurrencyPolicy="Forbid")
    name = await one_active(there)
    for _ in range(140):
        assert await active(there) == [name]
        await trio.sleep(2)
    assert await there.names("Job") == [name]
    await remove(there)


@spec("CronJob should replace jobs when ReplaceConcurrent")
async def _replace(there: Cluster) -> None:
    await _cron(there, 300, concurrencyPolicy="Replace")
    name = await one_active(there)

    async def replaced() -> object:
        found = await there.all_of("Job")
        alive = [one["metadata"]["name"] for one in found
                 if "deletionTimestamp" not in one["metadata"]]  # fmt: skip
        assert len(alive) <= 1
        return alive and alive != [name]

    await there.until(replaced, LIMIT_S)
    await remove(there)


@spec("CronJob should not emit unexpected warnings")
async def _no_warnings(there: Cluster) -> None:
    await _cron(there)
    await until_jobs(there, 2)
    await until_over(there)
    await trio.sleep(30)
    found = await reasons(there)
    assert "SuccessfulCreate" in found
    assert not {"MissingJob", "UnexpectedJob"} & found
    await remove(there)


@spec("CronJob should set the cronjob-scheduled-timestamp annotation on a job")
async def _stamp(there: Cluster) -> None:
    await _cron(there)
    await until_jobs(there, 1)
    job = (await there.all_of("Job"))[0]
    stamp = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert parse_time(stamp) % 60 == 0
    await remove(there)


@spec("CronJob should remove from active list jobs that have been deleted")
async def _forgotten(there: Cluster) -> None:
    await _cron(there, 300, concurrencyPolicy="Forbid")
    name = await one_active(there)
    await there.remove("Job", name, propagationPolicy="Background")

    async def gone() -> object:
        return await there.find("Job", name) is None

    await there.until(gone)

    async def forgotten() -> object:
        return name not in await active(there)

    await there.until(forgotten, LIMIT_S)

    async def told() -> object:
        return "MissingJob" in await reasons(there)

    await there.until(told, 30)
    await remove(there)


async def _limited(there: Cluster, exit_code: int, **limits: int) -> None:
    """One Job that is over is kept: the next takes its place, and its pods go."""
    await _cron(there, 0, exit_code, **limits)
    (first,) = await until_over(there)
    name, uid = first["metadata"]["name"], first["metadata"]["uid"]

    async def gone() -> object:
        return name not in [one["metadata"]["name"] for one in await jobs(there, over=True)]

    await there.until(gone, LIMIT_S)

    async def without_pods() -> object:
        return not await there.chosen("Pod", f"controller-uid={uid}")

    await there.until(without_pods, LIMIT_S)
    assert len(await jobs(there, over=True)) == 1
    await remove(there)


@spec("CronJob should delete successful finished jobs with limit of one successful job")
async def _successful(there: Cluster) -> None:
    await _limited(there, 0, successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)


@spec("CronJob should delete failed finished jobs with limit of one job")
async def _failed(there: Cluster) -> None:
    await _limited(there, 1, successfulJobsHistoryLimit=0, failedJobsHistoryLimit=1)


@spec("CronJob should support timezone")
async def _zone(there: Cluster) -> None:
    with pytest.raises(ApiError, match="timeZone") as caught:
        await _cron(there, timeZone="bad-time-zone")
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    await _cron(there, timeZone="Europe/Paris")
    await until_jobs(there, 1)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_cron_jobs(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
