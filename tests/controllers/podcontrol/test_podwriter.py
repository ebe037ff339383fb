"""Pods are made and deleted for owners."""

from __future__ import annotations

from functools import partial

import pytest

from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.podwriter import (
    PodWriter,
    all_of,
    name_prefix,
    namespace_ends,
    pod_from,
    slow_start,
)
from kubetrio.machinery.status import ApiError
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import open_api
from kubetrio.testing.workloads import pods_of, template, workload


@pytest.mark.parametrize(
    ("count", "bad", "calls", "done"),
    [(0, 99, 0, 0), (1, 99, 1, 1), (10, 99, 10, 10), (10, 0, 1, 0), (10, 4, 7, 6), (10, 9, 10, 9)],
)
async def test_batches_grow_until_one_fails(count: int, bad: int, calls: int, done: int) -> None:
    """1, 2, 4, 8: what comes after a failure is not tried."""
    made = list[int]()

    async def call(number: int) -> None:
        made.append(number)
        if number == bad:
            raise ApiError(500, "", "no")

    found, error = await slow_start([partial(call, number) for number in range(count)])
    assert (len(made), found, error is not None) == (calls, done, bad < count)


async def test_failures_are_collected() -> None:
    """The other calls are made."""

    async def call(number: int) -> None:
        if number % 2:
            raise ApiError(500, "", str(number))

    failed = await all_of(partial(call, number) for number in range(4))
    assert sorted(map(str, failed)) == ["1", "3"]


def test_prefixes() -> None:
    """A dash, unless names that begin so are none."""
    assert name_prefix("w") == "w-"
    assert name_prefix("A.x") == "A.x"


def test_the_end_of_a_namespace_is_told_by_a_cause() -> None:
    """Other failures have none."""
    details = {"causes": [{"reason": "NamespaceTerminating"}]}
    assert namespace_ends(ApiError(403, "Forbidden", "", details))
    assert not namespace_ends(ApiError(403, "Forbidden", ""))


def test_a_pod_has_what_the_template_says() -> None:
    """And its owner; members that are empty are left out."""
    owner = Controlling("apps/v1", "ReplicaSet", {
        "metadata": {"name": "w", "uid": "u", "namespace": "default"}})  # fmt: skip
    pod = pod_from({**template(), "metadata": {"labels": {"a": "b"}, "finalizers": ["x/y"]}}, owner)
    assert pod["metadata"] == {
        "generateName": "w-", "namespace": "default", "labels": {"a": "b"},
        "ownerReferences": [owner.reference()], "finalizers": ["x/y"],
    }  # fmt: skip
    assert pod["spec"] == template()["spec"]


async def test_a_pod_is_made_and_deleted() -> None:
    """One that is gone already is no failure."""
    async with open_api() as server:
        writer = PodWriter(context_of(server), "replicaset-controller", "replicaset-controller")
        client = server.client()
        obj = await client.create(workload("ReplicaSet", replicas=0))
        owner = Controlling("apps/v1", "ReplicaSet", obj)
        made = await writer.create(owner, pod_from(template(), owner))
        assert made is not None
        assert [pod["metadata"]["name"] for pod in await pods_of(client)] == [made.name]
        assert made.owner is not None
        assert made.owner.uid == obj["metadata"]["uid"]
        await writer.delete(owner, made.name)
        await writer.delete(owner, made.name)
        assert await pods_of(client) == []
        with pytest.raises(ApiError, match="is invalid"):
            await writer.create(owner, pod_from({"metadata": {"labels": {"a": "b"}}}, owner))
