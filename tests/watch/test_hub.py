"""Watchers: live, lagging, leaving; what is delivered to whom."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.store.errors import Compacted
from kubetrio.store.model import Event, Gap, Range, Stamped
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.testing.environment import Hold, gated
from kubetrio.testing.store_model import FollowingStore, MemoryStore
from kubetrio.watch.group import Watcher, WatcherState
from kubetrio.watch.hub import (
    BYTES_AT_ONCE,
    PAUSE,
    PAUSE_MAX_S,
    PULL_ENTRIES,
    Hub,
    prefixes,
)
from kubetrio.watch.window import Batch

VALUE = Stamped(b"", b"x" * 100)


class Received:
    """A sink that keeps what it takes."""

    def __init__(self, *, takes: bool = True, then: Callable[[], None] = lambda: None) -> None:
        self.revisions: list[int] = []
        self.batches: list[Batch] = []
        self.takes = takes
        self.then = then
        self.lagged = 0

    def offer(self, batch: Batch) -> bool:
        self.take(batch)
        self.then()
        return self.takes

    def lag(self) -> None:
        self.lagged += 1

    def take(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.revisions += [event.revision for event in batch.events]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def hub(store: MemoryStore) -> Hub:
    return Hub(store)


async def create(store: MemoryStore, *keys: str) -> None:
    for key in keys:
        await store.create(key, VALUE)


async def catch_up(hub: Hub, watcher: Watcher, sink: Received) -> None:
    while (batch := await hub.pull(watcher)) is not None:
        sink.take(batch)


def is_live(watcher: Watcher) -> bool:
    return watcher.state is WatcherState.LIVE


async def live(hub: Hub, prefix: str, sink: Received) -> Watcher:
    """A watcher that has caught up."""
    watcher = hub.subscribe(prefix, hub.revision, sink)
    assert await hub.pull(watcher) is None
    assert is_live(watcher)
    return watcher


@pytest.mark.parametrize(
    ("key", "subscriptions"),
    [
        ("a", ["a"]),
        ("a/b", ["a/b", "a/"]),
        ("pods/ns/name", ["pods/ns/name", "pods/ns/", "pods/"]),
        ("/registry/pods", ["/registry/pods", "/registry/"]),
    ],
)
def test_a_key_belongs_to_its_folders(key: str, subscriptions: list[str]) -> None:
    """And to itself."""
    assert prefixes(key) == subscriptions


async def test_a_new_watcher_pulls_what_is_behind_its_start(store: MemoryStore, hub: Hub) -> None:
    """Its keys only, and then it is live."""
    await create(store, "a/1", "b/1", "a/2", "a")
    sink = Received()
    watcher = hub.subscribe("a/", 0, sink)
    assert not is_live(watcher)
    await catch_up(hub, watcher, sink)
    assert sink.revisions == [1, 3]
    assert is_live(watcher)


async def test_a_live_watcher_is_handed_each_commit(store: MemoryStore, hub: Hub) -> None:
    """Without being asked; other keys do not reach it."""
    sink = Received()
    await live(hub, "a/", sink)
    await create(store, "a/1", "ab", "b/1", "a/b/c")
    assert sink.revisions == [1, 4]


async def test_a_single_key_can_be_watched(store: MemoryStore, hub: Hub) -> None:
    """Live and behind, without the keys below it or next to it."""
    await create(store, "a", "a/1", "a0")
    sink = Received()
    watcher = hub.subscribe("a", 0, sink)
    await catch_up(hub, watcher, sink)
    await create(store, "a/2")
    await store.update("a", VALUE, expected=1)
    assert sink.revisions == [1, 5]


async def test_a_watcher_that_pulls_is_told_and_handed_nothing(
    store: MemoryStore, hub: Hub
) -> None:
    """It is live when nothing is left; a commit makes it lag, once, and others' keys do not."""
    sink = Received()
    watcher = hub.subscribe("a/", 0, sink, pulls=True)
    await catch_up(hub, watcher, sink)
    assert is_live(watcher)
    await create(store, "b/1")
    assert is_live(watcher)
    await create(store, "a/1", "a/2")
    assert (sink.lagged, sink.revisions, is_live(watcher)) == (1, [], False)
    await catch_up(hub, watcher, sink)
    assert (sink.revisions, is_live(watcher)) == ([2, 3], True)


