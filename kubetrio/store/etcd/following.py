"""The table of a replica, and what the feed tells it.

Values are decrypted and converted as they come, so reads cost what they cost without that.  What
cannot be read leaves the state before it in the table, and reads of the key fail (`unreadable`).
When the cipher can read it, everything is read again and the change is told then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import trio

from kubetrio.env import Env
from kubetrio.store.announcing import CommitHooks
from kubetrio.store.arrivals import Arrivals
from kubetrio.store.etcd import requests
from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.feed import Feed
from kubetrio.store.etcd.listing import Listing
from kubetrio.store.etcd.mapping import Mapping, Translation
from kubetrio.store.etcd.past import Past
from kubetrio.store.etcd.requests import Put
from kubetrio.store.etcd.unreadable import UnreadableKeys, UnreadableState
from kubetrio.store.model import (
    CommitHook,
    Event,
    EventType,
    Gap,
    GapHook,
    KeyValue,
    ProgressHook,
    Revision,
    Stale,
)
from kubetrio.store.table import BREATH, MemoryTable


class TableState(NamedTuple):
    """What a table has at a revision.

    Args:
        states: newest states of keys.
        unreadable: keys whose newest values cannot be read, in etcd or in the states.
        revision: the revision.
    """

    states: Sequence[KeyValue]
    unreadable: frozenset[str]
    revision: Revision


class FollowedTable(MemoryTable):
    """What a replica has of etcd; follows `feed.Follower`.

    Args:
        client: of etcd.
        mapping: of keys and values.
        env: randomness, and the wall clock, which dates what this replica hears of.

    Attributes:
        arrivals: revisions that were told.
        trusts_progress: whether all changes before it were told when etcd says how far it is.
        feed: tells of changes; None before it begins.
    """

    def __init__(self, client: Client, mapping: Mapping, env: Env) -> None:
        super().__init__(env.now)
        self._env = env
        self._client = client
        self._translation = Translation(mapping)
        self._past = Past(client, self._translation)
        self._unreadable = UnreadableKeys()
        self._generation = mapping.cipher.generation
        self._hooks = CommitHooks()
        self._progress_hooks: list[ProgressHook] = []
        self.arrivals = Arrivals(0)
        self.trusts_progress = True
        self.feed: Feed | None = None

    @property
    def revision(self) -> Revision:
        """Newest revision announced."""
        return self.arrivals.revision

    def has(self, kv: requests.KeyValue) -> bool:
        """Whether the table has a value of the revisions of a key; see `listing.Known`."""
        key = self._translation.key_of(kv)
        state = self._live.get(key) if key is not None else None
        if state is None or state.key in self._unreadable:
            return False
        return (state.revision, state.create_revision) == (kv.revision, kv.create_revision)

    async def agrees(self, kvs: Sequence[requests.KeyValue]) -> bool:
        """Return whether the table has keys with these values; see `listing.Known`."""
        states = await self._translation.states(kvs)
        return all(
            isinstance(state, KeyValue) and self._live.get(state.key) == state for state in states
        )

    async def replace(self, listing: Listing, *, rewound: bool) -> None:
        """Take everything that is there at a revision; after the first time, tell of the gap.

        Args:
            listing: what is there.
            rewound: whether it is of another history, so that nothing is served of the past.
        """
        revision = listing.revision
        states = await self._translation.states(listing.kvs)
        before, first = dict(self._live), not self._revision
        now: dict[str, KeyValue] = {}
        for kv in listing.unchanged:
            key = self._translation.key_of(kv)
            if key is not None:
                now[key] = before[key]
        self._unreadable.clear()
        for state in states:
            if isinstance(state, KeyValue):
                now[state.key] = state
            elif state is not None:
                self._unreadable.note(state)
                if not rewound and state.key in before:
                    now[state.key] = before[state.key]  # until it is known what it has become
        self._translation.unreadable.intersection_update(self._unreadable)
        events = self._differences(before, now, revision)
        self._begin_anew(now.values(), revision)
        if rewound:
            self._past.compacted = revision
            self.arrivals.rewind(revision)
        else:
            self.arrivals.announce(revision)
        if not first:
            self._hooks.tell_gap(Gap(revision, events, rewound=rewound))

    async def restore(
        self,
        states: Sequence[KeyValue],
        kvs: Sequence[requests.KeyValue],
        revision: Revision,
    ) -> None:
        """Begin with what another table had at a revision, whose server has ended.

        Args:
            states: of keys that it had.
            kvs: further keys, as etcd had them then.
            revision: the revision.
        """
        now = {state.key: state for state in states}
        for state in await self._translation.states(kvs):
            if isinstance(state, KeyValue):
                now[state.key] = state
            elif state is not None:
                self._unreadable.note(state)
        self._begin_anew(now.values(), revision)
        self.arrivals.announce(revision)

    def copied(self) -> TableState:
        """Return what the table has, for a copy of it."""
        return TableState(list(self._live.values()), frozenset(self._unreadable), self._revision)

    def _differences(
        self, before: dict[str, KeyValue], now: dict[str, KeyValue], revision: Revision
    ) -> list[Event]:
        """Return one event for each key that differs, in revision order."""
        events = [
            self._translation.deletion(old, revision)
            for key, old in before.items()
            if key not in now
        ]
        for key, state in now.items():
            old = before.get(key)
            if old is None:
                events.append(Event(state.revision, key, EventType.CREATED, state.value, None))
            elif (old.revision, old.value) != (state.revision, state.value):
                events.append(Event(state.revision, key, EventType.UPDATED, state.value, old.value))
        events.sort(key=lambda event: (event.revision, event.key))
        return events

    async def learn(self, events: Sequence[requests.Event]) -> None:
        """Take changes, and tell of them revision by revision."""
        written = [change.kv for change in events if not change.deleted]
        states = iter(await self._translation.states(written))
        told: list[Event] = []
        for change in events:
            state = None if change.deleted else next(states)
            if isinstance(state, UnreadableState):
                self._unreadable.note(state)
                continue
            event = self._translation.event(change, state, self._before(change))
            if event is not None:
                # Where the key could not be read before, it is older than what the table has of it.
                self._apply(event, created=0 if state is None else state.create_revision)
                if state is not None and state.stale:
                    self._live[state.key] = Stale(*self._live[state.key])
                told.append(event)
        newest = events[-1].kv.revision
        self._revision = newest
        self.arrivals.announce(newest)
        if told:
            self._hooks.tell(told)
        if not told or told[-1].revision != newest:
            self._tell_progress(newest)

    def _before(self, change: requests.Event) -> KeyValue | None:
        """Return the state of a key before a change that can be told."""
        key = self._translation.key_of(change.kv)
        if key is None:
            return None
        self._unreadable.forget(key)
        self._translation.unreadable.discard(key)
        return self._live.get(key)

    def progress(self, revision: int) -> None:
        """Take it that all changes up to a revision were told, if that can be trusted."""
        if not self.trusts_progress and self._revision:
            return
        if revision > self.arrivals.revision or revision > self._revision:
            self._revision = revision
            self.arrivals.announce(revision)
            self._tell_progress(revision)

    def _tell_progress(self, revision: int) -> None:
        for hook in self._progress_hooks:
            hook(revision)

    async def look_at_keys(self) -> None:
        """Have values written anew with other keys, and read those that can be decrypted again.

        Where other keys encrypt, updates that change nothing write all the same, once for each
        object.  What has become readable is told as a gap, whose revision is after all that were
        told, and which ends watches.

        Raises:
            EtcdError: etcd fails.
        """
        generation = self._translation.cipher.generation
        if generation != self._generation:
            self._generation = generation
            await self._mark_stale()
        if self.feed is None or not await self._any_readable():
            return
        barrier = Put(self._translation.barrier, self._env.rng.randbytes(8))
        await self._client.txn([], [barrier], repeatable=True)
        self.feed.read_again()

    async def _mark_stale(self) -> None:
        covers = self._translation.cipher.covers
        for count, key in enumerate(list(self._live), 1):
            state = self._live.get(key)
            if state is not None and covers(key):
                self._live[key] = Stale(*state)
            if count % BREATH == 0:
                await trio.lowlevel.checkpoint()

    async def _any_readable(self) -> bool:
        for state in await self._translation.states(self._unreadable.sealed):
            if not isinstance(state, UnreadableState) or state.is_final:
                return True
        return False

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream."""
        self._hooks.add(hook)

    def on_progress(self, hook: ProgressHook) -> None:
        """Add a listener of progress without events."""
        self._progress_hooks.append(hook)

    def on_gap(self, hook: GapHook) -> None:
        """Add a listener of gaps in history."""
        self._hooks.add_gap(hook)
