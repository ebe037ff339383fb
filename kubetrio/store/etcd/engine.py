"""The engine over etcd: writes are transactions there, reads are of a table that follows.

A replica keeps what etcd has under one prefix in memory, with the history since it began, fed by
one watch (`feed`).  A write is a transaction that compares the revision of its key; it is answered
when its event has come back, so that what reads afterwards sees it.  What is older than this
replica's own history is read from etcd, as long as etcd has it.

Source: k8s.io/apiserver/pkg/storage/etcd3/store.go; KEP-2340.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.store import errors
from kubetrio.store.errors import (
    KeyExists,
    KeyMissing,
    RevisionMismatch,
    StoreFull,
    StoreUnavailable,
)
from kubetrio.store.etcd import errors as etcd
from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.following import FollowedTable
from kubetrio.store.etcd.leases import LeaseManager
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.requests import Delete, Get, Outcome, Put, Ranged, at_revision
from kubetrio.store.etcd.sizes import DatabaseSizes
from kubetrio.store.etcd.translating import translated
from kubetrio.store.model import (
    Event,
    JoinResult,
    KeyValue,
    Range,
    RangeResult,
    Revision,
    Stamped,
)
from kubetrio.store.statistics import Gauge, StoreStatistics

LOG = Log("kubetrio.store")
ANNOUNCED_MAX_S = 10.0
"""How long a write waits for its event; after that it is answered without."""
ASK_AGAIN_S = 0.1
"""Between two requests for progress while a reader waits, as kube-apiserver's."""
FULL = "etcdserver: mvcc: database space exceeded"


