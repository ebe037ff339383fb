"""Writes of controllers that hold only for the object that was read."""

from __future__ import annotations

from typing import Any

from kubetrio.resources.ifunchanged import delete_if_unchanged, if_unchanged

from .world import TARGET, WHO, World, configmap, refused


async def test_a_change_is_for_the_version_that_was_seen(world: World) -> None:
    """Another one is 409, and the object stays."""
    seen = await world.create(configmap({"a": "1"}))

    def change(stored: dict[str, Any]) -> dict[str, Any]:
        return {**stored, "data": {"a": "2"}}

    guarded = if_unchanged(TARGET, seen, change)
    assert guarded(seen)["data"] == {"a": "2"}
    await world.touch()
    error = await refused(world.operations.patch(TARGET, guarded, WHO))
    assert error.code == 409


async def test_another_object_of_the_name_is_not_deleted(world: World) -> None:
    """Nor is it an error when there is none."""
    seen = await world.create()
    other = {"metadata": {**seen["metadata"], "uid": "another"}}
    await delete_if_unchanged(world.operations, TARGET, other, WHO)
    assert await world.store.get(TARGET.key) is not None
    await delete_if_unchanged(world.operations, TARGET, seen, WHO)
    assert await world.store.get(TARGET.key) is None
    await delete_if_unchanged(world.operations, TARGET, seen, WHO)
