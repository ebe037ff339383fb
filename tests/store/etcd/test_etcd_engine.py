"""A replica: what it reads and writes, and what becomes of its watchers when history is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.store.consistent import ConsistentStore
from kubetrio.store.errors import (
    Compacted,
    EngineFailed,
    StoreBehind,
    StoreFull,
    StoreUnavailable,
)
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.errors import Code
from kubetrio.store.model import Event, EventType, KeyValue, Stamped
from kubetrio.testing.etcdmodel import NO_SPACE, CallError, EtcdModel, etcd_model
from kubetrio.testing.etcdstore import modelled, stored
from kubetrio.watch.group import Watcher, WatcherState
from kubetrio.watch.hub import Hub
from kubetrio.watch.window import Batch

TRIES = 600


def value(text: str = "") -> Stamped:
    return Stamped(b'{"rev":', b',"text":"%b"}' % text.encode())


def reopen(complete: bytes) -> Stamped:
    return Stamped(b'{"rev":', complete[complete.index(b",") :])


class Sink:
    """Takes all batches, and counts how often it is to pull."""

    def __init__(self) -> None:
        self.revisions: list[int] = []
        self.lagged = 0

    def offer(self, batch: Batch) -> bool:
        """See `watch.hub.Sink`."""
        self.revisions += [event.revision for event in batch.events]
        return True

    def lag(self) -> None:
        """See `watch.hub.Sink`."""
        self.lagged += 1


class Replica:
    """A model, a replica of it, and what follows the replica.

    Args:
        model: of etcd.
        store: the replica.
    """

    def __init__(self, model: EtcdModel, store: EtcdStore) -> None:
        self.model = model
        self.store = store
        self.hub = Hub(store)
        self.dispatcher = Dispatcher(store)

    def put(self, key: str, text: str = "") -> int:
        """Write a key as another replica does; return the revision."""
        return self.model.put(b"/t/" + key.encode(), stored(value(text)))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        for _ in range(TRIES):
            if holds():
                return
            await trio.sleep(0.1)
        raise AssertionError("it does not come to hold")

    async def settled(self) -> None:
        """Wait until the replica has come to the newest revision of etcd."""
        await self.until(
            lambda: (
                self.store.feed is not None
                and not self.store.feed.behind
                and self.store.revision == self.model.revision
            )
        )

    async def broken(self) -> None:
        """Break the connection, and wait until the replica has seen it."""
        feed = self.store.feed
        assert feed is not None
        broken = feed.broken
        self.model.down = True
        self.model.cut()
        await self.until(lambda: feed.broken > broken)

    async def watching(self, cursor: int) -> tuple[Watcher, Sink]:
        """Watch everything after a revision, and pull until live."""
        sink = Sink()
        watcher = self.hub.subscribe("/r/", cursor, sink)
        while (batch := await self.hub.pull(watcher)) is not None:
            sink.offer(batch)
        return watcher, sink


@asynccontextmanager
async def replica() -> AsyncIterator[Replica]:
    """A replica of an empty model."""
    async with etcd_model() as model, modelled(model, reopen) as store:
        yield Replica(model, store)


async def lose_history(one: Replica) -> None:
    """Have etcd go on without the replica, and compact what it has not seen."""
    one.put("/last", "unchanged, so that the history is known again")
    await one.settled()
    await one.broken()
    one.put("/r/gap", "created")
    one.model.delete(b"/t//r/gap", b"/t//r/gone")
    one.put("/r/stays", "2")
    one.model.compact(one.model.revision)
    one.model.down = False
    await one.settled()


async def test_a_gap_is_not_crossed_by_the_window(autojump_clock: MockClock) -> None:
    """A client that resumes before it hears that history is gone, though the window reached there.

    A client that resumes behind it is served.
    """
    async with replica() as one:
        begun = one.put("/r/stays", "1")
        await one.settled()
        await lose_history(one)
        with pytest.raises(Compacted):
            await one.watching(begun)
        watcher, sink = await one.watching(one.store.revision)
        later = one.put("/r/a")
        await one.settled()
        assert watcher.state is WatcherState.LIVE
        assert sink.revisions == [later]


async def test_a_gap_ends_live_watches(autojump_clock: MockClock) -> None:
    """They are told to pull, and then that what comes next is gone; none is told half of it."""
    async with replica() as one:
        begun = one.put("/r/stays", "1")
        await one.settled()
        watcher, sink = await one.watching(begun)
        await lose_history(one)
        assert sink.lagged == 1
        assert sink.revisions == []
        assert watcher.state is WatcherState.LAGGING
        with pytest.raises(Compacted):
            await one.hub.pull(watcher)


async def test_informers_hear_of_what_differs(autojump_clock: MockClock) -> None:
    """One event for each key, and nothing of what came and went."""
    async with replica() as one:
        one.put("/r/gone", "1")
        one.put("/r/stays", "1")
        await one.settled()
        told: list[Event] = []
        one.dispatcher.subscribe("/r/", told.append, after=one.store.revision)
        await lose_history(one)
        assert [(event.key, event.type) for event in told] == [
            ("/r/gone", EventType.DELETED),
            ("/r/stays", EventType.UPDATED),
        ]


# ---------------------------------------------------------------------- another history


async def test_a_member_that_lags_is_no_other_history(autojump_clock: MockClock) -> None:
    """A watch that it opens goes on where the last one ended."""
    async with replica() as one:
        one.put("/r/a", "1")
        begun = one.put("/r/a", "2")
        await one.settled()
        watcher, sink = await one.watching(begun)
        one.model.behind = 2
        one.model.cut()
        later = one.put("/r/a", "3")
        await one.settled()
        assert one.store.feed is not None
        assert one.store.feed.rewinds == 0
        assert (watcher.state, sink.revisions) == (WatcherState.LIVE, [later])


async def restored(one: Replica) -> None:
    """Have etcd be what it was two revisions before the last that the replica saw."""
    one.put("/r/a", "kept")
    saved = one.model.save()
    one.put("/r/a", "lost")
    one.put("/r/b", "lost")
    await one.settled()
    one.model.restore(saved)


async def test_an_etcd_that_was_restored_is_read_anew(autojump_clock: MockClock) -> None:
    """The replica goes on, its watches end, and its informers hear of what differs."""
    async with replica() as one:
        told: list[Event] = []
        one.dispatcher.subscribe("/r/", told.append, after=one.store.revision + 100)
        await restored(one)
        old = one.store.revision
        lost = [(await one.watching(old))[0], one.hub.subscribe("/r/", old + 5, Sink())]
        told.clear()
        await one.settled()
        assert one.store.feed is not None
        assert one.store.feed.rewinds == 1
        for watcher in (*lost, one.hub.subscribe("/r/", old, Sink())):
            with pytest.raises(Compacted):
                await one.hub.pull(watcher)
        with pytest.raises(Compacted):
            await one.store.events(after=one.store.revision - 1, max_bytes=1)
        assert [(event.key, event.type) for event in told] == [
            ("/r/a", EventType.UPDATED),
            ("/r/b", EventType.DELETED),
        ]
        assert b"kept" in told[0].value
        watcher, sink = await one.watching(one.store.revision)
        later = one.put("/r/b", "new")
        await one.settled()
        assert (watcher.state, sink.revisions) == (WatcherState.LIVE, [later])


async def test_nothing_of_a_lost_history_is_read(autojump_clock: MockClock) -> None:
    """A consistent read that begins after etcd was restored waits until the table is new."""
    async with replica() as one:
        consistent = ConsistentStore(one.store)
        await restored(one)
        found = await consistent.get("/r/a")
        assert found is not None
        assert b"kept" in found.value
        assert await consistent.get("/r/b") is None


async def test_a_write_to_an_etcd_that_was_restored(autojump_clock: MockClock) -> None:
    """Is answered when the replica has the history that it is in."""
    async with replica() as one:
        await restored(one)
        old = one.store.revision
        await trio.sleep(0.01)  # the connection is known to be broken
        made = await one.store.create("/r/c", value("new"))
        assert made.revision < old
        found = await one.store.get("/r/c")
        assert found == made
        assert await one.store.get("/r/b") is None


async def test_a_lost_history_is_told_to_health_checks(autojump_clock: MockClock) -> None:
    """Until everything has been read again."""
    async with replica() as one:
        await restored(one)
        for _ in range(3):
            one.model.fail("Range", CallError(Code.UNKNOWN, "etcdserver: corrupt"))
        with pytest.raises(StoreUnavailable):
            await one.store.probe(2.0)
        await one.settled()
        await one.store.probe(2.0)


def nothing(_: Replica) -> None:
    """Do nothing."""


def delete(one: Replica) -> None:
    """Delete the key that the restored etcd has."""
    one.model.delete(b"/t//r/a")


def elsewhere(one: Replica) -> None:
    """Write a key that is none of the replica's."""
    one.model.put(b"/elsewhere", b"1")


