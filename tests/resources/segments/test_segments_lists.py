"""Lists cut from segments equal those read from the store, byte for byte."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.api.encoding.encoders import json_encoder
from kubetrio.resources.listing import ListOptions
from kubetrio.resources.segments import collection, lists
from tests.resources.segments.segmentsworld import PODS, SIZE, World, by


@pytest.fixture
async def world() -> World:
    """Thirty Pods in three namespaces, and each list asked for once."""
    world = World()
    for number in range(30):
        await world.put(f"p{number:02}", "abc"[number % 3], app="xyz"[number % 3 - 1])
    return world


@pytest.mark.parametrize("which", range(6))
async def test_pages(world: World, which: int) -> None:
    """With their tokens and what remains; also after writes, at the revision they began at."""
    encoder = world.encoders()[which]
    await world.both(encoder)
    for limit in (1, 7, 29, 30, 31):
        token = ""
        plain = json_encoder(PODS)
        while True:
            await world.both(encoder, limit=limit, continue_token=token)
            found = await world.both(plain, limit=limit, continue_token=token)
            token = orjson.loads(found)["metadata"].get("continue", "")
            if not token:
                break
            await world.put("p29", "c", text=token)


async def test_selectors(world: World) -> None:
    """By labels and fields, whole and in pages, in each representation."""
    await world.put("q1", app="y", node="n1")
    await world.put("q2", "b", app="y", node="n2", text="later")
    chosen = [
        by("app=y"), by("app!=y"), by("app in (x,y)"), by("nothing"), by("!nothing"),
        by(field="spec.nodeName=n1"), by("app=y", "spec.nodeName!=n1"),
        by(field="metadata.namespace=b"), by(field="metadata.name=q1"), by("app=none"),
        by(field="spec.nodeName="), by("app=y,app!=z"),
    ]  # fmt: skip
    for encoder in world.encoders():
        for selection in chosen:
            await world.both(encoder, selection=selection)
            await world.both(encoder, "b", selection=selection)
            await world.both(encoder, selection=selection, limit=2)
    await world.put("q3", app="y", node="n1")
    await world.remove("p01", "b")
    for selection in chosen:
        await world.both(world.encoders()[1], selection=selection)


async def test_what_selectors_were_asked_about_is_counted(world: World) -> None:
    """All objects, or those that have what is pinned; and what was returned."""
    encoder = json_encoder(PODS)
    await world.both(encoder)
    await world.both(encoder)
    reads = world.quick.counts.lists(PODS.group_resource)
    for selection, looked, returned in ((by("app!=x"), 30, 20), (by("app=x"), 10, 10)):
        before = reads.fetched, reads.evaluated, reads.returned
        await world.quick.open(PODS, "", ListOptions(selection=selection), encoder)
        after = reads.fetched, reads.evaluated, reads.returned
        grown = [new - old for old, new in zip(before, after, strict=True)]
        assert grown == [looked, looked, returned]


async def test_a_list_that_is_sent_lets_others_run() -> None:
    """Its pieces are there, and a client may take each at once."""
    rest = lists.RestOfPieces([b"a", b"b"])
    for expected in ((b"a", True), (b"b", False), (b"", False)):
        with trio.testing.assert_checkpoints():
            assert await rest.next() == expected


async def test_lists_that_are_sent_hold_no_more_than_the_cache(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that begin while others are slow are read from the store."""
    monkeypatch.setattr(lists, "AT_ONCE_BYTES", 100)
    monkeypatch.setattr(collection, "TARGET_BYTES", 1000)
    encoder = json_encoder(PODS)
    cache = world.quick.segments.cache
    await world.both(encoder)
    await world.both(encoder)
    held = []
    for number in range(10):
        await world.put("p00", text=f"{number}")
        held.append(await world.quick.open(PODS, "", ListOptions(), encoder))
    assert cache.bytes > 100
    cache.max_bytes = 100
    for number in range(10):
        await world.put("p00", text=f"{number}")
        _, rest = await world.quick.open(PODS, "", ListOptions(), encoder)
        assert not isinstance(rest, lists.RestOfPieces)
    del held, rest
    await world.quick.open(PODS, "", ListOptions(), encoder)
    assert cache.entries == 30


