"""Disruption budgets on a server whose controller runs."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from kubetrio.client.client import Client
from kubetrio.controllers.disruption.disruption import AGAIN_S
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.widgets import widget, widgets

Object = dict[str, Any]
NAME = "disruption-controller"


def pod(name: str, owner: Object | None = None, **labels: str) -> Object:
    """A pod; labelled ``app=web`` unless something else is said."""
    owners = {"ownerReferences": [owner]} if owner else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "labels": labels or {"app": "web"}, **owners,
        },
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }  # fmt: skip


def budget(name: str = "b", **spec: Any) -> Object:
    """A budget for the pods above."""
    selector = {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": selector, **spec},
    }


def workload(kind: str, replicas: int, name: str = "w", owner: Object | None = None) -> Object:
    """A workload for the pods above."""
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    selector: Object = {"matchLabels": {"app": "web"}}
    if kind == "ReplicationController":
        selector = {"app": "web"}
    owners = {"ownerReferences": [owner]} if owner else {}
    return {
        "apiVersion": "v1" if kind == "ReplicationController" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", **owners},
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    }


def owned_by(obj: Object) -> Object:
    """A reference to the controller of something."""
    meta = obj["metadata"]
    names = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"]}
    return {**names, "uid": meta["uid"], "controller": True}


async def make_ready(client: Client, name: str, ready: str = "True") -> None:
    """Say that a pod runs and is ready."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    await client.patch(
        client.kind("v1", "Pod"), name, {"status": status}, "default", subresource="status"
    )


async def status_of(running: Controlled, name: str = "b") -> Object:
    """The status of a budget when all is quiet."""
    await running.settled()
    client = running.client
    found = await client.get(client.kind("policy/v1", "PodDisruptionBudget"), name, "default")
    status: Object = found["status"]
    return status


def numbers(status: Object) -> tuple[int, int, int, int]:
    """Allowed disruptions, current and desired healthy pods, expected pods."""
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    allowed, current, desired, wanted = (status[name] for name in names)
    return allowed, current, desired, wanted


async def evict(client: Client, name: str) -> None:
    """Evict a pod."""
    eviction = {
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
    }  # fmt: skip
    await client.create(eviction, subresource="eviction", name=name)


async def events_of(client: Client) -> dict[str, tuple[str, str, int]]:
    """Recorded events by reason: type, message, count."""
    listed = await client.list(client.kind("v1", "Event"), "default")
    return {one["reason"]: (one["type"], one["message"], one["count"]) for one in listed.items}


async def test_a_budget_counts_its_pods() -> None:
    """Ready ones are healthy; what comes, becomes ready and goes changes its status."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(budget(minAvailable=1))
        assert numbers(await status_of(running)) == (0, 0, 1, 0)
        for name in "pq":
            await client.create(pod(name))
        assert numbers(await status_of(running)) == (0, 0, 1, 2)
        await make_ready(client, "p")
        status = await status_of(running)
        assert numbers(status) == (0, 1, 1, 2)
        (condition,) = status["conditions"]
        assert condition["reason"] == "InsufficientPods"
        assert condition["status"] == "False"
        await make_ready(client, "q")
        status = await status_of(running)
        assert numbers(status) == (1, 2, 1, 2)
        assert status["conditions"][0]["reason"] == "SufficientPods"
        assert status["observedGeneration"] == 1
        await client.delete(client.kind("v1", "Pod"), "q", "default", gracePeriodSeconds=0)
        assert numbers(await status_of(running)) == (0, 1, 1, 1)
        await make_ready(client, "p", "False")
        assert numbers(await status_of(running)) == (0, 0, 1, 1)
        kind, message, _ = (await events_of(client))["NoPods"]
        assert (kind, message) == ("Normal", "No matching pods found")


async def test_evictions_end_where_the_budget_does() -> None:
    """One too many is refused until another pod is ready."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(budget(minAvailable=1))
        for name in "pq":
            await client.create(pod(name))
            await make_ready(client, name)
        assert numbers(await status_of(running)) == (1, 2, 1, 2)
        await evict(client, "p")
        assert numbers(await status_of(running)) == (0, 1, 1, 1)
        with pytest.raises(ApiError) as caught:
            await evict(client, "q")
        assert caught.value.code == 429
        message = caught.value.details["causes"][0]["message"]
        assert message == "The disruption budget b needs 1 healthy pods and has 1 currently"


