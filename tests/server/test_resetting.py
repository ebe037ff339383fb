"""Going back to a snapshot while the server runs, with everything that remembers something."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.client.client import Client
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.server.parts import Parts
from kubetrio.server.resetting import UNDER_WAY_S, ResetError, SnapshotRestorer
from kubetrio.store.model import Range
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]
WIDGETS = "example.com/v1"
ALL = Range.prefix("/registry/")


@pytest.fixture
async def kept() -> AsyncIterator[InProcess]:
    """A server in memory that does all that servers do of their own accord."""
    async with open_api(seed=3, kept=True) as server:
        yield server


def named(kind: str, name: str, namespace: str = "", **more: Any) -> Object:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **more}


def definition() -> Object:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


async def state(server: InProcess) -> dict[str, Object]:
    """All objects, but for their resourceVersions."""
    found = {}
    for item in (await server.api.storage.store.range(ALL)).items:
        obj = orjson.loads(item.value)
        obj["metadata"].pop("resourceVersion")
        found[item.key] = obj
    return found


async def gone(client: Client, kind: str, name: str, api_version: str = "v1") -> bool:
    found = await client.list(client.kind(api_version, kind))
    return name not in [one["metadata"]["name"] for one in found.items]


async def test_nothing_of_what_was_done_is_left(kept: InProcess, autojump_clock: MockClock) -> None:
    """Objects made, changed and deleted, and what controllers made of them, in two rounds."""
    client = kept.client()
    await client.create(named("ConfigMap", "before", "default", data={"a": "1"}))
    await client.create(named("ConfigMap", "deleted", "default"))
    snapshot = await kept.resets.snapshot()
    before, revision = await state(kept), kept.api.storage.store.revision
    for _ in range(2):
        await client.create(named("Namespace", "mine"))
        await client.create(named("ConfigMap", "new", "mine"))
        maps = client.kind("v1", "ConfigMap")
        changed = await client.get(maps, "before", "default")
        await client.update({**changed, "data": {"a": "2"}})
        await client.delete(maps, "deleted", "default")
        await kept.resets.settled()
        assert any(key.startswith("/registry/serviceaccounts/mine/") for key in await state(kept))
        await kept.resets.reset(snapshot)
        assert await state(kept) == before
        assert kept.api.storage.store.revision > revision
        await trio.sleep(3600)  # whoever would write later has had time
        assert await state(kept) == before
        revision = kept.api.storage.store.revision


async def test_what_was_allocated_is_free_again(kept: InProcess, autojump_clock: MockClock) -> None:
    """The same cluster IP and node port are given to another service."""
    client = kept.client()
    snapshot = await kept.resets.snapshot()
    own = await client.get(client.kind("v1", "Service"), "kubernetes", "default")
    address = own["spec"]["clusterIP"].rpartition(".")[0] + ".77"
    ports = [{"port": 80, "nodePort": 30080}]
    spec = {"type": "NodePort", "clusterIP": address, "ports": ports}
    for name in ("one", "two"):
        made = await client.create(named("Service", name, "default", spec=spec))
        assert made["spec"]["clusterIP"] == address
        await kept.resets.reset(snapshot)
        assert await gone(client, "Service", name)


async def test_definitions_go_and_can_be_made_again(
    kept: InProcess, autojump_clock: MockClock
) -> None:
    """With their objects, their APIService and what is served; a second round is as the first."""
    client = kept.client()
    snapshot = await kept.resets.snapshot()
    for _ in range(2):
        await client.create(definition())
        await kept.resets.settled()
        widget = {**named("Widget", "w", "default"), "apiVersion": WIDGETS}
        await client.create(widget)
        services = client.kind("apiregistration.k8s.io/v1", "APIService")
        assert (await client.get(services, "v1.example.com"))["metadata"]["labels"]
        await kept.resets.reset(snapshot)
        assert await gone(client, "APIService", "v1.example.com", "apiregistration.k8s.io/v1")
        with pytest.raises(ApiError) as refused:
            await client.create(widget)
        assert refused.value.code == 404


async def test_a_definition_that_was_deleted_comes_back_with_its_objects(
    kept: InProcess, autojump_clock: MockClock
) -> None:
    """It is served again, and the objects are what they were."""
    client = kept.client()
    await client.create(definition())
    await kept.resets.settled()
    widget = {**named("Widget", "w", "default"), "apiVersion": WIDGETS}
    made = await client.create(widget)
    snapshot = await kept.resets.snapshot()
    definitions = client.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    await client.delete(definitions, "widgets.example.com")
    await kept.resets.settled()
    assert await gone(
        client, "CustomResourceDefinition", "widgets.example.com", "apiextensions.k8s.io/v1"
    )
    await kept.resets.reset(snapshot)
    again = await client.get(client.kind(WIDGETS, "Widget"), "w", "default")
    assert again["metadata"]["uid"] == made["metadata"]["uid"]
    await client.create({**named("Widget", "w2", "default"), "apiVersion": WIDGETS})


async def test_roles_and_quotas_are_those_of_the_snapshot(
    kept: InProcess, autojump_clock: MockClock
) -> None:
    """What a binding allowed is forbidden again, and what was charged is not."""
    client = kept.client()
    quota = named("ResourceQuota", "q", "default", spec={"hard": {"count/secrets": "1"}})
    await client.create(quota)
    await kept.resets.settled()
    await trio.sleep(60)
    snapshot = await kept.resets.snapshot()
    alice = kept.client(UserInfo("alice", groups=("system:authenticated",)))
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            await alice.create(named("Secret", "s", "default"))
        assert refused.value.code == 403
        binding = {
            **named("ClusterRoleBinding", "b"),
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "subjects": [
                {"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}
            ],
            "roleRef": {
                "kind": "ClusterRole",
                "name": "admin",
                "apiGroup": "rbac.authorization.k8s.io",
            },
        }
        await client.create(binding)
        await alice.create(named("Secret", "s", "default"))
        await kept.resets.reset(snapshot)


async def test_a_watch_is_told_and_ends(kept: InProcess, autojump_clock: MockClock) -> None:
    """It sees what went, then its end; the next one goes on from there and misses nothing."""
    client = kept.client()
    snapshot = await kept.resets.snapshot()
    maps = client.kind("v1", "ConfigMap")
    start = (await client.list(maps, "default")).resource_version
    seen = []
    async with trio.open_nursery() as nursery:

        async def watch() -> None:
            async with client.watch(maps, "default", resource_version=start) as events:
                async for event in events:
                    seen.append((event.type, event.object["metadata"]["name"]))

        nursery.start_soon(watch)
        await wait_all_tasks_blocked()
        await client.create(named("ConfigMap", "x", "default"))
        await wait_all_tasks_blocked()
        await kept.resets.reset(snapshot)
    assert seen == [("ADDED", "x"), ("DELETED", "x")]


class Slow(Base):
    """Holds the creation of what is called slow."""

    name = "Slow"
    operations = frozenset({Operation.CREATE})

    def __init__(self) -> None:
        self.go_on = trio.Event()

    async def validate(self, attributes: Attributes) -> None:
        if ((attributes.obj or {}).get("metadata") or {}).get("name") == "slow":
            await self.go_on.wait()


async def test_a_write_that_is_under_way_belongs_to_the_time_before(
    autojump_clock: MockClock,
) -> None:
    """It is waited for and undone; what comes meanwhile waits, and is there afterwards."""
    slow = Slow()
    async with open_api(parts=Parts(admission=[slow]), kept=True) as server:
        client = server.client()
        snapshot = await server.resets.snapshot()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.create, named("ConfigMap", "slow", "default"))
            await wait_all_tasks_blocked()
            nursery.start_soon(server.resets.reset, snapshot)
            await trio.sleep(0.1)
            nursery.start_soon(client.create, named("ConfigMap", "next", "default"))
            await trio.sleep(1)
            slow.go_on.set()
        assert await gone(client, "ConfigMap", "slow")
        names = (await client.list(client.kind("v1", "ConfigMap"), "default")).items
        assert [one["metadata"]["name"] for one in names] == ["kube-root-ca.crt", "next"]


async def test_a_request_that_does_not_end_is_told(autojump_clock: MockClock) -> None:
    """And the server serves on."""
    slow = Slow()
    async with open_api(parts=Parts(admission=[slow])) as server:
        client = server.client()
        snapshot = await server.resets.snapshot()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.create, named("ConfigMap", "slow", "default"))
            await wait_all_tasks_blocked()
            with pytest.raises(ResetError, match=f"1 requests .* after {UNDER_WAY_S:g} seconds"):
                await server.resets.reset(snapshot)
            slow.go_on.set()
        assert not await gone(client, "Namespace", "default")
        await server.resets.reset(snapshot)
        assert await gone(client, "ConfigMap", "slow")


async def test_what_the_server_renews_is_left_alone(
    kept: InProcess, autojump_clock: MockClock
) -> None:
    """A spared key keeps its value, and comes back if it was deleted."""
    client = kept.client()
    maps = client.kind("v1", "ConfigMap")
    made = await client.create(named("ConfigMap", "own", "default", data={"n": "1"}))
    resets = SnapshotRestorer(kept.api, kept.resets._background, [maps.key("default", "own")])
    snapshot = await resets.snapshot()
    await client.update({**made, "data": {"n": "2"}})
    await resets.reset(snapshot)
    assert (await client.get(maps, "own", "default"))["data"] == {"n": "2"}
    await client.delete(maps, "own", "default")
    await resets.reset(snapshot)
    assert (await client.get(maps, "own", "default"))["data"] == {"n": "1"}


async def test_events_that_come_back_live_as_long_as_new_ones(
    kept: InProcess, autojump_clock: MockClock
) -> None:
    """What was left of their time is not known any more."""
    client = kept.client()
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    event = named("Event", "e", "default", involvedObject=about, reason="Tested", type="Normal")
    await client.create(event)
    snapshot = await kept.resets.snapshot()
    await client.delete(client.kind("v1", "Event"), "e", "default")
    await kept.resets.reset(snapshot)
    await trio.sleep(3590)
    kind = client.kind("v1", "Event")
    assert (await client.get(kind, "e", "default"))["reason"] == "Tested"
    await trio.sleep(30)
    with pytest.raises(ApiError):
        await client.get(kind, "e", "default")


async def test_a_namespace_that_was_being_deleted_is_not_deleted_after(
    kept: InProcess, autojump_clock: MockClock
) -> None:
    """Nor is anything in it: the controller that was at it forgets it."""
    client = kept.client()
    await client.create(named("Namespace", "mine"))
    await client.create(named("ConfigMap", "stays", "mine"))
    snapshot = await kept.resets.snapshot()
    before = await state(kept)
    pods = named("ConfigMap", "waits", "mine")
    pods["metadata"]["finalizers"] = ["example.com/wait"]
    await client.create(pods)
    await client.delete(client.kind("v1", "Namespace"), "mine")
    await kept.resets.settled()
    assert await state(kept) != before
    await kept.resets.reset(snapshot)
    await trio.sleep(3600)
    assert await state(kept) == before


async def test_dependents_that_come_back_with_their_owner_stay(
    kept: InProcess, autojump_clock: MockClock
) -> None:
    """The collector had deleted them for want of it."""
    client = kept.client()
    owner = await client.create(named("ConfigMap", "owner", "default"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    dependent = named("Secret", "dependent", "default")
    dependent["metadata"]["ownerReferences"] = [reference]
    await client.create(dependent)
    snapshot = await kept.resets.snapshot()
    before = await state(kept)
    for _ in range(2):
        await client.delete(client.kind("v1", "ConfigMap"), "owner", "default")
        await trio.sleep(10)
        assert await gone(client, "Secret", "dependent")
        await kept.resets.reset(snapshot)
        await trio.sleep(600)
        assert await state(kept) == before
