"""Consistent reads over an engine that other processes write to.

The local state of such an engine follows revisions that are made elsewhere, and may be behind them.
Reads of the newest state ask which revision is the newest and wait until the local state has come
to it; a write that lost its compare-and-swap is answered when the local state has what won, so that
its caller decides on that.  Reads that a client allows to be old use `Store.cached`.

An engine with one writer is never behind: `consistent` returns it as it is, and nothing stands
between its callers and it.

Source: KEP-2340 (consistent reads from the watch cache); kine's ``CurrentRevision`` and
``WaitForSyncTo``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Generic, NamedTuple, TypeVar

import trio

from kubetrio.store.errors import LostCompareAndSwap, StoreBehind
from kubetrio.store.model import (
    Change,
    CommitHook,
    Event,
    GapHook,
    JoinResult,
    KeyValue,
    ProgressHook,
    Range,
    RangeResult,
    Reading,
    Revision,
    Rewinding,
    Stamped,
    Store,
    Updating,
)
from kubetrio.store.statistics import StoreStatistics

T = TypeVar("T")

BEHIND_MAX_S = 10.0
"""How long a read waits for the local state; after that the engine counts as out of order."""


class _Question(Generic[T]):
    """A question to the engine.

    Attributes:
        ended: set when it has been answered, or given up.
        answer: what the engine said; None for nothing.
    """

    __slots__ = ("answer", "ended")

    def __init__(self) -> None:
        self.ended = trio.Event()
        self.answer: T | None = None


class SharedQuestion(Generic[T]):
    """One question to the engine for all tasks that wait for its answer.

    A task gets the answer to a question that was asked after the task came, never to one that was
    under way: that answer may be older than what the task has to see.  The first task that comes
    while a question is under way asks the next one, for all that come until then; where it fails or
    is cancelled, another one of them asks.  All of them go on in one turn of the event loop: with a
    lock they did one after the other, each in a turn of its own, and sixteen reads took 16 turns.

    Args:
        ask: asks the engine.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]]) -> None:
        self._ask = ask
        self._under_way: _Question[T] | None = None
        self._next: _Question[T] | None = None

    async def answer(self) -> T:
        """Return the answer to a question asked from now on."""
        while (shared := self._next) is not None:
            await shared.ended.wait()
            if shared.answer is not None:
                return shared.answer
        question = self._next = _Question[T]()
        try:
            if (before := self._under_way) is not None:
                await before.ended.wait()
            self._under_way, self._next = question, None
            try:
                question.answer = await self._ask()
            finally:
                self._under_way = None
            return question.answer
        finally:
            if self._next is question:
                self._next = None
            question.ended.set()


class Newest(NamedTuple):
    """What the engine answers.

    Args:
        revision: newest revision that any writer made.
        there: whether the local state had come to it when the answer came.
    """

    revision: Revision
    there: bool


