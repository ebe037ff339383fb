"""A follower that raises costs itself alone, and is told again of what it missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.follower import Follower
from kubetrio.informers.informer import EventHandler, Item, SharedInformerFactory
from kubetrio.informers.redelivery import FIRST_PAUSE_S
from kubetrio.informers.reflector import Reflector
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.model import Event, EventType, KeyValue, Range, Stamped
from kubetrio.testing.server import open_api
from kubetrio.testing.store_model import MemoryStore

PREFIX = "/registry/things/"
CHANGES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["red", "blue", None]), st.booleans()),
    max_size=30,
)


def value(color: str) -> Stamped:
    return Stamped(b'{"revision":', b',"color":"%b"}' % color.encode())


async def write(store: MemoryStore, name: str, color: str | None) -> None:
    """Create, replace or delete."""
    key = PREFIX + name
    now = await store.get(key)
    if color is None:
        if now is not None:
            last = await store.update(key, value("gone"), expected=now.revision)
            await store.delete(key, expected=last.revision)
    elif now is None:
        await store.create(key, value(color))
    else:
        await store.update(key, value(color), expected=now.revision)


async def stored(store: MemoryStore) -> dict[str, bytes]:
    return {item.key: item.value for item in (await store.range(Range.prefix(PREFIX))).items}


class Faulty:
    """A copy of a collection whose functions raise when they are told to."""

    def __init__(self) -> None:
        self.raises = False
        self.copy: dict[str, bytes] = {}
        self.wrong: list[str] = []

    def note(self, key: str, before: bytes | None, after: bytes | None, *, known: bool) -> None:
        """Apply a change, if what it says was there before is what was told last."""
        if self.raises:
            raise ZeroDivisionError
        if known and before != self.copy.get(key):
            self.wrong.append(key)
        if after is None:
            self.copy.pop(key, None)
        else:
            self.copy[key] = after

    def event(self, event: Event) -> None:
        gone = event.type is EventType.DELETED
        self.note(event.key, event.previous, None if gone else event.value, known=not gone)

    def told(self, event: Event) -> None:
        """The same from reflectors, which tell what they list as created."""
        gone = event.type is EventType.DELETED
        self.note(event.key, None, None if gone else event.value, known=False)

    def found(self, item: KeyValue) -> None:
        self.note(item.key, None, item.value, known=False)

    def digest(self, namespace: str, name: str, old: bytes | None, new: bytes | None) -> None:
        del namespace
        self.note(PREFIX + name, old, new, known=True)

    def handler(self) -> EventHandler:
        def update(old: Item, new: Item) -> None:
            # A deletion that was missed is told with the next object of that name.
            self.note(new.key, old.value, new.value, known=b"gone" not in old.value)

        return EventHandler(
            add=lambda item: self.note(item.key, None, item.value, known=False),
            update=update,
            delete=lambda item: self.note(item.key, None, None, known=False),
        )


Follow = Callable[[SharedInformerFactory, Faulty], object]


async def subscribe(informers: SharedInformerFactory, faulty: Faulty) -> None:
    informers.dispatcher.subscribe(PREFIX, faulty.event)


async def reflect(informers: SharedInformerFactory, faulty: Faulty) -> None:
    await Reflector(informers.dispatcher, PREFIX, faulty.told).sync()


async def follow(informers: SharedInformerFactory, faulty: Faulty) -> None:
    await Follower(informers.dispatcher, PREFIX, faulty.found, faulty.told).sync()


async def inform(informers: SharedInformerFactory, faulty: Faulty) -> None:
    informer = informers.informer(PREFIX)
    await informer.sync()
    informer.add_event_handler(faulty.handler())


async def digest(informers: SharedInformerFactory, faulty: Faulty) -> None:
    digests = informers.digests(PREFIX, bytes)
    await digests.sync()
    digests.on_change(faulty.digest)


async def digest_badly(informers: SharedInformerFactory, faulty: Faulty) -> None:
    """What fails is the function that makes values."""

    def make(value: bytes) -> bytes:
        faulty.note("", None, b"", known=False)
        return value

    digests = informers.digests(PREFIX, make)
    await digests.sync()

    def changed(_: str, name: str, old: bytes | None, new: bytes | None) -> None:
        before, faulty.raises = faulty.raises, False
        faulty.digest("", name, old, new)
        faulty.raises = before
        faulty.copy.pop("", None)

    digests.on_change(changed)


FOLLOW = [subscribe, reflect, follow, inform, digest, digest_badly]


@pytest.mark.parametrize("begin", FOLLOW)
@settings(deadline=None, max_examples=40)
@given(CHANGES, st.booleans())
def test_it_has_what_is_stored_in_the_end(begin: Follow, changes: list, early: bool) -> None:
    """Whenever it raises, also while it lists; others have it at any time."""

    async def run() -> None:
        store, faulty = MemoryStore(), Faulty()
        informers, seen = SharedInformerFactory(store), Faulty()
        informers.dispatcher.subscribe(PREFIX, seen.told)
        if not early and begin is not subscribe:
            await write(store, "a", "red")
            faulty.raises = True
        await begin(informers, faulty)  # type: ignore[misc]
        for name, color, raises in changes:
            faulty.raises = raises
            await write(store, name, color)
            assert seen.copy == await stored(store)
        assert store.statistics().failed_listeners == 0
        faulty.raises = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(informers.dispatcher.redelivery.run)
            await trio.sleep(2 * FIRST_PAUSE_S)
            nursery.cancel_scope.cancel()
        assert faulty.copy == await stored(store)
        assert faulty.wrong == []
        faulty.raises = True
        await write(store, "a", "blue")
        assert bool(informers.dispatcher.redelivery._behind) is True

    trio.run(run, clock=MockClock(autojump_threshold=0))


async def test_it_is_tried_later_and_later(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the exception whole, once until it is well; what cannot be read is, too."""
    store, faulty, dispatcher = MemoryStore(), Faulty(), None
    dispatcher = Dispatcher(store)
    dispatcher.subscribe(PREFIX, faulty.event)
    faulty.raises, times = True, list[float]()

    async def get(_: str) -> KeyValue | None:
        times.append(trio.current_time())
        if len(times) == 2:
            raise StoreUnavailable("broken")
        return await MemoryStore.get(store, PREFIX + "a")

    await write(store, "a", "red")
    await write(store, "a", "blue")
    store.get = get  # type: ignore[method-assign, assignment]
    async with trio.open_nursery() as nursery:
        began = trio.current_time()
        nursery.start_soon(dispatcher.redelivery.run)
        await trio.sleep(8)
        faulty.raises = False
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    assert [at - began for at in times] == [1, 3, 7, 15]
    assert set(faulty.copy) == {PREFIX + "a"}
    whole = [one for one in caplog.records if "is told again" in one.getMessage()]
    assert len(whole) == 1
    assert "ZeroDivisionError" in vars(whole[0])["kubetrio_fields"]["stacktrace"]
    assert dispatcher.redelivery.failures == {"/registry/things/": 4}


