"""The collector on a server: what it deletes, what it lets go, and what it leaves alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trio
from owning import Object, World, configmap, ref, role
from trio.testing import MockClock

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.config import Config
from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.garbage.collector import ACCOUNT, SEEN_S
from kubetrio.controllers.identity import controller_user
from kubetrio.controllers.table import TABLE, Row, made
from kubetrio.env import Env
from kubetrio.machinery.identity import Attributes as Asked
from kubetrio.machinery.identity import Decision, Verdict
from kubetrio.machinery.status import ApiError
from kubetrio.server.parts import Parts, own_store
from kubetrio.store.errors import Unreadable
from kubetrio.store.model import Event, EventType, Range, RangeResult, Store
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.testing.widgets import widget, widgets


@pytest.fixture
async def world(autojump_clock: MockClock) -> AsyncIterator[World]:
    """A server that runs its controllers."""
    async with open_api(kept=True) as server:
        server.api.storage.registry.add(widgets())
        yield World(server)


class Held(Base):
    """Refuses or delays what the collector does.

    Args:
        times: how often it refuses.
        meanwhile: what happens before an answer.
    """

    name = "Held"
    operations = frozenset({Operation.UPDATE, Operation.DELETE})

    def __init__(self, times: int = 0) -> None:
        self.times = times
        self.meanwhile: Any = None
        self.writes: set[tuple[str, str, str, str]] = set()

    async def validate(self, attributes: Attributes) -> None:
        if attributes.user != controller_user(ACCOUNT):
            return
        verbs = ["delete"] if attributes.operation is Operation.DELETE else ["patch"]
        kind = attributes.resource
        self.writes |= {(verb, kind.group, kind.resource, attributes.subresource) for verb in verbs}
        if self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        if self.times:
            self.times -= 1
            raise ApiError(403, "Forbidden", "not now")


def thing(name: str, *refs: Object) -> Object:
    """A widget with owners."""
    obj: Object = widget(name)
    obj["metadata"] = {"name": name, "namespace": "default", "ownerReferences": list(refs)}
    return obj


async def family(world: World, **blocks: Any) -> tuple[Object, Object]:
    """An owner, and what it owns."""
    owner = await world.make(configmap("owner"))
    return owner, await world.make(configmap("owned", ref(owner, **blocks)))


async def test_an_owner_waits_for_those_that_block(world: World, autojump_clock: MockClock) -> None:
    """In foreground, and for no others; a finalizer of theirs keeps it."""
    owner = await world.make(configmap("owner"))
    held = configmap("blocks", ref(owner, blockOwnerDeletion=True), finalizers=["example.com/x"])
    held = await world.make(held)
    free = await world.make(configmap("free", ref(owner), finalizers=["example.com/x"]))
    await world.delete(owner, "Foreground")
    found = await world.left([owner, held, free])
    assert found.keys() == {"owner", "blocks", "free"}
    now = await world.find(owner)
    assert now is not None
    assert now["metadata"]["finalizers"] == ["foregroundDeletion"]
    kind = world.client.kind("v1", "ConfigMap")
    await world.client.patch(kind, "blocks", {"metadata": {"finalizers": None}}, "default")
    assert (await world.left([owner, held, free])).keys() == {"free"}


async def test_an_owner_that_is_not_blocked_any_more_goes(
    world: World, autojump_clock: MockClock
) -> None:
    """When the dependent's reference says so; the dependent goes its own way."""
    owner = await world.make(configmap("owner"))
    refs = ref(owner, blockOwnerDeletion=True)
    owned = await world.make(configmap("owned", refs, finalizers=["example.com/x"]))
    await world.delete(owner, "Foreground")
    assert (await world.left([owner])).keys() == {"owner"}
    kind = world.client.kind("v1", "ConfigMap")
    patch = {"metadata": {"ownerReferences": [{**refs, "blockOwnerDeletion": False}]}}
    await world.client.patch(kind, "owned", patch, "default")
    assert (await world.left([owner, owned])).keys() == {"owned"}


