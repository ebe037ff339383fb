"""Controllers over a client: what changes is brought in order, and failures come again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import trio
from trio.testing import MockClock

from kubetrio.embedding.controller import Manager, ReconcileRequest
from kubetrio.embedding.informer import Selection
from kubetrio.machinery.status import ApiError
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]
DEFAULT = Selection(namespace="default")


def config_map(name: str, **more: Any) -> Object:
    meta = {"name": name, "namespace": "default", **more}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1", "b": "2"}}


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[None]:
    """Controllers that run and have looked at what is there."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(manager.run)
        await manager.settled()
        yield
        nursery.cancel_scope.cancel()


async def test_a_controller_brings_objects_in_order(autojump_clock: MockClock) -> None:
    """Those that were there, and those that come; it settles by its own writes."""
    async with open_api() as server:
        client = server.client()
        manager = Manager(client)
        config_maps = manager.informer("v1", "ConfigMap", DEFAULT)

        async def reconcile(request: ReconcileRequest) -> None:
            found = config_maps.get(request.name, request.namespace)
            if found is None:
                return
            entries = {"example.com/entries": str(len(found.get("data") or {}))}
            if found["metadata"].get("annotations") != entries:
                patch = {"metadata": {"annotations": entries}}
                await client.patch(config_maps.kind, request.name, patch, request.namespace)

        manager.controller("entries", reconcile, config_maps)
        await client.create(config_map("before"))
        async with running(manager):
            await client.create(config_map("after"))
            await trio.sleep(1)
            await manager.settled()
            for name in ("before", "after"):
                found = await client.get(config_maps.kind, name, "default")
                assert found["metadata"]["annotations"] == {"example.com/entries": "2"}


async def attempts(server: InProcess, error: Exception) -> list[float]:
    """When a reconciler that fails three times was called."""
    manager = Manager(server.client())
    config_maps = manager.informer("v1", "ConfigMap", DEFAULT)
    called: list[float] = []

    async def reconcile(_: ReconcileRequest) -> None:
        await trio.lowlevel.checkpoint()
        called.append(trio.current_time())
        if len(called) <= 3:
            raise error

    manager.controller("failing", reconcile, config_maps)
    async with running(manager):
        await server.client().create(config_map("a"))
        await trio.sleep(60)
    return called


async def test_failures_come_again_later_and_later(autojump_clock: MockClock, caplog: Any) -> None:
    """They are logged, but for another client's write, which is no failure."""
    async with open_api() as server:
        first, second, third, fourth = await attempts(server, ValueError("no"))
        assert second - first < third - second < fourth - third
        assert caplog.text.count("Reconciler error") == 3
    caplog.clear()
    async with open_api() as server:
        assert len(await attempts(server, ApiError(409, "Conflict", "changed"))) == 4
        assert "Reconciler error" not in caplog.text


async def test_a_refusal_says_when_to_come_again(autojump_clock: MockClock) -> None:
    """By `Retry-After`."""
    async with open_api() as server:
        busy = ApiError(429, "TooManyRequests", "later", retry_after=5)
        called = await attempts(server, busy)
        assert [round(two - one) for one, two in pairwise(called)] == [5] * (len(called) - 1)


async def test_owners_of_what_changes_are_looked_at(autojump_clock: MockClock) -> None:
    """Only those that control it; and an object may ask to be looked at again."""
    async with open_api() as server:
        client = server.client()
        manager = Manager(client)
        namespaces = manager.informer("v1", "Namespace")
        looked: list[str] = []

        async def reconcile(request: ReconcileRequest) -> float | None:
            await trio.lowlevel.checkpoint()
            looked.append(request.name)
            return 30.0 if looked.count("owner") == 1 and request.name == "owner" else None

        controller = manager.controller("owners", reconcile, namespaces)
        controller.owns(manager.informer("v1", "ConfigMap", DEFAULT), "Owner")
        async with running(manager):
            looked.clear()
            for name, controls in (("owner", True), ("other", False)):
                owner = {
                    "apiVersion": "v1", "kind": "Owner", "name": name, "uid": "1",
                    "controller": controls,
                }  # fmt: skip
                await client.create(config_map(name, ownerReferences=[owner]))
            await trio.sleep(60)
            assert looked == ["owner", "owner"]
