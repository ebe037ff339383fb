"""Aggregated ClusterRoles on a running server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.config import Config, Serving
from kubetrio.schema import builtin
from kubetrio.server import open_server
from kubetrio.testing.controllers import controlled

RBAC = "rbac.authorization.k8s.io/v1"
Object = dict[str, Any]


def role(name: str, label: str, *verbs: str) -> Object:
    """A ClusterRole with a label."""
    rule = {"verbs": list(verbs), "apiGroups": [""], "resources": ["pods"]}
    return {
        "apiVersion": RBAC, "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {"gather": label}}, "rules": [rule] if verbs else [],
    }  # fmt: skip


async def until_rules(client: Client, name: str, rules: list[Object] | None) -> Object:
    """A role as soon as it has these rules."""
    kind = client.kind(RBAC, "ClusterRole")
    with trio.fail_after(10):
        async with client.watch(kind, field_selector=f"metadata.name={name}") as events:
            async for event in events:
                if event.object["rules"] == rules:
                    return event.object
    raise AssertionError("the watch ended")


async def test_default_roles_are_filled(tmp_path: Path) -> None:
    """Shortly after a start, with what controllers of a cluster put there."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as server:
        for name, rules in builtin.load("aggregated-roles").items():
            await until_rules(server.client(), name, rules)


async def test_roles_come_and_go(tmp_path: Path) -> None:
    """Each change of one that is gathered changes the one that gathers, which stays deleted."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as server:
        client = server.client()
        kind = client.kind(RBAC, "ClusterRole")
        all_of = {"clusterRoleSelectors": [{"matchLabels": {"gather": "here"}}]}
        await client.create({**role("all", "none"), "aggregationRule": all_of})
        one, two = role("one", "here", "get"), role("two", "here", "list")
        await client.create(one)
        await client.create(two)
        await client.create(role("other", "there", "watch"))
        await until_rules(client, "all", [*one["rules"], *two["rules"]])
        await client.delete(kind, "one")
        await until_rules(client, "all", two["rules"])
        await client.patch(kind, "two", {"rules": one["rules"]})
        found = await until_rules(client, "all", one["rules"])
        managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
        assert "clusterrole-aggregation-controller" in managers
        await client.delete(kind, "all")
        await client.delete(kind, "two")
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert "all" not in {item["metadata"]["name"] for item in (await client.list(kind)).items}


async def test_it_stands_back_from_another_writer(autojump_clock: MockClock) -> None:
    """Who undoes each of its changes is left alone after a while, until something changes."""
    async with controlled("clusterrole-aggregation-controller") as running:
        client = running.client
        kind = client.kind(RBAC, "ClusterRole")
        all_of = {"clusterRoleSelectors": [{"matchLabels": {"gather": "here"}}]}
        await client.create(role("one", "here", "get"))
        await client.create({**role("all", "none"), "aggregationRule": all_of})
        changed = trio.Event()
        dispatcher = running.server.api.storage.informers.dispatcher
        dispatcher.subscribe(kind.key("", "all"), lambda _: changed.set())

        async def undo() -> None:
            nonlocal changed
            while True:
                changed = trio.Event()
                if (await client.get(kind, "all"))["rules"]:
                    await client.patch(kind, "all", {"rules": []})
                await changed.wait()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(undo)
            await trio.sleep(24 * 3600)
            nursery.cancel_scope.cancel()
        of_it = [write for write in running.writes.by_controllers() if write.name == "all"]
        assert len(of_it) < 20
        await client.create(role("two", "here", "list"))
        await running.settled()
        assert len((await client.get(kind, "all"))["rules"]) == 2