async def test_a_watcher_that_pulls_has_no_old_cursor(store: MemoryStore, hub: Hub) -> None:
    """What it had nothing of may be compacted while it is live."""
    sink = Received()
    watcher = hub.subscribe("a/", 0, sink, pulls=True)
    await catch_up(hub, watcher, sink)
    await create(store, "b/1", "b/2", "b/3", "a/1")
    assert (watcher.cursor, hub.position(watcher)) == (3, 3)


async def test_equal_watchers_share_a_batch(store: MemoryStore, hub: Hub) -> None:
    """So that it is encoded once for all of them."""
    first, second = Received(), Received()
    await live(hub, "a/", first)
    await live(hub, "a/", second)
    await create(store, "a/1")
    assert first.batches[0] is second.batches[0]


async def test_a_live_watcher_has_nothing_to_pull(store: MemoryStore, hub: Hub) -> None:
    """What was handed to it is not handed out again, as after a bookmark."""
    sink = Received()
    watcher = await live(hub, "a/", sink)
    await create(store, "a/1", "a/2")
    await catch_up(hub, watcher, sink)
    assert sink.revisions == [1, 2]
    assert is_live(watcher)


async def test_a_full_sink_has_taken_the_batch_and_gets_no_more(
    store: MemoryStore, hub: Hub
) -> None:
    """Behind it the watcher pulls, from where the batch ended."""
    sink = Received(takes=False)
    watcher = await live(hub, "a/", sink)
    await create(store, "a/1", "a/2", "a/3")
    assert sink.revisions == [1]
    assert not is_live(watcher)
    sink.takes = True
    await catch_up(hub, watcher, sink)
    await create(store, "a/4")
    assert sink.revisions == [1, 2, 3, 4]


async def test_a_stalled_watcher_does_not_hold_up_others(store: MemoryStore, hub: Hub) -> None:
    """Each is concerned with itself."""
    stalled, healthy = Received(takes=False), Received()
    await live(hub, "a/", stalled)
    await live(hub, "a/", healthy)
    await create(store, "a/1", "a/2")
    assert (stalled.revisions, healthy.revisions) == ([1], [1, 2])


async def test_the_position_of_a_watcher(store: MemoryStore, hub: Hub) -> None:
    """A live one is where the hub is, also without events of its own; a lagging one behind."""
    sink = Received()
    watcher = await live(hub, "a/", sink)
    await create(store, "b/1")
    assert hub.position(watcher) == 1
    sink.takes = False
    await create(store, "a/1", "a/2")
    assert hub.position(watcher) == 2


async def test_a_watcher_that_left_gets_nothing(store: MemoryStore, hub: Hub) -> None:
    """Leaving twice is fine, and leaves nothing behind."""
    sink = Received()
    watcher = await live(hub, "a/", sink)
    assert hub.watchers_of(["a/"]) == 1
    hub.unsubscribe(watcher)
    hub.unsubscribe(watcher)
    await create(store, "a/1")
    assert sink.revisions == []
    assert (hub.watchers_of(["a/"]), hub.statistics().watchers) == (0, 0)


async def test_a_watcher_may_leave_while_it_is_served(store: MemoryStore, hub: Hub) -> None:
    """The others of its group are served."""
    watchers: list[Watcher] = []
    leaving = Received(then=lambda: hub.unsubscribe(watchers[0]))
    staying = Received()
    watchers.append(await live(hub, "a/", leaving))
    await live(hub, "a/", staying)
    await create(store, "a/1", "a/2")
    assert (leaving.revisions, staying.revisions) == ([1], [1, 2])


async def test_a_full_sink_that_left_stays_closed(store: MemoryStore, hub: Hub) -> None:
    """A sink that ends its watch and refuses more does not come back as lagging."""
    watchers: list[Watcher] = []
    sink = Received(takes=False, then=lambda: hub.unsubscribe(watchers[0]))
    watchers.append(await live(hub, "a/", sink))
    await create(store, "a/1")
    assert watchers[0].state is WatcherState.CLOSED


