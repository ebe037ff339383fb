"""The store as a list: a reference model that is slow, small and obviously right.

The log holds every revision that was ever made, in order; every answer is computed from it by
looking at all of it.  Compaction forgets nothing: it only moves the floor below which questions are
refused, so an engine that forgets too much is told apart from this one.  No method waits.

Passes the same contract suite as the SQLite store and stands in for it in tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from kubetrio.store.errors import (
    Compacted,
    FutureRevision,
    KeyExists,
    KeyMissing,
    RevisionMismatch,
)
from kubetrio.store.model import (
    CommitHook,
    Event,
    EventType,
    JoinResult,
    KeyValue,
    Range,
    RangeResult,
    Revision,
    Stamped,
    StoreStatistics,
)


@dataclass(frozen=True, slots=True)
class Logged:
    """One revision of the log.

    Args:
        event: what it did.
        state: the key after it; of a deletion, the key as it was deleted.
    """

    event: Event
    state: KeyValue


class MemoryStore:
    """The reference model; follows `store.model.Store`."""

    def __init__(self) -> None:
        self.log: list[Logged] = []  # revision r is at index r - 1
        self._compacted: Revision = 0
        self._hooks: list[CommitHook] = []

    @property
    def revision(self) -> Revision:
        """Newest revision."""
        return len(self.log)

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision."""
        return self._compacted

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream."""
        self._hooks.append(hook)

    def statistics(self) -> StoreStatistics:
        """A snapshot of numbers; every write is its own commit, and there is no file."""
        return StoreStatistics(
            revision=self.revision,
            compacted=self._compacted,
            commits=len(self.log),
            writes=len(self.log),
            largest_batch=1 if self.log else 0,
            wal_bytes=0,
            file_bytes=0,
            queued=0,
        )

    # ------------------------------------------------------------------ reads

    def state(self, at: Revision | None = None) -> dict[str, KeyValue]:
        """Live keys in key order, newest or at a revision.

        Raises:
            Compacted: `at` is older than the history kept.
            FutureRevision: `at` is newer than the newest revision.
        """
        if at is None:
            at = self.revision
        if at > self.revision:
            raise FutureRevision(at, self.revision)
        if at < self._compacted:
            raise Compacted(at, self._compacted)
        live: dict[str, KeyValue] = {}
        for logged in self.log[:at]:
            if logged.event.type is EventType.DELETED:
                del live[logged.event.key]
            else:
                live[logged.event.key] = logged.state
        return dict(sorted(live.items()))

    async def probe(self, limit_s: float) -> None:
        """It can always be read."""

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`."""
        return self.state(at).get(key)

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        found = [value for key, value in self.state(at).items() if key in keys]
        taken = found[:limit] if limit else found
        if max_bytes:
            before = itertools.accumulate((len(item.value) for item in taken), initial=0)
            taken = [item for item, size in zip(taken, before, strict=False) if size < max_bytes]
        return RangeResult(self.revision if at is None else at, taken, more=len(taken) < len(found))

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
        """Events behind a revision; see `Store.events`."""
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        found: list[Event] = []
        size = 0
        for logged in self.log[after:]:
            if keys is not None and logged.event.key not in keys:
                continue
            found.append(logged.event)
            size += len(logged.event.value)
            if size >= max_bytes:
                return found, logged.event.revision
        return found, self.revision

    # ------------------------------------------------------------------ writes

    async def create(self, key: str, value: Stamped) -> KeyValue:
        """Write a new key; see `Store.create`."""
        if key in self.state():
            raise KeyExists(key)
        return self._append(key, EventType.CREATED, value, None)

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, frees: bool = False
    ) -> KeyValue:
        """Replace a key; see `Store.update`."""
        del frees  # there is always room
        return self._append(key, EventType.UPDATED, value, self._find(key, expected))

    async def delete(self, key: str, last: Stamped, *, expected: Revision) -> KeyValue:
        """Delete a key; see `Store.delete`."""
        return self._append(key, EventType.DELETED, last, self._find(key, expected))

    def _find(self, key: str, expected: Revision) -> KeyValue:
        current = self.state().get(key)
        if current is None:
            raise KeyMissing(key)
        if current.revision != expected:
            raise RevisionMismatch(key, current.revision)
        return current

    def _append(
        self, key: str, kind: EventType, value: Stamped, before: KeyValue | None
    ) -> KeyValue:
        revision = self.revision + 1
        stamped = value.at(revision)
        created = before.create_revision if before else revision
        state = KeyValue(key, stamped, revision, created)
        event = Event(revision, key, kind, stamped, before.value if before else None)
        self.log.append(Logged(event, state))
        for hook in self._hooks:
            hook([event])
        return state

    async def compact(self, to: Revision) -> None:
        """Refuse questions about what is older than a revision; see `Store.compact`."""
        if to > self.revision:
            raise FutureRevision(to, self.revision)
        if to <= self._compacted:
            raise Compacted(to, self._compacted)
        self._compacted = to
