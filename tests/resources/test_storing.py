"""What is stored: the answer, nothing without a change, generations, times to live."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.resources.writes import Target, WriteOptions
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.store.model import EventType
from kubetrio.wire.report import Report

from .world import (
    CONFIGMAPS,
    DEPLOYMENTS,
    RESOURCES,
    TARGET,
    USER,
    WHO,
    Object,
    World,
    configmap,
    shown,
)


async def test_the_answer_is_what_is_stored(world: World) -> None:
    """Byte for byte."""
    target = Target(resource=CONFIGMAPS, namespace="ns")
    written = await world.operations.create(target, configmap({"a": "b"}), WHO)
    found = await world.store.get(TARGET.key)
    assert found is not None
    assert (written.value, written.created) == (found.value, True)


@pytest.mark.parametrize("version", [None, "1", "0", ""])
async def test_an_update_that_changes_nothing_writes_nothing(
    world: World, version: str | None
) -> None:
    """The same version comes back and no watcher hears of it."""
    made = await world.create(configmap({"a": "b"}))
    more = {} if version is None else {"resourceVersion": version}
    again = await world.update(configmap({"a": "b"}, **more))
    assert again == made
    assert world.kinds() == [EventType.CREATED]


def deployment(replicas: int, **meta: Any) -> Object:
    labels = {"app": "x"}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    sent = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "d", **meta},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    obj: Object = scheme_of("apps").decode(DEPLOYMENTS.group_version_kind, sent, Report(), {})
    DEPLOYMENTS.rules.default(obj)
    return obj


async def test_generations_of_deployments(world: World) -> None:
    """One at first, one more for each change of the spec, whatever was sent."""
    target = Target(resource=DEPLOYMENTS, namespace="ns", name="d")

    async def put(new: Object) -> int:
        async def change(old: Object | None) -> Object:
            return new

        meta = shown(await world.operations.change(target, change, WHO, uid_is_precondition=True))[
            "metadata"
        ]
        return int(meta["generation"])

    made = await world.operations.create(target, deployment(1, generation=77), WHO)
    assert shown(made)["metadata"]["generation"] == 1
    assert await put(deployment(2)) == 2
    assert await put(deployment(2, labels={"a": "b"})) == 2
    assert await put(deployment(3, generation=55)) == 3


def event(api_version: str) -> Object:
    """An Event, as simple as its version allows."""
    return {
        "kind": "Event",
        "apiVersion": api_version,
        "metadata": {"name": "e"},
        "reason": "Tested",
        "type": "Normal",
        "involvedObject": {"namespace": "ns"},
    }


@pytest.mark.parametrize("group", ["", "events.k8s.io"])
async def test_events_have_a_time_to_live(
    world: World, autojump_clock: MockClock, group: str
) -> None:
    """In both groups, since their kind says so; an update renews it, as kube-apiserver's does."""
    kind = RESOURCES[group, "v1", "events"]
    target = Target(resource=kind, namespace="ns", name="e")
    obj = event("v1")
    who = WriteOptions(user=USER, own=True)  # the rules of Events are not what is looked at
    await world.operations.create(target, obj, who)
    await world.create()
    await trio.sleep(3000)

    async def change(old: Object | None) -> Object:
        assert old is not None
        return {**old, "reason": "Again"}

    await world.operations.change(target, change, who, uid_is_precondition=True)
    await trio.sleep(3000)
    await world.store.expire()
    assert await world.store.get(target.key) is not None
    await trio.sleep(601)
    await world.store.expire()
    assert list(world.store.state()) == [TARGET.key]
