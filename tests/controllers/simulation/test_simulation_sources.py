"""Pods on simulated nodes whose environment variables name what is not there yet."""

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


def pod(*containers: Object, **spec: Any) -> Object:
    """A pod with containers."""
    return obj("Pod", "p", spec={"containers": [*containers], **spec})


def container(name: str = "c", **members: Any) -> Object:
    """A container."""
    return {"name": name, "image": "i", **members}


def key_of(member: str) -> Object:
    """A variable with the key ``k`` of an object ``x``."""
    return {"name": "V", "valueFrom": {member: {"name": "x", "key": "k"}}}


async def failures(client: Client) -> list[tuple[str, str, int]]:
    """Field paths, messages and counts of the events of containers that were not created."""
    events = (await client.list(client.kind("v1", "Event"), NAMESPACE)).items
    return [
        (one["involvedObject"]["fieldPath"], one["message"], one["count"])
        for one in events
        if (one["reason"], one["type"]) == ("Failed", "Warning")
    ]


async def shown(client: Client) -> tuple[str, Object]:
    """Phase of the pod, and the state of its container."""
    (found,) = await pods_of(client)
    (status,) = found["status"]["containerStatuses"]
    state: Object = status["state"]
    return found["status"]["phase"], state


@pytest.mark.parametrize(
    ("kind", "member", "name"),
    [("Secret", "secretKeyRef", "secret"), ("ConfigMap", "configMapKeyRef", "configmap")],
)
async def test_a_container_waits_for_a_key(
    autojump_clock: MockClock, kind: str, member: str, name: str
) -> None:
    """The object has to be there, and then the key; the kubelet says which is missing."""
    async with cluster() as client:
        await client.create(pod(container(env=[key_of(member)])))
        await trio.sleep(25)  # tries at 0, 10 and 20 seconds
        missing = f'{name} "x" not found'
        waiting = {"reason": "CreateContainerConfigError", "message": missing}
        assert await shown(client) == ("Pending", {"waiting": waiting})
        first = ("spec.containers{c}", f"Error: {missing}", 3)
        assert await failures(client) == [first]
        await client.create(obj(kind, "x"))
        await trio.sleep(10)
        missing = f"couldn't find key k in {kind} {NAMESPACE}/x"
        waiting = {"reason": "CreateContainerConfigError", "message": missing}
        assert await shown(client) == ("Pending", {"waiting": waiting})
        second = ("spec.containers{c}", f"Error: {missing}", 1)
        assert await failures(client) == [first, second]
        await client.delete(client.kind("v1", kind), "x", NAMESPACE)
        await client.create(obj(kind, "x", data={"k": "dg=="}))
        await trio.sleep(10)
        phase, state = await shown(client)
        assert (phase, [*state]) == ("Running", ["running"])
        await client.delete(client.kind("v1", kind), "x", NAMESPACE)
        await trio.sleep(60)
        assert await failures(client) == [first, second]


@pytest.mark.parametrize(("kind", "member"), [("Secret", "secret"), ("ConfigMap", "configMap")])
async def test_a_container_waits_for_an_object(
    autojump_clock: MockClock, kind: str, member: str
) -> None:
    """One that it takes all variables from; what is optional is not waited for."""
    async with cluster() as client:
        optional = {f"{member}Ref": {"name": "never", "optional": True}}
        origins = [optional, {f"{member}Ref": {"name": "x"}}]
        await client.create(pod(container(envFrom=origins)))
        await trio.sleep(5)
        missing = f'{kind.lower()} "x" not found'
        assert await failures(client) == [("spec.containers{c}", f"Error: {missing}", 1)]
        await client.create(obj(kind, "x"))
        await trio.sleep(6)
        phase, _ = await shown(client)
        assert phase == "Running"


async def test_init_containers_hold_what_follows(autojump_clock: MockClock) -> None:
    """A sidecar too; both are told about by their paths."""
    async with cluster() as client:
        missing = [key_of("secretKeyRef")]
        side = container("side", env=missing, restartPolicy="Always")
        await client.create(pod(container(), initContainers=[container("i"), side]))
        await trio.sleep(5)
        assert await shown(client) == ("Pending", {"waiting": {"reason": "PodInitializing"}})
        path = "spec.initContainers{side}"
        assert await failures(client) == [(path, 'Error: secret "x" not found', 1)]
        await client.create(obj("Secret", "x", data={"k": "dg=="}))
        await trio.sleep(6)
        phase, _ = await shown(client)
        assert phase == "Running"


async def test_a_pod_that_waits_can_go(autojump_clock: MockClock) -> None:
    """The kubelet says nothing of it any longer."""
    async with cluster() as client:
        await client.create(pod(container(env=[key_of("secretKeyRef")])))
        await trio.sleep(1)
        await client.delete(client.kind("v1", "Pod"), "p", NAMESPACE)
        await trio.sleep(60)
        assert await pods_of(client) == []
        ((_, _, count),) = await failures(client)
        assert count == 1
