"""The store in memory: nothing is written to a disk, and all of it ends with the server.

For embedders and tests.  It keeps the contract of `store.model.Store`, history and compaction
included: the newest state of a key is one lookup, older ones are kept for as long as the history
window says.  Every write is a commit of its own and needs no task; only times to live and
compaction have one.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, Self

import trio

from kubetrio.store.announcing import CommitHooks
from kubetrio.store.arrivals import Arrivals, SoleWriter
from kubetrio.store.errors import (
    Compacted,
    FutureRevision,
    KeyExists,
    KeyMissing,
    RevisionMismatch,
)
from kubetrio.store.model import (
    Change,
    CommitHook,
    Event,
    EventType,
    JoinResult,
    KeyValue,
    ProgressHook,
    Range,
    RangeResult,
    Reopen,
    Revision,
    Stamped,
    unstampable,
)
from kubetrio.store.past import Past
from kubetrio.store.statistics import StoreStatistics

BREATH = 4096
"""Keys looked at between two looks of the event loop at others: a millisecond or so."""


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


class InMemoryStore(SoleWriter):
    """A store without a disk; follows `store.model.Store`.

    Args:
        reopen: opens the hole of complete bytes.
        wall: the wall clock, in seconds; revisions have no times without one.
    """

    def __init__(
        self, reopen: Reopen = unstampable, wall: Callable[[], float] | None = None
    ) -> None:
        self._reopen = reopen
        self._wall = wall
        self._dates = array("q")  # beside `_log`, where there is a clock
        self._revision: Revision = 0
        self.arrivals = Arrivals(0)
        self._compacted: Revision = 0
        self._live: dict[str, KeyValue] = {}
        self._states: dict[str, list[KeyValue | Revision]] = {}
        """States of each key, oldest first; a deletion is the revision that made it."""
        self._keys: list[str] = []  # of `_states`, in order
        self._log: list[Event] = []  # that of revision r at r - compacted - 1
        self._bytes = 0
        self._writes = 0
        self._endings: list[_Ending] = []
        self._sooner = trio.Event()
        self._hooks = CommitHooks()

    # ------------------------------------------------------------------ numbers

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision."""
        return self._compacted

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream."""
        self._hooks.add(hook)

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

    # ------------------------------------------------------------------ reads

    def _readable(self, at: Revision | None) -> Revision:
        if at is None:
            return self._revision
        if at > self._revision:
            raise FutureRevision(at, self._revision)
        if at < self._compacted:
            raise Compacted(at, self._compacted)
        return at

    def _at(self, key: str, at: Revision) -> KeyValue | None:
        """A key at a revision that may be read."""
        live = self._live.get(key)
        if live is not None and live.revision <= at:
            return live
        states = self._states.get(key, ())
        place = bisect_right(states, at, key=_revision_of) - 1
        found = states[place] if place >= 0 else None
        return found if isinstance(found, KeyValue) else None

    def _found(self, keys: Range, at: Revision) -> Iterator[KeyValue]:
        first, last = bisect_left(self._keys, keys.start), bisect_left(self._keys, keys.end)
        for key in self._keys[first:last]:
            found = self._at(key, at)
            if found is not None:
                yield found

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`."""
        return self._live.get(key) if at is None else self._at(key, self._readable(at))

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        revision, size = self._readable(at), 0
        items: list[KeyValue] = []
        for count, item in enumerate(self._found(keys, revision)):
            if (limit and count == limit) or (max_bytes and size >= max_bytes):
                return RangeResult(revision, items, more=True)
            if count % BREATH == BREATH - 1:
                await trio.lowlevel.checkpoint()
                self._readable(revision)  # history may have gone meanwhile
            items.append(item)
            size += len(item.value)
        return RangeResult(revision, items, more=False)

    async def join(
        self,
        keys: Range,
        *,
        skip: int,
        separator: bytes,
        at: Revision | None = None,
        limit: int = 0,
        max_bytes: int,
    ) -> JoinResult:
        """Values as one piece of bytes; see `Store.join`."""
        revision, size, last = self._readable(at), 0, ""
        parts: list[bytes] = []
        for count, item in enumerate(self._found(keys, revision)):
            size += len(item.value)
            if (limit and count == limit) or (parts and size > max_bytes):
                return JoinResult(revision, separator.join(parts), len(parts), last, more=True)
            parts.append(item.value[skip:])
            last = item.key
        return JoinResult(revision, separator.join(parts), len(parts), last, more=False)

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys; see `Store.count`."""
        return sum(1 for _ in self._found(keys, self._readable(at)))

    async def events(
        self, *, after: Revision, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision; see `Store.events`."""
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        found: list[Event] = []
        size = 0
        for event in self._log[after - self._compacted :]:
            if keys is not None and event.key not in keys:
                continue
            found.append(event)
            size += len(event.value)
            if size >= max_bytes:
                return found, event.revision
        return found, self._revision

    async def revisions_of(self, key: str) -> Sequence[Past]:
        """Retained revisions of a key; see `store.past.Retained`."""
        return [
            Past(_revision_of(state), _done(state), self._date(_revision_of(state)))
            for state in self._states.get(key, ())
        ]

    async def dates(self, revisions: Sequence[Revision]) -> Mapping[Revision, int]:
        """When revisions were made; see `store.past.Retained`."""
        dates = {revision: self._date(revision) for revision in revisions}
        return {revision: at for revision, at in dates.items() if at}

    def _date(self, revision: Revision) -> int:
        place = revision - self._compacted - 1
        return self._dates[place] if 0 <= place < len(self._dates) else 0

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
        key = change.key
        self._revision = revision = self._revision + 1
        before = self._live.get(key)
        stamped = change.value or self._reopen(before.value if before else b"")
        value = stamped.at(revision)
        states = self._states.get(key)
        if states is None:
            states = self._states[key] = []
            insort(self._keys, key)
        if change.type is EventType.DELETED:
            del self._live[key]
            states.append(revision)
        else:
            created = revision if before is None else before.create_revision
            self._live[key] = made = KeyValue(key, value, revision, created)
            states.append(made)
            if change.ttl_s:
                self._lives(_Ending(self._now() + change.ttl_s, revision, key))
        self._bytes += len(value)
        self._writes += 1
        event = Event(revision, key, change.type, value, before.value if before else None)
        self._log.append(event)
        if self._wall is not None:
            self._dates.append(int(self._wall() * 1000))
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
        if to > self._revision:
            raise FutureRevision(to, self._revision)
        if to <= self._compacted:
            raise Compacted(to, self._compacted)
        gone = self._log[: to - self._compacted]
        del self._log[: to - self._compacted], self._dates[: to - self._compacted]
        self._compacted = to
        for count, key in enumerate(dict.fromkeys(event.key for event in gone)):
            self._forget(key, to)
            if count % BREATH == BREATH - 1:
                await trio.lowlevel.checkpoint()
        self._bytes -= sum(len(event.previous or b"") for event in gone)
        self._bytes -= sum(len(event.value) for event in gone if event.type is EventType.DELETED)

    def _forget(self, key: str, to: Revision) -> None:
        states = self._states.get(key)
        if states is None:
            return
        place = bisect_right(states, to, key=_revision_of)
        # The state at the floor itself may still be asked for.
        keep = place - 1 if place and isinstance(states[place - 1], KeyValue) else place
        del states[:keep]
        if not states:
            del self._states[key]
            del self._keys[bisect_left(self._keys, key)]


def _revision_of(state: KeyValue | Revision) -> Revision:
    return state.revision if isinstance(state, KeyValue) else state


def _done(state: KeyValue | Revision) -> EventType:
    """What made a state."""
    if not isinstance(state, KeyValue):
        return EventType.DELETED
    created = state.create_revision == state.revision
    return EventType.CREATED if created else EventType.UPDATED


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