async def test_a_chain_waits_for_its_first_object_alone(autojump_clock: MockClock) -> None:
    """Nobody waits for an answer to what the collector deletes itself; a step costs a few looks."""
    length = 200
    async with open_api(kept=True) as server:
        world, chain = World(server), list[Object]()
        for number in range(length):
            refs = [ref(chain[-1], blockOwnerDeletion=True)] if chain else []
            chain.append(await world.make(configmap(f"o{number}", *refs)))
        gone = trio.Event()

        def changed(event: Event) -> None:
            if event.type is EventType.DELETED:
                gone.set()

        kind = world.client.kind("v1", "ConfigMap")
        server.api.storage.informers.dispatcher.subscribe(kind.key("default", "o0"), changed)
        [collector] = [
            one
            for one in server.resets._background._controllers
            if one.name == "garbage-collector-controller"
        ]
        looks, begun = collector.queue.adds, trio.current_time()
        await world.delete(chain[0], "Foreground")
        await trio.sleep(SEEN_S / 2)
        assert not (await world.client.get(kind, "o1", "default"))["metadata"].get("finalizers")
        await gone.wait()
        assert trio.current_time() - begun == pytest.approx(SEEN_S)
        assert collector.queue.adds - looks <= 4 * length
        assert not await world.left(chain)


async def test_an_object_that_owns_itself_goes(world: World, autojump_clock: MockClock) -> None:
    """In foreground, although it says that it waits for itself."""
    owner = await world.make(configmap("owner"))
    kind = world.client.kind("v1", "ConfigMap")
    patch = {"metadata": {"ownerReferences": [ref(owner, blockOwnerDeletion=True)]}}
    await world.client.patch(kind, "owner", patch, "default")
    assert (await world.left([owner])).keys() == {"owner"}
    await world.delete(owner, "Foreground")
    assert not await world.left([owner])


async def test_two_that_own_each_other_go(world: World, autojump_clock: MockClock) -> None:
    """Also when both are deleted in foreground at the same time."""
    one = await world.make(configmap("one"))
    two = await world.make(configmap("two", ref(one, blockOwnerDeletion=True)))
    kind = world.client.kind("v1", "ConfigMap")
    patch = {"metadata": {"ownerReferences": [ref(two, blockOwnerDeletion=True)]}}
    await world.client.patch(kind, "one", patch, "default")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.delete, one, "Foreground")
        nursery.start_soon(world.delete, two, "Foreground")
    assert not await world.left([one, two])


async def test_who_has_another_owner_stays(world: World, autojump_clock: MockClock) -> None:
    """And forgets the one that is gone."""
    gone, stays = await world.make(configmap("gone")), await world.make(configmap("stays"))
    owned = await world.make(configmap("owned", ref(gone), ref(stays)))
    await world.delete(gone)
    assert await world.left([owned]) == {"owned": {"stays"}}


@pytest.mark.parametrize(
    ("member", "value"),
    [("uid", "00000000-0000-0000-0000-000000000000"), ("name", "other"), ("kind", "Secret")],
)
async def test_an_owner_is_meant_by_all_that_names_it(
    world: World, autojump_clock: MockClock, member: str, value: str
) -> None:
    """With another uid, name or kind there is none; who is told a wrong one goes."""
    owner, owned = await family(world)
    wrong = await world.make(configmap("wrong", {**ref(owner), member: value}))
    assert (await world.left([owner, owned, wrong])).keys() == {"owner", "owned"}


async def test_an_owner_made_again_is_another_one(world: World, autojump_clock: MockClock) -> None:
    """Dependents of the one before go, those of the new one stay."""
    owner, owned = await family(world)
    await world.delete(owner)
    again = await world.make(configmap("owner"))
    new = await world.make(configmap("new", ref(again)))
    assert (await world.left([owner, owned, again, new])).keys() == {"owner", "new"}


async def test_who_finds_another_owner_in_time_stays(autojump_clock: MockClock) -> None:
    """It was judged while its owner was not there, and belongs to the next one by then."""
    plugin = Held()
    async with open_api(kept=True, parts=Parts(admission=[plugin])) as server:
        world = World(server)
        owner, owned = await family(world)
        again: list[Object] = []

        async def adopted() -> None:
            again.append(await world.make(configmap("owner")))
            kind = world.client.kind("v1", "ConfigMap")
            patch = {"metadata": {"ownerReferences": [ref(again[0])]}}
            await world.client.patch(kind, "owned", patch, "default")

        plugin.meanwhile = adopted
        await world.delete(owner)
        assert await world.left([owned]) == {"owned": {"owner"}}
        assert await world.find(again[0]) is not None


async def test_changes_of_other_things_do_not_save_an_object(autojump_clock: MockClock) -> None:
    """A dependent that somebody keeps writing goes all the same."""
    plugin = Held()
    async with open_api(kept=True, parts=Parts(admission=[plugin])) as server:
        world = World(server)
        owner, owned = await family(world)
        kind = world.client.kind("v1", "ConfigMap")

        async def touched() -> None:
            await world.client.patch(kind, "owned", {"data": {"a": "b"}}, "default")

        plugin.meanwhile = touched
        await world.delete(owner)
        assert not await world.left([owned])


