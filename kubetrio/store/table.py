"""States of keys in memory, with their history: what engines read that keep all of it there.

The newest state of a key is one lookup, older ones are a search among the states of the key.
Revisions grow with gaps, and several keys may change at one revision.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import trio

from kubetrio.store.errors import Compacted, FutureRevision
from kubetrio.store.model import (
    Event,
    EventType,
    JoinResult,
    KeyValue,
    Range,
    RangeResult,
    Revision,
)
from kubetrio.store.past import Past

BREATH = 4096
"""Keys looked at between two looks of the event loop at others: a millisecond or so."""


class MemoryTable:
    """The states.

    Args:
        wall: the wall clock, in seconds; revisions have no times without one.
    """

    def __init__(self, wall: Callable[[], float] | None = None) -> None:
        self._wall = wall
        self._dates = array("q")  # beside `_log`, where there is a clock
        self._revision: Revision = 0
        self._compacted: Revision = 0
        self._live: dict[str, KeyValue] = {}
        self._states: dict[str, list[KeyValue | Revision]] = {}
        """States of each key, oldest first; a deletion is the revision that made it."""
        self._keys: list[str] = []  # of `_states`, in order
        self._log: list[Event] = []
        self._log_at: list[Revision] = []  # revisions of `_log`
        self._bytes = 0

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision."""
        return self._compacted

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
        state = states[place] if place >= 0 else None
        return state if isinstance(state, KeyValue) else None

    def _found(self, keys: Range, at: Revision) -> Iterator[KeyValue]:
        first, last = bisect_left(self._keys, keys.start), bisect_left(self._keys, keys.end)
        for key in self._keys[first:last]:
            state = self._at(key, at)
            if state is not None:
                yield state

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
        """Events after a revision; see `Store.events`.  Those of one revision stay together."""
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        chosen: list[Event] = []
        size = 0
        begin = bisect_right(self._log_at, after)
        for event in self._log[begin:]:
            if size >= max_bytes and event.revision != chosen[-1].revision:
                return chosen, chosen[-1].revision
            if keys is not None and event.key not in keys:
                continue
            chosen.append(event)
            size += len(event.value)
        return chosen, self._revision

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
        place = bisect_left(self._log_at, revision)
        known = place < len(self._dates) and self._log_at[place] == revision
        return self._dates[place] if known else 0

    # ------------------------------------------------------------------ changes

    def _apply(
        self, event: Event, at_ms: int | None = None, *, created: Revision = 0
    ) -> KeyValue | None:
        """Note what happened; return the state after it, None for a deletion.

        Args:
            event: what happened.
            at_ms: when, in milliseconds of the wall clock; now, where it is None.
            created: revision that created the key, where the state before does not say; 0 where
                it does.
        """
        key, revision = event.key, event.revision
        self._revision = revision
        before = self._live.get(key)
        states = self._states.get(key)
        if states is None:
            states = self._states[key] = []
            insort(self._keys, key)
        state: KeyValue | None = None
        if event.type is EventType.DELETED:
            self._live.pop(key, None)
            states.append(revision)
        else:
            if not created:
                created = revision if before is None else before.create_revision
            self._live[key] = state = KeyValue(key, event.value, revision, created)
            states.append(state)
        self._bytes += len(event.value)
        self._log.append(event)
        self._log_at.append(revision)
        if self._wall is not None:
            self._dates.append(int(self._wall() * 1000) if at_ms is None else at_ms)
        return state

    def _begin_anew(self, states: Iterable[KeyValue], revision: Revision) -> None:
        """Have the states of a revision, and no history before it."""
        self._live = {state.key: state for state in states}
        self._states = {key: [state] for key, state in self._live.items()}
        self._keys = sorted(self._live)
        self._log.clear()
        self._log_at.clear()
        self._dates = array("q")
        self._bytes = sum(len(state.value) for state in self._live.values())
        self._revision = self._compacted = revision

    async def _forget_before(self, to: Revision) -> None:
        """Forget states and events older than a revision.

        Raises:
            Compacted: it is forgotten already.
            FutureRevision: it does not exist yet.
        """
        if to > self._revision:
            raise FutureRevision(to, self._revision)
        if to <= self._compacted:
            raise Compacted(to, self._compacted)
        end = bisect_right(self._log_at, to)
        gone = self._log[:end]
        del self._log[:end]
        del self._log_at[:end], self._dates[:end]
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


def _done(state: KeyValue | Revision) -> EventType:
    """What made a state."""
    if not isinstance(state, KeyValue):
        return EventType.DELETED
    created = state.create_revision == state.revision
    return EventType.CREATED if created else EventType.UPDATED


def _revision_of(state: KeyValue | Revision) -> Revision:
    return state.revision if isinstance(state, KeyValue) else state
