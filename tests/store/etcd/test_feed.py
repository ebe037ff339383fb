"""The watch that feeds a replica: what it tells, and what it does when it breaks or is in doubt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.errors import Code
from kubetrio.store.etcd.feed import Feed
from kubetrio.store.etcd.listing import PAGE_KEYS, Listing
from kubetrio.store.etcd.requests import Event, KeyValue
from kubetrio.testing.etcdmodel import CallError, EtcdModel, etcd_model

KEYS = (b"/t/", b"/t0")
TRIES = 600


class Told:
    """A follower that keeps what it is told.

    Attributes:
        revision: up to which everything was told.
        log: what was told, in words.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.log: list[str] = []

    def has(self, kv: KeyValue) -> bool:
        """See `Known`: it keeps nothing."""
        del kv
        return False

    async def agrees(self, kvs: Sequence[KeyValue]) -> bool:
        """See `Known`."""
        del kvs
        return False

    async def replace(self, listing: Listing, *, rewound: bool) -> None:
        """See `Follower`."""
        names = ",".join(kv.key.decode()[3:] for kv in listing.kvs)
        self.log.append(f"{'another' if rewound else 'all'} {names} at {listing.revision}")
        self.revision = listing.revision

    async def learn(self, events: Sequence[Event]) -> None:
        """See `Follower`."""
        names = ",".join(
            f"{'-' if event.deleted else '+'}{event.kv.key.decode()[3:]}{event.kv.revision}"
            for event in events
        )
        self.log.append(names)
        self.revision = events[-1].kv.revision

    def progress(self, revision: int) -> None:
        """See `Follower`."""
        if revision > self.revision:
            self.log.append(f"progress {revision}")
            self.revision = revision

    def taken(self) -> list[str]:
        """Return what was told since the last call."""
        log, self.log = self.log, []
        return log


class Followed:
    """A model, what follows it, and what is told.

    Args:
        model: of etcd.
        feed: the feed.
        told: its follower.
    """

    def __init__(self, model: EtcdModel, feed: Feed, told: Told) -> None:
        self.model = model
        self.feed = feed
        self.told = told

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        for _ in range(TRIES):
            if holds():
                return
            await trio.sleep(0.1)
        raise AssertionError("it does not come to hold")

    async def settled(self) -> list[str]:
        """Return what was told when the feed has come to the newest revision."""
        await self.until(lambda: not self.feed.behind and self.told.revision == self.model.revision)
        return self.told.taken()


@asynccontextmanager
async def following(*keys: bytes) -> AsyncIterator[Followed]:
    """A feed of a model that has some keys, which has told of them."""
    settings = ClientSettings(endpoints=["http://a"])
    async with (
        etcd_model() as model,
        open_client(settings, seeded(1), dial=model.dial) as client,
        trio.open_nursery() as nursery,
    ):
        for key in keys:
            model.put(b"/t/" + key, b"1")
        told = Told()
        feed = Feed(client, KEYS, told, seeded(2))
        await feed.load()
        nursery.start_soon(feed.run)
        followed = Followed(model, feed, told)
        await followed.until(lambda: model.calls["Watch"] == 1)
        told.taken()
        yield followed
        nursery.cancel_scope.cancel()


async def test_all_and_then_each_change(autojump_clock: MockClock) -> None:
    """What one revision has is told together, and other keys are not told."""
    async with following(b"a", b"b") as one:
        one.model.put(b"/other", b"1")
        one.model.put(b"/t/c", b"1")
        one.model.delete(b"/t/a", b"/t/b")
        assert "".join(await one.settled()) in ("+c5-a6,-b6", "+c5,-a6,-b6")


async def test_a_broken_watch_begins_where_it_ended(autojump_clock: MockClock) -> None:
    """Nothing is told twice, and nothing is read again."""
    async with following(b"a") as one:
        one.model.put(b"/t/b", b"1")
        await one.settled()
        one.model.down = True
        one.model.cut()
        one.model.put(b"/t/c", b"1")
        await one.until(lambda: bool(one.feed.behind))
        await trio.sleep(30)
        assert one.feed.broken > 1
        one.model.down = False
        assert await one.settled() == ["+c4"]
        assert one.feed.reloads == 0


async def test_attempts_rest_longer_and_longer(autojump_clock: MockClock) -> None:
    """At most 7.5 seconds, and from the beginning after a watch that lasted."""
    async with following(b"a") as one:
        one.model.down = True
        one.model.cut()
        await trio.sleep(300)
        in_five_minutes = one.feed.broken
        assert 20 < in_five_minutes < 100
        one.model.down = False
        await one.settled()
        await trio.sleep(60)
        broken = one.feed.broken
        one.model.cut()
        begun = trio.current_time()
        await one.until(lambda: one.feed.broken > broken)
        await one.settled()
        assert trio.current_time() - begun < 1


async def test_what_is_compacted_is_read_again(autojump_clock: MockClock) -> None:
    """And so it is when reading fails at first; until then it is said that nothing is told."""
    async with following(b"a", b"last") as one:
        one.model.down = True
        one.model.cut()
        one.model.put(b"/t/b", b"1")
        one.model.delete(b"/t/a")
        one.model.compact(one.model.revision)
        await one.until(lambda: bool(one.feed.behind))
        one.model.down = False
        one.model.fail("Range", CallError(Code.UNKNOWN, "etcdserver: unknown"))
        assert await one.settled() == ["all b,last at 5"]
        assert (one.feed.reloads, one.feed.rewinds) == (1, 0)


async def test_large_states_are_read_page_by_page(autojump_clock: MockClock) -> None:
    """All pages at the revision of the first."""
    async with etcd_model() as model:
        for number in range(PAGE_KEYS + 5):
            model.put(b"/t/%05d" % number, b"")
        settings = ClientSettings(endpoints=["http://a"])
        async with open_client(settings, seeded(1), dial=model.dial) as client:
            told = Told()
            await Feed(client, KEYS, told, seeded(2)).load()
        [all_of_it] = told.log
        assert all_of_it.count(",") == PAGE_KEYS + 4
        assert told.revision == model.revision
        assert model.calls["Range"] == 2


async def test_progress_is_told(autojump_clock: MockClock) -> None:
    """When it is asked for, of revisions that have none of the keys."""
    async with following(b"a") as one:
        revision = one.model.put(b"/other", b"1")
        one.feed.request_progress()
        await one.until(lambda: one.told.revision == revision)
        assert one.told.taken() == [f"progress {revision}"]


async def test_doubt(autojump_clock: MockClock) -> None:
    """Nothing is told until histories have been compared; those who wait for that then go on."""
    async with following(b"a") as one:
        await one.feed.current()
        one.feed.doubt("an old answer")
        assert one.feed.behind == "an old answer"
        one.model.put(b"/t/b", b"1")
        with trio.fail_after(10):
            await one.feed.current()
        assert await one.settled() == ["+b3"]
        assert (one.feed.reloads, one.feed.rewinds) == (0, 0)


async def test_another_history_is_read_anew(autojump_clock: MockClock) -> None:
    """Also where it cannot be read at first: it is not believed later."""
    async with following(b"a") as one:
        saved = one.model.save()
        one.model.put(b"/t/a", b"2")
        await one.settled()
        one.model.restore(saved)
        one.model.put(b"/t/a", b"3")
        one.model.put(b"/t/b", b"1")
        for _ in range(2):
            one.model.fail("Range", CallError(Code.UNKNOWN, "etcdserver: unknown"))
        assert await one.settled() == ["another a,b at 4"]
        assert (one.feed.reloads, one.feed.rewinds) == (1, 1)
