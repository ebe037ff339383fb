"""What type checkers know of typed objects: mypy and pyright read this, and nothing runs it.

Lines that have to be wrong say so to both, and an exception that is not needed is an error.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import Any, assert_type

from kubetrio.aio import AsyncioServer
from kubetrio.embedding import (
    Client,
    Controller,
    Informer,
    Kind,
    Manager,
    ReconcileRequest,
    ServerThread,
)
from kubetrio.types.apps.v1 import Deployment, DeploymentSpec
from kubetrio.types.core.v1 import ConfigMap, Namespace


async def reads(client: Client) -> None:
    deployments = client.kind(Deployment)
    assert_type(deployments, Kind[Deployment])
    web = await client.get(deployments, "web", "default")
    assert_type(web, Deployment)
    assert_type(web["spec"], DeploymentSpec)
    assert_type(web["spec"].get("replicas"), int | None)
    assert_type(web["metadata"]["name"], str)
    assert_type((await client.list(deployments)).items, list[Deployment])
    async with client.watch(deployments) as events:
        async for event in events:
            assert_type(event.object, Deployment)
    scale = await client.get(deployments, "web", "default", subresource="scale")
    assert_type(scale, dict[str, Any])


async def writes(client: Client, web: Deployment) -> None:
    assert_type(await client.create(web), Deployment)
    assert_type(await client.update(web, field_manager="me"), Deployment)
    assert_type(await client.apply(web, field_manager="me"), Deployment)
    deployments = client.kind(Deployment)
    assert_type(await client.patch(deployments, "web", {"spec": {}}, "default"), Deployment)
    space: Namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert_type(await client.create(space), Namespace)


async def wrong(web: Deployment) -> None:
    spec = web["spec"]
    spec["replicas"] = "3"  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
    web["kind"] = "Pod"  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
    web["metadata"]["nane"] = ""  # type: ignore[typeddict-unknown-key]  # pyright: ignore[reportGeneralTypeIssues]


async def plain(client: Client) -> None:
    """As dictionaries, without types."""
    kind = client.kind("v1", "ConfigMap")
    assert_type(kind, Kind[dict[str, Any]])
    assert_type(await client.get(kind, "a", "default"), dict[str, Any])
    made = await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert_type(made, dict[str, Any])
    taken: Kind = kind
    print(taken)


def waits(server: ServerThread, web: Deployment) -> None:
    client = server.client()
    deployments = client.kind(Deployment)
    assert_type(client.get(deployments, "web", "default"), Deployment)
    assert_type(client.list(deployments).items, list[Deployment])
    assert_type(client.create(web), Deployment)
    with client.watch(deployments) as events:
        for event in events:
            assert_type(event.object, Deployment)


async def asyncio(server: AsyncioServer, web: Deployment) -> None:
    client = server.client()
    deployments = client.kind(Deployment)
    assert_type(await client.get(deployments, "web", "default"), Deployment)
    assert_type((await client.list(deployments)).items, list[Deployment])
    assert_type(await client.create(web), Deployment)
    async with client.watch(deployments) as events:
        async for event in events:
            assert_type(event.object, Deployment)


def controls(manager: Manager) -> Controller:
    config_maps = manager.informer(ConfigMap)
    assert_type(config_maps, Informer[ConfigMap])
    assert_type(config_maps.get("a", "default"), ConfigMap | None)
    assert_type(manager.informer("v1", "Secret"), Informer[dict[str, Any]])

    def changed(old: ConfigMap | None, new: ConfigMap | None) -> None:
        print(old, new)

    async def reconcile(request: ReconcileRequest) -> None:
        found = config_maps.get(request.name, request.namespace)
        assert found is None or isinstance(found.get("data", {}), dict)

    config_maps.on_change(changed)
    return manager.controller("sizes", reconcile, config_maps)
