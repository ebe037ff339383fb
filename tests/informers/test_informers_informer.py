"""A collection in memory is what is stored, after each commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.informers import reflector
from kubetrio.informers.informer import (
    EventHandler,
    Indexer,
    Informer,
    Item,
    SharedInformerFactory,
)
from kubetrio.store.errors import Compacted, StoreUnavailable
from kubetrio.store.model import CommitHook, Event, Range, RangeResult, Stamped
from kubetrio.testing.store_model import MemoryStore

PREFIX = "/registry/things/"
NAMES = ["a/x", "a/y", "b/x", "c"]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from([PREFIX, "/registry/others/"]),
        st.sampled_from(NAMES),
        st.sampled_from(["red", "blue", None]),
    ),
    max_size=40,
)


def thing(color: str) -> Stamped:
    return Stamped(b'{"revision":', b',"color":"%b"}' % color.encode())


async def write(store: MemoryStore, key: str, color: str | None) -> None:
    """Create, update or delete, whichever there is to do."""
    found = await store.get(key)
    if color is None:
        if found is not None:
            await store.delete(key, expected=found.revision)
    elif found is None:
        await store.create(key, thing(color))
    else:
        await store.update(key, thing(color), expected=found.revision)


class Following:
    """A handler that keeps a copy and complains of what does not fit."""

    def __init__(self) -> None:
        self.copy: dict[str, bytes] = {}

    def handler(self) -> EventHandler:
        return EventHandler(add=self.add, update=self.update, delete=self.delete)

    def add(self, item: Item) -> None:
        assert item.key not in self.copy
        self.copy[item.key] = item.value

    def update(self, old: Item, new: Item) -> None:
        assert self.copy[old.key] == old.value
        self.copy[new.key] = new.value

    def delete(self, item: Item) -> None:
        last = orjson.loads(self.copy.pop(item.key))
        assert item.object == {**last, "revision": item.object["revision"]}
        assert item.object["revision"] > last["revision"]


async def check(store: MemoryStore, informer: Informer, handlers: Sequence[Following]) -> None:
    """Compare an informer with the store; no handler complained."""
    assert store.statistics().failed_listeners == 0
    assert all(not one.behind for one in informer._handlers)
    stored = {item.key: item.value for item in (await store.range(Range.prefix(PREFIX))).items}
    objects = {key: orjson.loads(value) for key, value in stored.items()}
    assert [item.key for item in informer.indexer.list()] == list(stored)
    assert informer.lister.list() == list(objects.values())
    for name in NAMES:
        namespace, _, rest = name.rpartition("/")
        assert informer.lister.get(rest, namespace) == objects.get(PREFIX + name)
    for namespace in ("a", "b"):
        wanted = [obj for key, obj in objects.items() if key.startswith(f"{PREFIX}{namespace}/")]
        assert informer.lister.list(namespace) == wanted
    for color in ("red", "blue", "gone"):
        assert [item.key for item in informer.indexer.by_index("color", color)] == [
            key for key, obj in objects.items() if obj["color"] == color
        ]
    assert all(handler.copy == stored for handler in handlers)


@settings(deadline=None, max_examples=60)
@given(CHANGES, st.integers(0, 20), st.booleans())
def test_an_informer_is_what_is_stored(
    changes: list[tuple[str, str, str | None]], synced_at: int, often: bool
) -> None:
    """Whenever it began, and however often somebody looks; objects come and go."""

    async def run() -> None:
        store = MemoryStore()
        informer = SharedInformerFactory(store).informer(PREFIX)
        informer.indexer.add_index("color", lambda item: [item.object["color"]])
        early, late = Following(), Following()
        informer.add_event_handler(early.handler())
        for at, (prefix, name, color) in enumerate(changes):
            if at == synced_at:
                await informer.sync()
                informer.add_event_handler(late.handler())
            await write(store, prefix + name, color)
            if often and at >= synced_at:
                await check(store, informer, [early, late])
        if not informer.synced:
            await informer.sync()
            informer.add_event_handler(late.handler())
        await check(store, informer, [early, late])

    trio.run(run)


VALUES = st.lists(st.sampled_from(["red", "blue", "green"]), max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(NAMES), VALUES),
        st.tuples(st.just("drop"), st.sampled_from(NAMES), st.just([])),
        st.tuples(st.just("look"), st.sampled_from(["red", "blue", "green"]), st.just([])),
    ),
    max_size=30,
)


@given(STEPS)
def test_an_index_is_one_rebuilt_from_nothing(steps: list[tuple[str, str, list[str]]]) -> None:
    """Also where a function names a value twice, other values later, or none."""
    indexer, stored = Indexer(PREFIX), dict[str, list[str]]()
    indexer.add_index("colors", lambda item: iter(item.object["colors"]))

    def found(value: str) -> list[str]:
        return [item.key for item in indexer.by_index("colors", value)]

    def rebuilt(value: str) -> list[str]:
        return sorted(key for key, values in stored.items() if value in values)

    for what, name, values in steps:
        if what == "look":
            assert found(name) == rebuilt(name)
        elif what == "drop":
            indexer.drop(PREFIX + name)
            stored.pop(PREFIX + name, None)
        else:
            value = orjson.dumps({"colors": values})
            indexer.put(Item(PREFIX + name, value, 1, orjson.loads))
            stored[PREFIX + name] = values
    for value in ("red", "blue", "green"):
        assert found(value) == rebuilt(value)


def test_an_object_that_cannot_be_indexed_hides_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is found nowhere until it changes, and the log has the reason."""
    indexer = Indexer(PREFIX)
    indexer.add_index("color", lambda item: [item.object["color"]])
    for name, value in (("a/x", b"{}"), ("a/y", b'{"color":"red"}'), ("b/x", b"{}")):
        indexer.put(Item(PREFIX + name, value, 1, orjson.loads))
    for _ in range(2):
        assert [item.key for item in indexer.by_index("color", "red")] == [PREFIX + "a/y"]
    assert sum("cannot index" in one.getMessage() for one in caplog.records) == 2
    indexer.put(Item(PREFIX + "a/x", b'{"color":"red"}', 2, orjson.loads))
    assert len(indexer.by_index("color", "red")) == 2


