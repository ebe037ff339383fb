"""The contract of the store: its values, and the protocols that every engine follows.

The store knows keys, bytes and revisions, and nothing of what the bytes mean.  Its contract is the
part of etcd v3 that an API server needs, so that an embedded engine, a model in memory and a
distributed engine can stand behind the same calls:

* one global revision that grows; every create, update and delete takes one of its own, greater than
  all before it.  Not each number is used, and none may be worked out from another;
* current state, state at any retained revision, and the events between two revisions are queries;
  a revision without a write, up to the newest, has the state of the one before it;
* a value is written with a hole (`Stamped`) where the revision goes.  The engine fills it when it
  writes or when it reads; the bytes it returns are complete;
* a value may have a time to live, and is deleted, as by a client, when that is over;
* the newest revision may grow without an event, where others write what does not concern this
  store;
* history may have a gap for an engine that follows another process, and may be replaced by another
  one (`Gap`).

Revisions may be made by another process: a caller learns of commits only through the commit
stream, never by remembering what it wrote; the revision of a write is known when it is answered.
What is read is local state, which may be behind the newest revision where others write
(`Store.shared`): `newest` and `caught_up` are the barrier for a consistent read, and a write that
lost says which revision won.  The server puts `store.consistent` over such an engine.

A caller asks for what it uses: `Reading`, `Writing`, `History`, `Progress`, those it needs of them
together, or the whole `Store` to hand it on.  What not every engine can do is a protocol of its own
(`Rewinding`), and what only one engine counts is among its own gauges.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kubetrio.store.statistics import StoreStatistics

Revision = int


class Stamped(NamedTuple):
    """Bytes with one hole where the revision goes, in decimal.

    Args:
        before: bytes in front of the revision.
        after: bytes after it.
    """

    before: bytes
    after: bytes

    def at(self, revision: Revision) -> bytes:
        """The complete bytes for a revision."""
        return b"%b%d%b" % (self.before, revision, self.after)

    @property
    def hole(self) -> int:
        """Where in the complete bytes the revision stands; -1 where it cannot be told."""
        return len(self.before)


class Unstampable(Stamped):
    """Bytes in `before` that are stored as they are, since no revision can be written into them."""

    __slots__ = ()

    def at(self, revision: Revision) -> bytes:
        """The bytes."""
        del revision
        return self.before

    @property
    def hole(self) -> int:
        """No hole: -1."""
        return -1


Reopen = Callable[[bytes], Stamped]
"""Complete bytes with the hole for their revision open again; an engine that stores complete bytes
is given one when it is opened, and stamps with it what it deletes."""


def unstampable(value: bytes) -> Stamped:
    """Complete bytes that keep the revision they have; the `Reopen` of values without a hole."""
    return Unstampable(value, b"")


def reopened(value: bytes, hole: int, revision: Revision) -> Stamped:
    """Complete bytes with their hole open again.

    Args:
        value: the complete bytes.
        hole: where it was (`Stamped.hole`).
        revision: what stands there.
    """
    if hole < 0:
        return Unstampable(value, b"")
    return Stamped(value[:hole], value[hole + len(str(revision)) :])


class KeyValue(NamedTuple):
    """One object at one revision (a tuple: every read makes one).

    Args:
        key: storage key.
        value: complete bytes, the revision inside.
        revision: revision that wrote these bytes.
        create_revision: revision that created the key.
    """

    key: str
    value: bytes
    revision: Revision
    create_revision: Revision

    @property
    def stale(self) -> bool:
        """Whether a write would store the same value in another way, so that it is worth one."""
        return False


class Stale(KeyValue):
    """An object whose bytes are to be written again, though they would say the same."""

    __slots__ = ()

    @property
    def stale(self) -> bool:
        """Always true of these."""
        return True


@dataclass(frozen=True, slots=True)
class Range:
    """Keys from `start` (inclusive) to `end` (exclusive), in byte order."""

    start: str
    end: str

    @classmethod
    def prefix(cls, prefix: str) -> Range:
        """All keys that begin with a non-empty prefix."""
        return cls(prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))

    @classmethod
    def single(cls, key: str) -> Range:
        """Exactly one key."""
        return cls(key, key + "\0")

    def after(self, key: str) -> Range:
        """The part of this range after a key."""
        return Range(max(self.start, key + "\0"), self.end)

    def __contains__(self, key: str) -> bool:
        return self.start <= key < self.end


class EventType(enum.IntEnum):
    """What a revision did to its key; the numbers are stored."""

    CREATED = 0
    UPDATED = 1
    DELETED = 2


class Event(NamedTuple):
    """One revision, as the log has it.

    Args:
        revision: the revision.
        key: the key it changed.
        type: what it did.
        value: the bytes after it; for a deletion the last state, stamped with this revision.
        previous: the bytes before it, None for a creation.
    """

    revision: Revision
    key: str
    type: EventType
    value: bytes
    previous: bytes | None


class Change(NamedTuple):
    """A write of one key, to be made together with others.

    Args:
        type: what it does to the key.
        key: the key.
        value: what it becomes, None for a deletion.
        expected: revision it must be at; of a creation nothing, since it must not be there.
        ttl_s: as of `Writing.create`.
    """

    type: EventType
    key: str
    value: Stamped | None
    expected: Revision
    ttl_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RangeResult:
    """Part of a range at one revision.

    Args:
        revision: the revision that was read.
        items: in key order.
        more: whether the range holds further keys after the last item.
    """

    revision: Revision
    items: Sequence[KeyValue]
    more: bool


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Part of a range as one piece of bytes.

    Args:
        revision: the revision that was read.
        body: values without their first `skip` bytes, with the separator between them.
        count: number of values in `body`.
        last_key: key of the last of them, empty when there is none.
        more: whether the range holds further keys after it.
    """

    revision: Revision
    body: bytes
    count: int
    last_key: str
    more: bool