@pytest.mark.parametrize("between", [nothing, delete, elsewhere])
async def test_an_etcd_that_was_restored_and_has_grown_since(
    autojump_clock: MockClock, between: Callable[[Replica], None]
) -> None:
    """Is found out, whatever its newest revision is now, and whatever was told last."""
    async with replica() as one:
        consistent = ConsistentStore(one.store)
        one.put("/r/a", "kept")
        saved = one.model.save()
        if between is elsewhere:
            elsewhere(one)
            saved = one.model.save()
        else:
            one.put("/r/a", "lost")
        between(one)
        await consistent.newest()
        await consistent.caught_up(one.model.revision)
        watcher, sink = await one.watching(one.store.revision)
        one.model.held = True
        one.model.restore(saved)
        for text in ("other", "others", "another"):
            one.put("/r/a", text)
        one.model.release()
        found = await consistent.get("/r/a")
        assert found is not None
        assert b"another" in found.value
        assert one.store.feed is not None
        assert one.store.feed.rewinds == 1
        assert sink.revisions == []
        with pytest.raises(Compacted):
            await one.hub.pull(watcher)


async def test_fresh_reads_of_an_old_etcd_do_not_hide_another_history(
    autojump_clock: MockClock,
) -> None:
    """They write a key, at the same revisions of both histories and as often."""
    async with etcd_model("3.4.23") as model, modelled(model, reopen) as store:
        one = Replica(model, store)
        one.put("/r/a", "kept")
        saved = model.save()
        one.put("/r/a", "lost")
        await store.caught_up(await store.newest())
        one.model.held = True
        model.restore(saved)
        one.put("/r/a", "other")
        async with modelled(model, reopen, 2) as another:
            await another.newest()
        one.put("/r/b", "later")
        model.release()
        await one.settled()
        assert store.feed is not None
        assert store.feed.rewinds == 1
        found = await store.get("/r/a")
        assert found is not None
        assert b"other" in found.value