async def test_what_was_granted_and_not_done_is_forgotten(autojump_clock: object) -> None:
    """Two minutes after an eviction whose pod nobody deletes, the pod counts again."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        await client.create(pod("p"))
        await make_ready(client, "p")
        await client.create(budget(minAvailable=0))
        assert numbers(await status_of(running)) == (1, 1, 0, 1)
        granted = {"p": format_time(running.server.env.now()), "gone": None}
        await client.patch(
            client.kind("policy/v1", "PodDisruptionBudget"), "b",
            {"status": {"disruptedPods": granted}}, "default", subresource="status",
        )  # fmt: skip
        status = await status_of(running)
        assert numbers(status) == (0, 0, 0, 1)
        assert list(status["disruptedPods"]) == ["p"]
        await trio.sleep(110)
        assert numbers(await status_of(running)) == (0, 0, 0, 1)
        await trio.sleep(20)
        status = await status_of(running)
        assert numbers(status) == (1, 1, 0, 1)
        assert "disruptedPods" not in status
        said = "Pod was expected by PDB default/default to be deleted but it wasn't"
        assert (await events_of(client))["NotDeleted"] == ("Warning", said, 1)


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "ReplicationController"])
async def test_percentages_are_of_what_controllers_want(kind: str) -> None:
    """Not of the pods there are; parts count as a whole one."""
    async with controlled(NAME) as running:
        client = running.client
        made = await client.create(workload(kind, 5))
        await client.create(pod("p", owned_by(made)))
        await make_ready(client, "p")
        await client.create(budget(minAvailable="50%"))
        assert numbers(await status_of(running)) == (0, 1, 3, 5)
        await client.create(budget("m", maxUnavailable="30%"))
        assert numbers(await status_of(running, "m")) == (0, 1, 3, 5)


async def test_replica_sets_of_deployments_are_one(autojump_clock: object) -> None:
    """The deployment says how many pods there should be, however many sets it has."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        deployment = await client.create(workload("Deployment", 4))
        for name in "ab":
            replicas = await client.create(workload("ReplicaSet", 3, name, owned_by(deployment)))
            await client.create(pod(name, owned_by(replicas)))
        await client.create(budget(maxUnavailable=1))
        assert numbers(await status_of(running)) == (0, 0, 3, 4)


async def test_custom_kinds_say_it_in_their_scale() -> None:
    """In the version that the owner names, at the path that the kind says."""
    async with controlled(NAME) as running:
        client = running.client
        running.server.api.storage.registry.add(widgets())
        custom = {**widget("w", replicas=7), "metadata": {"name": "w", "namespace": "default"}}
        made = await client.create(custom)
        await client.create(pod("p", owned_by(made)))
        await client.create(budget(maxUnavailable=1))
        assert numbers(await status_of(running)) == (0, 0, 6, 7)


async def test_a_kind_that_is_not_served_makes_a_budget_fail() -> None:
    """It allows nothing then, and says why; so does who is refused an eviction."""
    async with controlled(NAME) as running:
        client = running.client
        owner = {
            "apiVersion": "made.up/v1", "kind": "Nothing", "name": "n", "uid": "u",
            "controller": True,
        }  # fmt: skip
        await client.create(budget(maxUnavailable=1))
        await running.settled()
        await client.create(pod("p", owner))
        status = await status_of(running)
        (condition,) = status["conditions"]
        assert condition["reason"] == "SyncFailed"
        why = 'no matches for kind "Nothing" in version "made.up/v1"'
        assert condition["message"] == why
        assert numbers(status) == (0, 0, 0, 0)
        event = (await events_of(client))["CalculateExpectedPodCountFailed"]
        said = f"Failed to calculate the number of expected pods: {why}"
        assert event[:2] == ("Warning", said)
        await make_ready(client, "p")
        with pytest.raises(ApiError) as caught:
            await evict(client, "p")
        assert why in caught.value.details["causes"][0]["message"]


