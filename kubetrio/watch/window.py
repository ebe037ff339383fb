"""Recent events in memory: a ring bounded in bytes, read by cursors.

A watcher owns a revision (its cursor) and nothing else.  Before the window it reads the store;
where that was compacted it is told so.  There is no third place for a watcher to be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from kubetrio.store.model import Event, EventType, Revision
from kubetrio.watch.choosing import Decision, FieldValues, Filter, Sight, decide, sights

K = TypeVar("K")
T = TypeVar("T")
KEPT = 16  # encodings and decisions of a batch: equal watchers come one after the other
EVENT_OVERHEAD = 400  # bytes an event costs beside its values
_DROPPED = Event(0, "", EventType.DELETED, b"", None)


def held(event: Event) -> int:
    """Bytes that the window holds for an event, about."""
    return len(event.value) + len(event.previous or b"") + EVENT_OVERHEAD


class Batch:
    """Events that go to watchers together, with bytes and decisions shared by equal watchers.

    Args:
        events: in revision order.
    """

    __slots__ = ("__weakref__", "_decided", "_encoded", "_seen", "events")

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self._encoded: dict[object, Any] = {}
        self._seen: dict[FieldValues, list[Sight]] = {}
        self._decided: dict[tuple[FieldValues, Hashable], Sequence[Decision]] = {}

    def look(self, reads: FieldValues, at_most: int) -> bool:
        """Read what filters look at in some more events; returns whether others are left.

        Args:
            reads: reads fields.
            at_most: how many events.
        """
        looks = self._seen.setdefault(reads, [])
        looks += sights(self.events[len(looks) : len(looks) + at_most], reads)
        return len(looks) < len(self.events)

    def seen(self, reads: FieldValues) -> Sequence[Sight]:
        """What filters look at in each event, read once."""
        self.look(reads, len(self.events))
        return self._seen[reads]

    def decided(self, chooser: Filter) -> Sequence[Decision]:
        """What a filter says of each event, decided once for all equal ones."""
        key = (chooser.reads, chooser.identity)
        decisions = self._decided.get(key)
        if decisions is None:
            decisions = decide(self.seen(chooser.reads), chooser)
            _keep(self._decided, key, decisions)
        return decisions

    def concerns(self, chooser: Filter) -> bool:
        """Whether a filter wants an event."""
        return any(before or now for before, now in self.decided(chooser))

    def encoded(self, key: object, encode: Callable[[Sequence[Event]], T]) -> T:
        """The batch as bytes, encoded once for each key (representation, selector, framing).

        Args:
            key: of one and the same type of result.
            encode: gives bytes, or what holds them.
        """
        try:
            value: T = self._encoded[key]
            return value
        except KeyError:
            data = encode(self.events)
            _keep(self._encoded, key, data)
            return data


def _keep(kept: dict[K, T], key: K, value: T) -> None:
    """Remember a value, and forget the oldest of many.

    A watcher whose client stalls holds its batch, and would hold what others sent of it.
    """
    if len(kept) == KEPT:
        del kept[next(iter(kept))]
    kept[key] = value


class Window:
    """The ring.

    Args:
        floor: newest revision before the window: events after it are all here.
        max_bytes: bound of what is kept.
    """

    def __init__(self, floor: Revision, max_bytes: int) -> None:
        self.floor = floor
        self._max_bytes = max_bytes
        self._events: list[Event] = []
        self._revisions: list[Revision] = []
        self._start = 0  # events before it are dropped, removed from the lists now and then
        self._removed = 0
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._events) - self._start

    def append(self, events: Sequence[Event]) -> None:
        """Add newer events; the oldest go when the bound is passed."""
        for event in events:
            self._events.append(event)
            self._revisions.append(event.revision)
            self.bytes += held(event)
        while self.bytes > self._max_bytes and self._start < len(self._events):
            oldest = self._events[self._start]
            self.floor = oldest.revision
            self.bytes -= held(oldest)
            self._events[self._start] = _DROPPED  # the list shrinks later, the bytes go now
            self._start += 1
        if self._start > 1024 and self._start * 2 > len(self._events):
            del self._events[: self._start]
            del self._revisions[: self._start]
            self._removed += self._start
            self._start = 0

    def after(self, revision: Revision, limit: int) -> Sequence[Event] | None:
        """About `limit` events after a revision or fewer; None when the window begins later.

        They end where those of other cursors do, so that who lags shares batches soon.
        """
        if revision < self.floor:
            return None
        index = max(self._start, bisect_right(self._revisions, revision))
        end = index + limit - (index + self._removed) % limit
        # Several keys may change at one revision, and a cursor is a revision.
        while end < len(self._events) and self._revisions[end] == self._revisions[end - 1]:
            end += 1
        return self._events[index:end]
