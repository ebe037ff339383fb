"""Jobs that are over go when they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import trio

from kubetrio.client.client import Client
from kubetrio.controllers.finished import ends_at
from kubetrio.env import seeded
from kubetrio.informers.reconciler import LONGEST_WAIT_S
from kubetrio.machinery.timestamps import format_time
from kubetrio.testing.controllers import controlled

Object = dict[str, Any]
NAME = "ttl-after-finished-controller"


async def add_job(client: Client, name: str, ttl: int | None) -> None:
    """A job that may be deleted after a while."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    await client.create({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template, "ttlSecondsAfterFinished": ttl},
    })  # fmt: skip


async def finish(client: Client, name: str, now: str) -> None:
    """Say that a job is over."""
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"startTime": now, "completionTime": now, "conditions": conditions}
    kind = client.kind("batch/v1", "Job")
    await client.patch(kind, name, {"status": status}, "default", subresource="status")


async def going(client: Client) -> set[str]:
    """The names of jobs that are deleted: what they own has to go first."""
    listed = await client.list(client.kind("batch/v1", "Job"), "default")
    return {
        one["metadata"]["name"]
        for one in listed.items
        if "foregroundDeletion" in (one["metadata"].get("finalizers") or ())
    }


async def test_a_finished_job_goes_when_its_time_is_up(autojump_clock: object) -> None:
    """Not before; those that run or do not ask for it stay."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        for name, ttl in (("a", 60), ("b", None), ("c", 60), ("d", 0)):
            await add_job(client, name, ttl)
        now = format_time(running.server.env.now())
        for name in "abd":
            await finish(client, name, now)
        await running.settled()
        assert await going(client) == {"d"}
        await trio.sleep(55)
        assert await going(client) == {"d"}
        await trio.sleep(10)
        assert await going(client) == {"a", "d"}


async def test_a_longer_time_holds(autojump_clock: object) -> None:
    """What a job says when its time is up counts, not what it said before."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        await add_job(client, "a", 60)
        await finish(client, "a", format_time(running.server.env.now()))
        await trio.sleep(30)
        kind = client.kind("batch/v1", "Job")
        await client.patch(kind, "a", {"spec": {"ttlSecondsAfterFinished": 600}}, "default")
        await trio.sleep(60)
        assert await going(client) == set()
        await trio.sleep(600)
        assert await going(client) == {"a"}


def test_a_job_that_does_not_say_when_it_ended_is_an_error() -> None:
    """In kube-controller-manager's words."""
    job = {
        "metadata": {"namespace": "n", "name": "j"},
        "spec": {"ttlSecondsAfterFinished": 1},
        "status": {"conditions": [{"type": "Failed", "status": "True"}]},
    }
    with pytest.raises(ValueError, match="unable to find the time when the Job n/j finished"):
        ends_at(job)
    assert ends_at({**job, "status": {}}) is None


async def test_a_clock_that_is_set_is_noticed(autojump_clock: object) -> None:
    """A device that believes in 1970 until somebody tells it the time deletes what is due then."""
    del autojump_clock
    behind = [50 * 365 * 24 * 3600.0]
    env = seeded(1)
    late = replace(env, now=lambda: env.now() - behind[0])
    async with controlled(NAME, env=late) as running:
        client = running.client
        await add_job(client, "a", 60)
        await finish(client, "a", format_time(env.now()))
        await trio.sleep(120)
        assert await going(client) == set()
        behind[0] = 0.0
        await trio.sleep(LONGEST_WAIT_S)
        assert await going(client) == {"a"}
