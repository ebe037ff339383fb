"""Operations: dry runs, and apply and put that create."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.resources.operations import Configuration
from kubetrio.resources.writes import Target, Written
from kubetrio.store.model import EventType

from .world import (
    DRY,
    LEASES,
    TARGET,
    WHO,
    Object,
    World,
    configmap,
    refused,
    shown,
)


async def test_what_is_not_there_is_404(world: World) -> None:
    """Updates of most kinds create nothing."""
    error = await refused(world.update(configmap()))
    assert (error.code, error.message) == (404, 'configmaps "n" not found')


async def test_apply_creates_what_is_not_there(world: World) -> None:
    """Of any kind."""
    who = WHO._replace(field_manager="m")
    written = await world.operations.apply(TARGET, Configuration(configmap), who)
    assert (shown(written)["metadata"]["name"], written.created) == ("n", True)
    assert world.kinds() == [EventType.CREATED]


async def test_a_put_creates_a_lease(world: World) -> None:
    """Its kind allows it, unless the client names the uid of something that is gone.

    The version of something that is gone does not matter, but must be one.
    """
    target = Target(resource=LEASES, namespace="ns", name="n")

    async def put(**meta: Any) -> Written:
        kind = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "spec": {}}
        body: Object = {**kind, "metadata": {"name": "n", **meta}}
        return await world.operations.replace(target, body, WHO)

    error = await refused(put(uid="u"))
    assert error.code == 409
    assert error.message == (
        'Operation cannot be fulfilled on leases.coordination.k8s.io "n": StorageError: invalid '
        "object, Code: 4, Key: /registry/leases/ns/n, ResourceVersion: 0, AdditionalErrorMsg: "
        "Precondition failed: UID in precondition: u, UID in object meta: "
    )
    error = await refused(put(resourceVersion="-1"))
    assert (error.code, error.message) == (500, 'strconv.ParseUint: parsing "-1": invalid syntax')
    assert (await put(resourceVersion="7")).created


async def test_a_dry_create_stores_nothing(world: World) -> None:
    """Every stage runs: the object is shown without a version, admission is asked."""
    made = await world.create(options=DRY)
    assert "resourceVersion" not in made["metadata"]
    assert made["metadata"]["uid"]
    assert world.spy.asked == [("mutate", "CREATE"), ("validate", "CREATE")]
    assert world.store.log == []


async def test_a_dry_create_of_a_taken_name_is_409(world: World) -> None:
    """As it would be in earnest."""
    await world.create()
    error = await refused(world.create(options=DRY))
    assert (error.code, error.reason) == (409, "AlreadyExists")


async def test_a_dry_update_stores_nothing(world: World) -> None:
    """The answer shows the change at the version that is stored."""
    made = await world.create()
    answer = await world.update(configmap({"a": "b"}), DRY)
    assert answer["data"] == {"a": "b"}
    assert answer["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert world.kinds() == [EventType.CREATED]


@pytest.mark.parametrize("finalizers", [[], ["a/b"]])
async def test_a_dry_deletion_stores_nothing(world: World, finalizers: list[str]) -> None:
    """It says whether the object would be gone."""
    await world.create(configmap(finalizers=finalizers))
    _, gone = await world.delete(dry_run=True)
    assert gone is not bool(finalizers)
    assert world.kinds() == [EventType.CREATED]
