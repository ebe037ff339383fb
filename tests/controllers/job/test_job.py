"""Jobs on a server whose controller runs."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from kubetrio.controllers.job.facts import FINALIZER, INDEX
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import (
    NAMESPACE,
    events_of,
    make_end,
    make_ready,
    pods_of,
    template,
)

Object = dict[str, Any]
NAME = "job-controller"
OVER = ("Succeeded", "Failed")


def job(**spec: Any) -> Object:
    """A Job."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "w", "namespace": NAMESPACE},
        "spec": {"template": template(restartPolicy="Never"), **spec},
    }


async def job_of(running: Controlled) -> Object:
    """The Job when all is quiet."""
    await running.settled()
    client = running.client
    return await client.get(client.kind("batch/v1", "Job"), "w", NAMESPACE)


async def active(running: Controlled) -> list[str]:
    """Names of pods that run or are to run."""
    await running.settled()
    return [
        pod["metadata"]["name"]
        for pod in await pods_of(running.client)
        if pod["status"]["phase"] not in OVER
    ]


async def end(running: Controlled, phase: str = "Succeeded", code: int = 0) -> None:
    """Have the first pod end that runs."""
    await make_end(running.client, (await active(running))[0], phase, code)


def ends(found: Object) -> list[tuple[str, str]]:
    """Types and reasons of conditions."""
    return [(one["type"], one["reason"]) for one in found["status"].get("conditions") or ()]


async def change(running: Controlled, **spec: Any) -> None:
    """Change the spec."""
    kind = running.client.kind("batch/v1", "Job")
    await running.client.patch(kind, "w", {"spec": spec}, NAMESPACE)


async def test_pods_run_to_completion() -> None:
    """No more at a time than may; each is counted and let go."""
    async with controlled(NAME) as running:
        await running.client.create(job(completions=3, parallelism=2))
        assert len(await active(running)) == 2
        assert (await pods_of(running.client))[0]["metadata"]["finalizers"] == [FINALIZER]
        for left in (2, 1, 0):
            await end(running)
            assert len(await active(running)) == left
        found = await job_of(running)
        assert ends(found) == [
            ("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached"),
        ]  # fmt: skip
        status = found["status"]
        assert (status["succeeded"], status["ready"], "active" in status) == (3, 0, False)
        assert status["completionTime"] >= status["startTime"]
        assert all("finalizers" not in one["metadata"] for one in await pods_of(running.client))
        assert (await events_of(running.client, "Job"))[-1] == (
            "Normal", "Completed", "Job completed",
        )  # fmt: skip


async def test_failures_are_followed_by_longer_and_longer_waits(autojump_clock: MockClock) -> None:
    """Until there are too many."""
    async with controlled(NAME) as running:
        client, env = running.client, running.server.env
        await client.create(job(backoffLimit=1))
        pod = (await active(running))[0]
        status = {"phase": "Failed", "conditions": [{"type": "Ready", "status": "False",
            "lastTransitionTime": "2023-11-14T22:13:20Z"}]}  # fmt: skip
        kind = client.kind("v1", "Pod")
        await client.patch(kind, pod, {"status": status}, NAMESPACE, subresource="status")
        assert await active(running) == []
        begin = env.now()
        await trio.sleep(9)
        assert await active(running) == []
        await trio.sleep(2)
        assert len(await active(running)) == 1
        assert env.now() - begin < 12
        await end(running, "Failed")
        found = await job_of(running)
        assert ends(found) == [
            ("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded"),
        ]  # fmt: skip
        assert (found["status"]["failed"], "completionTime" in found["status"]) == (2, False)
        assert (await events_of(client, "Job"))[-1] == (
            "Warning", "BackoffLimitExceeded", "Job has reached the specified backoff limit",
        )  # fmt: skip


async def test_failures_of_another_time_are_forgotten(autojump_clock: MockClock) -> None:
    """As when a test goes back to a snapshot."""
    async with controlled(NAME) as running:
        await running.client.create(job(backoffLimit=5))
        await end(running, "Failed")
        controller = running.controllers[NAME]
        begin = running.server.env.now()
        while len(await active(running)) == 0:
            await controller.pause()
            controller.begin_anew()
            controller.resume()
            await trio.sleep(0.1)
        assert running.server.env.now() - begin < 5


async def test_a_job_ends_at_its_deadline(autojump_clock: MockClock) -> None:
    """Its pods are deleted."""
    async with controlled(NAME) as running:
        await running.client.create(job(activeDeadlineSeconds=30))
        assert len(await active(running)) == 1
        await trio.sleep(31)
        assert await active(running) == []
        assert ends(await job_of(running))[-1] == ("Failed", "DeadlineExceeded")


async def test_a_suspended_job_has_no_pods() -> None:
    """And a new start time when it goes on."""
    async with controlled(NAME) as running:
        await running.client.create(job(suspend=True))
        assert await active(running) == []
        found = await job_of(running)
        assert ends(found) == [("Suspended", "JobSuspended")]
        assert "startTime" not in found["status"]
        await change(running, suspend=False)
        assert len(await active(running)) == 1
        found = await job_of(running)
        assert ends(found) == [("Suspended", "JobResumed")]
        assert "startTime" in found["status"]
        await change(running, suspend=True)
        assert await active(running) == []
        found = await job_of(running)
        assert found["status"].get("failed", 0) == 0
        reasons = [reason for _, reason, _ in await events_of(running.client, "Job")]
        assert reasons == ["SuccessfulCreate", "Resumed", "SuccessfulDelete", "Suspended"]


