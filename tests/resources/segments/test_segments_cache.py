"""Which collections are in memory, and for how long."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest
import trio

from kubetrio.api.encoding.encoders import json_encoder
from kubetrio.kinds.builtin import registry
from kubetrio.resources.listing import ListOptions
from kubetrio.resources.objects import stamp
from kubetrio.resources.segments import collection
from kubetrio.resources.segments.cache import SegmentCache
from kubetrio.schema.registry import Registry
from kubetrio.store.model import Gap, Range
from tests.resources.segments.segmentsworld import PODS, SIZE, World


@pytest.fixture
async def world() -> World:
    """Thirty Pods in three namespaces, and each list asked for once."""
    world = World()
    for number in range(30):
        await world.put(f"p{number:02}", "abc"[number % 3], app="xyz"[number % 3 - 1])
    return world


async def test_what_is_listed_again_is_read_into_memory(world: World) -> None:
    """The first list only notes the prefix; later ones read nothing."""
    encoder = json_encoder(PODS)
    cache = world.quick.segments.cache
    await world.both(encoder)
    assert cache.entries == 0
    await world.both(encoder)
    assert cache.entries == 30
    assert cache.bytes > 0

    async def fail(*_: object, **__: object) -> None:
        raise AssertionError("the store was read")

    world.store.range = world.store.join = fail  # type: ignore[assignment,method-assign]
    for number in range(3):
        begin, rest = await world.quick.open(PODS, "abc"[number], ListOptions(), encoder)
        assert rest is None
        assert len(orjson.loads(begin)["items"]) == 10


async def test_a_prefix_that_is_listed_rarely_is_not(autojump_clock: object, world: World) -> None:
    """Two lists more than a minute apart."""
    for _ in range(3):
        await world.both(json_encoder(PODS))
        await trio.sleep(61)
    assert world.quick.segments.cache.entries == 0


async def test_what_is_written_and_not_listed_is_let_go_of(world: World) -> None:
    """And read again when it is listed."""
    encoder = json_encoder(PODS)
    await world.both(encoder)
    await world.both(encoder)
    for number in range(100):
        await world.put("p00", text=str(number))
    assert world.quick.segments.cache.entries == 0
    await world.both(encoder)
    assert world.quick.segments.cache.entries == 30


async def test_values_of_another_kind_are_read_from_the_store() -> None:
    """Which a list joins all the same: nothing here knows better."""
    world = World()
    await world.put("one")
    await world.store.create(
        PODS.key("a", "two"), stamp({"kind": "Pod", "apiVersion": "v0", "metadata": {}})
    )
    for _ in range(3):
        await world.both(json_encoder(PODS))
    assert world.quick.segments.cache.entries == 0


async def test_collections_make_room_for_each_other() -> None:
    """Within the bound, whatever is listed."""
    world = World()
    cache = world.quick.segments.cache
    for number in range(40):
        await world.put(f"p{number:02}", "abcd"[number % 4], text="t" * 1000)
    cache.max_bytes = 40_000
    for _ in range(3):
        for namespace in "abcd":
            for encoder in world.encoders():
                await world.both(encoder, namespace)
                assert cache.bytes <= cache.max_bytes
    assert cache.entries >= 10
    await world.both(json_encoder(PODS))  # too large
    await world.both(json_encoder(PODS))
    assert cache.bytes <= cache.max_bytes
    cache.clear()
    assert (cache.entries, cache.bytes) == (0, 0)


async def test_a_list_that_fails_forgets_what_it_was_cut_from(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory ran out while noted writes were made, say: they are not left out of later lists."""
    encoder = json_encoder(PODS)
    await world.both(encoder)
    await world.both(encoder)
    await world.put("p00", text="changed")

    def broken(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(collection.Collection, "_replace", broken)
    with pytest.raises(MemoryError):
        await world.both(encoder)
    monkeypatch.undo()
    assert b"changed" in await world.both(encoder)


async def test_a_failing_commit_hook_forgets_everything(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in memory may be wrong then."""
    encoder = json_encoder(PODS)
    await world.both(encoder)
    await world.both(encoder)

    def fail(*_: object) -> bool:
        raise RuntimeError("a bug")

    monkeypatch.setattr(collection.Collection, "note", fail)
    await world.put("p00", text="new")
    assert world.quick.segments.cache.entries == 0
    await world.both(encoder)


async def test_kinds_that_are_served_no_more_leave_nothing(world: World) -> None:
    """Nor do they stop others from being in memory."""
    encoder = json_encoder(PODS)
    await world.both(encoder)
    await world.both(encoder)
    cache, before = world.quick.segments.cache, registry()
    cache.follow(before, before)
    assert cache.entries == 30
    pods = ("", "v1", "pods")
    others = {key: kind for key, kind in before.resources.items() if key != pods}
    cache.follow(before, Registry(groups=before.groups, resources=others))
    assert cache.entries == 0


async def test_a_gap_in_history_forgets_everything(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its changes are not on the commit stream."""
    hooks: list[Callable[[Gap], None]] = []
    monkeypatch.setattr(world.store, "on_gap", hooks.append)
    cache = SegmentCache(world.store, SIZE)
    prefix = PODS.prefix("")
    for _ in range(2):
        await cache.view(PODS, prefix, Range.prefix(prefix))
    assert cache.entries == 30
    hooks[0](Gap(world.store.revision, (), rewound=False))
    assert cache.entries == 0
