"""Pods on simulated nodes whose volumes are not there yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.config import Simulation
from kubetrio.controllers.table import WITH_NODES
from kubetrio.testing.controllers import running
from kubetrio.testing.server import open_api
from kubetrio.testing.workloads import NAMESPACE, pods_of

Object = dict[str, Any]


@asynccontextmanager
async def cluster() -> AsyncIterator[Client]:
    """A client of a server with a simulated node."""
    async with open_api(seed=0) as server:
        config = replace(server.config, simulation=Simulation(nodes=1))
        async with running(server, *WITH_NODES, config=config):
            await trio.sleep(1)
            yield server.client()


def obj(kind: str, name: str, **members: Any) -> Object:
    """An object of the core group."""
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **members}


def pod(volume: Object, **spec: Any) -> Object:
    """A pod that mounts a volume named ``v``."""
    container = {
        "name": "c",
        "image": "i",
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    volumes = [{"name": "v", **volume}]
    return obj("Pod", "p", spec={"containers": [container], "volumes": volumes, **spec})


async def failures(client: Client) -> list[tuple[str, int]]:
    """Messages and counts of mounts that failed."""
    events = (await client.list(client.kind("v1", "Event"), NAMESPACE)).items
    return [(one["message"], one["count"]) for one in events if one["reason"] == "FailedMount"]


@pytest.mark.parametrize(
    ("kind", "volume", "missing"),
    [
        ("Secret", {"secret": {"secretName": "x"}}, 'secret "x" not found'),
        ("ConfigMap", {"configMap": {"name": "x"}}, 'configmap "x" not found'),
    ],
)
async def test_a_pod_waits_for_what_it_mounts(
    autojump_clock: MockClock, kind: str, volume: Object, missing: str
) -> None:
    """It says so again and again, after twice as long each time, and starts when it is there."""
    async with cluster() as client:
        await client.create(pod(volume))
        await trio.sleep(10)  # tries at 0, 0.5, 1.5, 3.5 and 7.5 seconds
        (found,) = await pods_of(client)
        (status,) = found["status"]["containerStatuses"]
        assert found["status"]["phase"] == "Pending"
        assert status["state"]["waiting"]["reason"] == "ContainerCreating"
        said = f'MountVolume.SetUp failed for volume "v" : {missing}'
        assert await failures(client) == [(said, 5)]
        await client.create(obj(kind, "x"))
        await trio.sleep(8)
        (found,) = await pods_of(client)
        assert found["status"]["phase"] == "Running"
        await client.delete(client.kind("v1", kind), "x", NAMESPACE)
        await trio.sleep(60)
        assert await failures(client) == [(said, 5)]


async def test_a_pod_waits_for_its_claim(autojump_clock: MockClock) -> None:
    """One whose author names its node; a scheduler leaves others where they are."""
    async with cluster() as client:
        await client.create(pod({"persistentVolumeClaim": {"claimName": "x"}}, nodeName="node-0"))
        await trio.sleep(15)
        ((message, count),) = await failures(client)
        assert (message.endswith('persistentvolumeclaims "x" not found'), count) == (True, 2)
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await client.create(obj("PersistentVolumeClaim", "x", spec=spec))
        await trio.sleep(10)
        (found,) = await pods_of(client)
        assert found["status"]["phase"] == "Running"


async def test_a_pod_that_waits_can_go(autojump_clock: MockClock) -> None:
    """Nothing is said of it any longer."""
    async with cluster() as client:
        await client.create(pod({"secret": {"secretName": "x"}}))
        await trio.sleep(1)
        await client.delete(client.kind("v1", "Pod"), "p", NAMESPACE)
        await trio.sleep(60)
        assert await pods_of(client) == []
        ((_, count),) = await failures(client)
        assert count == 2