async def test_a_watcher_may_end_all_others(store: MemoryStore, hub: Hub) -> None:
    """As when watches of one connection end together; the publisher is not hurt."""
    watchers: list[Watcher] = []

    def end_all() -> None:
        for watcher in watchers:
            hub.unsubscribe(watcher)

    sinks = [Received(then=end_all) for _ in range(3)]
    for sink, each in zip(sinks, ["a/b/c", "a/b/", "a/"], strict=True):
        watchers.append(await live(hub, each, sink))
    other = Received()
    await live(hub, "x", other)
    await create(store, "a/b/c", "x")
    assert sum(len(sink.revisions) for sink in sinks) == 1
    assert other.revisions == [2]


async def test_a_watcher_may_join_while_others_are_served(store: MemoryStore, hub: Hub) -> None:
    """It lags behind its start like any other, and misses nothing."""
    late = Received()
    joined: list[Watcher] = []

    def join() -> None:
        if not joined:
            joined.append(hub.subscribe("a/", 0, late))

    await live(hub, "a/", Received(then=join))
    await create(store, "a/1", "a/2")
    await catch_up(hub, joined[0], late)
    assert late.revisions == [1, 2]


async def test_behind_the_window_the_store_is_read(store: MemoryStore) -> None:
    """And from its floor on the window again; the seam shows nowhere."""
    hub = Hub(store, window_bytes=5000)
    sink = Received()
    watcher = hub.subscribe("a/", 0, sink)
    await create(store, *(f"a/{number}" for number in range(50)))
    await catch_up(hub, watcher, sink)
    assert sink.revisions == list(range(1, 51))
    numbers = hub.statistics()
    assert numbers.from_store >= 1
    assert numbers.window_events < 50
    assert numbers.window_bytes <= 5000


async def test_the_window_is_pulled_in_pieces(store: MemoryStore, hub: Hub) -> None:
    """A batch is bounded; pieces without a matching event are skipped over."""
    await create(store, *(f"b/{number}" for number in range(PULL_ENTRIES)), "a/1")
    await create(store, *(f"b/x{number}" for number in range(2 * PULL_ENTRIES)), "a/2")
    sink, other = Received(), Received()
    await catch_up(hub, hub.subscribe("a/", 0, sink), sink)
    await catch_up(hub, hub.subscribe("b/", 0, other), other)
    assert sink.revisions == [PULL_ENTRIES + 1, 3 * PULL_ENTRIES + 2]
    assert max(len(batch.events) for batch in other.batches) <= PULL_ENTRIES
    assert len(other.revisions) == 3 * PULL_ENTRIES


async def test_behind_compaction_a_watcher_is_told(store: MemoryStore) -> None:
    """With what it asked for and what it could ask for."""
    hub = Hub(store, window_bytes=0)
    await create(store, "a/1", "a/2", "a/3")
    await store.compact(2)
    with pytest.raises(Compacted) as caught:
        await hub.pull(hub.subscribe("a/", 1, Received()))
    assert (caught.value.revision, caught.value.floor) == (1, 2)
    sink = Received()
    await catch_up(hub, hub.subscribe("a/", 2, sink), sink)
    assert sink.revisions == [3]


async def test_compaction_does_not_reach_the_window(store: MemoryStore, hub: Hub) -> None:
    """What is still in memory is delivered; nobody is sent away without need."""
    await create(store, "a/1", "a/2", "a/3")
    await store.compact(3)
    sink = Received()
    await catch_up(hub, hub.subscribe("a/", 0, sink), sink)
    assert sink.revisions == [1, 2, 3]


async def test_a_hub_begins_where_its_store_is(store: MemoryStore) -> None:
    """What was written before it is read from the store."""
    await create(store, "a/1", "a/2")
    hub = Hub(store)
    assert hub.revision == 2
    sink = Received()
    await catch_up(hub, hub.subscribe("a/", 0, sink), sink)
    assert (sink.revisions, hub.statistics().from_store) == ([1, 2], 1)


async def test_a_watcher_of_the_future_waits(store: MemoryStore, hub: Hub) -> None:
    """It is not live before its revision has come, and gets only what is behind it."""
    sink = Received()
    watcher = hub.subscribe("a/", 2, sink)
    await create(store, "a/1")
    assert await hub.pull(watcher) is None
    assert not is_live(watcher)
    await create(store, "a/2", "a/3")
    await catch_up(hub, watcher, sink)
    await create(store, "a/4")
    assert sink.revisions == [3, 4]


