"""Watches: events by selector, state and start, bookmarks, the end."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
import trio
import trio.testing

from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.encoders import INITIAL_EVENTS_END, ObjectEncoder, json_encoder
from kubetrio.kinds.builtin import registry
from kubetrio.machinery import labels
from kubetrio.resources import listing as listing_module
from kubetrio.resources.listing import Listing
from kubetrio.resources.objects import stamp
from kubetrio.resources.segments.making import Beside, Made
from kubetrio.resources.selection import Selection
from kubetrio.resources.watching import (
    BOOKMARK_BEFORE_END_S,
    BOOKMARK_INTERVAL_S,
    Watch,
    WatchOptions,
    event_frame,
)
from kubetrio.store.model import Event, EventType
from kubetrio.testing.store_model import MemoryStore
from kubetrio.watch.choosing import Decision
from kubetrio.watch.hub import Hub
from kubetrio.watch.window import Batch
from kubetrio.wire.negotiate import Accepted

CONFIGMAPS = registry().resources["", "v1", "configmaps"]
ENCODER = json_encoder(CONFIGMAPS)
PREFIX = CONFIGMAPS.prefix("ns")
CHOSEN = Selection(labels.parse("a=b"), None, lambda obj: {})


def stored(revision: int, **tags: str) -> bytes:
    meta = {"name": "n", "labels": tags}
    return stamp({"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta}).at(revision)


# ---------------------------------------------------------------- transitions


@pytest.mark.parametrize(
    ("kind", "before", "after", "seen"),
    [
        (EventType.CREATED, None, True, "ADDED"),
        (EventType.CREATED, None, False, ""),
        (EventType.UPDATED, True, True, "MODIFIED"),
        (EventType.UPDATED, False, True, "ADDED"),
        (EventType.UPDATED, True, False, "DELETED"),
        (EventType.UPDATED, False, False, ""),
        (EventType.DELETED, True, True, "DELETED"),
        (EventType.DELETED, False, False, ""),
    ],
)
def test_what_a_selection_sees(
    kind: EventType,
    before: bool | None,
    after: bool,
    seen: str,
) -> None:
    """An object enters, changes inside, leaves, or was never there."""
    match = {True: {"a": "b"}, False: {"a": "x"}}
    previous = None if before is None else stored(1, **match[before])
    event = Event(2, PREFIX + "n", kind, stored(2, **match[after]), previous)
    [decision] = Batch([event]).decided(CHOSEN)
    frame = event_frame(event, decision, ENCODER)
    assert (orjson.loads(frame)["type"] if frame else "") == seen


def test_an_object_that_leaves_is_shown_as_it_was() -> None:
    """Its last matching state, at the revision that made it leave (a client goes on from there)."""
    event = Event(7, PREFIX + "n", EventType.UPDATED, stored(7, a="x"), stored(3, a="b"))
    frame = event_frame(event, Decision(before=True, now=False), ENCODER)
    meta = orjson.loads(frame)["object"]["metadata"]
    assert (meta["labels"], meta["resourceVersion"]) == ({"a": "b"}, "7")


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        (EventType.CREATED, b"ADDED"),
        (EventType.UPDATED, b"MODIFIED"),
        (EventType.DELETED, b"DELETED"),
    ],
)
def test_without_selection_stored_bytes_are_sent(kind: EventType, seen: bytes) -> None:
    """Nothing is decoded."""
    event = Event(2, PREFIX + "n", kind, b"<bytes>", b"<other>")
    assert event_frame(event, None, ENCODER) == b'{"type":"%b","object":<bytes>}\n' % seen


# ---------------------------------------------------------------- whole watches


class Recorder:
    """A channel that keeps what it gets."""

    framing = "plain"

    def __init__(self) -> None:
        self.heard = b""
        self.closed = trio.Event()
        self.full = False
        self.offered = 0

    def frame(self, payload: bytes) -> bytes:
        """As it is."""
        return payload

    def offer(self, wire: bytes) -> bool:
        """Take bytes; False while `full`."""
        self.heard += wire
        self.offered += 1
        return not self.full

    async def send(self, wire: bytes) -> None:
        """Take bytes."""
        await trio.lowlevel.checkpoint()
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
        return [f"{e['type']} {e['object']['metadata'].get('name', '')}" for e in self.events]


class World:
    """A store, its hub, and watches on it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.hub = Hub(self.store)
        self.listing = Listing(self.store, self.hub)
        self.started = 0
        self.scopes: set[trio.CancelScope] = set()

    def _start(self) -> None:
        self.started += 1

    def watch(self, **options: Any) -> Watch:
        """A watch of the namespace."""
        options = {"prefix": PREFIX, "start": None, **options}
        chosen = WatchOptions(**options)
        return Watch(self.hub, self.listing, chosen, ENCODER, self._start, self.scopes)

    @asynccontextmanager
    async def watching(self, **options: Any) -> AsyncIterator[Recorder]:
        """A running watch, with its beginning sent."""
        recorder = Recorder()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.watch(**options).run, recorder)
            await trio.testing.wait_all_tasks_blocked()
            yield recorder
            await trio.testing.wait_all_tasks_blocked()
            recorder.closed.set()

    async def put(self, name: str, namespace: str = "ns", **tags: str) -> int:
        """Create or change a ConfigMap; its revision."""
        meta = {"name": name, "namespace": namespace, "labels": tags}
        value = stamp({"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta})
        key = CONFIGMAPS.key(namespace, name)
        found = await self.store.get(key)
        if found is None:
            return (await self.store.create(key, value)).revision
        return (await self.store.update(key, value, expected=found.revision)).revision

    async def remove(self, name: str) -> None:
        """Delete a ConfigMap."""
        key = CONFIGMAPS.key("ns", name)
        found = await self.store.get(key)
        assert found is not None
        await self.store.delete(key, expected=found.revision)


@pytest.fixture
async def world() -> World:
    """ConfigMaps one and two, at revisions 1 and 2."""
    world = World()
    await world.put("one")
    await world.put("two", a="b")
    return world


async def test_a_watch_without_a_version_begins_with_the_state(world: World) -> None:
    """As ADDED events, in key order; then what happens."""
    async with world.watching() as heard:
        await world.put("three")
    assert heard.seen == ["ADDED one", "ADDED two", "ADDED three"]


async def test_a_watch_goes_on_behind_a_version(world: World) -> None:
    """Each event once, in order, complete."""
    async with world.watching(start=1) as heard:
        await world.put("one")
        await world.remove("one")
    assert heard.seen == ["ADDED two", "MODIFIED one", "DELETED one"]
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in heard.events]
    assert versions == [2, 3, 4]


async def test_a_watch_may_begin_now(world: World) -> None:
    """Without state and without history."""
    async with world.watching(begin_now=True) as heard:
        await world.put("three")
    assert heard.seen == ["ADDED three"]


async def test_a_watch_of_one_object(world: World) -> None:
    """Others, also those whose names begin alike, are not its business."""
    async with world.watching(prefix=CONFIGMAPS.key("ns", "one")) as heard:
        await world.put("one-more")
        await world.put("one")
    assert heard.seen == ["ADDED one", "MODIFIED one"]


async def test_a_watch_sees_its_namespace_only(world: World) -> None:
    """A namespace whose name begins alike is another one."""
    async with world.watching(begin_now=True) as heard:
        await world.put("x", "ns-2")
        await world.put("y", "ns")
    assert heard.seen == ["ADDED y"]


async def test_a_selection_follows_labels(world: World) -> None:
    """Enter, change, leave, come back: the client's copy is what the selector chooses."""
    async with world.watching(selection=CHOSEN) as heard:
        await world.put("one", a="b")
        await world.put("one", a="b", c="d")
        await world.put("one", a="x")
        await world.put("one", a="y")
        await world.put("one", a="b")
        await world.remove("one")
    assert heard.seen == [
        "ADDED two", "ADDED one", "MODIFIED one", "DELETED one", "ADDED one", "DELETED one",
    ]  # fmt: skip


async def test_a_large_state_is_one_moment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in steps; a write between two of them comes as an event."""
    monkeypatch.setattr("kubetrio.resources.watching.SELECT_KEYS", 1)
    snapshot = Listing.snapshot
    wrote = False

    async def interrupted(self: Listing, *args: Any, **named: Any) -> Any:
        nonlocal wrote
        result = await snapshot(self, *args, **named)
        if not wrote:
            wrote = True
            await world.put("zwei")
        return result

    monkeypatch.setattr(Listing, "snapshot", interrupted)
    async with world.watching(initial_bookmark=True) as heard:
        pass
    assert heard.seen == ["ADDED one", "ADDED two", "BOOKMARK ", "ADDED zwei"]
    assert heard.events[2]["object"]["metadata"]["resourceVersion"] == "2"


async def test_others_have_their_turn_while_the_state_is_encoded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two objects, if they are large and must be looked into; the events are the same.

    Stored bytes are sent as they are, and cost no turn.
    """
    monkeypatch.setattr("kubetrio.resources.paging.SLICE_BYTES", 1)
    turns = 0
    acquire = trio.Lock.acquire

    async def counted(lock: trio.Lock) -> None:
        nonlocal turns
        assert lock is world.listing.turns
        turns += 1
        await acquire(lock)

    monkeypatch.setattr(trio.Lock, "acquire", counted)
    items, _, _ = await world.listing.snapshot(PREFIX, 0, "", None)
    plain = await world.watch()._added(items)
    assert turns == 0
    accepted = Accepted(serializer="json", media_type="application/json")
    slow = ObjectEncoder(CONFIGMAPS, accepted, "Metadata", lambda: 0.0, ByteCache(0))
    watch = Watch(
        world.hub, world.listing, WatchOptions(prefix=PREFIX, start=None), slow, world._start, set()
    )
    assert await watch._added(items) == plain
    assert turns == len(items) == 2


@pytest.mark.parametrize("as_kind", ["", "Table"])
async def test_large_objects_of_the_state_are_made_beside(
    world: World, as_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of turn, so that a list may be made meanwhile; the events are the same."""
    monkeypatch.setattr("kubetrio.resources.paging.SLICE_BYTES", 1000)
    accepted = Accepted(
        serializer="json", media_type="application/json", as_kind=as_kind, as_version="v1"
    )
    listing = Listing(world.store, world.hub, 0)
    ran: list[bool] = []

    async def run(make: Callable[[], Made]) -> Made:
        ran.append(listing.turns.locked())
        await trio.lowlevel.checkpoint()
        return make()

    def watch(beside: Beside | None) -> Watch:
        encoder = ObjectEncoder(CONFIGMAPS, accepted, "Metadata", lambda: 0.0, ByteCache(0))
        options = WatchOptions(prefix=PREFIX, start=None)
        return Watch(world.hub, listing, options, encoder, world._start, set(), beside=beside)

    for number in range(4):
        await world.put(f"n{number}", text="t" * (3000 if number % 2 else 10))
    items, _, _ = await world.listing.snapshot(PREFIX, 0, "", None)
    expected = await watch(None)._added(items)
    listing.recent.clear()
    assert await watch(Beside(2000, run))._added(items) == expected
    assert ran == [False, False]


async def test_the_end_of_the_state_is_marked_once(world: World) -> None:
    """A streaming list knows when it is complete (KEP-3157)."""
    async with world.watching(initial_bookmark=True) as heard:
        await world.put("three")
    marks = [e["object"]["metadata"].get("annotations") for e in heard.events]
    assert marks == [None, None, {INITIAL_EVENTS_END: "true"}, None]


async def test_the_seat_goes_back_when_the_state_is_sent(world: World) -> None:
    """Not before and not twice: a watch costs flow control its beginning only."""
    async with world.watching() as heard:
        assert (world.started, len(heard.events)) == (1, 2)
        await world.put("three")
    assert world.started == 1


async def test_a_live_watch_costs_no_task_switch(world: World) -> None:
    """The publisher hands the bytes over itself."""
    async with world.watching() as heard:
        await world.put("three")
        assert heard.seen[-1] == "ADDED three"
        assert heard.offered == 1


async def test_a_slow_client_loses_nothing(world: World) -> None:
    """While it lags its own task brings what it missed, in order."""
    async with world.watching(begin_now=True) as heard:
        heard.full = True
        for number in range(5):
            await world.put(f"n{number}")
        heard.full = False
        await trio.testing.wait_all_tasks_blocked()
        await world.put("last")
    assert heard.seen == [*(f"ADDED n{number}" for number in range(5)), "ADDED last"]


# ---------------------------------------------------------------- bookmarks


async def test_bookmarks_come_every_minute(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    """With the newest revision, also when it is of something else."""
    recorder = Recorder()
    times: list[float] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.watch(start=2, bookmarks=True, timeout_s=3600).run, recorder)
        await trio.sleep(BOOKMARK_INTERVAL_S / 2)
        await world.put("x", "other")
        while len(times) < 3:
            before = len(recorder.events)
            await trio.sleep(1)
            if len(recorder.events) > before:
                times.append(trio.current_time())
        recorder.closed.set()
    assert [e["type"] for e in recorder.events] == ["BOOKMARK"] * 3
    assert recorder.events[0]["object"]["metadata"]["resourceVersion"] == "3"
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert gaps == pytest.approx([BOOKMARK_INTERVAL_S] * 2, abs=1)


async def test_a_bookmark_is_an_object_with_a_version_and_no_name(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    """Clients go on from it."""
    recorder = Recorder()
    await world.watch(start=2, bookmarks=True, timeout_s=10).run(recorder)
    (event,) = recorder.events
    assert event["object"] == {
        "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": "2"},
    }  # fmt: skip


async def test_the_last_bookmark_comes_shortly_before_the_end(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    """So that a client comes back where it was."""
    recorder = Recorder()
    heard: list[float] = []
    start = trio.current_time()

    class Timed(Recorder):
        async def send(self, wire: bytes) -> None:
            await super().send(wire)
            if wire:
                heard.append(trio.current_time() - start)

    recorder = Timed()
    await world.watch(start=2, bookmarks=True, timeout_s=100).run(recorder)
    assert heard == pytest.approx([60.0, 100.0 - BOOKMARK_BEFORE_END_S], abs=0.01)


async def test_no_bookmarks_for_those_who_do_not_ask(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    """However long it is quiet."""
    recorder = Recorder()
    await world.watch(start=2, timeout_s=600).run(recorder)
    assert recorder.heard == b""


# ---------------------------------------------------------------- the end


async def test_a_watch_ends_when_its_time_is_up(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    """Cleanly, with everything it sent."""
    recorder = Recorder()
    start = trio.current_time()
    await world.watch(timeout_s=30).run(recorder)
    assert trio.current_time() - start == pytest.approx(30)
    assert recorder.seen == ["ADDED one", "ADDED two"]


async def ended_by_client(world: World, recorder: Recorder) -> None:
    """The client leaves."""
    recorder.closed.set()


async def ended_by_server(world: World, recorder: Recorder) -> None:
    """The server stops."""
    for scope in tuple(world.scopes):
        scope.cancel()


@pytest.mark.parametrize("end", [ended_by_client, ended_by_server])
async def test_nothing_is_left_of_a_watch(
    world: World, end: Callable[[World, Recorder], Awaitable[None]]
) -> None:
    """Neither a subscription nor a scope, whoever ends it."""
    recorder = Recorder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.watch().run, recorder)
        await trio.testing.wait_all_tasks_blocked()
        assert (world.hub.statistics().watchers, len(world.scopes)) == (1, 1)
        await end(world, recorder)
    assert (world.hub.statistics().watchers, len(world.scopes)) == (0, 0)


async def test_history_that_is_lost_is_410(world: World) -> None:
    """As an ERROR event in the stream; the client lists anew."""
    hub_of_another_start = Hub(world.store, window_bytes=0)
    for _ in range(3):
        await world.put("one")
    await world.store.compact(4)
    world.hub = hub_of_another_start
    recorder = Recorder()
    await world.watch(start=2).run(recorder)
    (event,) = recorder.events
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"] == "too old resource version: 2 (4)"


async def test_a_future_version_is_waited_for(world: World) -> None:
    """A watch from a revision that is to come sees what is behind it only."""
    async with world.watching(start=4) as heard:
        for name in ("three", "four", "five"):
            await world.put(name)
            await trio.testing.wait_all_tasks_blocked()
    assert heard.seen == ["ADDED five"]


async def test_a_state_that_is_too_old_is_not_sent(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    """The stream waits, not long, for the revision the client has seen elsewhere."""

    async def write() -> None:
        await trio.sleep(listing_module.FUTURE_WAIT_S / 2)
        await world.put("three")

    recorder = Recorder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await world.watch(not_older_than=3, initial_bookmark=True, timeout_s=5).run(recorder)
    assert recorder.seen == ["ADDED one", "ADDED three", "ADDED two", "BOOKMARK "]


async def test_a_state_from_the_future_is_refused_in_the_stream(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    """The answer has begun when the wait is over: 504 is an ERROR event."""
    recorder = Recorder()
    await world.watch(not_older_than=9, initial_bookmark=True).run(recorder)
    (event,) = recorder.events
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (504, "Timeout")
    assert event["object"]["message"] == "Timeout: Too large resource version: 9, current: 2"
    assert event["object"]["details"]["retryAfterSeconds"] == 1