class Gap(NamedTuple):
    """History that an engine cannot tell change by change, because it has not seen it.

    Args:
        revision: newest revision now; the commit stream goes on after it.
        changes: what differs between the state that was told before and the present one, one event
            for each key, in revision order: not the changes that were made, but enough for a state.
        rewound: whether revisions are, or may be, of another history, as of a snapshot that was
            restored: none that was told before means what it meant, and the newest may be lower.
    """

    revision: Revision
    changes: Sequence[Event]
    rewound: bool


CommitHook = Callable[[Sequence[Event]], None]
ProgressHook = Callable[[Revision], None]
GapHook = Callable[[Gap], None]


class Reading(Protocol):
    """State, newest or at a revision."""

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key, newest or at a revision.

        Raises:
            Compacted: `at` is older than the history kept.
            FutureRevision: `at` is newer than the newest revision.
        """
        ...

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys of a range in order, newest or at a revision.

        Args:
            keys: the range.
            at: revision, None for the newest.
            limit: most keys; 0 for all.
            max_bytes: bytes of values after which the result ends; 0 for none.

        Raises:
            Compacted: `at` is older than the history kept.
            FutureRevision: `at` is newer than the newest revision.
        """
        ...

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
        """Values of a range as one piece of bytes of about `max_bytes`, at least one value.

        Raises:
            Compacted: `at` is older than the history kept.
            FutureRevision: `at` is newer than the newest revision.
        """
        ...

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys in a range, now or at a revision; raises as `range`."""
        ...


class Updating(Protocol):
    """Compare and swap of keys that exist."""

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key that is at an expected revision.

        Args:
            key: the key.
            value: what it becomes.
            expected: revision it must be at.
            ttl_s: as of `Writing.create`, and from now on: whatever was left to the value before is
                void.

        Raises:
            KeyMissing: the key does not exist.
            RevisionMismatch: it is at another revision.
        """
        ...


class Writing(Updating, Protocol):
    """Compare and swap."""

    @property
    def freeing(self) -> Updating:
        """Updates that lead to a deletion: an engine without room takes them, as deletions."""
        ...

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a key that does not exist.

        Args:
            key: the key.
            value: what it becomes.
            ttl_s: seconds after which it is deleted if it is not written again, or somewhat
                later; 0 for never.  The time in which no server runs need not count.

        Raises:
            KeyExists: it does.
        """
        ...

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key that is at an expected revision; return the revision of that.

        Its event has the last state, which the engine stamps with the new revision.

        Raises:
            KeyMissing: the key does not exist.
            RevisionMismatch: it is at another revision.
        """
        ...


class Rewinding(Protocol):
    """Writing of several keys at once, as going back to a snapshot needs it."""

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes, all of them or none, each with a revision of its own.

        They are announced together, in this order.

        Args:
            changes: of keys that differ.

        Raises:
            KeyExists: a key that is to be created exists.
            KeyMissing: another does not exist.
            RevisionMismatch: it is at another revision.
        """
        ...


class History(Protocol):
    """What happened."""

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision: states at it and events after it may be asked for."""
        ...

    async def events(
        self, *, after: Revision, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision, oldest first, and the revision up to which they are complete.

        Stops after about `max_bytes` of values, at least one event.

        Raises:
            Compacted: `after` is older than the history kept.
        """
        ...


class Progress(Protocol):
    """How far the store has come."""

    @property
    def revision(self) -> Revision:
        """Newest revision announced, by the commit stream or as progress."""
        ...

    async def newest(self) -> Revision:
        """Newest revision that any writer made; it may not have been announced yet.

        Not a checkpoint, and free, where no other server writes.

        Raises:
            StoreUnavailable: the engine does not answer.
        """
        ...

    async def caught_up(self, revision: Revision) -> None:
        """Wait until a revision has been announced, so that reads see it.

        Not a checkpoint when it has been.  The caller brings the deadline.
        """
        ...

    def on_commit(self, hook: CommitHook) -> None:
        """Call `hook` with the events of each commit, in revision order, from the event loop.

        A write is answered when its event has been announced.
        """
        ...

    def on_progress(self, hook: ProgressHook) -> None:
        """Call `hook` with the newest revision where it has grown without an event.

        All events up to that revision have been announced.  From the event loop, too.
        """
        ...

    def on_gap(self, hook: GapHook) -> None:
        """Call `hook` where the commit stream goes on after history that was lost."""
        ...


class ReadingAndWriting(Reading, Writing, Protocol):
    """State and compare and swap: what changes an object."""


class Store(Reading, Writing, History, Progress, Protocol):
    """What every engine offers.  See the module's contract."""

    @property
    def shared(self) -> bool:
        """Whether others write to it too, so that local state may be behind the newest revision.

        Known when the engine is opened; it does not change.
        """
        ...

    @property
    def cached(self) -> Reading:
        """Reads that do not ask the engine: local state, however old it is."""
        ...

    @property
    def rewinding(self) -> Rewinding | None:
        """Writing of several keys at once, None where the engine cannot do that."""
        ...

    async def probe(self, limit_s: float) -> None:
        """Ask the engine whether it still reads and writes, for health checks.

        Args:
            limit_s: how long it may take to answer, in seconds.

        Raises:
            StoreUnavailable: it does not answer in time, or cannot be read.
            StoreClosed: the store is closed.
        """
        ...

    async def compact(self, to: Revision) -> None:
        """Forget states and events older than a revision.

        Raises:
            Compacted: it is forgotten already.
            FutureRevision: it does not exist yet.
        """
        ...

    def statistics(self) -> StoreStatistics:
        """A snapshot of numbers."""
        ...