class ConsistentStore:
    """A store whose reads of the newest state are consistent; see the module.

    Args:
        store: the engine, or what encrypts over it.
        behind_max_s: how long a read waits for the local state.
    """

    shared = True

    def __init__(self, store: Store, behind_max_s: float = BEHIND_MAX_S) -> None:
        self._store = store
        self._behind_max_s = behind_max_s
        self._newest = SharedQuestion(self._ask)

    @property
    def engine(self) -> Store:
        """The engine, or what encrypts over it."""
        return self._store

    # ------------------------------------------------------------------ progress

    @property
    def revision(self) -> Revision:
        """Newest revision announced."""
        return self._store.revision

    @property
    def cached(self) -> Reading:
        """The local state."""
        return self._store.cached

    async def newest(self) -> Revision:
        """Newest revision that any writer made; see `Store.newest`."""
        return (await self._newest.answer()).revision

    async def _ask(self) -> Newest:
        """Ask the engine, and look once for all who wait whether they have to wait any longer."""
        revision = await self._store.newest()
        with trio.CancelScope(deadline=-inf) as looking:
            await self._store.caught_up(revision)  # no checkpoint where it is there
        return Newest(revision, not looking.cancelled_caught)

    async def caught_up(self, revision: Revision) -> None:
        """Wait until the local state has come to a revision.

        Raises:
            StoreBehind: it does not come there in time.
        """
        with trio.move_on_after(self._behind_max_s) as waited:
            await self._store.caught_up(revision)
        if waited.cancelled_caught:
            raise StoreBehind(revision, self._store.revision)

    async def _catch_up(self, at: Revision | None) -> None:
        """Have the local state hold what a read of the newest state, or of a revision, needs."""
        if at is None or at > self._store.revision:
            newest = await self._newest.answer()
            if not newest.there:
                await self.caught_up(newest.revision)

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream."""
        self._store.on_commit(hook)

    def on_progress(self, hook: ProgressHook) -> None:
        """Add a listener of progress without events."""
        self._store.on_progress(hook)

    def on_gap(self, hook: GapHook) -> None:
        """Add a listener of gaps in history."""
        self._store.on_gap(hook)

    # ------------------------------------------------------------------ reads

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`."""
        await self._catch_up(at)
        return await self._store.get(key, at=at)

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        await self._catch_up(at)
        return await self._store.range(keys, at=at, limit=limit, max_bytes=max_bytes)

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
        await self._catch_up(at)
        return await self._store.join(
            keys, skip=skip, separator=separator, at=at, limit=limit, max_bytes=max_bytes
        )

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys; see `Store.count`."""
        await self._catch_up(at)
        return await self._store.count(keys, at=at)

    # ------------------------------------------------------------------ writes

    async def _decided(self, write: Awaitable[T]) -> T:
        """Answer a write; one that lost when the local state has what won."""
        try:
            return await write
        except LostCompareAndSwap as lost:
            await self.caught_up(lost.winner)
            raise

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key; see `Store.create`."""
        return await self._decided(self._store.create(key, value, ttl_s=ttl_s))

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key; see `Store.update`."""
        return await self._decided(self._store.update(key, value, expected=expected, ttl_s=ttl_s))

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key; see `Store.delete`."""
        return await self._decided(self._store.delete(key, expected=expected))

    @property
    def freeing(self) -> Updating:
        """Updates that lead to a deletion; see `Store.freeing`."""
        return _Decided(self._store.freeing, self._decided)

    @property
    def rewinding(self) -> Rewinding | None:
        """Writing of several keys at once; see `Store.rewinding`."""
        several = self._store.rewinding
        return several and _DecidedTogether(several, self._decided)

    # ------------------------------------------------------------------ history and the rest

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision."""
        return self._store.compacted

    async def events(
        self, *, after: Revision, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision; see `Store.events`."""
        return await self._store.events(after=after, keys=keys, max_bytes=max_bytes)

    async def probe(self, limit_s: float) -> None:
        """Ask the engine; see `Store.probe`."""
        await self._store.probe(limit_s)

    async def compact(self, to: Revision) -> None:
        """Forget what is older than a revision; see `Store.compact`."""
        await self._store.compact(to)

    def statistics(self) -> StoreStatistics:
        """Numbers of the engine."""
        return self._store.statistics()


Decide = Callable[[Awaitable[T]], Awaitable[T]]


class _Decided:
    """Updates of an engine that are answered when the local state has what won.

    Args:
        updating: those of the engine.
        decided: answers a write.
    """

    def __init__(self, updating: Updating, decided: Decide[KeyValue]) -> None:
        self._updating = updating
        self._decided = decided

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key; see `Updating.update`."""
        write = self._updating.update(key, value, expected=expected, ttl_s=ttl_s)
        return await self._decided(write)


class _DecidedTogether:
    """Writing of several keys that is answered when the local state has what won.

    Args:
        several: that of the engine.
        decided: answers a write.
    """

    def __init__(self, several: Rewinding, decided: Decide[None]) -> None:
        self._several = several
        self._decided = decided

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes at once; see `Rewinding.write_all`."""
        await self._decided(self._several.write_all(changes))


def consistent(store: Store) -> Store:
    """Return a store whose reads of the newest state are consistent; the same one if they are."""
    return ConsistentStore(store) if store.shared else store
