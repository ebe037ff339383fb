"""How many objects there are: counted at start, when a kind comes, and by the commit stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.flow.estimate import Stored, Unsure
from kubetrio.flow.objects import ObjectCounts
from kubetrio.informers.dispatch import Callback, Dispatcher
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.model import KeyValue, Range, Revision, Stamped
from kubetrio.testing.store_model import MemoryStore

OLD, NEW = "/registry/old/", "/registry/new/"
VALUE = Stamped(b"<", b">")


class Subscriptions(Dispatcher):
    """A dispatcher that counts who follows it."""

    open = 0

    def subscribe(self, prefix: str, callback: Callback) -> Callable[[], None]:
        end = super().subscribe(prefix, callback)
        self.open += 1

        def ended() -> None:
            self.open -= 1
            end()

        return ended


class Slow(MemoryStore):
    """A store that can take its time to count, and can fail at it."""

    fails = False

    def __init__(self) -> None:
        super().__init__()
        self.ready = trio.Event()

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        await self.ready.wait()
        if self.fails:
            raise StoreUnavailable("broken")
        return await super().count(keys, at=at)


async def fill(store: MemoryStore, prefix: str, first: int, last: int) -> list[KeyValue]:
    return [await store.create(f"{prefix}{index}", VALUE) for index in range(first, last)]


@asynccontextmanager
async def counting(store: MemoryStore) -> AsyncIterator[ObjectCounts]:
    """Counts of what is below `OLD`, and a task that counts what is wanted."""
    counts, dispatcher = ObjectCounts(), Dispatcher(store)
    await counts.load(dispatcher, [OLD])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(counts.run, dispatcher)
        yield counts
        nursery.cancel_scope.cancel()


def number(counts: ObjectCounts, prefix: str) -> int:
    found = counts.stored(prefix)
    assert isinstance(found, Stored)
    return found.objects


async def test_counted_at_start_and_followed() -> None:
    """What is written and deleted later counts at once; what nobody asked for is unknown."""
    store = MemoryStore()
    written = await fill(store, OLD, 0, 40)
    async with counting(store) as counts:
        assert number(counts, OLD) == 40
        await fill(store, OLD, 40, 43)
        await store.delete(written[0].key, expected=written[0].revision)
        assert number(counts, OLD) == 42
        assert counts.stored(NEW) is Unsure.UNKNOWN


async def test_a_kind_that_comes_and_goes() -> None:
    """Its objects are unknown, then counted, each of them once, however often it came."""
    store = MemoryStore()
    await fill(store, NEW, 0, 40)
    async with counting(store) as counts:
        for last in (41, 42):
            counts.want([NEW])
            assert counts.stored(NEW) is Unsure.UNKNOWN
            await wait_all_tasks_blocked()
            await fill(store, NEW, last - 1, last)
            assert number(counts, NEW) == last
        counts.forget(NEW)
        assert counts.stored(NEW) is Unsure.UNKNOWN


async def test_one_that_goes_and_comes_while_it_is_counted() -> None:
    """It is counted for the second time, too."""
    store = Slow()
    await fill(store, NEW, 0, 40)
    async with counting(store) as counts:
        counts.want([NEW])
        await wait_all_tasks_blocked()  # in the middle of it
        counts.forget(NEW)
        counts.want([NEW])
        store.ready.set()
        await wait_all_tasks_blocked()
        assert number(counts, NEW) == 40


async def test_a_count_that_fails_is_made_again() -> None:
    """By the task that begins anew; it follows the store once."""
    store = Slow()
    await fill(store, NEW, 0, 40)
    counts, dispatcher = ObjectCounts(), Subscriptions(store)
    counts.want([NEW])
    store.ready.set()
    store.fails = True
    with pytest.raises(StoreUnavailable):
        await counts.run(dispatcher)
    assert counts.stored(NEW) is Unsure.UNKNOWN
    store.fails = False
    async with trio.open_nursery() as nursery:
        nursery.start_soon(counts.run, dispatcher)
        await wait_all_tasks_blocked()
        await fill(store, NEW, 40, 41)
        assert number(counts, NEW) == 41
        assert dispatcher.open == 1
        nursery.cancel_scope.cancel()
