"""Watches of a version whose conversion waits: slow, failing, beside writers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.encoders import ObjectEncoder
from kubetrio.machinery import labels
from kubetrio.resources.listing import Listing
from kubetrio.resources.objects import stamp
from kubetrio.resources.selection import Selection
from kubetrio.resources.watching import BOOKMARK_INTERVAL_S, Watch, WatchOptions
from kubetrio.testing.converting import Webhook, refused, things
from kubetrio.testing.store_model import MemoryStore
from kubetrio.watch.hub import Hub
from kubetrio.wire.negotiate import Accepted

JSON = Accepted(serializer="json", media_type="application/json")
TABLE = Accepted(serializer="json", media_type="application/json", as_kind="Table", as_version="v1")
CHOSEN = Selection(labels.parse("a=b"), None, lambda _: {})


class Tap:
    """Open, or closed: then nothing flows."""

    def __init__(self) -> None:
        self.open = trio.Event()
        self.open.set()

    def turn(self, *, open_: bool) -> None:
        """Open or close it."""
        if open_:
            self.open.set()
        elif self.open.is_set():
            self.open = trio.Event()


class Recorder:
    """A channel that keeps what it gets; nothing is to be offered to it."""

    framing = "plain"

    def __init__(self, tap: Tap | None = None) -> None:
        self.heard = b""
        self.closed = trio.Event()
        self._tap = tap or Tap()

    def frame(self, payload: bytes) -> bytes:
        """As it is."""
        return payload

    def offer(self, wire: bytes) -> bool:
        """Inside a commit nothing can have been converted."""
        raise AssertionError(wire)

    async def send(self, wire: bytes) -> None:
        """Take bytes, when it is open."""
        await trio.lowlevel.checkpoint()
        await self._tap.open.wait()
        self.heard += wire

    async def wait_closed(self) -> None:
        """Until a test closes it."""
        await self.closed.wait()

    @property
    def events(self) -> list[Any]:
        """What was heard, parsed."""
        return [orjson.loads(line) for line in self.heard.splitlines()]

    @property
    def seen(self) -> list[str]:
        """Types and names."""
        return [
            f"{e['type']} {e['object'].get('metadata', {}).get('name', '')}" for e in self.events
        ]


class World:
    """Things in a store, their hub, and watches in the version that is not stored."""

    def __init__(self, window_bytes: int = 1 << 20) -> None:
        self.webhook = Webhook()
        self.stored, self.other = things(self.webhook)
        self.store = MemoryStore()
        self.hub = Hub(self.store, window_bytes=window_bytes)
        self.listing = Listing(self.store, self.hub)
        self.prefix = self.other.prefix("ns")

    def watch(self, accepted: Accepted = JSON, **options: Any) -> Watch:
        """A watch of the namespace, behind the newest revision unless told otherwise."""
        options = {"prefix": self.prefix, "start": self.hub.revision, **options}
        encoder = ObjectEncoder(self.other, accepted, "Object", lambda: 0.0, ByteCache(0))
        chosen = WatchOptions(**options)
        return Watch(self.hub, self.listing, chosen, encoder, lambda: None, set())

    @asynccontextmanager
    async def watching(self, accepted: Accepted = JSON, **options: Any) -> AsyncIterator[Recorder]:
        """A running watch, which ends when the block does."""
        recorder = Recorder()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.watch(accepted, **options).run, recorder)
            await wait_all_tasks_blocked()
            yield recorder
            await wait_all_tasks_blocked()
            recorder.closed.set()

    async def put(self, name: str, **tags: str) -> int:
        """Create or change a thing; its revision."""
        key, revision = self.stored.key("ns", name), self.store.revision + 1
        meta = {"name": name, "namespace": "ns", "uid": name, "labels": tags}
        obj = {"kind": "Thing", "apiVersion": "example.com/v1", "metadata": meta}
        value = stamp({**obj, "spec": {"size": revision}})
        found = await self.store.get(key)
        if found is None:
            return (await self.store.create(key, value)).revision
        return (await self.store.update(key, value, expected=found.revision)).revision

    async def remove(self, name: str) -> None:
        """Delete a thing."""
        found = await self.store.get(self.stored.key("ns", name))
        assert found is not None
        await self.store.delete(found.key, expected=found.revision)


@pytest.fixture
def world() -> World:
    return World()


def refuse(world: World, name: str) -> None:
    """Have the webhook refuse a thing."""
    world.webhook.refuses = lambda obj: "no" if obj["metadata"]["name"] == name else ""


# ---------------------------------------------------------------- what is seen


async def test_state_and_events_are_of_the_version(world: World) -> None:
    """Additions, changes and deletions, each with the revision that made it."""
    await world.put("one")
    async with world.watching(start=None) as heard:
        await world.put("two")
        await world.put("one")
        await world.remove("two")
    assert heard.seen == ["ADDED one", "ADDED two", "MODIFIED one", "DELETED two"]
    assert {e["object"]["apiVersion"] for e in heard.events} == {"example.com/v2"}
    assert [e["object"]["spec"] for e in heard.events] == [
        {"length": length} for length in (1, 2, 3, 2)
    ]
    versions = [e["object"]["metadata"]["resourceVersion"] for e in heard.events]
    assert versions == ["1", "2", "3", "4"]


async def test_rows_of_a_table_carry_the_version(world: World) -> None:
    """Columns with the first event, as ever."""
    async with world.watching(TABLE) as heard:
        await world.put("one")
        await world.put("two")
    tables = [e["object"] for e in heard.events]
    assert [table["rows"][0]["object"]["spec"] for table in tables] == [
        {"length": 1},
        {"length": 2},
    ]
    assert [table["columnDefinitions"] is None for table in tables] == [False, True]


async def test_a_selection_looks_at_what_is_shown(world: World) -> None:
    """Before and after a change: what leaves is shown as it was."""
    async with world.watching(selection=CHOSEN) as heard:
        await world.put("one", a="b")
        await world.put("one", a="x")
        await world.put("two")
    assert heard.seen == ["ADDED one", "DELETED one"]
    gone = heard.events[1]["object"]
    assert (gone["spec"], gone["metadata"]["resourceVersion"]) == ({"length": 1}, "2")


# ---------------------------------------------------------------- slow


async def test_a_slow_conversion_holds_up_no_commit(
    world: World, autojump_clock: MockClock
) -> None:
    """Writers go on; what they wrote meanwhile comes in one batch behind it, in order."""
    del autojump_clock
    world.webhook.seconds = 10
    async with world.watching() as heard:
        begun = trio.current_time()
        for number in range(5):
            await world.put(f"n{number}")
            await trio.lowlevel.checkpoint()
        assert (trio.current_time(), heard.seen) == (begun, [])
        await trio.sleep(25)
    assert heard.seen == [f"ADDED n{number}" for number in range(5)]
    assert len(world.webhook.calls) <= 2


async def test_a_client_that_leaves_waits_for_nothing(
    world: World, autojump_clock: MockClock
) -> None:
    """Its conversion is cancelled, and the hub forgets it."""
    del autojump_clock
    world.webhook.seconds = 1000
    begun = trio.current_time()
    async with world.watching():
        await world.put("one")
        await trio.testing.wait_all_tasks_blocked()
        assert world.webhook.under_way == 1
    assert (world.webhook.under_way, trio.current_time() - begun) == (0, 0)
    assert world.hub.statistics().watchers == 0


async def test_time_is_up_during_a_conversion_too(world: World, autojump_clock: MockClock) -> None:
    """The stream ends cleanly, without what was not converted."""
    del autojump_clock
    world.webhook.seconds = 1000
    recorder = Recorder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.watch(timeout_s=30).run, recorder)
        await wait_all_tasks_blocked()
        await world.put("one")
    assert (trio.current_time(), recorder.heard) == (pytest.approx(30), b"")


async def test_a_conversion_slower_than_history_ends_the_watch(autojump_clock: MockClock) -> None:
    """What came meanwhile is out of the window and compacted: 410, as for a slow client."""
    del autojump_clock
    world = World(window_bytes=1000)
    world.webhook.seconds = 10
    async with world.watching() as heard:
        await world.put("first")
        await trio.testing.wait_all_tasks_blocked()
        for number in range(20):
            await world.put(f"n{number}")
        await world.store.compact(world.store.revision - 1)
        await trio.sleep(100)
    assert heard.seen[0] == "ADDED first"
    assert [e["object"].get("code") for e in heard.events[1:]] == [410]


async def test_no_bookmark_passes_an_event(world: World, autojump_clock: MockClock) -> None:
    """One that is due during a conversion comes behind it."""
    del autojump_clock
    world.webhook.seconds = 90
    async with world.watching(bookmarks=True) as heard:
        await trio.sleep(BOOKMARK_INTERVAL_S - 1)
        await world.put("one")
        await trio.sleep(100)
    assert heard.seen[:2] == ["ADDED one", "BOOKMARK "]
    assert heard.events[1]["object"]["metadata"]["resourceVersion"] == "1"


async def test_equal_watches_share_a_conversion(world: World, autojump_clock: MockClock) -> None:
    """Those that see the same events; one that looks at the states before asks for itself."""
    del autojump_clock
    async with world.watching() as one, world.watching() as two, world.watching(
        selection=CHOSEN
    ) as three:  # fmt: skip
        for _ in range(2):
            await world.put("one", a="b")
            await wait_all_tasks_blocked()
    assert one.seen == two.seen == three.seen == ["ADDED one", "MODIFIED one"]
    assert sorted(world.webhook.calls) == [1, 1, 1, 2]


async def test_a_shared_conversion_outlives_who_began_it(
    world: World, autojump_clock: MockClock
) -> None:
    """The client that came first leaves during the call: another one begins it again."""
    del autojump_clock
    world.webhook.seconds = 10
    async with world.watching() as stays:
        async with world.watching():
            await world.put("one")
            await wait_all_tasks_blocked()
            assert world.webhook.under_way == 1
        await wait_all_tasks_blocked()
        assert world.webhook.under_way == 1
        await trio.sleep(20)
    assert stays.seen == ["ADDED one"]


# ---------------------------------------------------------------- failing


async def test_what_cannot_be_converted_ends_the_watch(world: World) -> None:
    """An ERROR event with the Status kube-apiserver sends, behind the events before it."""
    refuse(world, "bad")
    async with world.watching() as heard:
        for name in ("one", "two", "bad", "three"):
            await world.put(name)
    assert heard.seen == ["ADDED one", "ADDED two", "ERROR "]
    assert heard.events[-1]["object"] == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": refused("no").message,
        "reason": "InternalError",
        "code": 500,
    }
    assert world.hub.statistics().watchers == 0


async def test_a_state_that_cannot_be_converted_ends_the_watch(world: World) -> None:
    """Behind the objects in front of it; the end of the state is not marked."""
    for name in ("a", "b", "c", "d"):
        await world.put(name)
    refuse(world, "c")
    async with world.watching(start=None, initial_bookmark=True) as heard:
        pass
    assert heard.seen == ["ADDED a", "ADDED b", "ERROR "]


async def test_a_client_goes_on_where_it_was(world: World) -> None:
    """From the last version it saw: nothing lost, nothing twice."""
    refuse(world, "bad")
    async with world.watching() as first:
        for name in ("one", "bad", "two"):
            await world.put(name)
    last = int(first.events[0]["object"]["metadata"]["resourceVersion"])
    world.webhook.refuses = lambda _: ""
    async with world.watching(start=last) as second:
        pass
    assert first.seen == ["ADDED one", "ERROR "]
    assert second.seen == ["ADDED bad", "ADDED two"]


async def test_others_do_not_hear_of_it(world: World) -> None:
    """A watch that fails ends alone; another one of the same keys goes on."""
    async with world.watching(start=None, selection=CHOSEN) as one, world.watching() as two:
        refuse(world, "bad")
        await world.put("bad", a="b")
        await wait_all_tasks_blocked()
        assert (one.seen, two.seen) == (["ERROR "], ["ERROR "])
        async with world.watching() as three:
            await world.put("fine")
    assert three.seen == ["ADDED fine"]


# ---------------------------------------------------------------- beside writers


@dataclass(frozen=True)
class Put:
    """Create or change some things, one after the other."""

    names: tuple[str, ...]
    selected: bool


@dataclass(frozen=True)
class Remove:
    """Delete a thing, if it is there."""

    name: str


@dataclass(frozen=True)
class Sleep:
    """Let time pass."""

    seconds: float


@dataclass(frozen=True)
class Speed:
    """How long conversions take from now on."""

    seconds: float


@dataclass(frozen=True)
class Fail:
    """How many of the next conversions fail."""

    times: int


@dataclass(frozen=True)
class Stall:
    """Whether the client takes anything."""

    stalls: bool


Step = Put | Remove | Sleep | Speed | Fail | Stall
NAMES = ("a", "b", "c")
steps = st.lists(
    st.one_of(
        st.builds(
            Put, st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(tuple), st.booleans()
        ),
        st.builds(Remove, st.sampled_from(NAMES)),
        st.builds(Sleep, st.sampled_from([0.0, 0.5, 1.0, 3.0])),
        st.builds(Speed, st.sampled_from([0.0, 1.0, 2.5])),
        st.builds(Fail, st.integers(1, 4)),
        st.builds(Stall, st.booleans()),
    ),
    max_size=25,
)


Seen = tuple[str, str, int]


class Clientele:
    """A client that watches, and begins again behind what it saw when its watch fails."""

    def __init__(self, world: World, selection: Selection | None) -> None:
        self.world = world
        self.selection = selection
        self.streams: list[Recorder] = []
        self.tap = Tap()
        self.expected: list[Seen] = []

    async def run(self) -> None:
        last = 0
        while True:
            recorder = Recorder(self.tap)
            self.streams.append(recorder)
            await self.world.watch(start=last, selection=self.selection).run(recorder)
            assert recorder.events[-1]["type"] == "ERROR"
            for event in recorder.events[:-1]:
                last = int(event["object"]["metadata"]["resourceVersion"])
            await trio.sleep(0.1)

    @property
    def seen(self) -> list[Seen]:
        """Type, name and revision of all events but errors."""
        events = [e for stream in self.streams for e in stream.events if e["type"] != "ERROR"]
        metas = [e["object"]["metadata"] for e in events]
        return [
            (event["type"], meta["name"], int(meta["resourceVersion"]))
            for event, meta in zip(events, metas, strict=True)
        ]


class Scene:
    """Things that are written beside two clients: one sees all of them, one those of a label."""

    def __init__(self, window_bytes: int) -> None:
        self.world = World(window_bytes)
        self.world.webhook.refuses = self._refuses
        self.failing = 0
        self.everything = Clientele(self.world, None)
        self.chosen = Clientele(self.world, CHOSEN)
        self.selected: dict[str, bool] = {}

    def _refuses(self, _: object) -> str:
        self.failing -= 1
        return "no" if self.failing >= 0 else ""

    async def put(self, name: str, *, chosen: bool) -> None:
        """Write a thing, and note who is to see what."""
        there, before = name in self.selected, self.selected.get(name)
        revision = await self.world.put(name, **({"a": "b"} if chosen else {}))
        self.everything.expected.append(("MODIFIED" if there else "ADDED", name, revision))
        if chosen:
            self.chosen.expected.append(("MODIFIED" if before else "ADDED", name, revision))
        elif before:
            self.chosen.expected.append(("DELETED", name, revision))
        self.selected[name] = chosen

    async def remove(self, name: str) -> None:
        """Delete a thing that is there, and note who is to see it."""
        if name not in self.selected:
            return
        await self.world.remove(name)
        event = ("DELETED", name, self.world.store.revision)
        self.everything.expected.append(event)
        if self.selected.pop(name):
            self.chosen.expected.append(event)

    async def take(self, step: Step) -> None:
        """Do a step."""
        match step:
            case Put(names, chosen):
                for name in names:
                    await self.put(name, chosen=chosen)
            case Remove(name):
                await self.remove(name)
            case Sleep(seconds):
                await trio.sleep(seconds)
            case Speed(seconds):
                self.world.webhook.seconds = seconds
            case Fail(times):
                self.failing = times
            case Stall(stalls):
                self.everything.tap.turn(open_=not stalls)

    async def run(self, script: Sequence[Step]) -> None:
        """Take the steps; nobody sees anything else than there was, and all see it in the end."""
        clients = (self.everything, self.chosen)
        async with trio.open_nursery() as nursery:
            for client in clients:
                nursery.start_soon(client.run)
            await wait_all_tasks_blocked()
            for step in script:
                await self.take(step)
                for client in clients:
                    assert client.seen == client.expected[: len(client.seen)]
            for last in (Stall(False), Fail(0), Speed(0.0), Sleep(100.0)):
                await self.take(last)
            nursery.cancel_scope.cancel()
        for client in clients:
            assert client.seen == client.expected


@settings(max_examples=80, deadline=None)
@given(steps, st.sampled_from([600, 1 << 20]))
def test_each_event_is_seen_once_and_in_order(script: Sequence[Step], window_bytes: int) -> None:
    """Beside writers, while conversions are slow, fail, and clients stall and come back."""
    trio.run(Scene(window_bytes).run, script, clock=MockClock(autojump_threshold=0))
