"""The collector against a model: what is left of random graphs, whatever happens when."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
import trio
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st
from owning import Object, World, configmap, ref, role
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.testing.server import in_memory, open_api

MODES = ("Background", "Foreground", "Orphan")
FINALIZER = "example.com/stays"


class Node(NamedTuple):
    """An object of a random graph.

    Args:
        cluster: whether it is in no namespace.
        owners: numbers of those before it that own it, and whether they wait for it.
        held: whether it has a finalizer.
    """

    cluster: bool
    owners: dict[int, bool]
    held: bool


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """Graphs; what is in no namespace is owned by nothing that is in one."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(2, 9))):
        cluster = draw(st.booleans()) if number < 3 else draw(st.integers(0, 4)) == 0
        able = [n for n in range(number) if nodes[n].cluster or not cluster]
        owners = (
            draw(st.dictionaries(st.sampled_from(able), st.booleans(), max_size=3)) if able else {}
        )
        nodes.append(Node(cluster, owners, draw(st.integers(0, 5)) == 0))
    return nodes


def back_edges(nodes: list[Node]) -> st.SearchStrategy[list[tuple[int, int, bool]]]:
    """Owners that come after what they own: they make circles."""
    able = [
        (later, earlier)
        for later in range(len(nodes))
        for earlier in range(later + 1)
        if nodes[later].cluster or not nodes[earlier].cluster
    ]
    return st.lists(
        st.tuples(st.sampled_from(able), st.booleans()).map(lambda one: (*one[0], one[1])),
        max_size=3,
        unique_by=lambda one: one[:2],
    )


class Model:
    """What is left, by the words of the documentation.

    Args:
        owners: of each object.
    """

    def __init__(self, owners: dict[str, set[str]]) -> None:
        self.owners = owners

    def delete(self, name: str, mode: str) -> None:
        """Delete an object, and what nobody owns any more that it owned."""
        if name not in self.owners:
            return
        if mode == "Orphan":
            for owned in self.owners.values():
                owned.discard(name)
        del self.owners[name]
        self.collect()

    def collect(self) -> None:
        """Objects all of whose owners are gone go, and the others forget those."""
        more = True
        while more:
            lost = {
                name
                for name, owners in self.owners.items()
                if owners and not owners & self.owners.keys()
            }
            more = bool(lost)
            for name in lost:
                del self.owners[name]
        for owners in self.owners.values():
            owners.intersection_update(self.owners)


async def build(
    world: World, nodes: list[Node], back: list[tuple[int, int, bool]]
) -> tuple[list[Object], Model]:
    """Make the objects of a graph, and its model."""
    made: list[Object] = []
    for number, node in enumerate(nodes):
        refs = [ref(made[n], blockOwnerDeletion=blocks) for n, blocks in node.owners.items()]
        obj = role(f"n{number}", *refs) if node.cluster else configmap(f"n{number}", *refs)
        if node.held:
            obj["metadata"]["finalizers"] = [FINALIZER]
        made.append(await world.make(obj))
    owners = {f"n{i}": {f"n{n}" for n in node.owners} for i, node in enumerate(nodes)}
    for later, earlier, blocks in back:
        if later in nodes[earlier].owners:
            continue
        now = await world.find(made[earlier])
        assert now is not None
        refs = [
            *(now["metadata"].get("ownerReferences") or ()),
            ref(made[later], blockOwnerDeletion=blocks),
        ]
        kind = world.client.kind(now["apiVersion"], now["kind"])
        namespace = now["metadata"].get("namespace", "")
        patch = {"metadata": {"ownerReferences": refs}}
        await world.client.patch(kind, f"n{earlier}", patch, namespace)
        owners[f"n{earlier}"].add(f"n{later}")
    return made, Model(owners)