async def test_an_indexed_job_has_a_pod_for_each_index() -> None:
    """One that fails is made again with its index."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(
            job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=0)
        )
        names = await active(running)
        assert [name.rsplit("-", 1)[0] for name in names] == ["w-0", "w-1", "w-2"]
        indexes = [pod["metadata"]["annotations"][INDEX] for pod in await pods_of(client)]
        assert indexes == ["0", "1", "2"]
        await make_end(client, names[0])
        await make_end(client, names[1], "Failed", 1)
        status = (await job_of(running))["status"]
        assert (status["completedIndexes"], status["failedIndexes"]) == ("0", "1")
        await make_end(client, names[2])
        found = await job_of(running)
        assert ends(found)[-1] == ("Failed", "FailedIndexes")
        assert (found["status"]["completedIndexes"], found["status"]["failed"]) == ("0,2", 1)


@pytest.mark.parametrize(
    ("action", "failed", "last"),
    [("FailJob", 1, ("Failed", "PodFailurePolicy")), ("Ignore", 0, None), ("Count", 1, None)],
)
async def test_a_policy_judges_failures(
    action: str, failed: int, last: tuple[str, str] | None
) -> None:
    """By the exit code."""
    rules = [{"action": action, "onExitCodes": {"operator": "In", "values": [42]}}]
    async with controlled(NAME) as running:
        await running.client.create(job(podFailurePolicy={"rules": rules}, backoffLimit=3))
        await end(running, "Failed", 42)
        found = await job_of(running)
        assert found["status"].get("failed", 0) == failed
        assert (ends(found)[-1] if ends(found) else None) == last
        if last is not None:
            message = found["status"]["conditions"][-1]["message"]
            assert "failed with exit code 42 matching FailJob rule at index 0" in message


async def test_a_success_policy_ends_a_job_early() -> None:
    """What still runs is deleted, and does not count as failed."""
    async with controlled(NAME) as running:
        client = running.client
        rules = [{"succeededIndexes": "1"}]
        await client.create(
            job(completions=2, parallelism=2, completionMode="Indexed",
                successPolicy={"rules": rules})
        )  # fmt: skip
        await make_end(client, (await active(running))[1])
        found = await job_of(running)
        assert ends(found) == [("SuccessCriteriaMet", "SuccessPolicy"), ("Complete",
            "SuccessPolicy")]  # fmt: skip
        assert found["status"].get("failed", 0) == 0
        assert await active(running) == []


async def test_a_pod_without_a_job_is_let_go() -> None:
    """Else it could never be deleted."""
    async with controlled(NAME, "garbage-collector-controller") as running:
        client = running.client
        await client.create(job())
        await running.settled()
        kind = client.kind("batch/v1", "Job")
        await client.delete(kind, "w", NAMESPACE, propagationPolicy="Background")
        await running.settled()
        assert await pods_of(client) == []


async def test_a_job_of_another_controller_is_left_alone() -> None:
    """It is not even given a start time."""
    async with controlled(NAME) as running:
        await running.client.create(job(managedBy="example.com/mine"))
        assert "startTime" not in ((await job_of(running)).get("status") or {})
        assert running.writes.count == 0


async def test_fewer_may_run() -> None:
    """Those that are too many are deleted, and do not count as failed."""
    async with controlled(NAME) as running:
        await running.client.create(job(completions=5, parallelism=4))
        await make_ready(running.client, running.server.env.now())
        await change(running, parallelism=1)
        assert len(await active(running)) == 1
        status = (await job_of(running))["status"]
        assert (status["active"], status.get("failed", 0)) == (1, 0)


Steps = st.lists(
    st.tuples(st.sampled_from(["Succeeded", "Failed", "delete", "scale"]), st.integers(0, 5)),
    max_size=10,
)


@shortened(4)
@given(st.integers(1, 4), st.integers(1, 3), Steps)
def test_a_job_is_never_over_its_parallelism(
    completions: int, parallelism: int, steps: list[tuple[str, int]]
) -> None:
    """And every pod that succeeded is counted once."""

    async def play() -> None:
        async with controlled(NAME) as running:
            client, most, succeeded = running.client, parallelism, 0
            kind = client.kind("v1", "Pod")
            await client.create(
                job(completions=completions, parallelism=parallelism, backoffLimit=99)
            )
            for what, number in [*steps, *(("Succeeded", 0),) * 9]:
                names = await active(running)
                assert len(names) <= most
                if what == "scale":
                    most = number % 3 + 1
                    await change(running, parallelism=most)
                elif names and what == "delete":
                    await client.delete(kind, names[number % len(names)], NAMESPACE)
                elif names:
                    await make_end(client, names[number % len(names)], what)
                    succeeded += what == "Succeeded"
                assert len(await active(running)) <= most
                await trio.sleep(700)
                found = await job_of(running)
                assert found["status"].get("succeeded", 0) == succeeded <= completions
            assert ends(found)[-1] == ("Complete", "CompletionsReached")

    trio.run(play, clock=MockClock(autojump_threshold=0.01))
