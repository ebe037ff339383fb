"""Informers over a client: the copy follows the server, whatever becomes of the watch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.embedding.informer import Informer, Selection
from kubetrio.faults import Rule
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]


def config_map(name: str, **labels: str) -> Object:
    meta = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"}}


@asynccontextmanager
async def following(server: InProcess, selection: Selection, **how: Any) -> AsyncIterator[Informer]:
    """An informer of ConfigMaps that runs and has its first list."""
    client = server.client()
    informer = Informer(client, client.kind("v1", "ConfigMap"), selection, **how)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(informer.run)
        await informer.synced.wait()
        yield informer
        nursery.cancel_scope.cancel()


DEFAULT = Selection(namespace="default")


def noting(informer: Informer) -> list[str]:
    """What handlers are told from now on, such as ``+a``, ``=a`` and ``-a``."""
    told: list[str] = []

    def note(old: Object | None, new: Object | None) -> None:
        sign = "+" if old is None else "-" if new is None else "="
        told.append(sign + (new or old or {})["metadata"]["name"])

    informer.on_change(note)
    return told


async def test_changes_are_told_in_order(autojump_clock: MockClock) -> None:
    """And the copy is as the server's; a handler that comes later is told of what is there."""
    async with open_api() as server, following(server, DEFAULT) as informer:
        client, told = server.client(), noting(informer)
        made = await client.create(config_map("a"))
        await client.update({**made, "data": {"a": "2"}})
        await client.create(config_map("b"))
        await client.delete(informer.kind, "a", "default")
        await wait_all_tasks_blocked()
        assert told == ["+a", "=a", "+b", "-a"]
        assert noting(informer) == ["+b"]
        assert [obj["metadata"]["name"] for obj in informer] == ["b"]
        assert informer.get("a", "default") is None
        assert (informer.get("b", "default") or {})["data"] == {"a": "1"}


async def test_a_selection_is_followed_alone(autojump_clock: MockClock) -> None:
    """What stops matching is gone."""
    async with (
        open_api() as server,
        following(server, Selection(namespace="default", label_selector="x=1")) as informer,
    ):
        client, told = server.client(), noting(informer)
        made = await client.create(config_map("a", x="1"))
        await client.create(config_map("b"))
        made["metadata"]["labels"] = {}
        await client.update(made)
        await wait_all_tasks_blocked()
        assert told == ["+a", "-a"]


async def test_history_that_is_gone_is_listed_again(autojump_clock: MockClock) -> None:
    """What happened meanwhile is told as the changes that it means, and nothing twice."""
    async with open_api() as server, following(server, DEFAULT) as informer:
        client = server.client()
        await client.create(config_map("a"))
        await client.create(config_map("b"))
        await wait_all_tasks_blocked()
        told = noting(informer)
        told.clear()
        rules = (
            Rule(fault="watch-drop", verb="watch", resource="configmaps", count=1),
            Rule(fault="410", verb="watch", resource="configmaps", count=1, after_events=1),
        )
        for rule in rules:
            server.api.faults.add(rule)
        await client.delete(informer.kind, "a", "default")
        await client.create(config_map("c"))
        await trio.sleep(60)
        assert sorted(told) == ["+c", "-a"]


async def test_resync_tells_all_again(autojump_clock: MockClock) -> None:
    """As unchanged, each time."""
    async with open_api() as server, following(server, DEFAULT, resync_s=60.0) as informer:
        await server.client().create(config_map("a"))
        await wait_all_tasks_blocked()
        told = noting(informer)
        await trio.sleep(125)
        assert told == ["+a", "=a", "=a"]
