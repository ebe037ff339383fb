"""The store as a list: a reference model that is slow, small and obviously right.

The log holds every revision that was ever made, in order; every answer is computed from it by
looking at all of it.  Compaction forgets nothing: it only moves the floor below which questions are
refused, so an engine that forgets too much is told apart from this one.  No method waits.

Passes the same contract suite as the SQLite store and stands in for it in tests, as any engine that
the contract allows: one that leaves revisions out, one that stamps values when they are read, one
that is told of revisions by another process (`FollowingStore`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

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
    Revision,
    Stamped,
    unstampable,
)
from kubetrio.store.statistics import StoreStatistics

UNKNOWN = Stamped(b"", b"")


@dataclass(frozen=True, slots=True)
class Logged:
    """One revision of the log.

    Args:
        revision: the revision.
        key: the key it changed.
        type: what it did.
        written: the value after it, with its hole where it is stamped when it is read.
        created: revision that created the key.
        before: what it replaced.
        at: when it was made, by the model's clock, seconds.
        ends: when its time to live is over, None for never.
        stamp: where the hole of its value is: bytes before and behind.
    """

    revision: Revision
    key: str
    type: EventType
    written: Stamped | bytes
    created: Revision
    before: Logged | None
    at: float = 0.0
    ends: float | None = None
    stamp: Stamped = UNKNOWN

    @property
    def value(self) -> bytes:
        """The complete bytes."""
        return self.written if isinstance(self.written, bytes) else self.written.at(self.revision)

    @property
    def event(self) -> Event:
        """What it did, as it is announced."""
        before = self.before.value if self.before else None
        return Event(self.revision, self.key, self.type, self.value, before)

    @property
    def state(self) -> KeyValue:
        """The key after it; of a deletion, the key as it was deleted."""
        return KeyValue(self.key, self.value, self.revision, self.created)


class MemoryStore(SoleWriter):
    """The reference model; follows `store.model.Store`.

    Args:
        step: by how much each revision is greater than the one before it.
        stamps_on_read: keep values with their hole, and fill it when they are read.
    """

    def __init__(self, *, step: int = 1, stamps_on_read: bool = False) -> None:
        self.log: list[Logged] = []
        self._step = step
        self._stamps_on_read = stamps_on_read
        self.arrivals = Arrivals(0)
        self._compacted: Revision = 0
        self._behind_s = 0.0  # of Trio's clock
        self._hooks = CommitHooks()
        self._progress_hooks: list[ProgressHook] = []

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision."""
        return self._compacted

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream."""
        self._hooks.add(hook)

    def on_progress(self, hook: ProgressHook) -> None:
        """Add a listener of progress without events."""
        self._progress_hooks.append(hook)

    def statistics(self) -> StoreStatistics:
        """A snapshot of numbers; every write is its own commit, and there is no file."""
        return StoreStatistics(
            revision=self.revision,
            compacted=self._compacted,
            writes=len(self.log),
            size_bytes=0,
            failed_listeners=self._hooks.failures,
            queued=0,
        )

    # ------------------------------------------------------------------ reads

    def logged(self, after: Revision = 0, upto: Revision | None = None) -> list[Logged]:
        """The log between two revisions, the second of them included."""
        last = self.revision if upto is None else upto
        return [item for item in self.log if after < item.revision <= last]

    def live(self, at: Revision | None = None) -> dict[str, Logged]:
        """What made the live keys what they are, in key order; raises as `state`."""
        if at is None:
            at = self.revision
        if at > self.revision:
            raise FutureRevision(at, self.revision)
        if at < self._compacted:
            raise Compacted(at, self._compacted)
        live: dict[str, Logged] = {}
        for logged in self.logged(upto=at):
            if logged.type is EventType.DELETED:
                del live[logged.key]
            else:
                live[logged.key] = logged
        return dict(sorted(live.items()))

    def state(self, at: Revision | None = None) -> dict[str, KeyValue]:
        """Live keys in key order, newest or at a revision.

        Raises:
            Compacted: `at` is older than the history kept.
            FutureRevision: `at` is newer than the newest revision.
        """
        return {key: logged.state for key, logged in self.live(at).items()}

    async def probe(self, limit_s: float) -> None:
        """It can always be read."""

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`."""
        return self.state(at).get(key)

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        values = [value for key, value in self.state(at).items() if key in keys]
        taken = values[:limit] if limit else values
        if max_bytes:
            before = itertools.accumulate((len(item.value) for item in taken), initial=0)
            taken = [item for item, size in zip(taken, before, strict=False) if size < max_bytes]
        return RangeResult(
            self.revision if at is None else at, taken, more=len(taken) < len(values)
        )

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
        """Values as one piece of bytes: as many as `max_bytes` holds; see `Store.join`."""
        page = await self.range(keys, at=at, limit=limit)
        taken: list[KeyValue] = []
        size = 0
        for item in page.items:
            size += len(item.value)
            if taken and size > max_bytes:
                break
            taken.append(item)
        return JoinResult(
            page.revision,
            separator.join(item.value[skip:] for item in taken),
            len(taken),
            taken[-1].key if taken else "",
            more=page.more or len(taken) < len(page.items),
        )

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys; see `Store.count`."""
        return sum(key in keys for key in self.state(at))

    async def events(
        self, *, after: Revision, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision; see `Store.events`."""
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        events_after: list[Event] = []
        size = 0
        for logged in self.logged(after):
            if keys is not None and logged.key not in keys:
                continue
            events_after.append(logged.event)
            size += len(logged.value)
            if size >= max_bytes:
                return events_after, logged.revision
        return events_after, self.revision

    # ------------------------------------------------------------------ writes

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key; see `Store.create`."""
        if (current := self.live().get(key)) is not None:
            raise KeyExists(key, current.revision)
        return self._append(key, EventType.CREATED, value, None, ttl_s)

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key; see `Store.update`."""
        return self._append(key, EventType.UPDATED, value, self._find(key, expected), ttl_s)

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key; see `Store.delete`."""
        current = self._find(key, expected)
        return self._append(key, EventType.DELETED, current.stamp, current).revision

    @property
    def freeing(self) -> Self:
        """All updates: there is always room."""
        return self

    @property
    def rewinding(self) -> Self | None:
        """All writes: the log takes several at once."""
        return self

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes at once; see `Rewinding.write_all`."""
        live = self.live()
        for change in changes:
            if change.type is not EventType.CREATED:
                self._find(change.key, change.expected)
            elif (current := live.get(change.key)) is not None:
                raise KeyExists(change.key, current.revision)
        revision, logged = self.revision, list[Logged]()
        for change in changes:
            revision += self._step
            before = live.get(change.key)
            value = change.value or (before.stamp if before else UNKNOWN)
            logged.append(
                self._made(revision, change.key, change.type, value, before, change.ttl_s)
            )
        if logged:
            self._announce(logged)

    def _find(self, key: str, expected: Revision) -> Logged:
        current = self.live().get(key)
        if current is None:
            raise KeyMissing(key, self.revision)
        if current.revision != expected:
            raise RevisionMismatch(key, current.revision)
        return current

    def _append(
        self,
        key: str,
        kind: EventType,
        value: Stamped,
        before: Logged | None,
        ttl_s: float = 0.0,
    ) -> KeyValue:
        logged = self._made(self.revision + self._step, key, kind, value, before, ttl_s)
        self._announce([logged])
        return logged.state

    def _made(
        self,
        revision: Revision,
        key: str,
        kind: EventType,
        value: Stamped,
        before: Logged | None,
        ttl_s: float,
    ) -> Logged:
        return Logged(
            revision,
            key,
            kind,
            value if self._stamps_on_read else value.at(revision),
            before.created if before else revision,
            before,
            self.now(),
            self.now() + ttl_s if ttl_s else None,
            value,
        )

    def _announce(self, items: Sequence[Logged]) -> None:
        self.log += items
        self.arrivals.announce(items[-1].revision)
        self._hooks.tell([item.event for item in items])

    async def compact(self, to: Revision) -> None:
        """Refuse questions about what is older than a revision; see `Store.compact`."""
        if to > self.revision:
            raise FutureRevision(to, self.revision)
        if to <= self._compacted:
            raise Compacted(to, self._compacted)
        self._compacted = to

    # ------------------------------------------------------------------ time and others

    def now(self) -> float:
        """The model's clock: Trio's, but for the time in which no server ran."""
        return trio.current_time() - self._behind_s

    async def expire(self) -> None:
        """Delete what has lived out its time by now, in the order in which that ended."""
        due = [item for item in self.live().values() if item.ends is not None]
        for item in sorted(due, key=lambda item: (item.ends, item.revision)):
            if item.ends is not None and item.ends <= self.now():
                self._append(item.key, EventType.DELETED, item.stamp, item)

    def restarted(self) -> None:
        """Go on as another run does: from the time of the newest revision."""
        if self.log:
            self._behind_s += self.now() - self.log[-1].at

    def progress(self, revision: Revision) -> None:
        """Be told of a newest revision that brought no event."""
        if revision > self.revision:
            self.arrivals.announce(revision)
            for hook in self._progress_hooks:
                hook(revision)