class EtcdStore(FollowedTable):
    """A replica; made by `opening.open_store`.  Follows `store.model.Store`.

    Args:
        client: of etcd.
        mapping: of keys and values.
        lease_reuse_s: seconds for which a lease is given to other values.
        env: randomness, and the wall clock, which dates what this replica hears of.

    Attributes:
        sizes: how large the databases of the members are; None for a replica that does not ask.
    """

    shared = True

    def __init__(self, client: Client, mapping: Mapping, lease_reuse_s: float, env: Env) -> None:
        super().__init__(client, mapping, env)
        self._leases = LeaseManager(client.lease_grant, lease_reuse_s)
        self._writes = self._queued = 0
        self._refusing = ""
        self.sizes: DatabaseSizes | None = None

    # ------------------------------------------------------------------ reads

    @property
    def cached(self) -> Self:
        """Local state: nothing here asks how old it is."""
        return self

    def _is_past(self, at: Revision | None) -> bool:
        """Whether a revision is older than the history that this replica has of its own."""
        return at is not None and at < self._compacted

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision, as far as it is known; etcd may have compacted more."""
        return min(self._compacted, self._past.compacted)

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`."""
        if at is not None and self._is_past(at):
            return await self._past.get(key, at)
        self._unreadable.check(key, at)
        return await super().get(key, at=at)

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        if at is not None and self._is_past(at):
            return await self._past.range(keys, at, limit, max_bytes)
        self._unreadable.check_range(keys, at)
        return await super().range(keys, at=at, limit=limit, max_bytes=max_bytes)

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
        if at is None or not self._is_past(at):
            self._unreadable.check_range(keys, at)
            return await super().join(
                keys, skip=skip, separator=separator, at=at, limit=limit, max_bytes=max_bytes
            )
        page = await self._past.range(keys, at, limit, max_bytes)
        body = separator.join(item.value[skip:] for item in page.items)
        last = page.items[-1].key if page.items else ""
        return JoinResult(page.revision, body, len(page.items), last, page.more)

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys; see `Store.count`."""
        if at is not None and self._is_past(at):
            return await self._past.count(keys, at)
        return await super().count(keys, at=at)

    async def events(
        self, *, after: Revision, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision; see `Store.events`."""
        if after >= self._compacted:
            return await super().events(after=after, keys=keys, max_bytes=max_bytes)
        floor = self._compacted
        if not self.trusts_progress and not self._log:
            await self.newest()  # which writes, so that an event follows those that are asked for
        chosen, upto = await self._past.events(
            after, floor, keys, max_bytes, trusts_progress=self.trusts_progress
        )
        left = max_bytes - sum(len(event.value) for event in chosen)
        if upto < floor or floor != self._compacted or left <= 0:
            return chosen, upto
        newer, upto = await super().events(after=floor, keys=keys, max_bytes=left)
        return [*chosen, *newer], upto

    # ------------------------------------------------------------------ progress

    async def newest(self) -> Revision:
        """Newest revision that any writer made: a linearizable read of etcd.

        An etcd whose word on progress is not to be trusted is written to instead, so that an event
        comes after all that were before.

        Raises:
            StoreUnavailable: no majority answers.
        """
        seen = self.arrivals.revision
        with translated():
            if self.trusts_progress:
                newest = await self._client.newest()
            else:
                # No two have one value, since etcd's history is known again by it (`feed`).
                barrier = Put(self._translation.barrier, self._env.rng.randbytes(8))
                newest = (await self._client.txn([], [barrier], repeatable=True)).revision
        self._judge(newest, seen)
        return newest

    def _judge(self, answered: Revision, seen: Revision) -> None:
        """Doubt what was told, where etcd answers with a revision before what it told earlier.

        Args:
            answered: revision of an answer.
            seen: newest revision that was told when the question was asked.
        """
        if answered < min(seen, self.arrivals.revision) and self.feed is not None:
            self.feed.doubt(f"etcd is at revision {answered}, this server has seen {seen}")

    async def caught_up(self, revision: Revision) -> None:
        """Wait until a revision has been told, of the history that etcd has.

        Where it has not been, etcd is asked how far it is.
        """
        feed = self.feed
        while True:
            if self.arrivals.revision < revision:
                if feed is not None:
                    feed.request_progress()
                with trio.move_on_after(ASK_AGAIN_S):
                    await self.arrivals.wait_for(revision)
            elif feed is not None and feed.behind:
                await feed.current()  # what was told may be of a history that is not there any more
            else:
                return

    # ------------------------------------------------------------------ writes

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key; see `Store.create`."""
        outcome = await self._put(key, value, 0, ttl_s)
        if not outcome.succeeded:
            raise KeyExists(key, _found(outcome, key) or outcome.revision)
        revision = await self._announced(outcome.revision)
        return KeyValue(key, value.at(revision), revision, revision)

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key; see `Store.update`."""
        if expected <= 0:
            await self._refused(key)
        before = self._live.get(key)
        outcome = await self._put(key, value, expected, ttl_s)
        if not outcome.succeeded:
            self._lost(outcome, key)
        revision = await self._announced(outcome.revision)
        created = before.create_revision if before is not None else expected
        return KeyValue(key, value.at(revision), revision, created)

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key; see `Store.delete`."""
        if expected <= 0:
            await self._refused(key)
        name = self._translation.keys.to_etcd(key)
        with self._noting_no_room():
            outcome = await self._txn(name, expected, Delete(name))
        if not outcome.succeeded:
            self._lost(outcome, key)
        return await self._announced(outcome.revision)

    async def _put(self, key: str, value: Stamped, expected: Revision, ttl_s: float) -> Outcome:
        name, data = await self._translation.to_etcd(key, value)
        with self._noting_no_room():
            try:
                outcome = await self._put_once(name, data, expected, ttl_s)
            except etcd.LeaseNotFound:  # it ended by itself, or was revoked
                self._leases.forget()
                outcome = await self._put_once(name, data, expected, ttl_s)
        self._refusing = ""
        return outcome

    @contextmanager
    def _noting_no_room(self) -> Iterator[None]:
        """Raise errors of etcd as those of a store, and note that it has no room.

        A deletion that is done does not show that there is room again.

        Raises:
            StoreFull: there is none.
            EngineFailed: etcd fails otherwise.
        """
        try:
            with translated():
                yield
        except StoreFull:
            self._refusing = FULL
            raise

    async def _put_once(
        self, name: bytes, data: bytes, expected: Revision, ttl_s: float
    ) -> Outcome:
        lease = await self._leases.lease_for(ttl_s)
        return await self._txn(name, expected, Put(name, data, lease))

    async def _txn(self, name: bytes, expected: Revision, write: Put | Delete) -> Outcome:
        """Write a key that is at a revision; say which state it has if it is at another.

        Raises:
            EtcdError: it fails.
        """
        seen = self.arrivals.revision
        self._queued += 1
        try:
            outcome = await self._client.txn(
                [at_revision(name, expected)], [write], [Get(key=name)]
            )
        finally:
            self._queued -= 1
        self._writes += outcome.succeeded
        # A write has a revision after all that were told before.
        self._judge(outcome.revision - outcome.succeeded, seen)
        return outcome

    async def _refused(self, key: str) -> None:
        """Refuse a write that expects no revision at all.

        Raises:
            KeyMissing: the key does not exist.
            RevisionMismatch: it does.
        """
        name = self._translation.keys.to_etcd(key)
        with translated():
            answer = await self._client.range(Get(key=name))
        if not answer.kvs:
            raise KeyMissing(key, answer.revision)
        raise RevisionMismatch(key, answer.kvs[0].revision)

    def _lost(self, outcome: Outcome, key: str) -> None:
        """Say which state won.

        Raises:
            KeyMissing: the key does not exist.
            RevisionMismatch: it is at another revision.
        """
        revision = _found(outcome, key)
        if revision is None:
            raise KeyMissing(key, outcome.revision)
        raise RevisionMismatch(key, revision)

    async def _announced(self, revision: Revision) -> Revision:
        """Wait until what was written has come back, as long as that is usual."""
        with trio.move_on_after(ANNOUNCED_MAX_S, shield=True):  # it is stored: a point, no span
            # Its event comes by itself: etcd is asked how far it is where that takes long.
            with trio.move_on_after(ASK_AGAIN_S):
                await self.arrivals.wait_for(revision)
            await self.caught_up(revision)
        return revision

    @property
    def freeing(self) -> Self:
        """All updates: a full etcd takes none, and deletions all the same."""
        return self

    @property
    def rewinding(self) -> None:
        """No writing of several keys: etcd has one revision for a transaction."""

    # ------------------------------------------------------------------ the rest

    async def probe(self, limit_s: float) -> None:
        """Ask etcd; see `Store.probe`."""
        seen = self.arrivals.revision
        with translated():
            self._judge(await self._client.newest(timeout_s=limit_s), seen)
        if self.feed is not None and self.feed.behind:
            raise StoreUnavailable(self.feed.behind)

    async def compact(self, to: Revision) -> None:
        """Have etcd forget what is older than a revision; see `Store.compact`."""
        with translated():
            try:
                await self._client.compact(to)
            except etcd.Compacted:
                raise errors.Compacted(to, max(to, self._past.compacted)) from None
            except etcd.FutureRevision:
                raise errors.FutureRevision(to, self.revision) from None
        self._past.compacted = max(to, self._past.compacted)
        if to > self._compacted:
            await self.caught_up(to)
            await self._forget_before(to)

    async def forget(self, to: Revision) -> None:
        """Forget states of this replica that are older than a revision; etcd keeps its own."""
        if self._compacted < to <= self._revision:
            await self._forget_before(to)

    def statistics(self) -> StoreStatistics:
        """A snapshot of numbers; the size is that of the largest member's database."""
        numbers, feed, sizes = self._client.statistics(), self.feed, self.sizes
        told = (feed.broken, feed.reloads, feed.rewinds) if feed else (0, 0, 0)
        own = (
            ("kubetrio_etcd_calls", "Calls of etcd since start.", numbers.calls),
            ("kubetrio_etcd_failed_calls", "Calls of etcd that failed.", numbers.failed),
            ("kubetrio_etcd_dials", "Connections to etcd that were tried.", numbers.dials),
            ("kubetrio_etcd_broken_watches", "Watches of etcd that broke.", told[0]),
            ("kubetrio_etcd_reloads", "Times that everything was read again.", told[1]),
            ("kubetrio_etcd_rewinds", "Times that etcd had another history, as a restored one has.",
             told[2]),
            ("kubetrio_etcd_replica_bytes", "Bytes of values in memory.", self._bytes),
            ("kubetrio_etcd_unreadable", "Values that cannot be read.",
             len(self._unreadable)),
        )  # fmt: skip
        return StoreStatistics(
            revision=self.revision,
            compacted=self.compacted,
            writes=self._writes,
            size_bytes=sizes.largest if sizes else 0,
            queued=self._queued,
            refusing=self._refusing,
            failed_listeners=self._hooks.failures,
            own=[Gauge(*row) for row in own],
            members=dict(sizes.by_endpoint) if sizes else {},
            cluster="etcd-0",  # as kube-apiserver calls its first one
        )


def _found(outcome: Outcome, key: str) -> Revision | None:
    """Revision of a key that a transaction found in another state, None without the key."""
    [answer] = outcome.answers
    if not isinstance(answer, Ranged):
        raise TypeError(f"{key}: etcd answered a read with {type(answer).__name__}")
    return answer.kvs[0].revision if answer.kvs else None