@pytest.mark.parametrize("between", [nothing, delete])
async def test_the_same_history_is_known_again(
    autojump_clock: MockClock, between: Callable[[Replica], None]
) -> None:
    """Also where the key that was told last has changed since."""
    async with replica() as one:
        one.put("/r/a", "told")
        between(one)
        await one.settled()
        watcher, sink = await one.watching(one.store.revision)
        await one.broken()
        later = [one.put("/r/a", "later"), one.put("/r/a", "last")]
        one.model.down = False
        await one.settled()
        assert one.store.feed is not None
        assert (one.store.feed.rewinds, one.store.feed.reloads) == (0, 0)
        assert (watcher.state, sink.revisions) == (WatcherState.LIVE, later)


async def test_a_history_that_cannot_be_compared(autojump_clock: MockClock) -> None:
    """Counts as another one: what was told last is compacted, and has changed since."""
    async with replica() as one:
        one.put("/r/a", "told")
        await one.settled()
        watcher, _ = await one.watching(one.store.revision)
        await one.broken()
        one.put("/r/a", "later")
        one.model.compact(one.model.revision)
        one.model.down = False
        await one.settled()
        assert one.store.feed is not None
        assert (one.store.feed.rewinds, one.store.feed.reloads) == (0, 1)
        assert watcher.state is WatcherState.LOST


