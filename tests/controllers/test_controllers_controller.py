"""How controllers follow what they depend on."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.controllers.controller import Context, Controller
from kubetrio.informers.informer import Item
from kubetrio.store.model import Event
from kubetrio.testing.client import Client
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PREFIX = "/registry/configmaps/"


def size(value: bytes) -> int:
    """What is kept of a ConfigMap: whether it is longer than before."""
    return len(value)


def name_of(item: Item | None) -> str:
    """The name of an object, empty where there is none."""
    return "" if item is None else str(item.object["metadata"]["name"])


class Following(Controller):
    """Notes what it is told, in each way of following."""

    name = "following-controller"
    workers = 2

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.told: list[tuple[str, ...]] = []
        kind = context.registry.resources["", "v1", "configmaps"]
        self.informer = self.follow(kind, self._changed)
        self.sizes = self.follow_digests(context.informers.digests(PREFIX, size), self._digest)
        self.follow_events(PREFIX, self._event)

    def _changed(self, old: Item | None, new: Item | None) -> None:
        self.told.append(("object", name_of(old), name_of(new)))

    def _digest(self, namespace: str, name: str, old: int | None, new: int | None) -> None:
        self.told.append(("digest", f"{namespace}/{name}", str(old is None), str(new is None)))

    def _event(self, event: Event) -> None:
        self.told.append(("event", event.key.removeprefix(PREFIX), event.type.name))

    async def sync(self, key: str) -> None:
        """Note a key."""
        self.told.append(("sync", key))


def body(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_it_is_told_what_is_there_and_what_changes(server: InProcess, client: Client) -> None:
    """A change has what was and what is; work begins when all sources are read."""
    await client.request("POST", CONFIGMAPS, json=body("a"))
    controller = Following(context_of(server))
    assert controller.told == []
    controller.queue.add("k")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        await controller.began.wait()
        assert {("object", "", "a"), ("digest", "default/a", "True", "False")} < {
            one for one in controller.told if one[0] != "sync"
        }
        assert ("event", "default/a", "CREATED") in controller.told
        await wait_all_tasks_blocked()
        assert ("sync", "k") in controller.told
        controller.told.clear()
        await client.request("PUT", f"{CONFIGMAPS}/a", json=body("a", b="1"))
        await client.request("DELETE", f"{CONFIGMAPS}/a")
        assert [one for one in controller.told if one[1].endswith("a")] == [
            ("object", "a", "a"), ("digest", "default/a", "False", "False"),
            ("event", "default/a", "UPDATED"),
            ("object", "a", ""), ("digest", "default/a", "False", "True"),
            ("event", "default/a", "DELETED"),
        ]  # fmt: skip
        nursery.cancel_scope.cancel()


async def test_what_is_followed_is_shared_and_can_be_read(
    server: InProcess, client: Client
) -> None:
    """Two controllers have one informer and one collection of digests."""
    context = context_of(server)
    one, other = Following(context), Following(context)
    assert one.informer is other.informer
    assert one.sizes is other.sizes
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run)
        await one.began.wait()
        await client.request("POST", CONFIGMAPS, json=body("a"))
        assert one.informer.lister.get("a", "default") is not None
        assert one.sizes.get("default", "a") is not None
        nursery.cancel_scope.cancel()
    assert one.name == one.queue.name == "following-controller"
