"""The watch hub: each commit goes to every watcher of its keys, in revision order.

A watcher is in one of two states, moved between by synchronous code only:

    LIVE     it has everything up to the newest revision; `publish` hands it each batch at once,
             without a task switch, for as long as its sink takes it;
    LAGGING  its sink was full, or it has just begun; its own task pulls batches behind its cursor,
             from the window or the store, and turns it LIVE when nothing is left.

A sink that fails or blocks concerns its own watcher only: `offer` must not raise and must not
wait.
"""

from __future__ import annotations

import enum
import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from kubetrio.store.model import Event, Range, Revision, Store
from kubetrio.watch.window import Batch, Entry, Window

WINDOW_BYTES = 16 * 1024 * 1024
PULL_ENTRIES = 256
PULL_BYTES = 256 * 1024


class WatcherState(enum.Enum):
    """Life of a watcher."""

    LAGGING = "lagging"
    LIVE = "live"
    CLOSED = "closed"


class Sink(Protocol):
    """Where a live watcher's batches go."""

    def offer(self, batch: Batch) -> bool:
        """Take a batch without waiting or raising; False asks for no more until pulled."""
        ...


class Watcher:
    """One watch on a prefix or a single key; made by `Hub.subscribe`.

    Args:
        prefix: a key prefix that ends with a slash, or a complete key.
        cursor: revision up to which events have been handed over.
        sink: receiver of live batches.
    """

    __slots__ = ("cursor", "prefix", "sink", "state")

    def __init__(self, prefix: str, cursor: Revision, sink: Sink) -> None:
        self.prefix = prefix
        self.cursor = cursor
        self.sink = sink
        self.state = WatcherState.LAGGING

    @property
    def keys(self) -> Range:
        """The keys it watches."""
        if self.prefix.endswith("/"):
            return Range.prefix(self.prefix)
        return Range.single(self.prefix)


@dataclass(frozen=True, slots=True)
class HubStatistics:
    """Numbers for metrics and tests.

    Args:
        watchers: open watchers.
        live: of them, those that are up to date.
        window_events: events in the window.
        window_bytes: bytes of the window.
        delivered: batches handed to live watchers.
        pulled: batches pulled by lagging watchers.
        from_store: of them, those read from the store.
    """

    watchers: int
    live: int
    window_events: int
    window_bytes: int
    delivered: int
    pulled: int
    from_store: int


def prefixes(key: str) -> list[str]:
    """The subscriptions a key belongs to: itself and each of its folders."""
    found = [key]
    at = key.rfind("/")
    while at > 0:
        found.append(key[: at + 1])
        at = key.rfind("/", 0, at)
    return found


class Hub:
    """Fed by the store's commit stream; see the module.

    Args:
        store: where events behind the window are read.
        window_bytes: bound of the in-memory window.
    """

    def __init__(self, store: Store, *, window_bytes: int = WINDOW_BYTES) -> None:
        self._store = store
        self._window = Window(store.revision, window_bytes)
        self._watchers: dict[str, set[Watcher]] = {}
        self.revision: Revision = store.revision
        self._waiting: list[tuple[Revision, int, trio.Event]] = []
        self._tickets = itertools.count()
        self._delivered = 0
        self._pulled = 0
        self._from_store = 0
        store.on_commit(self.publish)

    def statistics(self) -> HubStatistics:
        """A snapshot of numbers."""
        everyone = [watcher for group in self._watchers.values() for watcher in group]
        return HubStatistics(
            watchers=len(everyone),
            live=sum(watcher.state is WatcherState.LIVE for watcher in everyone),
            window_events=len(self._window),
            window_bytes=self._window.bytes,
            delivered=self._delivered,
            pulled=self._pulled,
            from_store=self._from_store,
        )

    def watchers_of(self, prefix: str) -> int:
        """Number of watchers subscribed to exactly this prefix or key."""
        return len(self._watchers.get(prefix, ()))

    def subscribe(self, prefix: str, cursor: Revision, sink: Sink) -> Watcher:
        """Begin a watch behind a revision, lagging; close it with `unsubscribe`."""
        watcher = Watcher(prefix, cursor, sink)
        self._watchers.setdefault(prefix, set()).add(watcher)
        return watcher

    def unsubscribe(self, watcher: Watcher) -> None:
        """End a watch; calling it twice is fine."""
        watcher.state = WatcherState.CLOSED
        group = self._watchers.get(watcher.prefix)
        if group is not None:
            group.discard(watcher)
            if not group:
                del self._watchers[watcher.prefix]

    def publish(self, events: Sequence[Event]) -> None:
        """Append one commit and hand it to live watchers."""
        entries = [Entry(event) for event in events]
        self._window.append(entries)
        self.revision = events[-1].revision
        while self._waiting and self._waiting[0][0] <= self.revision:
            heapq.heappop(self._waiting)[2].set()
        if not self._watchers:
            return
        groups: dict[str, list[Entry]] = {}
        for entry in entries:
            for prefix in prefixes(entry.event.key):
                if prefix in self._watchers:
                    groups.setdefault(prefix, []).append(entry)
        for prefix, group in groups.items():
            batch = Batch(group)
            # A sink that ends a watch while taking a batch changes the sets: iterate a copy.
            for watcher in tuple(self._watchers.get(prefix, ())):
                if watcher.state is WatcherState.LIVE:
                    self._delivered += 1
                    if not watcher.sink.offer(batch):
                        watcher.cursor = self.revision
                        if watcher.state is WatcherState.LIVE:
                            watcher.state = WatcherState.LAGGING

    def position(self, watcher: Watcher) -> Revision:
        """Revision up to which a watcher has been handed everything."""
        return self.revision if watcher.state is WatcherState.LIVE else watcher.cursor

    async def wait_for(self, revision: Revision) -> None:
        """Wait until a revision has been announced; the caller brings the deadline."""
        while self.revision < revision:
            waiting = (revision, next(self._tickets), trio.Event())
            heapq.heappush(self._waiting, waiting)
            try:
                await waiting[2].wait()
            except trio.Cancelled:
                if not waiting[2].is_set():  # a revision that may never come
                    self._waiting.remove(waiting)
                    heapq.heapify(self._waiting)
                raise

    async def pull(self, watcher: Watcher) -> Batch | None:
        """The next batch of a lagging watcher; None when it is live, or caught up and is so now.

        A watcher of a revision from the future stays lagging: wait for that revision first.
        Not a checkpoint when the window serves it.

        Raises:
            Compacted: its cursor is older than the history kept.
        """
        if watcher.state is WatcherState.LIVE:
            return None  # `publish` hands it everything; its cursor stays where it became live
        keys = watcher.keys
        while watcher.cursor < self.revision:
            entries = self._window.after(watcher.cursor, PULL_ENTRIES)
            if entries is not None:
                upto = entries[-1].event.revision if entries else self.revision
                found = [entry for entry in entries if entry.event.key in keys]
            else:
                # A watcher far behind reads many pages: others get their turn between them.
                await trio.lowlevel.checkpoint()
                events, upto = await self._store.events(
                    after=watcher.cursor, keys=keys, max_bytes=PULL_BYTES
                )
                found = [Entry(event) for event in events]
                self._from_store += 1
            watcher.cursor = upto
            if found:
                self._pulled += 1
                return Batch(found)
        if watcher.state is WatcherState.LAGGING and watcher.cursor == self.revision:
            watcher.state = WatcherState.LIVE
        return None
