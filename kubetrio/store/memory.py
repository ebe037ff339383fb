"""The store in memory: nothing is written to a disk, and all of it ends with the server.

For embedders and tests.  It keeps the contract of `store.model.Store`, history and compaction
included: the newest state of a key is one lookup, older ones are kept for as long as the history
window says.  Every write is a commit of its own and needs no task; only times to live and
compaction have one.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, Self

import trio

from kubetrio.store.announcing import CommitHooks
from kubetrio.store.arrivals import Arrivals, SoleWriter
from kubetrio.store.errors import (
    KeyExists,
    KeyMissing,
    RevisionMismatch,
)
from kubetrio.store.model import (
    Change,
    CommitHook,
    Event,
    EventType,
    KeyValue,
    ProgressHook,
    Reopen,
    Revision,
    Stamped,
    unstampable,
)
from kubetrio.store.statistics import StoreStatistics
from kubetrio.store.table import MemoryTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long history is kept.

    Args:
        history_window_s: seconds for which old revisions stay readable.
        compact_interval_s: seconds between two looks; 0 for never.
    """

    history_window_s: float = 300.0
    compact_interval_s: float = 60.0


class _Ending(NamedTuple):
    """A time to live, in the order in which they end."""

    ends: float
    revision: Revision
    key: str


class InMemoryStore(MemoryTable, SoleWriter):
    """A store without a disk; follows `store.model.Store`.

    Args:
        reopen: opens the hole of complete bytes.
        wall: the wall clock, in seconds; revisions have no times without one.
    """

    def __init__(
        self, reopen: Reopen = unstampable, wall: Callable[[], float] | None = None
    ) -> None:
        super().__init__(wall)
        self._reopen = reopen
        self.arrivals = Arrivals(0)
        self._writes = 0
        self._endings: list[_Ending] = []
        self._sooner = trio.Event()
        self._hooks = CommitHooks()

    # ------------------------------------------------------------------ numbers

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream."""
        self._hooks.add(hook)

    def forget_listeners(self) -> None:
        """Tell no listener of commits any more: the server that listened has ended."""
        self._hooks.clear()

    def on_progress(self, hook: ProgressHook) -> None:
        """Do nothing: each revision has an event."""

    def statistics(self) -> StoreStatistics:
        """A snapshot of numbers; sizes are of values."""
        return StoreStatistics(
            revision=self._revision,
            compacted=self._compacted,
            writes=self._writes,
            size_bytes=self._bytes,
            queued=0,
            failed_listeners=self._hooks.failures,
        )

    async def probe(self, limit_s: float) -> None:
        """It can always be read and written."""

    # ------------------------------------------------------------------ writes

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key; see `Store.create`."""
        return await self._one(Change(EventType.CREATED, key, value, 0, ttl_s))

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key; see `Store.update`."""
        return await self._one(Change(EventType.UPDATED, key, value, expected, ttl_s))

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key; see `Store.delete`."""
        return (await self._one(Change(EventType.DELETED, key, None, expected))).revision

    @property
    def freeing(self) -> Self:
        """All updates: there is always room."""
        return self

    @property
    def rewinding(self) -> Self:
        """All writes: they are made at once."""
        return self

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes at once; see `Rewinding.write_all`."""
        await trio.lowlevel.checkpoint()
        for change in changes:
            self._check(change)
        if changes:
            self._announce([self._make(change) for change in changes])

    def repeat(
        self,
        states: Iterable[KeyValue],
        floor: Revision,
        events: Iterable[tuple[Event, int]],
    ) -> None:
        """Have what another store has told, at its revisions, in place of all that is here.

        No listener is told of it, and no time to live goes on.

        Args:
            states: all keys at `floor`.
            floor: newest revision before the events.
            events: all after it, oldest first, and when each was, in milliseconds of the wall
                clock.
        """
        self._begin_anew(states, floor)
        for event, at_ms in events:
            self._apply(event, at_ms)
        self._endings.clear()
        self.arrivals.announce(self._revision)

    async def _one(self, change: Change) -> KeyValue:
        await trio.lowlevel.checkpoint()  # a task that writes in a loop lets others run
        self._check(change)
        before = self._live.get(change.key)
        event = self._make(change)
        self._announce([event])
        created = event.revision if before is None else before.create_revision
        return KeyValue(change.key, event.value, event.revision, created)

    def _check(self, change: Change) -> None:
        current = self._live.get(change.key)
        if change.type is EventType.CREATED:
            if current is not None:
                raise KeyExists(change.key, current.revision)
        elif current is None:
            raise KeyMissing(change.key, self._revision)
        elif current.revision != change.expected:
            raise RevisionMismatch(change.key, current.revision)

    def _make(self, change: Change) -> Event:
        key, revision = change.key, self._revision + 1
        before = self._live.get(key)
        stamped = change.value or self._reopen(before.value if before else b"")
        previous = before.value if before else None
        event = Event(revision, key, change.type, stamped.at(revision), previous)
        if self._apply(event) is not None and change.ttl_s:
            self._lives(_Ending(self._now() + change.ttl_s, revision, key))
        self._writes += 1
        return event

    def _announce(self, events: Sequence[Event]) -> None:
        self.arrivals.announce(self._revision)
        self._hooks.tell(events)

    # ------------------------------------------------------------------ time

    @staticmethod
    def _now() -> float:
        return trio.current_time()

    def _lives(self, ending: _Ending) -> None:
        heapq.heappush(self._endings, ending)
        if self._endings[0] is ending:
            self._sooner.set()

    async def expire(self) -> NoReturn:
        """Delete what has lived out its time, until cancelled."""
        while True:
            self._sooner = trio.Event()
            if not self._endings:
                await self._sooner.wait()
                continue
            with trio.move_on_after(max(0.0, self._endings[0].ends - self._now())):
                await self._sooner.wait()
                continue
            ending = heapq.heappop(self._endings)
            current = self._live.get(ending.key)
            if current is not None and current.revision == ending.revision:
                change = Change(EventType.DELETED, ending.key, None, current.revision)
                self._announce([self._make(change)])

    async def keep(self, retention: Retention) -> None:
        """Compact what is older than the history window, until cancelled.

        Args:
            retention: how long history is kept.
        """
        if not retention.compact_interval_s:
            return
        marks: deque[tuple[float, Revision]] = deque()
        while True:
            marks.append((self._now(), self._revision))
            await trio.sleep(retention.compact_interval_s)
            to = 0
            while marks and marks[0][0] <= self._now() - retention.history_window_s:
                to = marks.popleft()[1]
            if to > self._compacted:
                await self.compact(to)

    async def compact(self, to: Revision) -> None:
        """Forget states and events older than a revision; see `Store.compact`."""
        await self._forget_before(to)


@asynccontextmanager
async def open_memory(
    retention: Retention,
    reopen: Reopen = unstampable,
    wall: Callable[[], float] | None = None,
) -> AsyncIterator[InMemoryStore]:
    """A new store for as long as the block lasts.

    Args:
        retention: how long history is kept.
        reopen: opens the hole of complete bytes.
        wall: the wall clock that revisions are dated by.
    """
    store = InMemoryStore(reopen, wall)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.expire, name="times to live")
        nursery.start_soon(store.keep, retention, name="compaction")
        yield store
        nursery.cancel_scope.cancel()