async def test_waiting_for_a_revision(store: MemoryStore, hub: Hub) -> None:
    """Each waits for its own, and those of the past do not wait."""
    arrived: list[int] = []

    async def wait(revision: int) -> None:
        await hub.wait_for(revision)
        arrived.append(revision)

    async with trio.open_nursery() as nursery:
        for revision in (3, 1, 2, 0):
            nursery.start_soon(wait, revision)
        for count in range(4):
            await wait_all_tasks_blocked()
            assert sorted(arrived) == list(range(count + 1))
            if count < 3:
                await create(store, f"k{count}")


async def test_who_gives_up_waiting_leaves_nothing_behind(store: MemoryStore, hub: Hub) -> None:
    """A client may ask for revisions that never come, as often as it likes."""
    async with trio.open_nursery() as nursery:
        for revision in (1, 5, 1_000_000, 1_000_000):
            nursery.start_soon(hub.wait_for, revision)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert hub._arrivals._waiting == []
    await create(store, "a")
    await hub.wait_for(1)


async def test_statistics_tell_who_is_served_how(store: MemoryStore, hub: Hub) -> None:
    """Watchers, live ones, and batches by their way."""
    sink = Received()
    await live(hub, "a/", sink)
    late = hub.subscribe("a/", 0, Received())
    await create(store, "a/1", "a/2", "b/1")
    await catch_up(hub, late, Received())
    numbers = hub.statistics()
    assert (numbers.watchers, numbers.live) == (2, 2)
    assert (numbers.delivered, numbers.pulled, numbers.from_store) == (2, 1, 0)
    assert numbers.window_events == 3


@pytest.fixture
async def ahead(tmp_path: Path) -> AsyncIterator[tuple[Hub, Callable[[], None]]]:
    """A hub whose store shows revision 2 before it is announced, and what announces it.

    Ours keeps to itself what is in flight; another store need not.
    """
    env, gate = gated(1)
    async with open_store(tmp_path, StoreConfig(), env) as store, trio.open_nursery() as nursery:
        store._commits._before_commit = lambda: None
        hub = Hub(store, window_bytes=0)
        await store.create("a/1", VALUE)
        gate.hold(Hold.BEHIND)
        nursery.start_soon(store.create, "a/2", VALUE)
        await wait_all_tasks_blocked()
        yield hub, gate.open
        gate.open()


async def test_a_pull_may_be_ahead_of_the_announcement(
    ahead: tuple[Hub, Callable[[], None]],
) -> None:
    """The store shows a commit earlier than the stream: it is delivered once all the same."""
    hub, announce = ahead
    sink = Received()
    watcher = hub.subscribe("a/", 0, sink)
    await catch_up(hub, watcher, sink)
    assert (sink.revisions, hub.revision) == ([1, 2], 1)
    assert not is_live(watcher)
    assert hub.position(watcher) == 2
    announce()
    await hub.wait_for(watcher.cursor)
    await catch_up(hub, watcher, sink)
    assert sink.revisions == [1, 2]
    assert is_live(watcher)


async def test_a_start_may_be_ahead_of_the_announcement(
    ahead: tuple[Hub, Callable[[], None]],
) -> None:
    """A list that showed the commit begins a watch behind it, and does not see it again."""
    hub, announce = ahead
    sink = Received()
    watcher = hub.subscribe("a/", 2, sink)
    assert await hub.pull(watcher) is None
    announce()
    await hub.wait_for(2)
    await catch_up(hub, watcher, sink)
    assert sink.revisions == []
    assert is_live(watcher)


# ---------------------------------------------------------------------- groups that are behind


class Rounds(trio.abc.Instrument):
    """Counts rounds of the event loop."""

    now = 0

    def before_io_wait(self, timeout: float) -> None:
        del timeout
        self.now += 1


@pytest.fixture
async def small(store: MemoryStore, nursery: trio.Nursery) -> Hub:
    """A hub whose task serves groups of more than two watchers, two at a time."""
    hub = Hub(store, at_once=2, pause=0)
    nursery.start_soon(hub.run)
    await wait_all_tasks_blocked()
    return hub


