"""A run has users, faults and deaths, and keeps what was asked."""

from __future__ import annotations

from itertools import pairwise

import trio

from kubetrio.client import Client
from kubetrio.faults import Rule
from kubetrio.harness.opening import Harness, run
from kubetrio.harness.operators.calls import of_operator
from kubetrio.harness.operators.plans import Crash, Plan
from kubetrio.harness.operators.runs import Run, Terms, run_plan
from kubetrio.harness.script import Inject, Move, Request

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}}
SHORT = Terms(quiet_s=20, most_calls=30)


async def writer(client: Client) -> None:
    """Makes a ConfigMap each second."""
    while True:
        await client.create({**MAP, "metadata": {"namespace": "default", "generateName": "a-"}})
        await trio.sleep(1)


def test_deaths_and_faults() -> None:
    """It is killed after its second write, and a fault ends it; it is started again."""
    plan = Plan(
        steps=(
            Crash(writes=2, down_s=5),
            Move(seconds=10),
            Inject(rule=Rule(fault="503", verb="create", count=1)),
        )
    )

    async def main(server: Harness) -> Run:
        return await run_plan(server, writer, plan, SHORT)

    done = run(main)
    calls = of_operator(done.calls)
    assert [call.status for call in calls].count(503) == 1
    assert [text for text in done.crashes if text.startswith("ApiError")] == list(done.crashes)
    assert len(done.crashes) == 1
    gaps = [two.at - one.at for one, two in pairwise(calls)]
    assert max(gaps[:5]) > 4.9
    assert done.exhausted
    assert len(calls) == SHORT.most_calls


def test_users() -> None:
    """What they were answered is kept, and what there was before and after."""
    asked = Request(
        method="POST",
        path="/api/v1/namespaces/default/configmaps",
        body={**MAP, "metadata": {"name": "a"}},
    )

    async def main(server: Harness) -> Run:
        async def idle(_: Client) -> None:
            await trio.sleep_forever()

        return await run_plan(server, idle, Plan(steps=(asked, asked)), SHORT)

    done = run(main)
    assert list(done.answers) == [201, 409]
    assert len(done.after) == len(done.before) + 1
    assert not done.crashes