class Slow(MemoryStore):
    """A store in which others write between the pages of a list."""

    def __init__(self) -> None:
        super().__init__()
        self.between: list[tuple[str, str | None]] = []

    async def range(self, *args: Any, **kwargs: Any) -> RangeResult:
        result = await super().range(*args, **kwargs)
        if self.between:
            name, color = self.between.pop(0)
            await write(self, PREFIX + name, color)
        return result


@settings(deadline=None, max_examples=60)
@given(st.sets(st.sampled_from(NAMES)), CHANGES)
def test_what_changes_during_the_list_is_not_lost(
    before: set[str], changes: list[tuple[str, str, str | None]]
) -> None:
    """The list is of one revision, and what came after it follows."""

    async def run() -> None:
        store = Slow()
        for name in sorted(before):
            await write(store, PREFIX + name, "red")
        store.between = [(name, color) for _, name, color in changes]
        informer = SharedInformerFactory(store).informer(PREFIX)
        informer.indexer.add_index("color", lambda item: [item.object["color"]])
        following = Following()
        informer.add_event_handler(following.handler())
        await informer.sync()
        store.between = []
        await check(store, informer, [following])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reflector, "PAGE_KEYS", 1)
        trio.run(run)


class Failing(MemoryStore):
    """A store whose reads fail as often as is said."""

    failures: list[Exception]

    async def range(self, *args: Any, **kwargs: Any) -> RangeResult:
        if self.failures:
            raise self.failures.pop()
        return await super().range(*args, **kwargs)


async def test_a_list_that_fails_is_tried_again() -> None:
    """History that is too short at once, everything else when somebody asks again."""
    store = Failing()
    store.failures = [Compacted(1, 2), StoreUnavailable("broken")]
    await write(store, PREFIX + "c", "red")
    informer = SharedInformerFactory(store).informer(PREFIX)
    with pytest.raises(StoreUnavailable):
        await informer.sync()
    assert not informer.synced
    await informer.sync()
    assert informer.synced
    assert len(informer.indexer) == 1


async def test_who_waits_at_a_time_lists_once() -> None:
    """The others take what the first one read."""
    store = Failing()
    store.failures = []
    await write(store, PREFIX + "c", "red")
    informer, added = SharedInformerFactory(store).informer(PREFIX), list[str]()
    informer.add_event_handler(EventHandler(add=lambda item: added.append(item.key)))
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(informer.sync)
    assert added == [PREFIX + "c"]


class Announcing(MemoryStore):
    """A store that is ahead of its commit stream until it is told to announce."""

    def on_commit(self, hook: CommitHook) -> None:
        self.held: list[Event] = []
        self.hook = hook
        super().on_commit(self.held.extend)

    def announce(self) -> None:
        self.hook(self.held)
        self.held.clear()


async def test_what_was_listed_ahead_of_the_stream_is_told_once() -> None:
    """The stream comes to it later."""
    store, following = Announcing(), Following()
    informer = SharedInformerFactory(store).informer(PREFIX)
    informer.indexer.add_index("color", lambda item: [item.object["color"]])
    informer.add_event_handler(following.handler())
    for name, color in (("c", "red"), ("c", "blue"), ("a/x", "red"), ("a/x", None)):
        await write(store, PREFIX + name, color)
    await informer.sync()
    await check(store, informer, [following])
    store.announce()
    await check(store, informer, [following])
    await write(store, PREFIX + "c", "red")
    store.announce()
    await check(store, informer, [following])


async def test_an_object_is_parsed_when_somebody_looks() -> None:
    """And once; what nobody looks at stays bytes, also where there is an index by namespace."""
    store, parsed = MemoryStore(), list[bytes]()

    def parse(value: bytes) -> Any:
        parsed.append(value)
        return orjson.loads(value)

    informer = SharedInformerFactory(store).informer(PREFIX, parse)
    await informer.sync()
    for name in ("a/x", "a/y"):
        await write(store, PREFIX + name, "red")
    assert len(informer.indexer.by_index("namespace", "a")) == 2
    assert parsed == []
    assert informer.lister.get("x", "a") is informer.lister.get("x", "a")
    assert len(parsed) == 1


async def test_a_collection_has_one_informer() -> None:
    """Whoever asks, there is one copy in memory."""
    informers = SharedInformerFactory(MemoryStore())
    assert informers.informer(PREFIX) is informers.informer(PREFIX)


async def test_a_resync_tells_of_everything_again(mock_clock: MockClock) -> None:
    """As of updates from a state to the same one, as often as was asked for."""
    store, seen = MemoryStore(), list[bool]()
    informer = SharedInformerFactory(store).informer(PREFIX)
    await write(store, PREFIX + "c", "red")
    await informer.sync()
    handler = EventHandler(update=lambda old, new: seen.append(old is new))
    informer.add_event_handler(handler)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(informer.resyncing, handler, 30.0)
        for times in range(1, 4):
            await wait_all_tasks_blocked()
            mock_clock.jump(30)
            await wait_all_tasks_blocked()
            assert seen == [True] * times
        nursery.cancel_scope.cancel()