async def crowd(hub: Hub, size: int) -> tuple[list[Received], list[Watcher]]:
    """Live watchers of one prefix."""
    sinks = [Received() for _ in range(size)]
    return sinks, [await live(hub, "a/", sink) for sink in sinks]


async def test_a_large_group_is_served_with_turns_for_others(
    store: MemoryStore, small: Hub
) -> None:
    """Two watchers a round; a small group is served by the commit itself."""
    rounds, served = Rounds(), []
    trio.lowlevel.add_instrument(rounds)
    for _ in range(5):
        await live(small, "a/", Received(then=lambda: served.append(rounds.now)))
    other = Received()
    await live(small, "b/", other)
    await create(store, "a/1", "b/1")
    assert (other.revisions, served) == ([2], [])
    await wait_all_tasks_blocked()
    assert sorted(Counter(served).values()) == [1, 2, 2]


async def test_small_groups_together_are_a_large_one(store: MemoryStore, small: Hub) -> None:
    """What one commit hands out at once is bounded over all groups."""
    sinks = [Received() for _ in range(4)]
    for sink, prefix in zip(sinks, ("a/", "a/", "a/b/", "a/b/"), strict=True):
        await live(small, prefix, sink)
    await create(store, "a/b/1")
    assert sorted(len(sink.revisions) for sink in sinks) == [0, 0, 1, 1]
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in sinks] == [[1]] * 4


async def test_commits_meanwhile_go_out_together(store: MemoryStore, small: Hub) -> None:
    """In one batch, that all of the group share, without what is not theirs."""
    sinks, _ = await crowd(small, 3)
    await create(store, "a/1", "b/1", "a/2")
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in sinks] == [[1, 3]] * 3
    assert len({id(batch) for sink in sinks for batch in sink.batches}) == 1


async def test_without_its_task_the_hub_serves_everybody_at_once(store: MemoryStore) -> None:
    """Nobody waits for what does not run."""
    hub = Hub(store, at_once=2)
    sinks, _ = await crowd(hub, 5)
    await create(store, "a/1")
    assert [sink.revisions for sink in sinks] == [[1]] * 5


async def test_large_events_go_to_fewer_at_a_time(store: MemoryStore, small: Hub) -> None:
    """A turn is bounded in bytes, too; one watcher is always served."""
    rounds, served = Rounds(), []
    trio.lowlevel.add_instrument(rounds)
    for _ in range(2):
        await live(small, "a/", Received(then=lambda: served.append(rounds.now)))
    await store.create("a/1", Stamped(b"", b"x" * BYTES_AT_ONCE))
    assert served == []
    await wait_all_tasks_blocked()
    assert sorted(Counter(served).values()) == [1, 1]


async def test_positions_in_a_group_that_is_behind(store: MemoryStore, small: Hub) -> None:
    """Each watcher is where it was handed to, and those before the batch where the group is."""
    watchers: list[Watcher] = []
    seen: list[list[int]] = []

    def positions() -> list[int]:
        return sorted(small.position(watcher) for watcher in watchers)

    sinks = [Received(then=lambda: seen.append(positions())) for _ in range(3)]
    watchers += [await live(small, "a/", sink) for sink in sinks]
    await create(store, "b/1", "a/1")
    assert positions() == [1, 1, 1]
    await wait_all_tasks_blocked()
    assert seen == [[1, 1, 2], [1, 2, 2], [2, 2, 2]]
    await create(store, "b/2")
    assert positions() == [3, 3, 3]


async def test_who_pulled_meanwhile_is_not_handed_it_again(store: MemoryStore, small: Hub) -> None:
    """A watcher that joins a group that is behind has come further than the group."""
    sinks, _ = await crowd(small, 3)
    await create(store, "a/1", "a/2")
    late = Received()
    watcher = small.subscribe("a/", 0, late)
    await catch_up(small, watcher, late)
    assert small.position(watcher) == 2
    await create(store, "a/3")
    assert small.position(watcher) == 2
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in (*sinks, late)] == [[1, 2, 3]] * 4
    assert small.position(watcher) == 3


