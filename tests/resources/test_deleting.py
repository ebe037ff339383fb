"""Deletions: tried again, held by finalizers, and refused."""

from __future__ import annotations

import orjson
import pytest

from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.store.errors import KeyMissing
from kubetrio.store.model import EventType
from kubetrio.wire.report import Report

from .world import (
    RESOURCES,
    TARGET,
    WHO,
    Object,
    World,
    configmap,
    refused,
)

PODS = RESOURCES["", "v1", "pods"]


async def test_a_deletion_removes(world: World) -> None:
    """One event, and the last state with the version of the deletion."""
    await world.create()
    last, gone = await world.delete()
    assert gone
    assert last["metadata"]["resourceVersion"] == "2"
    assert world.kinds() == [EventType.CREATED, EventType.DELETED]


async def test_finalizers_hold_an_object(world: World) -> None:
    """Marked once; the update that removes the last finalizer removes the object."""
    await world.create(configmap(finalizers=["a/b"]))
    last, gone = await world.delete()
    assert not gone
    assert last["metadata"]["deletionTimestamp"]
    await world.delete()
    assert world.kinds() == [EventType.CREATED, EventType.UPDATED]
    answer = await world.update(configmap())
    assert world.kinds() == [EventType.CREATED, EventType.UPDATED, EventType.DELETED]
    assert "finalizers" not in answer["metadata"]
    assert await world.store.get(TARGET.key) is None


async def test_the_last_update_answers_with_the_stored_version(world: World) -> None:
    """What the client gets was never stored, so it has the version that it was made from."""
    await world.create(configmap(finalizers=["a/b"]))
    marked, _ = await world.delete()
    answer = await world.update(configmap({"k": "v"}))
    assert answer["data"] == {"k": "v"}
    assert answer["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]


async def test_a_dying_object_keeps_its_grace(world: World) -> None:
    """Leaving it out changes nothing, another one is refused."""
    await world.create(configmap(finalizers=["a/b"]))
    await world.delete()
    answer = await world.update(configmap({"k": "v"}, finalizers=["a/b"]))
    assert answer["metadata"]["deletionGracePeriodSeconds"] == 0
    longer = configmap(finalizers=["a/b"], deletionGracePeriodSeconds=17)
    error = await refused(world.update(longer))
    assert error.message.endswith(
        "metadata.deletionGracePeriodSeconds: Invalid value: 17: field is immutable"
    )


async def test_watchers_see_the_state_that_was_stored(world: World) -> None:
    """Not the one of the update that removed the object."""
    await world.create(configmap({"a": "1"}, finalizers=["a/b"]))
    await world.delete()
    await world.update(configmap({"a": "2"}))
    last = orjson.loads(world.store.log[-1].event.value)
    assert last["data"] == {"a": "1"}
    assert last["metadata"]["finalizers"] == ["a/b"]
    assert last["metadata"]["resourceVersion"] == "3"


async def test_a_dying_object_stays_dying(world: World) -> None:
    """An update cannot bring it back."""
    await world.create(configmap(finalizers=["a/b"]))
    marked, _ = await world.delete()
    answer = await world.update(configmap({"k": "v"}, finalizers=["a/b"]))
    stamp_of = "deletionTimestamp"
    assert answer["metadata"][stamp_of] == marked["metadata"][stamp_of]


async def test_a_dying_object_gets_no_new_finalizers(world: World) -> None:
    """422 in kube-apiserver's words."""
    await world.create(configmap(finalizers=["a/b"]))
    await world.delete()
    error = await refused(world.update(configmap(finalizers=["a/b", "c/d"])))
    assert error.code == 422
    assert "no new finalizers can be added if the object is being deleted" in error.message


async def test_a_deletion_is_tried_again(world: World) -> None:
    """When somebody writes between its read and its write."""
    await world.create()
    delete = world.store.delete
    tries = 0

    async def racing(key: str, *, expected: int) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            await world.touch()
        return await delete(key, expected=expected)

    world.store.delete = racing  # type: ignore[method-assign]
    _, gone = await world.delete()
    assert (gone, tries) == (True, 2)


async def test_a_deletion_of_a_version_is_409_when_it_is_old(world: World) -> None:
    """The object stays."""
    await world.create()
    await world.touch()
    error = await refused(world.delete(resource_version="1"))
    assert (error.code, error.reason) == (409, "Conflict")
    assert await world.store.get(TARGET.key) is not None


async def test_a_deletion_of_nothing_is_404(world: World) -> None:
    """Admission is not asked about what is not there."""
    error = await refused(world.delete())
    assert (error.code, error.message) == (404, 'configmaps "n" not found')
    assert world.spy.asked == []


def pod() -> Object:
    """A pod on a node."""
    sent = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }
    obj: Object = scheme_of("").decode(PODS.group_version_kind, sent, Report(), {})
    PODS.rules.default(obj)
    return obj


@pytest.mark.parametrize("replaced", [False, True])
async def test_another_writer_may_remove_what_was_marked(
    world: World, monkeypatch: pytest.MonkeyPatch, *, replaced: bool
) -> None:
    """A kubelet that writes the status of a marked pod removes it; a pod of its name stays."""
    target = Target(PODS, "ns")
    await world.operations.create(target, pod(), WHO)
    delete = world.store.delete

    async def race(key: str, *, expected: int) -> int:
        winner = await delete(key, expected=expected)
        monkeypatch.undo()
        if replaced:
            await world.operations.create(target, pod(), WHO)
        raise KeyMissing(key, winner)

    monkeypatch.setattr(world.store, "delete", race)
    named = target._replace(name="p")
    last, gone = await world.operations.delete(named, DeleteOptions(grace_period_s=0), WHO)
    assert gone
    assert last["metadata"]["deletionGracePeriodSeconds"] == 0
    kinds = [EventType.CREATED, EventType.UPDATED, EventType.DELETED]
    assert world.kinds() == [*kinds, EventType.CREATED][: 3 + replaced]


async def test_a_pod_that_is_not_there_is_not_deleted(world: World) -> None:
    """Only what this deletion has marked may be gone."""
    target = Target(PODS, "ns", "p")
    error = await refused(world.operations.delete(target, DeleteOptions(grace_period_s=0), WHO))
    assert error.code == 404
