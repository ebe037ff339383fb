"""StatefulSets on a server whose controller runs."""

from __future__ import annotations

from typing import Any

import trio

from kubetrio.testing.controllers import Controlled, controlled
from kubetrio.testing.workloads import (
    NAMESPACE,
    events_of,
    make_end,
    make_ready,
    pods_of,
    template,
    workload,
)

Object = dict[str, Any]
NAME = "statefulset-controller"


def stateful(**spec: Any) -> Object:
    """A StatefulSet of two pods."""
    return workload("StatefulSet", **{"replicas": 2, "serviceName": "s", **spec})


async def names_of(running: Controlled) -> list[str]:
    """Names of pods when all is quiet."""
    await running.settled()
    return [pod["metadata"]["name"] for pod in await pods_of(running.client)]


async def set_of(running: Controlled) -> Object:
    """The StatefulSet when all is quiet."""
    await running.settled()
    client = running.client
    return await client.get(client.kind("apps/v1", "StatefulSet"), "w", NAMESPACE)


async def change(running: Controlled, **spec: Any) -> None:
    """Change the spec."""
    client = running.client
    kind = client.kind("apps/v1", "StatefulSet")
    await client.patch(kind, "w", {"spec": spec}, NAMESPACE)


async def ready(running: Controlled) -> None:
    """Have pods become ready until nothing changes."""
    await running.settled()
    while await make_ready(running.client, running.server.env.now()):
        await running.settled()


async def test_members_come_one_after_the_other() -> None:
    """Each with its name, and labels that tell it."""
    async with controlled(NAME) as running:
        await running.client.create(stateful())
        assert await names_of(running) == ["w-0"]
        await make_ready(running.client, running.server.env.now())
        assert await names_of(running) == ["w-0", "w-1"]
        first = (await pods_of(running.client))[0]
        revision = (await set_of(running))["status"]["updateRevision"]
        assert first["metadata"]["labels"] == {
            "app": "web",
            "apps.kubernetes.io/pod-index": "0",
            "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": "w-0",
        }
        assert first["metadata"]["generateName"] == "w-"
        assert (first["spec"]["hostname"], first["spec"]["subdomain"]) == ("w-0", "s")
        await ready(running)
        assert (await set_of(running))["status"] == {
            "observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "currentReplicas": 2,
            "updatedReplicas": 2, "currentRevision": revision, "updateRevision": revision,
            "collisionCount": 0, "availableReplicas": 2,
        }  # fmt: skip
        assert await events_of(running.client, "StatefulSet") == [
            ("Normal", "SuccessfulCreate", f"Create Pod w-{number} in StatefulSet w successful")
            for number in range(2)
        ]


async def test_the_revision_has_the_name_that_kube_controller_manager_gives() -> None:
    """And holds the template as a patch."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(stateful())
        await running.settled()
        found = await client.list(client.kind("apps/v1", "ControllerRevision"), NAMESPACE)
        (revision,) = found.items
        assert revision["metadata"]["name"] == "w-54bb65667f"
        assert revision["metadata"]["labels"] == {
            "app": "web", "controller.kubernetes.io/hash": "54bb65667f",
        }  # fmt: skip
        assert revision["revision"] == 1
        assert revision["data"]["spec"]["template"]["$patch"] == "replace"


async def test_an_update_goes_from_the_last_member_down() -> None:
    """And back to a revision that is known, which gets another number."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(stateful())
        await ready(running)
        before = (await set_of(running))["status"]["currentRevision"]
        await change(running, template=template("j"))
        assert await names_of(running) == ["w-0", "w-1"]
        images = [pod["spec"]["containers"][0]["image"] for pod in await pods_of(client)]
        assert images == ["i", "j"]
        status = (await set_of(running))["status"]
        assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 1)
        await ready(running)
        status = (await set_of(running))["status"]
        assert status["currentRevision"] == status["updateRevision"] != before
        await change(running, template=template("i"))
        await ready(running)
        assert (await set_of(running))["status"]["currentRevision"] == before
        found = await client.list(client.kind("apps/v1", "ControllerRevision"), NAMESPACE)
        assert {one["metadata"]["name"] == before: one["revision"] for one in found.items} == {
            True: 3, False: 2,
        }  # fmt: skip


async def test_members_below_the_partition_keep_their_revision() -> None:
    """Also when they are made anew."""
    async with controlled(NAME) as running:
        client = running.client
        update = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        await client.create(stateful(updateStrategy=update))
        await ready(running)
        await change(running, template=template("j"))
        await ready(running)
        await make_end(client, "w-0", "Failed")
        await ready(running)
        images = [pod["spec"]["containers"][0]["image"] for pod in await pods_of(client)]
        assert images == ["i", "j"]
        status = (await set_of(running))["status"]
        assert status["currentRevision"] != status["updateRevision"]


async def test_scaling_down_takes_the_last_member() -> None:
    """When all others are available."""
    async with controlled(NAME) as running:
        await running.client.create(stateful(replicas=3))
        await ready(running)
        await change(running, replicas=1)
        assert await names_of(running) == ["w-0"]
        messages = [message for _, _, message in await events_of(running.client, "StatefulSet")]
        assert messages[-2:] == [
            "Delete Pod w-2 in StatefulSet w successful",
            "Delete Pod w-1 in StatefulSet w successful",
        ]


async def test_in_parallel_all_come_at_a_time() -> None:
    """And go so."""
    async with controlled(NAME) as running:
        await running.client.create(stateful(replicas=3, podManagementPolicy="Parallel"))
        assert await names_of(running) == ["w-0", "w-1", "w-2"]
        await change(running, replicas=0)
        assert await names_of(running) == []
        assert (await set_of(running))["status"]["replicas"] == 0


async def test_a_member_is_available_after_a_while(autojump_clock: object) -> None:
    """The next one waits for it."""
    async with controlled(NAME) as running:
        await running.client.create(stateful(minReadySeconds=30))
        await running.settled()
        await make_ready(running.client, running.server.env.now())
        assert await names_of(running) == ["w-0"]
        await trio.sleep(31)
        assert await names_of(running) == ["w-0", "w-1"]


async def test_old_revisions_go_beyond_the_history() -> None:
    """Those that no member has."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(stateful(replicas=1, revisionHistoryLimit=1))
        for image in "ijkl":
            await change(running, template=template(image))
            await ready(running)
        found = await client.list(client.kind("apps/v1", "ControllerRevision"), NAMESPACE)
        assert sorted(one["revision"] for one in found.items) == [3, 4]


async def test_a_lost_label_comes_back() -> None:
    """A member is told by its name."""
    async with controlled(NAME) as running:
        client = running.client
        await client.create(stateful(replicas=1))
        await ready(running)
        labels = {"metadata": {"labels": {"statefulset.kubernetes.io/pod-name": "x"}}}
        await client.patch(client.kind("v1", "Pod"), "w-0", labels, NAMESPACE)
        await running.settled()
        (pod,) = await pods_of(client)
        assert pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "w-0"