async def test_a_refusal_is_not_the_end(autojump_clock: MockClock) -> None:
    """Where admission refuses a write of the collector it tries again, in every mode."""
    plugin = Held()
    async with open_api(kept=True, parts=Parts(admission=[plugin])) as server:
        world = World(server)
        for mode in ("Background", "Foreground", "Orphan"):
            owner, owned = await family(world, blockOwnerDeletion=True)
            plugin.times = 4
            await world.delete(owner, mode)
            await trio.sleep(30)
            assert await world.left([owner, owned]) == (
                {"owned": frozenset()} if mode == "Orphan" else {}
            )
            await world.delete(owned)
            await world.left([])
        asked = {("delete", "", "configmaps", ""), ("patch", "", "configmaps", "")}
        assert plugin.writes == asked


@pytest.mark.parametrize("verb", ["get", "list", "watch", "delete", "patch", "update"])
async def test_its_role_allows_what_it_does(server: InProcess, verb: str) -> None:
    """To objects of all kinds; and it may tell of it."""
    for group, resource in (
        ("", "configmaps"),
        ("example.com", "widgets"),
        ("apps", "deployments"),
    ):
        assert await allowed(server, verb, group, resource)
    for more in ("create", "patch"):
        assert await allowed(server, more, "", "events")
    assert not await allowed(server, "create", "", "configmaps")


async def allowed(server: InProcess, verb: str, group: str, resource: str) -> bool:
    """Whether a role of the collector allows something."""
    found = server.api.security.rbac.authorize(
        Asked(
            user=controller_user(ACCOUNT),
            verb=verb,
            namespace="default",
            api_group=group,
            api_version="v1",
            resource=resource,
            subresource="",
            name="x",
            resource_request=True,
            path="",
        )
    )
    verdict = found if isinstance(found, Verdict) else await found
    return verdict.decision is Decision.ALLOW


async def test_an_owner_in_another_namespace_is_none(
    world: World, autojump_clock: MockClock
) -> None:
    """What names it goes, and an event says why in kube-controller-manager's words."""
    await world.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}})
    owner = await world.make(configmap("owner", namespace="far"))
    owned = await world.make(configmap("owned", ref(owner)))
    assert (await world.left([owner, owned])).keys() == {"owner"}
    kind = world.client.kind("v1", "Event")
    [event] = (await world.client.list(kind, "default")).items
    uid = owner["metadata"]["uid"]
    assert event["reason"] == "OwnerRefInvalidNamespace"
    assert event["type"] == "Warning"
    assert event["source"] == {"component": "garbage-collector-controller"}
    assert event["involvedObject"] == {
        "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "owned",
        "uid": owned["metadata"]["uid"],
    }  # fmt: skip
    assert event["message"] == (
        f"ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: {uid}] "
        'does not exist in namespace "default"'
    )


async def test_an_owner_that_is_just_gone_is_looked_for_nowhere(
    world: World, autojump_clock: MockClock
) -> None:
    """No event tells of what went as it should."""
    await world.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}})
    await world.make(configmap("owner", namespace="far"))
    owner, owned = await family(world)
    await world.delete(owner)
    assert not await world.left([owned])
    assert not (await world.client.list(world.client.kind("v1", "Event"), "default")).items


async def test_owners_of_the_cluster_count_everywhere(
    world: World, autojump_clock: MockClock
) -> None:
    """For objects in namespaces and for others."""
    owner = await world.make(role("owner"))
    inside = await world.make(configmap("inside", ref(owner)))
    outside = await world.make(role("outside", ref(owner)))
    assert (await world.left([inside, outside])).keys() == {"inside", "outside"}
    await world.delete(owner)
    assert not await world.left([inside, outside])


async def test_an_object_of_the_cluster_cannot_name_one_of_a_namespace(
    world: World, autojump_clock: MockClock
) -> None:
    """It is left alone, as it cannot be judged."""
    owner = await world.make(configmap("owner"))
    outside = await world.make(role("outside", ref(owner)))
    assert (await world.left([outside])).keys() == {"outside"}
    await world.delete(owner)
    assert (await world.left([outside])).keys() == {"outside"}


async def test_custom_objects_own_and_are_owned(world: World, autojump_clock: MockClock) -> None:
    """In whatever version they are named."""
    owner = await world.make(thing("owner"))
    older = {**ref(owner), "apiVersion": "example.com/v1beta1"}
    owned = await world.make(configmap("owned", older))
    below = await world.make(thing("below", ref(owned)))
    assert (await world.left([owner, owned, below])).keys() == {"owner", "owned", "below"}
    await world.delete(owner)
    assert not await world.left([owned, below])