class FollowingStore(MemoryStore):
    """Reads what it was told by another store, and writes there; as others may do, too.

    Args:
        leader: where revisions are made.
        keys: what it is told of; of other keys it hears that the revision has grown.
    """

    def __init__(self, leader: MemoryStore, keys: Range | None = None) -> None:
        super().__init__()
        self._leader = leader
        self._keys = keys
        self._follow(leader)

    def _follow(self, leader: MemoryStore) -> None:
        """Begin to be told."""
        leader.on_commit(self.learn)
        leader.on_progress(self.progress)

    def learn(self, events: Sequence[Event]) -> None:
        """Take a commit, whichever writer made it."""
        live = self.live()
        mine: list[Logged] = []
        for event in events:
            if self._keys is not None and event.key not in self._keys:
                continue
            before = live.get(event.key) if event.type is not EventType.CREATED else None
            created = before.created if before else event.revision
            logged = Logged(
                event.revision, event.key, event.type, event.value, created, before,
                stamp=unstampable(event.value),
            )  # fmt: skip
            live[event.key] = logged
            mine.append(logged)
        if mine:
            self._announce(mine)
        self.progress(events[-1].revision)

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key there; see `Store.create`."""
        return await self._leader.create(key, value, ttl_s=ttl_s)

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key there; see `Store.update`."""
        return await self._leader.update(key, value, expected=expected, ttl_s=ttl_s)

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key there; see `Store.delete`."""
        return await self._leader.delete(key, expected=expected)

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes at once there; see `Rewinding.write_all`."""
        await self._leader.write_all(changes)

    async def expire(self) -> None:
        """The leader does that."""
        await self._leader.expire()
