"""ReplicaSets on a server whose controller runs."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.client.client import Client
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import (
    NAMESPACE,
    events_of,
    make_end,
    make_ready,
    pods_of,
    say,
    template,
    workload,
)

Object = dict[str, Any]
NAME = "replicaset-controller"


async def status_of(running: Controlled) -> Object:
    """The status when all is quiet."""
    await running.settled()
    kind = running.client.kind("apps/v1", "ReplicaSet")
    status: Object = (await running.client.get(kind, "w", NAMESPACE))["status"]
    return status


async def scale(client: Client, replicas: int) -> None:
    """Change the size."""
    spec = {"spec": {"replicas": replicas}}
    await client.patch(client.kind("apps/v1", "ReplicaSet"), "w", spec, NAMESPACE)


async def test_pods_are_made_counted_and_deleted() -> None:
    """With few writes of the status."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(workload("ReplicaSet", replicas=3))
        assert await status_of(running) == {
            "replicas": 3, "fullyLabeledReplicas": 3, "terminatingReplicas": 0,
            "observedGeneration": 1,
        }  # fmt: skip
        assert running.writes.count == 4
        pods = await pods_of(client)
        assert {pod["metadata"]["generateName"] for pod in pods} == {"w-"}
        assert len(await events_of(client, "ReplicaSet")) == 3
        await make_ready(client, running.server.env.now())
        status = await status_of(running)
        assert (status["readyReplicas"], status["availableReplicas"]) == (3, 3)
        await scale(client, 1)
        assert (await status_of(running))["replicas"] == 1
        kind, reason, message = (await events_of(client, "ReplicaSet"))[-1]
        assert (kind, reason) == ("Normal", "SuccessfulDelete")
        assert message.startswith("Deleted pod: w-")


async def test_a_pod_that_ended_or_went_is_replaced() -> None:
    """What ended stays for others to delete."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(workload("ReplicaSet", replicas=2))
        await running.settled()
        first, second = (pod["metadata"]["name"] for pod in await pods_of(client))
        await make_end(client, first, "Failed")
        await client.delete(client.kind("v1", "Pod"), second, NAMESPACE, gracePeriodSeconds=0)
        assert (await status_of(running))["replicas"] == 2
        assert len(await pods_of(client)) == 3


async def test_a_pod_that_is_being_deleted_counts_as_terminating() -> None:
    """Another one is made at once."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(workload("ReplicaSet", replicas=1, template=template(nodeName="n")))
        await running.settled()
        (pod,) = await pods_of(client)
        await client.delete(client.kind("v1", "Pod"), pod["metadata"]["name"], NAMESPACE)
        status = await status_of(running)
        assert (status["replicas"], status["terminatingReplicas"]) == (1, 1)


