"""A watch: state and start, events by selector, bookmarks, the end.

One nursery per watch holds its sender, its timers and its disconnect detection, under one cancel
scope for the time-out and shutdown.  A live watch costs no task switch per event: the hub calls
`offer`, which takes bytes that are encoded once for all equal watches.

A watch whose objects are converted by a webhook takes no part in that: its
own task pulls batches, has them converted and sends them, and the hub waits for nothing.  What is
converted at the moment is converted once for all equal watches too.

Source: docs "API concepts", efficient detection of changes, streaming lists, bookmarks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Protocol

import trio

from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, expired, internal_error
from kubetrio.resources import sending
from kubetrio.resources.conversion import as_far_as_possible
from kubetrio.resources.listing import Listing
from kubetrio.resources.objects import restamp
from kubetrio.resources.paging import (
    CHUNK_BYTES,
    LOOK_BYTES,
    SELECT_KEYS,
    merged,
    to_encode,
    to_look_into,
    turn,
)
from kubetrio.resources.readcounts import Frames, Sent
from kubetrio.resources.representation import Encoder
from kubetrio.resources.segments.making import Beside, Made
from kubetrio.resources.selection import Selection
from kubetrio.resources.translate import translate
from kubetrio.schema.kind import Kind
from kubetrio.store.errors import Compacted, StoreUnavailable, Unreadable
from kubetrio.store.model import Event, EventType, KeyValue, Revision
from kubetrio.watch.choosing import Decision
from kubetrio.watch.group import Watcher
from kubetrio.watch.hub import Hub
from kubetrio.watch.window import Batch

BOOKMARK_INTERVAL_S = 60.0
BOOKMARK_BEFORE_END_S = 2.0


class Channel(Protocol):
    """Where a watch writes; `api.response.Channel` has the contract."""

    framing: str

    def frame(self, payload: bytes) -> bytes:
        """A payload as it goes on the wire."""
        ...

    def offer(self, wire: bytes) -> bool:
        """Take framed bytes without waiting; False when the client lags."""
        ...

    async def send(self, wire: bytes) -> None:
        """Take framed bytes and wait until the client has taken most of them."""
        ...

    async def wait_closed(self) -> None:
        """Wait until the client closes its side."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """A watch request, validated.

    Args:
        prefix: key prefix or single key to watch.
        start: revision after which to begin; None sends the current state first.
        begin_now: with a start of None: begin at the newest revision, without state.
        initial_bookmark: mark the end of the state with an annotated bookmark.
        not_older_than: wait for this revision before reading the state.
        any_version: whether a state that others have changed already will do, if it is not older
            than that (a resourceVersion was sent).
        bookmarks: whether the client wants bookmarks.
        timeout_s: seconds until the stream ends.
        selection: selectors, None for everything.
        held: what is kept for as long as the watch.
    """

    prefix: str
    start: Revision | None
    begin_now: bool = False
    initial_bookmark: bool = False
    not_older_than: Revision = 0
    any_version: bool = False
    bookmarks: bool = False
    timeout_s: float = 1800.0
    selection: Selection | None = None
    held: object = None


def event_frame(event: Event, decision: Decision | None, encoder: Encoder) -> bytes:
    """One event as watchers with a filter see it, None for none; empty when they do not."""
    if decision is None:
        kind = ("ADDED", "MODIFIED", "DELETED")[event.type]
        return encoder.event(kind, event.value)
    before, now = decision
    if event.type is EventType.DELETED:
        return encoder.event("DELETED", event.value) if before else b""
    if now:
        return encoder.event("MODIFIED" if before else "ADDED", event.value)
    if before and event.previous is not None:
        left = restamp(event.previous).at(event.revision)
        return encoder.event("DELETED", left)
    return b""


async def _shown_events(
    kind: Kind, events: Sequence[Event], looks_back: bool
) -> tuple[Batch, ApiError | None]:
    """Events in the version asked for, up to what cannot be converted, and why not."""
    values = [
        [event.value, event.previous]
        if looks_back and event.previous is not None
        else [event.value]
        for event in events
    ]
    made, failed = await as_far_as_possible(kind, values)
    return Batch(
        [
            event._replace(value=value, previous=before[0] if before else None)
            for event, [value, *before] in zip(events, made, strict=False)
        ]
    ), failed


class Watch:
    """One watch from beginning to end.

    Args:
        hub: source of events.
        listing: source of the initial state.
        options: what is watched.
        encoder: representation of events.
        on_started: called once when the initial state has been sent.
        open_scopes: where the watch's scope is found at shutdown.
        sent: counts its events.
        beside: where events of large objects of the state are made, None for on the event loop.
    """

    def __init__(
        self,
        hub: Hub,
        listing: Listing,
        options: WatchOptions,
        encoder: Encoder,
        on_started: Callable[[], None],
        open_scopes: set[trio.CancelScope],
        sent: Sent | None = None,
        beside: Beside | None = None,
    ) -> None:
        self._hub = hub
        self._beside = beside
        self._listing = listing
        self._options = options
        self._encoder = encoder
        self._on_started = on_started
        self._open_scopes = open_scopes
        self._sent = sent or Sent()
        self._channel: Channel | None = None
        self._wake = trio.Event()
        self._selected = options.selection.identity if options.selection else None

    def offer(self, batch: Batch) -> bool:
        """Hand a live batch to the client; see `watch.hub.Sink`."""
        channel = self._channel
        if channel is None:
            return False
        frames = self._frames(batch, channel)
        if not frames.wire:
            return True
        if channel.offer(frames.wire):
            self._sent.sent(frames)
            return True
        self._wake.set()
        return False

    def lag(self) -> None:
        """Have the watch's own task pull; see `watch.hub.Sink`."""
        self._wake.set()

    def _frames(self, batch: Batch, channel: Channel) -> Frames:
        def encode(events: Sequence[Event]) -> Frames:
            selection = self._options.selection
            decided = repeat(None) if selection is None else batch.decided(selection)
            parts = [
                event_frame(event, decision, self._encoder)
                for event, decision in zip(events, decided, strict=False)
            ]
            payload = b"".join(parts)
            sizes = [len(part) for part in parts if part]
            return Frames(channel.frame(payload) if payload else b"", sizes)

        return batch.encoded((self._encoder.identity, self._selected, channel.framing), encode)

    async def run(self, channel: Channel) -> None:
        """Write the stream to a channel until its time is up, the client leaves or history ends."""
        self._channel = channel
        async with trio.open_nursery() as nursery:
            # Trio's own clock: a mock clock makes a day of bookmarks take no time.
            nursery.cancel_scope.deadline = trio.current_time() + self._options.timeout_s
            self._open_scopes.add(nursery.cancel_scope)
            nursery.start_soon(self._leave, channel, nursery.cancel_scope, name="watch disconnect")
            try:
                await self._send(channel)
            except Compacted as error:
                gone = expired(f"too old resource version: {error.revision} ({error.floor})")
                await self._refuse(channel, gone)
            except Unreadable as error:
                await self._refuse(channel, internal_error(str(error)))
            except StoreUnavailable as error:
                await self._refuse(channel, translate(error, GroupResource("", ""), ""))
            except ApiError as error:  # such as a state not older than a revision that is to come
                await self._refuse(channel, error)
            finally:
                self._open_scopes.discard(nursery.cancel_scope)
            nursery.cancel_scope.cancel()

    async def _refuse(self, channel: Channel, error: ApiError) -> None:
        """Say why there is nothing more: the answer has begun, so in an event."""
        await channel.send(channel.frame(self._encoder.error(error.status())))

    @staticmethod
    async def _leave(channel: Channel, scope: trio.CancelScope) -> None:
        await channel.wait_closed()
        scope.cancel()

    async def _send(self, channel: Channel) -> None:
        start = self._options.start
        if start is None:
            start = await self._state(channel)
        self._beside = None  # it holds on to the request, and a watch may last
        self._on_started()
        pulls = self._encoder.converts is not None
        # What pulls is converted before it is chosen from.
        chooser = None if pulls else self._options.selection
        watcher = self._hub.subscribe(
            self._options.prefix, start, self, pulls=pulls, chooser=chooser
        )
        try:
            await self._follow(channel, watcher)
        finally:
            self._hub.unsubscribe(watcher)

    async def _state(self, channel: Channel) -> Revision:
        """Send the current state as ADDED events; returns its revision."""
        options = self._options
        if options.begin_now:
            if not options.any_version:
                await self._listing.newest()
            return self._hub.revision
        await self._listing.wait_for(options.not_older_than)
        at = await self._state_from_memory(channel)
        if at is None:
            at = await self._state_from_store(channel)
        if options.initial_bookmark:
            await self._mark(channel, at, initial_end=True)
        return at

    async def _state_from_memory(self, channel: Channel) -> Revision | None:
        """Send the state if it is in memory; returns its revision, None where it is not."""
        options, form = self._options, self._encoder.state_form()
        if form is None:
            return None
        state = await self._listing.state(
            form,
            options.prefix,
            options.selection,
            cached=options.any_version,
            beside=self._beside,
        )
        if state is None:
            return None
        pieces, sizes, at = state
        more = True
        while more:
            payload, more = await pieces.next()
            if payload:
                await sending.send(channel, payload, self._listing.turns)
        self._sent.alone(sizes)
        return at

    async def _state_from_store(self, channel: Channel) -> Revision:
        options, encoder = self._options, self._encoder
        at: Revision | None = None
        after, more = "", True
        under_way = self._listing.recent.begin()
        while more:
            items, more, at = await self._listing.snapshot(
                options.prefix,
                SELECT_KEYS,
                after,
                at,
                cached=options.any_version,
                max_bytes=CHUNK_BYTES,
            )
            if items:
                after = items[-1].key
            failed: ApiError | None = None
            if encoder.converts is not None:
                items, failed = await self._shown_items(encoder.converts, items)
            pieces = await self._added(items)
            items = ()  # a slow client has its events held, and nothing else
            while pieces:
                await trio.lowlevel.checkpoint()  # what other watches have made takes no wait
                await sending.send(channel, pieces.popleft(), self._listing.turns)
            if failed is not None:
                raise failed
        del under_way
        if at is None:
            raise AssertionError("a snapshot has a revision")
        return at

    async def _mark(self, channel: Channel, at: Revision, *, initial_end: bool) -> None:
        """Send a bookmark."""
        payload = self._encoder.bookmark(at, initial_end=initial_end)
        await channel.send(channel.frame(payload))
        self._sent.alone((len(payload),))

    async def _added(self, items: Sequence[KeyValue]) -> deque[bytes]:
        """The events of some of the state; where that means work, other tasks have their turn."""
        selection, encoder, beside = self._options.selection, self._encoder, self._beside
        larger_than = LOOK_BYTES if beside is None else beside.larger_than
        parts: list[bytes] = []
        for some in (to_look_into if encoder.stored else to_encode)(items):
            large: KeyValue | None = None  # one that is large ends its slice
            async with turn(self._listing.turns, some, items):
                for item in some:
                    if selection is not None and not selection.matches_bytes(item.value):
                        continue
                    if item is some[-1] and len(item.value) > larger_than:
                        large = item
                    else:
                        parts.append(encoder.event("ADDED", item.value))
            if large is not None:
                parts.append(await self._large_event(large))
        self._sent.alone(list(map(len, parts)))
        return deque(merged(parts))

    async def _large_event(self, item: KeyValue) -> bytes:
        """The event of a large object: the same bytes for all watches that send it now."""
        form, beside = self._encoder.state_form(), self._beside

        def event_of() -> Made:
            if form is None:
                return self._encoder.event("ADDED", item.value), None
            return form.item(item.value)

        async def make() -> bytes:
            event, _ = event_of() if beside is None else await beside.run(event_of)
            return event

        if form is None:
            return await make()
        return await self._listing.recent.items.get((form.key, item.key, item.revision), make)

    @staticmethod
    async def _shown_items(
        kind: Kind, items: Sequence[KeyValue]
    ) -> tuple[Sequence[KeyValue], ApiError | None]:
        """The state in the version asked for, up to what cannot be converted, and why not."""
        made, failed = await as_far_as_possible(kind, [[item.value] for item in items])
        return [
            item._replace(value=value) for item, [value] in zip(items, made, strict=False)
        ], failed

    async def _shown_batch(self, kind: Kind, batch: Batch) -> tuple[Batch, ApiError | None]:
        """Convert events, once for all watches that have come to the same ones.

        Where there is a selection, it looks at the state before, too.
        """
        looks_back = self._options.selection is not None
        revisions = tuple(event.revision for event in batch.events)
        return await self._listing.conversions.get(
            (kind, looks_back, revisions),
            partial(_shown_events, kind, batch.events, looks_back),
        )

    async def _follow(self, channel: Channel, watcher: Watcher) -> None:
        hub = self._hub
        bookmark_at = self._next_bookmark()
        while True:
            batch = await hub.pull(watcher)
            if batch is not None:
                failed: ApiError | None = None
                if self._encoder.converts is not None:
                    batch, failed = await self._shown_batch(self._encoder.converts, batch)
                frames = self._frames(batch, channel)
                if frames.wire:
                    await channel.send(frames.wire)
                    self._sent.sent(frames)
                else:
                    await trio.lowlevel.checkpoint()
                if failed is not None:
                    raise failed
                continue
            if watcher.cursor > hub.revision:
                await hub.begun(watcher)
                continue
            self._wake = trio.Event()
            with trio.move_on_at(bookmark_at) as timer:
                await self._wake.wait()
                await channel.send(b"")
            if timer.cancelled_caught:
                await self._mark(channel, hub.position(watcher), initial_end=False)
                bookmark_at = self._next_bookmark()

    def _next_bookmark(self) -> float:
        """When the next bookmark is due: every minute, and shortly before the end."""
        if not self._options.bookmarks:
            return float("inf")
        now = trio.current_time()
        deadline = trio.current_effective_deadline()
        last = deadline - BOOKMARK_BEFORE_END_S
        regular = now + BOOKMARK_INTERVAL_S
        return min(regular, last) if last > now else regular