async def test_a_kind_without_scale_is_named() -> None:
    """A job does not say how many pods there should be."""
    async with controlled(NAME) as running:
        client = running.client
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        job = await client.create({
            "apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template},
            "metadata": {"name": "j", "namespace": "default"},
        })  # fmt: skip
        await client.create(pod("p", owned_by(job)))
        await client.create(budget(maxUnavailable=1))
        (condition,) = (await status_of(running))["conditions"]
        assert condition["message"] == "jobs.batch does not implement the scale subresource"


async def test_pods_that_nobody_controls_are_told_of() -> None:
    """In an event with the selector as kube-controller-manager prints it."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(pod("p"))
        await client.create(budget(maxUnavailable=1))
        assert numbers(await status_of(running)) == (0, 0, 0, 0)
        kind, message, _ = (await events_of(client))["UnmanagedPods"]
        assert kind == "Warning"
        selector = (
            "(selector: &LabelSelector{MatchLabels:map[string]string{app: web,},"
            "MatchExpressions:[]LabelSelectorRequirement{},})"
        )
        assert selector in message


async def test_a_stale_condition_is_taken_back(autojump_clock: object) -> None:
    """Two minutes after somebody said that a pod goes, and it did not."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        await client.create(pod("p"))
        kind = client.kind("v1", "Pod")
        now = format_time(running.server.env.now())
        target = {"type": "DisruptionTarget", "status": "True", "reason": "X"}
        status = {"phase": "Running", "conditions": [{**target, "lastTransitionTime": now}]}
        await client.patch(kind, "p", {"status": status}, "default", subresource="status")
        await trio.sleep(100)
        found = await client.get(kind, "p", "default")
        assert found["status"]["conditions"][0]["status"] == "True"
        await trio.sleep(30)
        (condition,) = (await client.get(kind, "p", "default"))["status"]["conditions"]
        assert condition["status"] == "False"
        assert "reason" not in condition
        assert condition["observedGeneration"] == 1


async def test_nothing_is_written_twice() -> None:
    """A budget that is right stays as it is."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(budget(minAvailable=1))
        await client.create(pod("p"))
        before = await status_of(running)
        count = running.writes.count
        note = {"metadata": {"annotations": {"a": "b"}}}
        await client.patch(client.kind("v1", "Pod"), "p", note, "default")
        assert await status_of(running) == before
        assert running.writes.count == count


async def test_a_budget_that_could_not_be_counted_is_counted_later(autojump_clock: object) -> None:
    """When its pods' controller says how many there should be; until then nothing is written."""
    del autojump_clock
    async with controlled(NAME) as running:
        client = running.client
        owner = {
            "apiVersion": widget("w")["apiVersion"], "kind": "Widget", "name": "w", "uid": "u",
            "controller": True,
        }  # fmt: skip
        await client.create(budget(maxUnavailable=1))
        await client.create(pod("p", owner))
        (condition,) = (await status_of(running))["conditions"]
        assert condition["reason"] == "SyncFailed"
        running.server.api.storage.registry.add(widgets())
        custom = {**widget("w", replicas=7), "metadata": {"name": "w", "namespace": "default"}}
        made = await client.create(custom)
        kind = client.kind("v1", "Pod")
        before = running.writes.count
        await trio.sleep(2 * AGAIN_S)
        assert running.writes.count <= before + 1
        owners = [owned_by(made)]
        await client.patch(kind, "p", {"metadata": {"ownerReferences": owners}}, "default")
        await trio.sleep(AGAIN_S)
        assert numbers(await status_of(running)) == (0, 0, 6, 7)