async def test_one_that_ended_misses_nothing() -> None:
    """Not even what it raised for before."""
    store, faulty = MemoryStore(), Faulty()
    end = Dispatcher(store).subscribe(PREFIX, faulty.event)
    faulty.raises = True
    await write(store, "a", "red")
    end()
    faulty.raises = False
    await end.catch_up()
    assert not end.behind
    assert not faulty.copy


async def test_a_server_goes_on(mock_clock: MockClock) -> None:
    """A handler of an embedder raises: writes are answered, watches go on, and it is counted."""
    async with open_api(seed=1, kept=True) as server, server.connect() as http:
        client, faulty, seen = server.client(), Faulty(), list[str]()
        maps = client.kind("v1", "ConfigMap")
        informer = server.api.storage.informers.informer_for(maps)
        await informer.sync()

        def raising(*items: Item) -> Iterator[None]:
            seen.append(items[-1].key.rpartition("/")[2])
            if faulty.raises:
                raise ZeroDivisionError
            return iter(())

        informer.add_event_handler(EventHandler(add=raising, update=raising))
        faulty.raises = True
        seen.clear()
        made = {"apiVersion": "v1", "kind": "ConfigMap"}
        async with client.watch(maps, "default", resource_version="0") as events:
            for name in ("x", "y"):
                await client.create({**made, "metadata": {"name": name, "namespace": "default"}})
            names = set[str]()
            while not {"x", "y"} <= names:
                names.add((await events.__anext__()).object["metadata"]["name"])
        assert {"x", "y"} <= set(seen)
        text = (await http.request("GET", "/metrics")).body.decode()
        assert 'kubetrio_follower_failures_total{follows="/registry/configmaps/"}' in text
        faulty.raises = False
        seen.clear()
        await wait_all_tasks_blocked()
        mock_clock.jump(FIRST_PAUSE_S)
        await wait_all_tasks_blocked()
        assert {"x", "y"} <= set(seen)
        assert orjson.loads(informer.indexer.list()[0].value)
