"""Recent events in memory: a ring bounded in bytes, read by cursors.

A watcher owns a revision (its cursor) and nothing else.  Before the window it reads the store;
where that was compacted it is told so.  There is no third place for a watcher to be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kubetrio.store.model import Event, EventType, Revision

T = TypeVar("T")
EVENT_OVERHEAD = 400  # bytes an event costs beside its values
_DROPPED = Event(0, "", EventType.DELETED, b"", None)


def held(event: Event) -> int:
    """Bytes that the window holds for an event, about."""
    return len(event.value) + len(event.previous or b"") + EVENT_OVERHEAD


class Batch:
    """Events that go to a watcher together, with bytes shared by equal watchers.

    Args:
        events: in revision order.
    """

    __slots__ = ("_encoded", "events")

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self._encoded: dict[object, Any] = {}

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
            data = self._encoded[key] = encode(self.events)
            return data


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
            self._start = 0

    def after(self, revision: Revision, limit: int) -> Sequence[Event] | None:
        """About `limit` events after a revision; None when the window begins later."""
        if revision < self.floor:
            return None
        index = max(self._start, bisect_right(self._revisions, revision))
        end = index + limit
        # Several keys may change at one revision, and a cursor is a revision.
        while end < len(self._events) and self._revisions[end] == self._revisions[end - 1]:
            end += 1
        return self._events[index:end]
