"""CronJobs on a server whose controller runs, with a clock that jumps."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.env import seeded
from kubetrio.testing.controllers import controlled
from kubetrio.testing.workloads import NAMESPACE, events_of, template

Object = dict[str, Any]
NAME = "cronjob-controller"
START = 1_700_000_000.0 - 1_700_000_000 % 3600 + 10


def cron_job(**spec: Any) -> Object:
    """One that starts a Job every minute."""
    jobs = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {"template": template(restartPolicy="Never")}}  # fmt: skip
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "w", "namespace": NAMESPACE},
        "spec": {"schedule": "* * * * *", "jobTemplate": jobs, **spec},
    }


async def jobs_of(client: Client) -> list[Object]:
    """All Jobs, by name."""
    found = await client.list(client.kind("batch/v1", "Job"), NAMESPACE)
    return sorted(found.items, key=lambda job: job["metadata"]["name"])


async def status_of(client: Client) -> Object:
    """The status of the CronJob."""
    found = await client.get(client.kind("batch/v1", "CronJob"), "w", NAMESPACE)
    status: Object = found.get("status") or {}
    return status


async def end(client: Client, name: str, type_: str = "Complete") -> None:
    """Have a Job end."""
    time = "2023-11-14T22:30:00Z"
    conditions = [{"type": type_, "status": "True", "reason": "r", "message": "m",
                   "lastProbeTime": time, "lastTransitionTime": time}]  # fmt: skip
    target = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[type_]
    status: Object = {"conditions": [{**conditions[0], "type": target}, *conditions],
                      "startTime": time}  # fmt: skip
    if type_ == "Complete":
        status["completionTime"] = time
    kind = client.kind("batch/v1", "Job")
    await client.patch(kind, name, {"status": status}, NAMESPACE, subresource="status")


async def test_a_job_is_started_when_it_is_due(autojump_clock: MockClock) -> None:
    """Its name and its annotation tell the time."""
    async with controlled(NAME, env=seeded(0, start=START)) as running:
        client = running.client
        await client.create(cron_job(timeZone="Asia/Kolkata"))
        await trio.sleep(40)
        assert await jobs_of(client) == []
        await trio.sleep(15)
        (job,) = await jobs_of(client)
        due = int(START) - 10 + 60
        assert job["metadata"]["name"] == f"w-{due // 60}"
        assert job["metadata"]["labels"] == {"a": "b"}
        scheduled = "batch.kubernetes.io/cronjob-scheduled-timestamp"
        assert job["metadata"]["annotations"] == {"c": "d", scheduled: "2023-11-15T03:31:00+05:30"}
        status = await status_of(client)
        assert status["lastScheduleTime"] == "2023-11-14T22:01:00Z"
        (active,) = status["active"]
        assert list(active) == ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion"]
        assert await events_of(client, "CronJob") == [
            ("Normal", "SuccessfulCreate", f"Created job w-{due // 60}")
        ]
        await trio.sleep(60)
        assert len(await jobs_of(client)) == 2


async def test_a_job_that_ended_is_active_no_more(autojump_clock: MockClock) -> None:
    """And the last success is told."""
    async with controlled(NAME, env=seeded(0, start=START)) as running:
        client = running.client
        await client.create(cron_job())
        await trio.sleep(55)
        (job,) = await jobs_of(client)
        name = job["metadata"]["name"]
        await end(client, name)
        await trio.sleep(1)
        status = await status_of(client)
        assert "active" not in status
        assert status["lastSuccessfulTime"] == "2023-11-14T22:30:00Z"
        assert (await events_of(client, "CronJob"))[-1] == (
            "Normal", "SawCompletedJob", f"Saw completed job: {name}, condition: Complete",
        )  # fmt: skip


async def test_old_jobs_go(autojump_clock: MockClock) -> None:
    """Those that succeeded and those that failed each have a limit."""
    async with controlled(NAME, env=seeded(0, start=START)) as running:
        client = running.client
        await client.create(cron_job(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0))
        for type_ in ("Complete", "Complete", "Failed"):
            await trio.sleep(60)
            last = (await jobs_of(client))[-1]
            await end(client, last["metadata"]["name"], type_)
        await trio.sleep(1)
        assert len(await jobs_of(client)) == 1
        reasons = [reason for _, reason, _ in await events_of(client, "CronJob")]
        assert reasons.count("SuccessfulDelete") == 2


async def test_jobs_at_a_time(autojump_clock: MockClock) -> None:
    """One, the newest, or all."""
    for policy, count in (("Forbid", 1), ("Replace", 1), ("Allow", 3)):
        async with controlled(NAME, env=seeded(0, start=START)) as running:
            client = running.client
            await client.create(cron_job(concurrencyPolicy=policy))
            await trio.sleep(175)
            jobs = await jobs_of(client)
            assert len(jobs) == count
            reasons = {reason for _, reason, _ in await events_of(client, "CronJob")}
            last = int(START) // 60 + 3
            if policy == "Forbid":
                assert "JobAlreadyActive" in reasons
                assert jobs[0]["metadata"]["name"] == f"w-{last - 2}"
            if policy == "Replace":
                assert "SuccessfulDelete" in reasons
                assert jobs[0]["metadata"]["name"] == f"w-{last}"


async def test_a_start_that_was_missed_is_made_up_for(autojump_clock: MockClock) -> None:
    """Once, unless it is too late."""
    async with controlled(NAME, env=seeded(0, start=START)) as running:
        client = running.client
        await client.create(cron_job(suspend=True))
        await trio.sleep(300)
        assert await jobs_of(client) == []
        kind = client.kind("batch/v1", "CronJob")
        late = {"spec": {"suspend": False, "schedule": "0 * * * *", "startingDeadlineSeconds": 20}}
        await client.patch(kind, "w", late, NAMESPACE)
        await trio.sleep(1)
        assert await jobs_of(client) == []
        await client.patch(kind, "w", {"spec": {"schedule": "* * * * *",
            "startingDeadlineSeconds": None}}, NAMESPACE)  # fmt: skip
        await trio.sleep(1)
        assert len(await jobs_of(client)) == 1


async def test_jobs_that_come_or_go_by_themselves_are_told(autojump_clock: MockClock) -> None:
    """Nothing is made in their place."""
    async with controlled(NAME, env=seeded(0, start=START)) as running:
        client = running.client
        made = await client.create(cron_job(schedule="0 0 1 1 *"))
        reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "w",
                     "uid": made["metadata"]["uid"], "controller": True}  # fmt: skip
        job = {"apiVersion": "batch/v1", "kind": "Job",
               "metadata": {"name": "mine", "namespace": NAMESPACE, "ownerReferences": [reference]},
               "spec": {"template": template(restartPolicy="Never")}}  # fmt: skip
        await client.create(job)
        await trio.sleep(1)
        active = {"active": [{"kind": "Job", "name": "gone", "namespace": NAMESPACE, "uid": "g"}]}
        kind = client.kind("batch/v1", "CronJob")
        await client.patch(kind, "w", {"status": active}, NAMESPACE, subresource="status")
        await trio.sleep(1)
        messages = {message for _, _, message in await events_of(client, "CronJob")}
        assert messages == {
            "Saw a job that the controller did not create or forgot: mine",
            "Active job went missing: gone",
        }


async def test_a_schedule_that_is_never_due_is_told(autojump_clock: MockClock) -> None:
    """Nothing is waited for."""
    async with controlled(NAME, env=seeded(0, start=START)) as running:
        await running.client.create(cron_job(schedule="0 0 31 2 *"))
        await trio.sleep(1)
        ((_, reason, message),) = await events_of(running.client, "CronJob")
        assert reason == "InvalidSchedule"
        assert message.startswith("invalid schedule: 0 0 31 2 * : time difference")
