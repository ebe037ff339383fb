"""Namespaces that are deleted, on a server: what goes, what is told, and when they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.client.client import Client
from kubetrio.controllers.identity import controller_user
from kubetrio.controllers.namespaces.content import ACCOUNT
from kubetrio.machinery.identity import Attributes as Asked
from kubetrio.machinery.identity import Decision, Verdict
from kubetrio.machinery.status import ApiError
from kubetrio.resources.objects import stamp
from kubetrio.schema.kind import Kind
from kubetrio.server.parts import Parts
from kubetrio.testing.converting import Webhook, refused, things
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.testing.widgets import widget, widgets

Object = dict[str, Any]
NAMESPACE: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
FINALIZERS = ["example.com/stays"]
HOLDS = {"finalizers": FINALIZERS}
NAMES = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
)
LEFT = ("configmaps. has 2 resource instances", "secrets. has 1 resource instances")
HELD_BY = ("example.com/stays in 3 resource instances", "example.com/too in 1 resource instances")
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "somewhere"}}
UNEXPECTED = "unexpected items still remain in namespace: n for gvr: /v1, Resource=pods"


def configmap(name: str, **meta: Any) -> Object:
    """A ConfigMap in the namespace."""
    return {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n", **meta},
    }  # fmt: skip


def pod(name: str, grace_s: int = 30, node: str = "", **meta: Any) -> Object:
    """A Pod in the namespace."""
    spec: Object = {
        "terminationGracePeriodSeconds": grace_s,
        "containers": [{"name": "c", "image": "i"}],
    }
    if node:
        spec["nodeName"] = node
    meta = {"name": name, "namespace": "n", **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


class Namespaces:
    """A client and what it asks of namespaces."""

    def __init__(self, server: InProcess) -> None:
        self.client: Client = server.client()
        self.kind = self.kind_of("Namespace")

    def kind_of(self, kind: str) -> Kind:
        return self.client.kind("v1", kind)

    async def get(self, name: str = "n") -> Object | None:
        """The namespace; None when it is gone."""
        try:
            return await self.client.get(self.kind, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    async def delete(self) -> None:
        await self.client.delete(self.kind, "n")

    async def settled(self) -> Object | None:
        """The namespace after a while."""
        await trio.sleep(3)
        return await self.get()

    async def release(self, kind: str, name: str) -> None:
        patch = {"metadata": {"finalizers": None}}
        await self.client.patch(self.kind_of(kind), name, patch, "n")


def said(namespace: Object | None) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message of its conditions."""
    assert namespace is not None
    return {
        one["type"]: (one["status"], one["reason"], one["message"])
        for one in namespace["status"]["conditions"]
    }


