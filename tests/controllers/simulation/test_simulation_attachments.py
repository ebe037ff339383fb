"""Simulated drivers attach, and simulated kubelets say what they use; others are left alone."""

from __future__ import annotations

from typing import Any

import pytest
from trio.testing import MockClock

from kubetrio.testing.controllers import Controlled, controlled

Object = dict[str, Any]
PLAYED = {"simulation.kubetrio.io/driver": "true"}


async def attach(running: Controlled, annotations: Object) -> Object:
    """The status of an attachment of a driver with annotations."""
    client = running.client
    await client.create({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
        "metadata": {"name": "d", "annotations": annotations}, "spec": {},
    })  # fmt: skip
    await client.create({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "a"},
        "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
    })  # fmt: skip
    await running.settled()
    found = await client.get(client.kind("storage.k8s.io/v1", "VolumeAttachment"), "a")
    status: Object = found["status"]
    return status


@pytest.mark.parametrize(("annotations", "attached"), [(PLAYED, True), ({}, False)])
async def test_the_server_plays_drivers_that_say_so(
    mock_clock: MockClock, annotations: Object, attached: bool
) -> None:
    """A driver of which it is not said has an attacher of its own, or a test that is it."""
    async with controlled("simulated-attachment-controller") as running:
        assert await attach(running, annotations) == {"attached": attached}