async def test_kinds_come_and_go(autojump_clock: MockClock) -> None:
    """An object with an owner of a kind that is not served waits until it is."""
    async with open_api(kept=True) as server:
        world, kinds = World(server), widgets()
        far = {
            "apiVersion": "example.com/v1", "kind": "Widget", "name": "owner", "uid": "x-y",
        }  # fmt: skip
        owned = await world.make(configmap("owned", far))
        assert (await world.left([owned])).keys() == {"owned"}
        server.api.storage.registry.add(kinds)
        assert not await world.left([owned])
        owner = await world.make(thing("owner"))
        owned = await world.make(configmap("owned", ref(owner)))
        await world.left([])
        server.api.storage.registry.remove(kinds)
        assert (await world.left([owned])).keys() == {"owned"}
        server.api.storage.registry.add(kinds)
        assert (await world.left([owner, owned])).keys() == {"owner", "owned"}
        await world.delete(owner)
        assert not await world.left([owned])


async def test_events_are_not_collected(world: World, autojump_clock: MockClock) -> None:
    """As kube-controller-manager ignores them."""
    owner = await world.make(configmap("owner"))
    event = await world.make(
        {
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": "e", "namespace": "default", "ownerReferences": [ref(owner)]},
            "involvedObject": {"namespace": "default"},
        }
    )  # fmt: skip
    await world.delete(owner)
    assert (await world.left([event])).keys() == {"e"}


async def test_what_was_left_by_a_server_is_collected_by_the_next(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """Owners deleted in each mode while no controller ran."""
    config = in_memory(tmp_path)
    objects: list[Object] = []
    async with open_api(config=config) as server:
        world = World(server)
        for mode in ("Background", "Foreground", "Orphan"):
            owner = await world.make(configmap(f"owner-{mode}".lower()))
            refs = ref(owner, blockOwnerDeletion=True)
            objects += [owner, await world.make(configmap(f"owned-{mode}".lower(), refs))]
            await world.delete(owner, mode)
    async with open_api(config=config, kept=True) as server:
        assert await World(server).left(objects) == {"owned-orphan": frozenset()}


async def test_it_remembers_nothing_of_what_is_gone(autojump_clock: MockClock) -> None:
    """Nor of objects without owners."""
    name = "garbage-collector-controller"
    collectors: list[Any] = []

    def kept(context: Context) -> Controller:
        collectors.append(TABLE[name].make(context))
        return collectors[-1]

    async with open_api(kept=True, parts=Parts(controllers={name: Row(kept)})) as server:
        world = World(server)
        graph = collectors[0].graph
        await world.make(configmap("alone"))
        assert not graph.refs
        for mode in ("Background", "Foreground", "Orphan"):
            owner, owned = await family(world, blockOwnerDeletion=True)
            assert graph.refs
            assert graph.owners
            await world.delete(owner, mode)
            await world.left([])
            await world.delete(owned)
            await world.left([])
            assert not graph.refs
            assert not graph.owners
            assert not graph.foreground


class Sealed:
    """A store some keys of which cannot be read until it is told otherwise."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.locked = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def range(self, keys: Range, **how: Any) -> RangeResult:
        """See `Store`."""
        if self.locked and keys.start.startswith(self.locked):
            raise Unreadable("no key")
        return await self._store.range(keys, **how)


async def test_what_cannot_be_read_does_not_stop_the_rest(autojump_clock: MockClock) -> None:
    """Objects of other kinds are collected, and those as soon as they can be read."""
    opened: list[Sealed] = []

    @asynccontextmanager
    async def sealed(config: Config, env: Env) -> AsyncIterator[Store]:
        async with own_store(config, env) as store:
            opened.append(Sealed(store))
            yield opened[0]  # type: ignore[misc]

    parts = Parts(open_store=sealed)
    with TemporaryDirectory() as directory:
        config = in_memory(Path(directory))
        async with open_api(parts=parts, config=config) as server:
            world = World(server)
            gone = await world.make(configmap("gone"))
            secret = {**configmap("s", ref(gone)), "kind": "Secret"}
            secret = await world.make(secret)
            await world.delete(gone)
        opened.clear()
        async with open_api(parts=parts, config=config) as server:
            opened[0].locked = "/registry/secrets/"
            async with trio.open_nursery() as nursery:
                name = "garbage-collector-controller"
                [collector] = made([name], context_of(server))
                nursery.start_soon(collector.run)
                world = World(server)
                owner, owned = await family(world)
                await world.delete(owner)
                assert (await world.left([owned, secret])).keys() == {"s"}
                opened[0].locked = ""
                await trio.sleep(60)
                assert not await world.left([secret])
                nursery.cancel_scope.cancel()