NAMES = st.sampled_from([f"n{number}" for number in range(12)])
TIMES = [f"2023-11-14T22:{time}Z" for time in ("02:20", "11:21", "13:11", "13:19", "13:30")]
"""From eleven minutes before a world begins to some seconds after that."""
WRITES = st.one_of(
    st.tuples(
        st.just("put"), NAMES, st.sampled_from("ab"),
        st.fixed_dictionaries(
            {
                "app": st.sampled_from("xyz"), "node": st.sampled_from(["", "n1"]),
                "text": st.sampled_from(["", "t" * 300, "é" * 90]),
                "created": st.sampled_from(TIMES), "restarted": st.sampled_from(["", *TIMES]),
            }
        ),
    ),
    st.tuples(st.just("remove"), NAMES, st.sampled_from("ab")),
    st.tuples(st.just("list"), st.integers(0, 5), st.sampled_from(["", "a", "b"]),
              st.sampled_from([0, 1, 3, 100]), st.sampled_from([None, 0, 1, 2])),
    st.tuples(st.just("go on"), st.integers(0, 5), st.integers(0, 3)),
    st.tuples(st.just("old"), st.integers(0, 5), st.integers(0, 6)),
    st.tuples(st.just("compact"), st.integers(0, 6)),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 0.3, 8.0, 61.0, -9.0, 4000.0])),
    st.tuples(st.just("room"), st.sampled_from([3_000, 12_000, SIZE])),
    st.tuples(st.just("state"), st.integers(0, 5), st.sampled_from(["", "a"])),
)  # fmt: skip
SELECTIONS = [by("app=x"), by("app!=x"), by(field="spec.nodeName=n1")]


@settings(max_examples=150, deadline=None)
@given(steps=st.lists(WRITES, max_size=40))
def test_any_list_of_any_state(steps: list[Any]) -> None:
    """Whole, in pages, old, of one namespace, selected; with writes, compaction and little room."""

    async def main() -> None:
        world = World()
        await Walk(world).run(steps)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collection, "TARGET_BYTES", 1500)
        patch.setattr(lists, "AT_ONCE_BYTES", 4000)
        trio.run(main)


class Walk:
    """Random steps over a world.

    Args:
        world: the world.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.encoders = world.encoders()
        self.tokens: list[tuple[str, str]] = []

    async def run(self, steps: list[Any]) -> None:
        """Take them."""
        for step, *values in steps:
            await getattr(self, step.replace(" ", "_"))(*values)

    async def put(self, name: str, namespace: str, more: dict[str, str]) -> None:
        await self.world.put(name, namespace, **more)

    async def remove(self, name: str, namespace: str) -> None:
        await self.world.remove(name, namespace)

    async def list(self, which: int, namespace: str, limit: int, chosen: int | None) -> None:
        selection = None if chosen is None else SELECTIONS[chosen]
        options = {"limit": limit, "selection": selection}
        await self.world.both(self.encoders[which], namespace, **options)
        found = orjson.loads(await self.world.both(self.encoders[0], namespace, **options))
        if token := found["metadata"].get("continue"):
            self.tokens.append((namespace, token))

    async def go_on(self, which: int, back: int) -> None:
        if back < len(self.tokens):
            namespace, token = self.tokens[-1 - back]
            await self.world.both(self.encoders[which], namespace, limit=2, continue_token=token)

    async def old(self, which: int, back: int) -> None:
        version = str(max(self.world.store.revision - back, 0))
        for match in ("Exact", "NotOlderThan", ""):
            await self.world.both(
                self.encoders[which], resource_version=version, match=match, limit=back % 3
            )

    async def compact(self, back: int) -> None:
        to = self.world.store.revision - back
        if to > self.world.store.compacted:
            await self.world.store.compact(to)

    async def wait(self, seconds: float) -> None:
        self.world.now += seconds

    async def room(self, size: int) -> None:
        self.world.quick.segments.cache.max_bytes = size

    async def state(self, which: int, namespace: str) -> None:
        encoder, world = self.encoders[which], self.world
        form = encoder.state_form()
        prefix = PODS.prefix(namespace)
        if form is None:
            return
        for selection in (None, *SELECTIONS):
            items, _, at = await world.slow.snapshot(prefix, 0, "", None)
            expected = [
                encoder.event("ADDED", item.value)
                for item in items
                if selection is None or selection.matches_bytes(item.value)
            ]
            found = await world.quick.state(form, prefix, selection, cached=False)
            if found is None:
                continue
            rest, sizes, revision = found
            sent, more = b"", True
            while more:
                piece, more = await rest.next()
                sent += piece
            assert (sent, sizes, revision) == (b"".join(expected), list(map(len, expected)), at)