async def test_a_full_sink_of_a_group_that_is_behind_pulls(store: MemoryStore, small: Hub) -> None:
    """From behind the batch that it took."""
    sinks, watchers = await crowd(small, 3)
    sinks[0].takes = False
    await create(store, "a/1", "a/2")
    await wait_all_tasks_blocked()
    await create(store, "a/3")
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in sinks] == [[1, 2], [1, 2, 3], [1, 2, 3]]
    assert not is_live(watchers[0])
    await catch_up(small, watchers[0], sinks[0])
    assert sinks[0].revisions == [1, 2, 3]


async def test_what_cannot_be_read_for_all_each_is_told(
    store: MemoryStore, nursery: trio.Nursery
) -> None:
    """History was compacted before the hub came to it: the watchers pull, and are refused."""
    hub = Hub(store, window_bytes=0, at_once=2, pause=0)
    nursery.start_soon(hub.run)
    await wait_all_tasks_blocked()
    sinks, watchers = await crowd(hub, 3)
    await create(store, "a/1", "a/2")
    await store.compact(2)
    await wait_all_tasks_blocked()
    assert [(sink.lagged, sink.revisions) for sink in sinks] == [(1, [])] * 3
    for watcher in watchers:
        with pytest.raises(Compacted):
            await hub.pull(watcher)
    fresh = Received()
    await live(hub, "a/", fresh)
    for watcher in watchers:
        hub.unsubscribe(watcher)
    await create(store, "a/3")
    assert fresh.revisions == [3]  # the group is not behind any more


async def test_what_the_hub_leaves_behind_is_pulled(store: MemoryStore) -> None:
    """Its task may end first, and nobody misses anything."""
    hub = Hub(store, at_once=2, pause=0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.run)
        await wait_all_tasks_blocked()
        sinks, watchers = await crowd(hub, 3)
        await create(store, "a/1")
        nursery.cancel_scope.cancel()
    assert [sink.lagged for sink in sinks] == [1, 1, 1]
    for sink, watcher in zip(sinks, watchers, strict=True):
        await catch_up(hub, watcher, sink)
    await create(store, "a/2")
    assert [sink.revisions for sink in sinks] == [[1, 2]] * 3


async def test_a_group_that_all_left_is_forgotten(store: MemoryStore, small: Hub) -> None:
    """Also while it is behind; who comes then begins a new one."""
    sinks, watchers = await crowd(small, 3)
    await create(store, "a/1")
    for watcher in watchers:
        small.unsubscribe(watcher)
    late = Received()
    await live(small, "a/", late)
    await create(store, "a/2")
    assert late.revisions == [2]
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in sinks] == [[]] * 3
    assert small.watchers_of(["a/"]) == 1


async def test_a_group_is_not_ahead_of_the_announcement(
    ahead: tuple[Hub, Callable[[], None]], nursery: trio.Nursery
) -> None:
    """What the store shows before the stream does is handed out once."""
    hub, announce = ahead
    hub._pause = 0
    hub._at_once = 0
    sink = Received()
    watcher = hub.subscribe("a/", 1, sink)
    watcher.state = WatcherState.LIVE
    watcher.group.behind, watcher.group.settled, watcher.cursor = True, 0, 0
    hub._behind.append(watcher.group)
    hub._fell_behind.set()
    nursery.start_soon(hub.run)
    await wait_all_tasks_blocked()
    assert (sink.revisions, hub.position(watcher)) == ([1], 1)
    announce()
    await hub.wait_for(2)
    await wait_all_tasks_blocked()
    assert sink.revisions == [1, 2]


async def test_handing_out_leaves_time_for_requests(
    store: MemoryStore, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    """After a batch the hub pauses, so that the next one carries more; not for long."""
    hub = Hub(store, at_once=1)
    nursery.start_soon(hub.run)
    await wait_all_tasks_blocked()
    cost = 0.001
    sinks = [Received(then=lambda: mock_clock.jump(cost)) for _ in range(2)]
    for sink in sinks:
        await live(hub, "a/", sink)
    await create(store, "a/1")
    await wait_all_tasks_blocked()
    await create(store, "a/2", "a/3")
    mock_clock.jump(PAUSE * 2 * cost * 0.99)
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in sinks] == [[1]] * 2
    mock_clock.jump(PAUSE * 2 * cost * 0.02)
    cost = 1.0
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in sinks] == [[1, 2, 3]] * 2
    await create(store, "a/4")
    mock_clock.jump(PAUSE_MAX_S)
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in sinks] == [[1, 2, 3, 4]] * 2


