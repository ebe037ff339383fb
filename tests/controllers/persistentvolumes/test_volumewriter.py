"""Steps of a binding, each of which may be the last before a crash."""

from __future__ import annotations

from typing import Any

import pytest
from test_binder import claim, get_claim, get_volume, volume

from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.persistentvolumes.volumewriter import VolumeWriter
from kubetrio.machinery.status import ApiError
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess

Object = dict[str, Any]


def writer(server: InProcess) -> VolumeWriter:
    """What writes claims and volumes."""
    return VolumeWriter(context_of(server), as_service_account("persistent-volume-binder"))


async def test_a_binding_is_written_in_four_steps_and_not_again(server: InProcess) -> None:
    """Each is written once, from whatever was there before."""
    client, hub = server.client(), server.api.storage.hub
    await client.create(volume())
    await client.create(claim())
    before = hub.revision
    await writer(server).bind(await get_volume(client), await get_claim(client))
    assert hub.revision == before + 4
    await writer(server).bind(await get_volume(client), await get_claim(client))
    assert hub.revision == before + 4


async def test_a_volume_that_was_taken_meanwhile(server: InProcess) -> None:
    """It is not taken from its claim, by what was read before."""
    client = server.client()
    await client.create(volume())
    for name in ("c", "d"):
        await client.create(claim(name))
    free = await get_volume(client)
    await writer(server).bind(free, await get_claim(client))
    with pytest.raises(ApiError, match="it is for another claim") as caught:
        await writer(server).bind(free, await get_claim(client, "d"))
    assert caught.value.code == 409


async def test_another_object_of_that_name(server: InProcess) -> None:
    """It is left alone."""
    client = server.client()
    await client.create(volume())
    found = await get_volume(client)
    gone = {**found, "metadata": {**found["metadata"], "uid": "another"}}
    with pytest.raises(ApiError, match="not found"):
        await writer(server).phase(gone, "Released")


async def test_what_a_claim_had_goes_with_its_volume(server: InProcess) -> None:
    """Modes and capacity are those of a volume that it has."""
    client = server.client()
    await client.create(volume())
    await client.create(claim())
    await writer(server).bind(await get_volume(client), await get_claim(client))
    await writer(server).claim_status(await get_claim(client), "Lost", None)
    assert (await get_claim(client))["status"] == {"phase": "Lost"}


async def test_unbinding(server: InProcess) -> None:
    """A volume that the controller bound forgets its claim."""
    client = server.client()
    await client.create(volume())
    await client.create(claim())
    await writer(server).bind(await get_volume(client), await get_claim(client))
    await writer(server).unbind(await get_volume(client))
    free = await get_volume(client)
    assert "claimRef" not in free["spec"]
    assert "annotations" not in free["metadata"]
    assert free["status"]["phase"] == "Available"