# ---------------------------------------------------------------------- failures

LOST = CallError(Code.UNAVAILABLE, "etcdserver: request timed out, possibly due to connection lost")


@pytest.mark.parametrize("done", [True, False])
async def test_a_write_that_may_have_been_made(autojump_clock: MockClock, *, done: bool) -> None:
    """Is not taken for one that was not: its error says so, and what etcd said."""
    async with replica() as one:
        made = await one.store.create("/r/a", value("1"))
        writes: list[Callable[[], Awaitable[KeyValue]]] = [
            lambda: one.store.create("/r/b", value("1")),
            lambda: one.store.update("/r/a", value("2"), expected=made.revision),
        ]
        for write in writes:
            one.model.fail("Txn", LOST, done=done)
            with pytest.raises(EngineFailed, match="possibly due to connection lost") as failure:
                await write()
            assert failure.value.undecided
            assert not failure.value.timed_out
        one.model.fail("Txn", None, done=done)
        with pytest.raises(EngineFailed) as failure:
            await one.store.create("/r/c", value("1"))
        assert failure.value.undecided
        assert failure.value.timed_out
        one.model.fail("Txn", CallError(Code.UNAVAILABLE, "etcdserver: leader changed"), done=done)
        with pytest.raises(EngineFailed) as failure:
            await one.store.delete("/r/a", expected=one.model.state()[b"/t//r/a"].revision)
        assert failure.value.undecided
        await one.settled()
        assert (await one.store.get("/r/b") is not None) is done
        assert (await one.store.get("/r/a") is None) is done


async def test_a_write_that_was_not_made(autojump_clock: MockClock) -> None:
    """Its error says that, too."""
    async with replica() as one:
        one.model.fail("Txn", CallError(Code.RESOURCE_EXHAUSTED, "etcdserver: too many requests"))
        with pytest.raises(EngineFailed, match="too many requests") as failure:
            await one.store.create("/r/a", value("1"))
        assert not failure.value.undecided


async def test_no_room(autojump_clock: MockClock) -> None:
    """A write that finds none is refused, and health checks hear of it until one finds some."""
    async with replica() as one:
        made = await one.store.create("/r/a", value("1"))
        one.model.full = True
        with pytest.raises(StoreFull):
            await one.store.update("/r/a", value("2"), expected=made.revision)
        assert one.store.statistics().refusing
        await one.store.delete("/r/a", expected=made.revision)
        assert one.store.statistics().refusing
        one.model.full = False
        made = await one.store.create("/r/a", value("1"))
        assert not one.store.statistics().refusing
        one.model.fail("Txn", CallError(Code.RESOURCE_EXHAUSTED, NO_SPACE))
        with pytest.raises(StoreFull):
            await one.store.delete("/r/a", expected=made.revision)
        assert one.store.statistics().refusing


async def test_a_lease_that_is_gone(autojump_clock: MockClock) -> None:
    """A value that was to hang on it hangs on a new one."""
    async with etcd_model() as model, modelled(model, reopen, lease_reuse_s=60) as store:
        await store.create("/r/a", value("1"), ttl_s=600)
        model.lose_leases()
        await store.create("/r/b", value("1"), ttl_s=600)
        leases = {kv.lease for kv in model.state().values()}
        assert len(leases) == 2
        assert model.calls["LeaseGrant"] == 2


async def test_reads_that_promise_freshness_take_no_time_without_end(
    autojump_clock: MockClock,
) -> None:
    """What is written is not told here, or etcd says nothing at all."""
    async with replica() as one:
        consistent = ConsistentStore(one.store, behind_max_s=3.0)
        one.model.held = True
        newest = one.put("/r/a", "1")
        with pytest.raises(StoreBehind) as behind:
            await consistent.get("/r/a")
        assert (behind.value.revision, behind.value.current) == (newest, newest - 1)
        one.model.fail("Range", None)
        with pytest.raises(EngineFailed) as failure:
            await consistent.get("/r/a")
        assert failure.value.timed_out
        assert await consistent.cached.get("/r/a") is None
        one.model.release()
        assert await consistent.get("/r/a") is not None