# ---------------------------------------------------------------- gaps, and revisions of others


async def test_watchers_follow_revisions_with_gaps() -> None:
    """Live, lagging, from the window and from the store, from a number that no write has."""
    store = MemoryStore(step=10)
    hub = Hub(store, window_bytes=1200)
    live_one, late, between = Received(), Received(), Received(takes=False)
    await live(hub, "a/", live_one)
    await create(store, "a/1", "b/1", "a/2", "a/3", "a/4")
    assert live_one.revisions == [10, 30, 40, 50]
    await catch_up(hub, hub.subscribe("a/", 0, late), late)
    assert late.revisions == live_one.revisions
    watcher = hub.subscribe("a/", 25, between)
    await catch_up(hub, watcher, between)
    assert between.revisions == [30, 40, 50]
    assert is_live(watcher)


async def test_a_watch_from_a_number_that_nobody_makes_begins_behind_it() -> None:
    """It waits until the revisions have passed it."""
    store = MemoryStore(step=10)
    hub, sink = Hub(store), Received()
    watcher = hub.subscribe("a/", 15, sink)
    await create(store, "a/1", "a/2")
    with trio.fail_after(1):
        await hub.wait_for(15)
    await catch_up(hub, watcher, sink)
    assert sink.revisions == [20]


async def test_watchers_are_handed_what_others_write() -> None:
    """Nobody of this process wrote it."""
    leader = MemoryStore(step=3)
    store = FollowingStore(leader)
    hub, sink = Hub(store), Received()
    await live(hub, "a/", sink)
    await create(leader, "a/1", "b/1", "a/2")
    assert sink.revisions == [3, 9]


async def test_progress_without_events_is_a_watcher_s_position() -> None:
    """So a bookmark says it, who waits for it goes on, and nobody is woken for it."""
    leader = MemoryStore()
    hub, sink = Hub(FollowingStore(leader, Range.prefix("a/"))), Received()
    watcher = await live(hub, "a/", sink)
    behind = hub.subscribe("a/", 0, sink)
    await create(leader, "b/1", "b/2", "b/3")
    assert (hub.revision, hub.position(watcher)) == (3, 3)
    assert sink.batches == []
    assert is_live(watcher)
    with trio.fail_after(1):
        await hub.wait_for(3)
    await catch_up(hub, behind, sink)
    assert is_live(behind)
    await create(leader, "a/1")
    assert sink.revisions == [4, 4]


class Broken(Received):
    """A sink that cannot take a batch."""

    def offer(self, batch: Batch) -> bool:
        raise ZeroDivisionError

    def lag(self) -> None:
        super().lag()
        raise ZeroDivisionError