async def test_an_empty_namespace_ends(autojump_clock: MockClock) -> None:
    """With the objects of every server in it that are there."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.delete()
        assert await world.settled() is None


async def test_what_is_in_it_goes(autojump_clock: MockClock) -> None:
    """Of built-in and custom kinds, and nothing that is elsewhere."""
    async with open_api(kept=True) as server:
        server.api.storage.registry.add(widgets())
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        other = configmap("other")
        other["metadata"]["namespace"] = "default"
        await world.client.create(other)
        made: Object = widget("w")
        made["metadata"]["namespace"] = "n"
        for obj in (configmap("c"), pod("p"), made):
            await world.client.create(obj)
        await world.delete()
        assert await world.settled() is None
        for kind in server.api.storage.registry.current.preferred("list"):
            if kind.namespaced and kind.storage_prefix:
                assert not (await world.client.list(kind, "n")).items
        await world.client.get(world.kind_of("ConfigMap"), "other", "default")


async def test_the_conditions_say_what_is_left(autojump_clock: MockClock) -> None:
    """In kube-controller-manager's words, until it is gone."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.client.create(configmap("a", **HOLDS))
        await world.client.create(configmap("b", finalizers=[*FINALIZERS, "example.com/too"]))
        secret = {**configmap("s", **HOLDS), "kind": "Secret"}
        await world.client.create(secret)
        await world.delete()
        found = await world.settled()
        assert said(found) == {
            NAMES[0]: ("False", "ResourcesDiscovered", "All resources successfully discovered"),
            NAMES[1]: ("False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
            NAMES[2]: (
                "False",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            NAMES[3]: (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: " + ", ".join(LEFT),
            ),
            NAMES[4]: (
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: " + ", ".join(HELD_BY),
            ),
        }
        await world.release("ConfigMap", "b")
        assert "configmaps. has 1 resource" in said(await world.settled())[NAMES[3]][2]
        await world.release("ConfigMap", "a")
        await world.release("Secret", "s")
        assert await world.settled() is None


async def test_the_status_is_written_when_it_changes(autojump_clock: MockClock) -> None:
    """And not each time somebody looks."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.client.create(configmap("a", **HOLDS))
        await world.delete()
        before = await world.settled()
        await trio.sleep(3600)
        assert await world.get() == before


async def test_pods_go_first(autojump_clock: MockClock) -> None:
    """While one of them is there, everything else is."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.client.create(configmap("c"))
        await world.client.create(pod("p", **HOLDS))
        await world.client.create(pod("q"))
        await world.delete()
        found = await world.settled()
        assert [item["metadata"]["name"] for item in await items(world, "Pod")] == ["p"]
        assert len(await items(world, "ConfigMap")) == 1
        # As upstream: what is left is said when the rest is looked at.
        assert said(found)[NAMES[3]][0] == "False"
        await world.release("Pod", "p")
        assert await world.settled() is None


async def items(world: Namespaces, kind: str) -> list[Object]:
    """What there is of a kind, but for what is in every namespace."""
    found = (await world.client.list(world.kind_of(kind), "n")).items
    return [one for one in found if one["metadata"]["name"] != "kube-root-ca.crt"]


async def test_pods_get_the_time_they_ask_for(autojump_clock: MockClock) -> None:
    """A pod that runs somewhere is waited for, and is gone when its kubelet says so."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.client.create(pod("p", grace_s=50, node="somewhere"))
        await world.delete()
        await world.settled()
        [found] = await items(world, "Pod")
        assert found["metadata"]["deletionGracePeriodSeconds"] == 50
        await world.client.delete(world.kind_of("Pod"), "p", "n", gracePeriodSeconds=0)
        assert await world.settled() is None


async def test_a_pod_that_outstays_its_time_is_told_of(autojump_clock: MockClock) -> None:
    """In the words of a failure, as nothing says why it is there."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.client.create(NODE)  # of one that is gone, the pods are collected
        await world.client.create(pod("p", grace_s=5, node="somewhere"))
        await world.delete()
        await trio.sleep(100)
        assert said(await world.get())[NAMES[2]] == (
            "True",
            "ContentDeletionFailed",
            f"Failed to delete all resource types, 1 remaining: {UNEXPECTED}",
        )


async def test_other_finalizers_keep_a_namespace(autojump_clock: MockClock) -> None:
    """Those of its spec and of its metadata are not ours; its content goes."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        kept = {**NAMESPACE, "metadata": {"name": "n", **HOLDS}}
        await world.client.create({**kept, "spec": {"finalizers": ["example.com/spec"]}})
        await world.client.create(configmap("c"))
        await world.delete()
        found = await world.settled()
        assert found is not None
        assert found["spec"] == {"finalizers": ["example.com/spec"]}
        assert not await items(world, "ConfigMap")
        await world.client.update({**found, "spec": {}}, subresource="finalize")
        found = await world.settled()
        assert found is not None
        await world.client.patch(world.kind, "n", {"metadata": {"finalizers": None}})
        assert await world.settled() is None


class Refusing(Base):
    """Refuses what the controller deletes, as often as it is told, and notes what it does."""

    name = "Refusing"
    operations = frozenset(Operation)

    def __init__(self, times: int) -> None:
        self.times = times
        self.writes: set[tuple[str, str, str]] = set()

    async def validate(self, attributes: Attributes) -> None:
        if attributes.user != controller_user(ACCOUNT):
            return
        verb = str(attributes.operation.value).lower()
        self.writes.add((verb, attributes.resource.resource, attributes.subresource))
        if attributes.operation is Operation.DELETE and self.times:
            self.times -= 1
            raise ApiError(403, "Forbidden", "not now")


async def test_refused_deletions_are_tried_again(autojump_clock: MockClock) -> None:
    """And told of meanwhile; what it does is what its role allows."""
    plugin = Refusing(10_000)
    async with open_api(kept=True, parts=Parts(admission=[plugin])) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.client.create(configmap("c"))
        await world.delete()
        assert said(await world.settled())[NAMES[2]] == (
            "True",
            "ContentDeletionFailed",
            "Failed to delete all resource types, 1 remaining: not now",
        )
        plugin.times = 0
        await trio.sleep(60)
        assert await world.get() is None
        for verb, resource, subresource in plugin.writes:
            asked = Asked(
                user=controller_user(ACCOUNT), verb=verb, namespace="n", api_group="",
                api_version="v1", resource=resource, subresource=subresource, name="x",
                resource_request=True, path="",
            )  # fmt: skip
            found = server.api.security.rbac.authorize(asked)
            verdict = found if isinstance(found, Verdict) else await found
            assert verdict.decision is Decision.ALLOW, asked
        assert {verb for verb, _, _ in plugin.writes} == {"delete", "update"}


async def test_a_kind_whose_conversion_fails_holds_the_namespace(
    autojump_clock: MockClock,
) -> None:
    """Objects are deleted in the preferred version, here not the stored one."""
    webhook = Webhook()
    async with open_api(kept=True) as server:
        stored, other = things(webhook)
        server.api.storage.registry.add([stored, other])
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        obj = {
            "apiVersion": stored.api_version, "kind": stored.kind,
            "metadata": {"name": "x", "namespace": "n"}, "spec": {"size": 1},
        }  # fmt: skip
        await world.client.create(obj)
        webhook.refuses = lambda _: "broken"
        await world.delete()
        assert said(await world.settled())[NAMES[2]] == (
            "True",
            "ContentDeletionFailed",
            f"Failed to delete all resource types, 1 remaining: {refused('broken').message}",
        )
        webhook.refuses = lambda _: ""
        await trio.sleep(60)
        assert await world.get() is None
        assert not (await world.client.list(stored, "n")).items


async def test_a_namespace_is_ended_by_the_next_server(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """When the one that was asked stopped before."""
    config = in_memory(tmp_path)
    async with open_api(config=config) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.client.create(configmap("c"))
        await world.delete()
    async with open_api(config=config, kept=True) as server:
        assert await Namespaces(server).settled() is None


async def test_what_is_stored_too_late_goes(autojump_clock: MockClock) -> None:
    """A write that was admitted while the namespace was there, and took longer than it lived."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        kind = world.kind_of("ConfigMap")
        found = await world.client.create(configmap("late", **HOLDS))
        await world.delete()
        await world.release("ConfigMap", "late")
        assert await world.settled() is None
        del found["metadata"]["finalizers"]
        await server.api.storage.store.create(kind.key("n", "late"), stamp(found))
        await trio.sleep(90)
        assert not (await world.client.list(kind, "n")).items


async def test_what_is_in_a_new_namespace_stays(autojump_clock: MockClock) -> None:
    """One that is made again with the name of one that ended is another one."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        await world.delete()
        assert await world.settled() is None
        await world.client.create(NAMESPACE)
        await world.client.create(configmap("c"))
        await trio.sleep(300)
        assert len(await items(world, "ConfigMap")) == 1


@pytest.mark.slow
async def test_a_thousand_objects_go_while_others_go_on(tmp_path: Path) -> None:
    """Of several kinds, some with owners and some held: under five seconds, without long pauses."""
    config = in_memory(tmp_path)
    longest = 0.0

    async with open_api(kept=True, config=config) as server:
        server.api.storage.registry.add(widgets())
        world = Namespaces(server)
        await world.client.create(NAMESPACE)
        owner = await world.client.create(configmap("owner"))
        uid = owner["metadata"]["uid"]
        refs = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]
        for number in range(200):
            made: Object = widget(f"w{number}")
            made["metadata"]["namespace"] = "n"
            held = HOLDS if number % 20 == 0 else {}
            secret = {**configmap(f"s{number}", **held), "kind": "Secret"}
            owned = configmap(f"o{number}", ownerReferences=refs)
            for obj in (made, secret, owned, configmap(f"c{number}"), pod(f"p{number}")):
                await world.client.create(obj)

        async def others() -> None:
            nonlocal longest
            while True:
                before = trio.current_time()
                await world.client.get(world.kind, "default")
                longest = max(longest, trio.current_time() - before)
                await trio.sleep(0.002)

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            with trio.fail_after(5):
                async with world.client.watch(world.kind_of("Secret"), "n") as events:
                    await world.delete()
                    gone = 0
                    async for event in events:
                        gone += event.type == "DELETED"
                        if gone == 190:
                            break
                chosen = "metadata.name=n"
                async with world.client.watch(world.kind, field_selector=chosen) as events:
                    for number in range(0, 200, 20):
                        await world.release("Secret", f"s{number}")
                    async for event in events:
                        if event.type == "DELETED":
                            break
            nursery.cancel_scope.cancel()
        assert trio.current_time() - began < 5
        assert longest < 0.25, longest  # a shared machine; it is some milliseconds


@pytest.mark.parametrize("delay_s", [0.0, 0.3, 1.0, 60.0])
async def test_a_finalizer_that_is_put_back_does_not_hold_it(
    autojump_clock: MockClock, delay_s: float
) -> None:
    """Who takes another finalizer away writes this one as it was before the content was gone."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        ours = {**NAMESPACE, "spec": {"finalizers": ["kubernetes", "example.com/other"]}}
        await world.client.create(ours)
        await world.client.create(configmap("c", **HOLDS))
        await world.delete()
        before = await world.settled()
        assert before is not None
        await world.release("ConfigMap", "c")
        await trio.sleep(delay_s)
        meta = {key: value for key, value in before["metadata"].items() if key != "resourceVersion"}
        stale = {**before, "metadata": meta, "spec": {"finalizers": ["kubernetes"]}}
        await world.client.update(stale, subresource="finalize")
        assert await world.settled() is None


async def test_others_finalizers_hold_it_and_cost_nothing(autojump_clock: MockClock) -> None:
    """They are looked at once when they change, and not again and again."""
    async with open_api(kept=True) as server:
        world = Namespaces(server)
        others = ["kubernetes", "example.com/a", "example.com/b"]
        await world.client.create({**NAMESPACE, "spec": {"finalizers": others}})
        await world.delete()
        left = await world.settled()
        assert left is not None
        assert left["spec"]["finalizers"] == ["example.com/a", "example.com/b"]
        revision = server.api.storage.store.revision
        await trio.sleep(10)
        assert server.api.storage.store.revision == revision
        fewer = {**left, "spec": {"finalizers": ["example.com/b"]}}
        await world.client.update(fewer, subresource="finalize")
        left = await world.settled()
        assert left is not None
        await world.client.update({**left, "spec": {"finalizers": []}}, subresource="finalize")
        assert await world.settled() is None