async def test_orphans_are_adopted_and_others_released() -> None:
    """By their labels."""
    async with controlled(NAME) as running:
        client = running.client
        kind = client.kind("v1", "Pod")
        meta = {"name": "own", "namespace": NAMESPACE, "labels": {"app": "web"}}
        await client.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template()["spec"]}
        )
        await client.create(workload("ReplicaSet", replicas=2))
        await running.settled()
        assert len(await pods_of(client)) == 2
        own = await client.get(kind, "own", NAMESPACE)
        assert own["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] is True
        await client.patch(kind, "own", {"metadata": {"labels": {"app": "other"}}}, NAMESPACE)
        assert (await status_of(running))["replicas"] == 2
        own = await client.get(kind, "own", NAMESPACE)
        assert "ownerReferences" not in own["metadata"]
        assert len(await pods_of(client)) == 3


async def test_pods_are_available_after_a_while(autojump_clock: object) -> None:
    """Which the controller waits for."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(workload("ReplicaSet", replicas=1, minReadySeconds=30))
        await running.settled()
        await make_ready(client, running.server.env.now())
        status = await status_of(running)
        assert (status["readyReplicas"], "availableReplicas" in status) == (1, False)
        await trio.sleep(31)
        assert (await status_of(running))["availableReplicas"] == 1


async def test_what_cannot_be_made_is_told(autojump_clock: object) -> None:
    """By a condition and an event; then it is tried again."""
    async with controlled(NAME) as running:
        client = running.client
        quota = {"apiVersion": "v1", "kind": "ResourceQuota",
                 "metadata": {"name": "q", "namespace": NAMESPACE},
                 "spec": {"hard": {"pods": "1"}}}  # fmt: skip
        made = await client.create(quota)
        hard = {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}}
        kind = client.kind("v1", "ResourceQuota")
        await client.patch(kind, "q", hard, NAMESPACE, subresource="status")
        await client.create(workload("ReplicaSet", replicas=3))
        status = await status_of(running)
        assert made["metadata"]["name"] == "q"
        (condition,) = status["conditions"]
        assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
        assert "exceeded quota" in condition["message"]
        reasons = {reason for _, reason, _ in await events_of(client, "ReplicaSet")}
        assert reasons == {"SuccessfulCreate", "FailedCreate"}
        await client.delete(kind, "q", NAMESPACE)
        await trio.sleep(60)
        status = await status_of(running)
        assert status["replicas"] == 3
        assert "conditions" not in status


async def test_many_pods_are_made_in_several_syncs(autojump_clock: object) -> None:
    """No more than a bound at a time."""
    async with controlled(NAME) as running:
        await running.client.create(workload("ReplicaSet", replicas=520))
        await trio.sleep(2)
        assert (await status_of(running))["replicas"] == 520


async def test_pods_that_change_together_share_a_look(autojump_clock: object) -> None:
    """Of an owner with many: the status is written a few times, and is right in the end."""
    async with controlled(NAME) as running:
        await running.client.create(workload("ReplicaSet", replicas=120))
        await trio.sleep(1)
        assert (await status_of(running))["replicas"] == 120
        before = running.writes.count
        await make_ready(running.client, running.server.env.now())
        await trio.sleep(1)
        assert (await status_of(running))["readyReplicas"] == 120
        assert 1 <= running.writes.count - before <= 3


async def test_a_namespace_that_is_deleted_gets_no_pods() -> None:
    """The status says so, and nothing is told of it."""
    async with controlled(NAME) as running:
        client = running.client
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
        await client.create(namespace)
        owner = workload("ReplicaSet", replicas=0)
        owner["metadata"]["namespace"] = "ns"
        await client.create(owner)
        await client.delete(client.kind("v1", "Namespace"), "ns")
        kind = client.kind("apps/v1", "ReplicaSet")
        await client.patch(kind, "w", {"spec": {"replicas": 2}}, "ns")
        await running.settled()
        status = (await client.get(kind, "w", "ns"))["status"]
        assert status["observedGeneration"] == 2
        assert "conditions" not in status


@pytest.mark.parametrize("propagation", ["Orphan", "Background"])
async def test_an_owner_that_is_deleted_makes_nothing(propagation: str) -> None:
    """Its pods are the garbage collector's."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(workload("ReplicaSet", replicas=1))
        await running.settled()
        kind = client.kind("apps/v1", "ReplicaSet")
        await client.delete(kind, "w", NAMESPACE, propagationPolicy=propagation)
        (pod,) = await pods_of(client)
        await client.delete(client.kind("v1", "Pod"), pod["metadata"]["name"], NAMESPACE)
        await running.settled()
        assert await pods_of(client) == []


STEPS = st.one_of(
    st.tuples(st.just("scale"), st.integers(0, 5)),
    st.tuples(st.sampled_from(["fail", "delete", "run"]), st.integers(0, 9)),
)


@settings(max_examples=6, deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_there_are_always_as_many_pods_as_asked_for(steps: list[tuple[str, int]]) -> None:
    """Whatever happens to them."""

    async def play() -> None:
        async with controlled(NAME) as running:
            client, wanted = running.client, 2
            await client.create(workload("ReplicaSet", replicas=wanted))
            await running.settled()
            for what, number in steps:
                pods = await pods_of(client)
                names = [pod["metadata"]["name"] for pod in pods]
                if what == "scale":
                    wanted = number
                    await scale(client, wanted)
                elif names and what == "delete":
                    name = names[number % len(names)]
                    await client.delete(client.kind("v1", "Pod"), name, NAMESPACE)
                elif names:
                    phase = "Failed" if what == "fail" else "Running"
                    await say(client, names[number % len(names)], phase=phase)
                status = await status_of(running)
                left = [pod for pod in await pods_of(client) if pod["status"]["phase"] != "Failed"]
                assert len(left) == status["replicas"] == wanted

    trio.run(play)