async def test_a_sink_that_fails_costs_its_watch_alone(
    store: MemoryStore, hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    """It is to pull what it did not take; the others have it, whole, and the log says why."""
    before, broken, after = Received(), Broken(), Received()
    await live(hub, "a/", before)
    watcher = await live(hub, "a/", broken)
    await live(hub, "a/", after)
    await create(store, "a/1", "b/1", "a/2")
    assert before.revisions == after.revisions == [1, 3]
    assert (broken.lagged, watcher.cursor, is_live(watcher)) == (1, 0, False)
    await catch_up(hub, watcher, broken)
    assert broken.revisions == [1, 3]
    assert hub.failed == 2
    assert store.statistics().failed_listeners == 0
    assert all(one.exc_info is None for one in caplog.records)


async def test_a_commit_that_cannot_be_handed_out_is_read_from_the_store(
    store: MemoryStore, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each watcher; nobody misses an event, and who waits for its revision goes on."""
    sink, late = Received(), Received()
    watcher = await live(hub, "a/", sink)
    lagging = hub.subscribe("a/", 0, late)
    await create(store, "a/1")

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(hub, "_hand", fail)
        await create(store, "a/2")
    assert not is_live(watcher)
    assert hub.revision == 2
    await create(store, "a/3")
    await catch_up(hub, watcher, sink)
    await catch_up(hub, lagging, late)
    assert sink.revisions == late.revisions == [1, 2, 3]
    await create(store, "a/4")
    assert sink.revisions == [1, 2, 3, 4]


# ---------------------------------------------------------------------- gaps in history


def gap(revision: int, *, rewound: bool = False) -> Gap:
    return Gap(revision, (), rewound=rewound)


async def test_no_watcher_crosses_a_gap_by_the_window(store: MemoryStore, hub: Hub) -> None:
    """What a live watcher lacks is read from the store, if the store has it; the window begins
    behind the gap.
    """
    sink = Received()
    watcher = await live(hub, "a/", sink)
    hub.skip(gap(hub.revision))
    assert sink.lagged == 1
    assert await hub.pull(watcher) is None
    assert is_live(watcher)
    await create(store, "a/1", "a/2")
    hub.skip(gap(hub.revision))
    late = hub.subscribe("a/", 0, Received())
    batch = await hub.pull(late)
    assert batch is not None
    assert [event.revision for event in batch.events] == [1, 2]
    assert hub.statistics().from_store == 1
    await store.compact(2)
    with pytest.raises(Compacted):
        await hub.pull(hub.subscribe("a/", 1, Received()))


async def test_a_gap_behind_which_a_group_is(store: MemoryStore, small: Hub) -> None:
    """Its watchers pull for themselves, each event once, and are served together again."""
    sinks, watchers = await crowd(small, 5)
    await create(store, "a/1")
    small.skip(gap(small.revision))
    await wait_all_tasks_blocked()
    for sink, watcher in zip(sinks, watchers, strict=True):
        await catch_up(small, watcher, sink)
    await create(store, "a/2")
    await wait_all_tasks_blocked()
    assert [sink.revisions for sink in sinks] == [[1, 2]] * 5


async def test_watches_end_with_their_history(store: MemoryStore, hub: Hub) -> None:
    """Live ones, lagging ones and those that wait for a revision; later ones of lost revisions."""
    await create(store, "a/1", "a/2", "a/3")
    sink = Received()
    watchers = [
        await live(hub, "a/", sink),
        hub.subscribe("a/", 1, sink),
        hub.subscribe("a/", 9, sink),
    ]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.begun, watchers[2])
        await wait_all_tasks_blocked()
        hub.skip(gap(2, rewound=True))
    assert sink.lagged == 3
    for watcher in (*watchers, hub.subscribe("a/", 3, sink)):
        assert watcher.state is WatcherState.LOST
        with pytest.raises(Compacted):
            await hub.pull(watcher)
    hub.unsubscribe(watchers[0])
    assert watchers[0].state is WatcherState.CLOSED
    assert is_live(await live(hub, "a/", sink))
    assert hub.subscribe("a/", 4, sink).state is WatcherState.LAGGING


async def test_a_history_that_is_lost_while_it_is_read() -> None:
    """Nothing of it is handed over."""
    store, hold = MemoryStore(), trio.Event()
    hub = Hub(store, window_bytes=1)
    await create(store, "a/1", "a/2")
    read = store.events

    class Slow:
        """Reads events when it is let."""

        revision, compacted = 2, 0
        on_commit, on_progress, on_gap = store.on_commit, store.on_progress, store.on_gap
        newest, caught_up = store.newest, store.caught_up

        async def events(
            self, *, after: int, keys: Range | None = None, max_bytes: int
        ) -> tuple[Sequence[Event], int]:
            await hold.wait()
            return await read(after=after, keys=keys, max_bytes=max_bytes)

    hub = Hub(Slow(), window_bytes=1)
    watcher = hub.subscribe("a/", 0, Received())

    async def pull() -> None:
        with pytest.raises(Compacted):
            await hub.pull(watcher)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pull)
        await wait_all_tasks_blocked()
        hub.skip(gap(2, rewound=True))
        hold.set()


async def test_lagging_watchers_share_a_batch(store: MemoryStore) -> None:
    """Who lags at the same time gets the same batches soon, wherever each began."""
    hub = Hub(store)
    for number in range(PULL_ENTRIES + 2):
        await create(store, f"k/{number}")
    first = hub.subscribe("k/", 0, Received())
    second = hub.subscribe("k/", 5, Received())
    batches = [await hub.pull(first), await hub.pull(second)]
    assert [len(batch.events) for batch in batches if batch] == [PULL_ENTRIES, PULL_ENTRIES - 5]
    shared = [await hub.pull(first), await hub.pull(second)]
    assert shared[0] is shared[1] is not None
