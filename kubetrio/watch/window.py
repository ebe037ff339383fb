"""Recent events in memory: a ring bounded in bytes, read by cursors.

A watcher owns a revision (its cursor) and nothing else.  Behind the window it reads the store;
behind compaction it is told so.  There is no third place for a watcher to be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TypeVar

from kubetrio.store.model import Event, EventType, Revision

T = TypeVar("T")
ENTRY_OVERHEAD = 400  # bytes an entry costs beside its values


class Entry:
    """An event, as the window counts it.

    Args:
        event: the event of the store.
    """

    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        self.event = event

    @property
    def size(self) -> int:
        """Bytes it holds, about."""
        previous = self.event.previous
        return len(self.event.value) + (len(previous) if previous else 0) + ENTRY_OVERHEAD


_DROPPED = Entry(Event(0, "", EventType.DELETED, b"", None))


class Batch:
    """Entries that go to a watcher together, with bytes shared by equal watchers.

    Args:
        entries: in revision order.
    """

    __slots__ = ("_encoded", "entries")

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self._encoded: dict[object, bytes] = {}

    def encoded(self, key: object, encode: Callable[[Sequence[Entry]], bytes]) -> bytes:
        """The batch as bytes, encoded once for each key (representation, selector, framing)."""
        try:
            return self._encoded[key]
        except KeyError:
            data = self._encoded[key] = encode(self.entries)
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
        self._entries: list[Entry] = []
        self._revisions: list[Revision] = []
        self._start = 0  # entries before it are dropped, removed from the lists now and then
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries) - self._start

    def append(self, entries: Sequence[Entry]) -> None:
        """Add newer entries; the oldest go when the bound is passed."""
        for entry in entries:
            self._entries.append(entry)
            self._revisions.append(entry.event.revision)
            self.bytes += entry.size
        while self.bytes > self._max_bytes and self._start < len(self._entries):
            oldest = self._entries[self._start]
            self.floor = oldest.event.revision
            self.bytes -= oldest.size
            self._entries[self._start] = _DROPPED  # the list shrinks later, the bytes go now
            self._start += 1
        if self._start > 1024 and self._start * 2 > len(self._entries):
            del self._entries[: self._start]
            del self._revisions[: self._start]
            self._start = 0

    def after(self, revision: Revision, limit: int) -> Sequence[Entry] | None:
        """Up to `limit` entries after a revision; None when the window begins later."""
        if revision < self.floor:
            return None
        index = max(self._start, bisect_right(self._revisions, revision))
        return self._entries[index : index + limit]
