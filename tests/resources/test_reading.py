"""Stored objects, read by the server for itself."""

from __future__ import annotations

import pytest

from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError
from kubetrio.resources.reading import read, read_all

from .world import CONFIGMAPS, World, configmap


async def test_an_object_is_read_by_name(world: World) -> None:
    """One that is missing is 404 about what the request asked for."""
    await world.create(configmap({"a": "b"}))
    assert (await read(world.store, CONFIGMAPS, "ns", "n"))["data"] == {"a": "b"}
    with pytest.raises(ApiError) as caught:
        await read(world.store, CONFIGMAPS, "ns", "m", asked=GroupResource("", "pods"))
    assert caught.value.code == 404
    assert caught.value.message == 'pods "m" not found'


async def test_a_namespace_is_read_whole(world: World) -> None:
    """And without one, all of them."""
    for name in ("a", "b"):
        await world.create(configmap(name=name))
    assert [one["metadata"]["name"] for one in await read_all(world.store, CONFIGMAPS, "ns")] == [
        "a",
        "b",
    ]
    assert len(await read_all(world.store, CONFIGMAPS, "")) == 2
    assert await read_all(world.store, CONFIGMAPS, "other") == []