async def let_go(world: World, made: list[Object]) -> None:
    """Take away the finalizers of those that are deleted, one after the other."""
    await trio.sleep(1)
    for _ in made:
        for obj in made:
            now = await world.find(obj)
            meta = {} if now is None else now["metadata"]
            if "deletionTimestamp" in meta and FINALIZER in meta.get("finalizers", ()):
                kind = world.client.kind(obj["apiVersion"], obj["kind"])
                kept = [one for one in meta["finalizers"] if one != FINALIZER] or None
                patch = {"metadata": {"finalizers": kept}}
                await world.client.patch(kind, meta["name"], patch, meta.get("namespace", ""))
        await trio.sleep(1)


def run(clock: MockClock, body: object) -> None:
    """Run a test under a clock that jumps."""
    trio.run(body, clock=clock)  # type: ignore[arg-type]


DELETIONS = st.lists(st.tuples(st.integers(0, 8), st.sampled_from(MODES)), max_size=5)


@shortened(25)
@given(st.data())
def test_what_is_left_is_what_the_model_says(data: st.DataObject) -> None:
    """Deletions in any mode, one after the other; circles, finalizers, owners of the cluster."""
    nodes = data.draw(graphs())
    back, deletions = data.draw(back_edges(nodes)), data.draw(DELETIONS)

    async def body() -> None:
        async with open_api(kept=True) as server:
            world = World(server)
            made, model = await build(world, nodes, back)
            for number, mode in deletions:
                if number < len(made):
                    await world.delete(made[number], mode)
                    await let_go(world, made)
                    model.delete(f"n{number}", mode)
                    assert await world.left(made) == model.owners

    run(MockClock(autojump_threshold=0), body)


@shortened(25)
@given(st.data())
def test_deletions_at_a_time_leave_the_same(data: st.DataObject) -> None:
    """Of those that take dependents along, with stops of the server between them."""
    nodes = data.draw(graphs())
    back = data.draw(back_edges(nodes))
    steps = data.draw(
        st.lists(
            st.tuples(
                st.integers(0, 8),
                st.sampled_from(MODES[:2]),
                st.sampled_from(["at once", "in a turn", "later", "after a restart"]),
            ),
            max_size=6,
        )
    )

    async def body() -> None:
        with TemporaryDirectory(prefix="kubetrio-") as directory:
            config = in_memory(Path(directory))
            left = list(steps)
            async with open_api(kept=True, config=config) as server:
                made, model = await build(World(server), nodes, back)
            restarts = 0
            while True:
                restarts += 1
                env = seeded(restarts, start=1_700_000_000.0 + 1000 * restarts)
                async with open_api(kept=True, config=config, env=env) as server:
                    world = World(server)
                    when = ""
                    while left and when != "after a restart":
                        number, mode, when = left.pop(0)
                        if number < len(made):
                            await world.delete(made[number], mode)
                            model.delete(f"n{number}", mode)
                        if when == "in a turn":
                            await trio.lowlevel.checkpoint()
                        elif when == "later":
                            await trio.sleep(0.001)
                    if not left and when != "after a restart":
                        await let_go(world, made)
                        assert await world.left(made) == model.owners
                        return

    run(MockClock(autojump_threshold=0), body)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("blocks", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_a_thousand_objects_in_circles(
    autojump_clock: MockClock, mode: str, blocks: bool
) -> None:
    """A tree whose root is owned by its leaves: all of it goes, but for what is orphaned."""
    async with open_api(kept=True) as server:
        world = World(server)
        made: list[Object] = []
        for number in range(1, 1001):
            owners = sorted({number // 2, number // 4} - {0})
            refs = [ref(made[owner - 1], blockOwnerDeletion=blocks) for owner in owners]
            made.append(await world.make(configmap(f"o{number}", *refs)))
        refs = [ref(leaf, blockOwnerDeletion=blocks) for leaf in made[-100:]]
        patch = {"metadata": {"ownerReferences": refs}}
        await world.client.patch(world.client.kind("v1", "ConfigMap"), "o1", patch, "default")
        await world.delete(made[0], mode)
        found = await world.left(made)
        if mode != "Orphan":
            assert not found
            return
        assert len(found) == 999
        assert found["o2"] == found["o3"] == frozenset()
        assert found["o4"] == {"o2"}
        assert found["o999"] == {"o499", "o249"}
