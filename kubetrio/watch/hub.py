"""The watch hub: each commit goes to every watcher of its keys, in revision order.

Revisions grow, with gaps: a cursor may be at one that no write made, and the newest revision may
grow without an event.

A watcher is in one of three states, moved between by synchronous code only:

    LIVE     it has had everything its group has; it is handed each batch without a task switch,
             for as long as its sink takes it;
    LAGGING  its sink was full, or it has just begun; its own task pulls batches from its cursor on,
             from the window or the store, and turns it LIVE when nothing is left;
    LOST     its cursor is of a history that is not there any more; its next pull says so.

A watcher may also ask to pull every batch, because its sink has to wait before it can show one.  It
is LIVE too when it has had everything, but the next commit only tells it to pull.

A group is the watchers of one prefix.  Those of them get a batch whose filters want an event of it.
Where they are few, `publish` hands it to them.  A group that would hold up the event loop falls
behind for a moment, with a cursor as a watcher has: the hub's own task hands it what is behind the
cursor, some watchers at a time, and pauses; what is committed meanwhile goes to all of them in the
next batch, for the price of one event.

Where the store has a gap in its history, a window begins behind it.  Live watchers pull from where
they are, so that the store tells them what was lost, or that it cannot; revisions of another
history are never mixed with those of the one before.

A sink that fails concerns its own watcher only, which then pulls the same events in its own task,
fails there and ends; its client lists again.  `offer` must not wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol
from weakref import WeakValueDictionary

import trio

from kubetrio.observe.logs import Log
from kubetrio.store.arrivals import Arrivals
from kubetrio.store.errors import Compacted
from kubetrio.store.model import Event, Gap, History, Progress, Range, Revision
from kubetrio.watch.choosing import Filter
from kubetrio.watch.group import Equals, Group, Sink, Watcher, WatcherState
from kubetrio.watch.window import Batch, Window

log = Log("kubetrio.watch")
WINDOW_BYTES = 16 * 1024 * 1024
PULL_ENTRIES = 256
PULL_BYTES = 256 * 1024
AT_ONCE = 16  # watchers that are handed a batch in one go: about 0.2 ms over TLS
BYTES_AT_ONCE = 256 * 1024  # of a batch, by watchers
ASKED_AT_ONCE = 8  # filters that cost what it costs to hand a batch to a watcher
LOOKS_AT_ONCE = 16  # events that are read for filters in one go
PAUSE = 3.0  # times what a batch took: handing out leaves three quarters of the loop to requests
PAUSE_MAX_S = 0.02


class Source(History, Progress, Protocol):
    """What a hub asks of a store."""


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
    keys = [key]
    at = key.rfind("/")
    while at > 0:
        keys.append(key[: at + 1])
        at = key.rfind("/", 0, at)
    return keys


class Hub:
    """Fed by the store's commit stream; see the module.

    Args:
        store: where events behind the window are read.
        window_bytes: bound of the in-memory window.
        at_once: watchers that are handed a batch in one go.
        pause: how long larger groups wait for the next batch, by what one took.

    Attributes:
        revision: newest revision announced.
        failed: exceptions of sinks, and commits that could not be handed out.
    """

    def __init__(
        self,
        store: Source,
        *,
        window_bytes: int = WINDOW_BYTES,
        at_once: int = AT_ONCE,
        pause: float = PAUSE,
    ) -> None:
        self._store = store
        self._window = Window(store.revision, window_bytes)
        self._at_once = at_once
        self._pause = pause
        self._groups: dict[str, Group] = {}
        self.revision: Revision = store.revision
        self._lost: Revision = 0  # newest revision of a history that is not there any more
        self._gaps = 0
        self._arrivals = Arrivals(store.revision)
        self._running = False
        self._behind: deque[Group] = deque()  # in the order in which they are served
        self._shared: WeakValueDictionary[tuple[str, Revision, Revision], Batch] = (
            WeakValueDictionary()
        )  # what lagging watchers are sending at the moment
        self._fell_behind = trio.Event()
        self._delivered = 0
        self._pulled = 0
        self._from_store = 0
        self.failed = 0
        self._window_bytes = window_bytes
        store.on_commit(self.publish)
        store.on_progress(self.progress)
        store.on_gap(self.skip)

    def statistics(self) -> HubStatistics:
        """A snapshot of numbers."""
        everyone = [watcher for group in self._groups.values() for watcher in group.watchers]
        return HubStatistics(
            watchers=len(everyone),
            live=sum(watcher.state is WatcherState.LIVE for watcher in everyone),
            window_events=len(self._window),
            window_bytes=self._window.bytes,
            delivered=self._delivered,
            pulled=self._pulled,
            from_store=self._from_store,
        )

    def watchers_of(self, keys: Iterable[str]) -> int:
        """Number of watchers subscribed to exactly one of these keys and prefixes."""
        count = 0
        for key in keys:
            group = self._groups.get(key)
            if group is not None:
                count += len(group.watchers)
        return count

    def subscribe(
        self,
        prefix: str,
        cursor: Revision,
        sink: Sink,
        *,
        pulls: bool = False,
        chooser: Filter | None = None,
    ) -> Watcher:
        """Begin a watch after a revision, lagging; close it with `unsubscribe`.

        Args:
            prefix: a key prefix that ends with a slash, or a complete key.
            cursor: the revision.
            sink: receiver of live batches.
            pulls: whether it pulls each batch; its sink only hears `Sink.lag`.
            chooser: what it wants of the prefix, None for everything; batches that have none of it
                are for others, and those that it pulls may be.
        """
        group = self._groups.get(prefix)
        if group is None:
            group = self._groups[prefix] = Group(prefix)
        watcher = Watcher(group, cursor, sink, pulls=pulls, chooser=chooser)
        if self.revision < cursor <= self._lost:
            watcher.state = WatcherState.LOST
        group.add(watcher)
        return watcher

    def unsubscribe(self, watcher: Watcher) -> None:
        """End a watch; calling it twice is fine."""
        watcher.state = WatcherState.CLOSED
        group = watcher.group
        group.discard(watcher)
        if not group.watchers and self._groups.get(group.prefix) is group:
            del self._groups[group.prefix]

    def progress(self, revision: Revision) -> None:
        """Note the newest revision: up to it no watcher waits for an event that is not here.

        Live watchers have come as far, and their bookmarks say so, without being called.
        """
        self.revision = revision
        self._arrivals.announce(revision)

    def skip(self, gap: Gap) -> None:
        """Begin a new window behind a gap, which no watcher crosses by it.

        Live watchers pull from where they are.  Where revisions are of another history, watches
        end: what a cursor names is not there any more.
        """
        watchers = [
            (watcher, self.position(watcher))
            for group in self._groups.values()
            for watcher in group.watchers
        ]
        for group in self._behind:
            group.behind = False
        self._gaps += 1
        self._shared = WeakValueDictionary()  # revisions may come again
        if gap.rewound:
            self._lost = max(self._lost, self.revision)
        self._window = Window(gap.revision, self._window_bytes)
        self.revision = gap.revision
        for watcher, position in watchers:
            if gap.rewound or watcher.state is WatcherState.LIVE:
                self._make_pull(watcher, position, lost=gap.rewound)
        if gap.rewound:
            self._arrivals.rewind(gap.revision)
        else:
            self._arrivals.announce(gap.revision)

    def publish(self, events: Sequence[Event]) -> None:
        """Append one commit and hand it to live watchers, or see to it that it will be.

        Where that fails, all watchers read on from the store.
        """
        before = self.revision
        try:
            self._publish(events, before)
        except Exception as error:  # noqa: BLE001  (logged; no watcher may miss an event)
            self.failed += 1
            newest = events[-1].revision
            log.error(error, "a commit could not be handed out", stack=True, revision=newest)
            self._window = Window(newest, self._window_bytes)
            for group in tuple(self._groups.values()):
                for watcher in tuple(group.watchers):
                    if watcher.state is WatcherState.LIVE and watcher.cursor < newest:
                        self._make_pull(watcher, min(self.position(watcher), before))
            self.progress(newest)

    def _publish(self, events: Sequence[Event], before: Revision) -> None:
        self._window.append(events)
        self.progress(events[-1].revision)
        if not self._groups:
            return
        concerned: dict[Group, list[Event]] = {}
        for event in events:
            for prefix in prefixes(event.key):
                group = self._groups.get(prefix)
                if group is not None and not group.behind:
                    concerned.setdefault(group, []).append(event)
        room = self._at_once
        for group, found in concerned.items():
            batch = Batch(found)
            candidates = group.candidates(batch)
            count = sum(len(equals.watchers) for equals in candidates)
            if self._running and count > min(room, self._share(found)):
                group.behind, group.settled = True, before
                if group not in self._behind:
                    self._behind.append(group)
                self._fell_behind.set()
                continue
            room -= count
            for watchers in _portions(candidates, batch, max(1, self._at_once)):
                self._hand(watchers, batch, self.revision)

    def _share(self, events: Sequence[Event]) -> int:
        """How many watchers are handed such a batch in one go."""
        size = sum(len(event.value) for event in events)
        return min(self._at_once, BYTES_AT_ONCE // max(size, 1))

    def _hand(self, watchers: Sequence[Watcher], batch: Batch, upto: Revision) -> None:
        """Give a batch to those that are live, but no watcher an event a second time.

        Args:
            watchers: of one group.
            batch: not empty.
            upto: the revision that they have come to with it.
        """
        first = batch.events[0].revision
        for watcher in watchers:
            if watcher.state is not WatcherState.LIVE:
                continue
            mine = batch
            if watcher.cursor >= first:  # it pulled while its group was behind
                rest = [event for event in batch.events if event.revision > watcher.cursor]
                if not rest:
                    continue
                mine = Batch(rest)
            if watcher.pulls:
                # It has had all that came before; a cursor from long ago would be too old.
                self._make_pull(watcher, max(watcher.cursor, first - 1))
                continue
            self._delivered += 1
            had, watcher.cursor = max(watcher.cursor, first - 1), upto
            try:
                took = watcher.sink.offer(mine)
            except Exception as error:  # noqa: BLE001  (logged; others must go on)
                self.failed += 1
                log.error(error, "a watch failed", stack=True, follows=watcher.group.prefix)
                self._make_pull(watcher, had)
                continue
            if not took and watcher.state is WatcherState.LIVE:
                watcher.state = WatcherState.LAGGING

    def _make_pull(self, watcher: Watcher, cursor: Revision, *, lost: bool = False) -> None:
        """Make a watcher pull for itself from a revision on, or hear that it is lost."""
        if watcher.state in (WatcherState.CLOSED, WatcherState.LOST):
            return
        watcher.cursor = cursor
        watcher.state = WatcherState.LOST if lost else WatcherState.LAGGING
        try:
            watcher.sink.lag()
        except Exception as error:  # noqa: BLE001  (as above)
            self.failed += 1
            log.error(error, "a watch failed", stack=True, follows=watcher.group.prefix)

    # ------------------------------------------------------------------ groups that are behind

    async def run(self) -> NoReturn:
        """Serve the groups that are too large for `publish`; without it none is."""
        self._running = True
        try:
            while True:
                await self._fell_behind.wait()
                self._fell_behind = trio.Event()
                while self._behind:
                    begun = trio.current_time()
                    await self._serve(self._behind[0])
                    self._behind.rotate(-1)
                    if not self._behind[-1].behind:
                        self._behind.pop()
                    pause = self._pause * (trio.current_time() - begun)
                    await trio.sleep(min(pause, PAUSE_MAX_S))
        finally:
            self._running = False
            while self._behind:
                self._leave_to_them(self._behind.popleft())

    async def _serve(self, group: Group) -> None:
        """Hand the next batch to a group, with a turn for others after some of its watchers."""
        gaps = self._gaps
        if not group.behind:
            return
        try:
            found, upto = await self._read(group.keys, group.settled)
        except Exception:  # noqa: BLE001  (it is met again, and answered, where watchers pull)
            self._leave_to_them(group)
            return
        upto = min(upto, self.revision)  # the store may be ahead of the stream
        batch = Batch([event for event in found if event.revision <= upto])
        share = max(1, self._share(batch.events))
        for reads in group.reads():
            while batch.look(reads, LOOKS_AT_ONCE):
                await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        for watchers in _portions(group.candidates(batch) if batch.events else (), batch, share):
            if gaps != self._gaps:
                return  # the watchers pull for themselves
            self._hand(watchers, batch, upto)
            await trio.lowlevel.checkpoint()
        if gaps != self._gaps:
            return
        group.settled = upto
        group.behind = upto < self.revision and bool(group.watchers)

    def _leave_to_them(self, group: Group) -> None:
        """Make the live watchers of a group that is behind pull for themselves."""
        for watcher in tuple(group.watchers):
            if watcher.state is WatcherState.LIVE:
                self._make_pull(watcher, self.position(watcher))
        group.behind = False

    def position(self, watcher: Watcher) -> Revision:
        """Revision up to which a watcher has been handed everything."""
        if watcher.state is not WatcherState.LIVE:
            return watcher.cursor
        group = watcher.group
        return max(watcher.cursor, group.settled) if group.behind else self.revision

    # ------------------------------------------------------------------ watchers that lag

    async def wait_for(self, revision: Revision) -> None:
        """Wait until a revision has been announced; the caller brings the deadline."""
        await self._arrivals.wait_for(revision)

    async def begun(self, watcher: Watcher) -> None:
        """Wait until the revision after which a watcher begins is announced, or is lost."""
        while watcher.cursor > self.revision and watcher.state is not WatcherState.LOST:
            await self._arrivals.wait_for_news(watcher.cursor)

    async def pull(self, watcher: Watcher) -> Batch | None:
        """The next batch of a lagging watcher; None when it is live, or caught up and is so now.

        A watcher of a revision from the future stays lagging: wait for that revision first
        (`begun`).  Not a checkpoint when the window serves it.

        Raises:
            Compacted: its cursor is older than the history kept, or of a history that was lost.
        """
        if watcher.state is WatcherState.LIVE:
            return None
        self._check_kept(watcher)
        while watcher.cursor < self.revision:
            found, cursor = await self._read(watcher.keys, watcher.cursor)
            self._check_kept(watcher)  # its history may have been lost meanwhile
            watcher.cursor = cursor
            if found:
                self._pulled += 1
                return self._shared_batch(watcher.group, found)
        if watcher.state is WatcherState.LAGGING and watcher.cursor == self.revision:
            watcher.state = WatcherState.LIVE
        return None

    def _shared_batch(self, group: Group, events: Sequence[Event]) -> Batch:
        """A batch for a lagging watcher: that of another one, where it sends these events now."""
        key = (group.prefix, events[0].revision, events[-1].revision)
        batch = self._shared.get(key)
        if batch is None or len(batch.events) != len(events):
            batch = self._shared[key] = Batch(events)
        return batch

    def _check_kept(self, watcher: Watcher) -> None:
        """Refuse to go on with a history that is not there any more.

        Raises:
            Compacted: the watcher is lost.
        """
        if watcher.state is WatcherState.LOST:
            raise Compacted(watcher.cursor, self._store.compacted)

    async def _read(self, keys: Range, cursor: Revision) -> tuple[Sequence[Event], Revision]:
        """Some events of some keys after a revision, and the revision up to which they go.

        Raises:
            Compacted: the revision is older than the history kept.
        """
        recent = self._window.after(cursor, PULL_ENTRIES)
        if recent is not None:
            upto = recent[-1].revision if recent else self.revision
            return [event for event in recent if event.key in keys], upto
        # Who is far behind reads many pages: others get their turn between them.
        await trio.lowlevel.checkpoint()
        found = await self._store.events(after=cursor, keys=keys, max_bytes=PULL_BYTES)
        self._from_store += 1
        return found


def _portions(
    candidates: Sequence[Equals], batch: Batch, share: int
) -> Iterator[Sequence[Watcher]]:
    """The watchers that want an event of a batch, about so many at a time.

    A portion may be empty: to ask filters takes time too.
    """
    some: list[Watcher] = []
    asked = 0
    for equals in candidates:
        asked += equals.chooser is not None
        if equals.concerned(batch):
            some += equals.watchers
        while len(some) >= share:
            yield some[:share]
            del some[:share]
            asked = 0
        if asked >= share * ASKED_AT_ONCE:
            yield some
            some, asked = [], 0
    if some:
        yield some
