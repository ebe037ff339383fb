"""The one writing connection of the database.

Everything here is synchronous; see `store.sqlite.database`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from kubetrio.store.errors import ChecksumMismatch, KeyExists, KeyMissing, RevisionMismatch
from kubetrio.store.model import (
    Change,
    Event,
    EventType,
    KeyValue,
    Reopen,
    Revision,
    Stamped,
    reopened,
    unstampable,
)
from kubetrio.store.sqlite import checksums
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.checksums import Damage
from kubetrio.store.sqlite.database import BUSY_TIMEOUT_MS, closed_on_failure, connect
from kubetrio.store.sqlite.journal import Journaled, mark_of
from kubetrio.store.sqlite.journalreplay import replay

T = TypeVar("T")
Wrote = tuple[T, Sequence[Event]]  # what the writer is answered, and what happened

CACHE_KIB = 16384
NOTED_JUMP_MS = 1000  # by so much the wall clock moved against that of revisions, when it is noted


class _State(NamedTuple):
    """A key before a write.

    Args:
        revision: that it is at.
        created: that created it.
        size: bytes of its value.
        value: the value.
        checksum: of that; None where a former release wrote it.
    """

    revision: Revision
    created: Revision
    size: int
    value: bytes
    checksum: int | None


class Writer:
    """The one writing connection: applies writes to an open transaction and commits it.

    A commit is not synced: ``synchronous=FULL`` is ``NORMAL`` and a sync of the write-ahead log
    behind each commit (sqlite.org/pragma.html), and `store.sqlite.commits` does that beside the
    event loop.

    Args:
        path: database file.
        cache_kib: page cache, KiB.
        reopen: opens the hole of complete bytes, so that a deletion is stamped.
        damage: is told of values that are not what was written.

    Attributes:
        connection: the connection.
        revision: newest revision of the open transaction.
        compacted: newest compacted revision.
        newest_ms: time of the newest revision.
        wal_pages: pages of the write-ahead log.
    """

    def __init__(
        self,
        path: Path,
        *,
        cache_kib: int = CACHE_KIB,
        reopen: Reopen = unstampable,
        damage: Damage | None = None,
    ) -> None:
        self._reopen = reopen
        self._damage = damage or Damage()
        self.connection = connect(path, synchronous="NORMAL", cache_kib=cache_kib)
        self._execute = self.connection.execute
        self.wal_pages = 0
        self._marked = False
        self._ahead_ms: int | None = None  # as noted; of the wall clock before that of revisions
        with closed_on_failure(self.connection):
            self.revision: Revision = self._execute(sql.HEAD).get
            self.compacted: Revision = self._execute(sql.GET_META, ("compacted",)).get
            self.newest_ms: int = self._execute(sql.NEWEST_AT).get or 0
            self.connection.set_wal_hook(self._on_wal)

    def _on_wal(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self.wal_pages = pages
        return apsw.SQLITE_OK

    def begin(self, now_ms: int, wall_ms: int | None = None) -> None:
        """Open a transaction whose writes carry a time (`Clock`) that never goes back.

        Args:
            now_ms: that time.
            wall_ms: the wall clock, None where nothing is written for the first time.
        """
        self.newest_ms = max(self.newest_ms, now_ms)
        self._enter()
        if not self._marked:  # there was no room for it when the file was opened
            self._execute(sql.SET_META, ("clean", 0))
        if wall_ms is not None:
            ahead_ms = wall_ms - self.newest_ms
            if self._ahead_ms is None or abs(ahead_ms - self._ahead_ms) > NOTED_JUMP_MS:
                self.note_wall_clock(ahead_ms)

    def note_wall_clock(self, ahead_ms: int) -> None:
        """Note by how much the wall clock is ahead of the times of the revisions that follow."""
        self._execute(sql.FORGET_WALL_CLOCKS, (self.compacted,))
        self._execute(sql.NOTE_WALL_CLOCK, (self.revision + 1, ahead_ms))
        self._ahead_ms = ahead_ms

    def commit(self) -> None:
        """Put the open transaction into the log."""
        self._leave()
        self._marked = True

    def has_committed(self) -> bool:
        """Whether a commit that raised for want of memory is in the database all the same."""
        if self.connection.in_transaction:
            return False
        return bool(self._execute(sql.HEAD).get == self.revision)

    def rollback(self, revision: Revision) -> None:
        """Forget the open transaction; `revision` is the newest committed one."""
        with contextlib.suppress(apsw.Error):  # SQLite may have rolled back by itself
            self._undo()
        self.revision = revision
        self._ahead_ms = None

    # ------------------------------------------------------------------ what a journal changes

    @property
    def quick(self) -> bool:
        """Whether a commit of a moderate size takes microseconds."""
        return True

    @property
    def flush_due(self) -> bool:
        """Whether `flush` should be called."""
        return False

    def flush(self) -> None:
        """Commit what only a journal makes durable; without one there is nothing."""

    def _enter(self) -> None:
        """Open a transaction."""
        self._execute(sql.BEGIN)

    def _leave(self) -> None:
        """Commit it."""
        self._execute(sql.COMMIT)

    def _undo(self) -> None:
        """Roll it back."""
        self._execute(sql.ROLLBACK)

    def _note(
        self,
        done: EventType,
        key: str,
        value: bytes,
        hole: int,
        previous: tuple[Revision, bytes] = (0, b""),
        ttl_ms: int = 0,
    ) -> None:
        """Called with each write: what it did, with its complete value and that before it."""

    def _note_compaction(self, to: Revision) -> None:
        """Called with each compaction."""

    # ------------------------------------------------------------------ writes

    def _append(
        self,
        key: str,
        kind: EventType,
        created: Revision,
        before: _State | None,
        stamped: bytes,
        checksum: int,
    ) -> None:
        """Add a row to the log, under the next revision."""
        revision = self.revision + 1
        previous = before.revision if before else None
        total = checksums.of_row(key, int(kind), checksum)
        self._execute(
            sql.APPEND,
            (revision, key, int(kind), created, previous, self.newest_ms, stamped, total),
        )
        if before:
            replaced = (key, before.revision, revision, before.size, before.checksum)
            self._execute(sql.ADD_HISTORY, replaced)
        self.revision = revision

    def create(self, key: str, value: Stamped, ttl_ms: int = 0) -> Wrote[KeyValue]:
        """Apply a creation.

        Args:
            key: the key.
            value: what it becomes.
            ttl_ms: how long it stays if it is not written again; 0 for good.

        Raises:
            KeyExists: the key is there.
        """
        revision = self.revision + 1
        stamped = value.at(revision)
        checksum = checksums.of_value(stamped, revision, revision, None)
        try:
            self._execute(sql.ADD_CURRENT, (key, revision, len(stamped), checksum))
        except apsw.ConstraintError:
            row = self._execute(sql.FIND, (key,)).fetchone()
            if row is None:
                raise  # what is wrong is something else
            raise KeyExists(key, row[0]) from None
        self._append(key, EventType.CREATED, revision, None, stamped, checksum)
        self._note(EventType.CREATED, key, stamped, value.hole, ttl_ms=ttl_ms)
        if ttl_ms:
            self._lease(value, ttl_ms)
        event = Event(revision, key, EventType.CREATED, stamped, None)
        return KeyValue(key, stamped, revision, revision), (event,)

    def _find(self, key: str, expected: Revision) -> _State:
        """A key that must be at `expected`.

        Raises:
            ChecksumMismatch: its value is not what was written.
            KeyMissing: it is not there.
            RevisionMismatch: it is at another revision.
        """
        row = self._execute(sql.FIND, (key,)).fetchone()
        if row is None:
            raise KeyMissing(key, self.revision)
        revision, created, size, value, previous, checksum, ours = row
        if revision != expected:
            raise RevisionMismatch(key, revision)
        if not ours or not checksums.is_intact(checksum, value, revision, created, previous):
            raise self._damage.found(key, revision)
        return _State(revision, created, size, value, checksum)

    def update(
        self, key: str, value: Stamped, expected: Revision, ttl_ms: int = 0
    ) -> Wrote[KeyValue]:
        """Apply a replacement; what the value before had of its time to live is void.

        Args:
            key: the key.
            value: what it becomes.
            expected: revision it must be at.
            ttl_ms: as of `create`.

        Raises:
            KeyMissing: the key is not there.
            RevisionMismatch: the key is at another revision.
        """
        before = self._find(key, expected)
        created, previous = before.created, before.value
        revision = self.revision + 1
        stamped = value.at(revision)
        checksum = checksums.of_value(stamped, revision, created, expected)
        self._append(key, EventType.UPDATED, created, before, stamped, checksum)
        self._execute(sql.MOVE_CURRENT, (revision, len(stamped), checksum, key))
        self._note(EventType.UPDATED, key, stamped, value.hole, (expected, previous), ttl_ms)
        if ttl_ms:
            self._lease(value, ttl_ms)
        event = Event(revision, key, EventType.UPDATED, stamped, previous)
        return KeyValue(key, stamped, revision, created), (event,)

    def delete(self, key: str, expected: Revision, last: Stamped | None = None) -> Wrote[Revision]:
        """Apply a deletion; raises as `update`.

        Args:
            key: the key.
            expected: revision it must be at.
            last: its last state, where the caller knows where its hole is.
        """
        before = self._find(key, expected)
        previous = before.value
        revision = self.revision + 1
        if last is None:
            last = self._reopen(previous)
        stamped = last.at(revision)
        checksum = checksums.of_value(stamped, revision, before.created, expected)
        self._append(key, EventType.DELETED, before.created, before, stamped, checksum)
        self._execute(sql.DROP_CURRENT, (key,))
        self._note(EventType.DELETED, key, stamped, last.hole, (expected, previous))
        return revision, (Event(revision, key, EventType.DELETED, stamped, previous),)

    def write_all(self, changes: Sequence[Change]) -> Wrote[None]:
        """Apply all changes of some keys, or none of them.

        Raises:
            KeyExists: a key that is to be created is there.
            KeyMissing: another is not there.
            RevisionMismatch: it is at another revision.
        """
        for change in changes:
            if change.type is not EventType.CREATED:
                self._find(change.key, change.expected)
            elif (row := self._execute(sql.FIND, (change.key,)).fetchone()) is not None:
                raise KeyExists(change.key, row[0])
        events: list[Event] = []
        for kind, key, value, expected, ttl_s in changes:
            ttl_ms = ceil(ttl_s * 1000)
            if value is None:
                events += self.delete(key, expected)[1]
            elif kind is EventType.CREATED:
                events += self.create(key, value, ttl_ms)[1]
            else:
                events += self.update(key, value, expected, ttl_ms)[1]
        return None, events

    @contextlib.contextmanager
    def replaying(self, journaled: Journaled) -> Iterator[None]:
        """Commit what a journal has and the database lacks, unless the block fails.

        Raises:
            DatabaseUnusable: it is not the journal of this database.
        """
        self._execute(sql.BEGIN)
        try:
            self.replay(journaled)
            yield
            self._execute(sql.COMMIT)
        except BaseException:
            with contextlib.suppress(apsw.Error):
                self._execute(sql.ROLLBACK)
            raise

    def replay(self, journaled: Journaled) -> None:
        """Make the writes of a journal again that the database does not have, in a transaction.

        Raises:
            DatabaseUnusable: they are not those of this database.
        """
        replay(self, journaled)

    def identity(self) -> int:
        """What tells this database from others of its newest revision."""
        row = self._execute(sql.MARK_OF, (self.revision,)).fetchone()
        return mark_of(row[0], row[1]) if row is not None else 0

    def _lease(self, value: Stamped, ttl_ms: int) -> None:
        """Note until when the newest revision stays, and how its value is stamped again."""
        self._execute(sql.ADD_LEASE, (self.newest_ms + ttl_ms, self.revision, value.hole))

    def next_lease(self) -> int | None:
        """When the first time to live is over, None when there is none; not in a transaction."""
        at: int | None = self._execute(sql.NEXT_LEASE).get
        return at

    def expire(self, now_ms: int, most: int, max_bytes: int) -> Wrote[bool]:
        """Apply the deletion of what has lived out its time; whether there may be more of it.

        Args:
            now_ms: the time, by `Clock`.
            most: leases to look at.
            max_bytes: of values that are deleted, but for the first.
        """
        events: list[Event] = []
        due: list[Any] = self._execute(sql.DUE, (now_ms, most)).fetchall()
        for at, revision, hole, key, size in due:
            if key is not None:  # else it was written again, or deleted
                if events and size > max_bytes:
                    return True, events
                max_bytes -= size
                with contextlib.suppress(ChecksumMismatch):  # told; it stays, as all such values
                    value = self._find(key, revision).value
                    events += self.delete(key, revision, reopened(value, hole, revision))[1]
            self._execute(sql.DROP_LEASE, (at, revision))
        return len(due) == most, events

    def compact(self, to: Revision) -> None:
        """Drop what only revisions older than `to` can see, in one transaction."""
        self._enter()
        try:
            self.drop_until(to)
            self._note_compaction(to)
            self._leave()
        except (apsw.Error, OSError):
            self.rollback(self.revision)
            raise
        self.compacted = to

    def drop_until(self, to: Revision) -> None:
        """Drop in the open transaction what only revisions older than `to` can see."""
        bounds = (self.compacted, to)
        for statement in (sql.COMPACT_HISTORY, sql.COMPACT_REPLACED, sql.COMPACT_DELETIONS):
            self._execute(statement, bounds)
        self._execute(sql.SET_META, ("compacted", to))

    def revision_before(self, cutoff_ms: int) -> Revision:
        """Newest revision written at or before a time, at least the compacted one.

        Times that are ahead of the newest one were made by former versions while the wall clock
        was ahead, and are behind all that came later.
        """
        low, high = self.compacted, self.revision
        while low < high:
            middle = (low + high + 1) // 2
            row = self._execute(sql.AGE_PROBE, (middle,)).fetchone()
            if row is not None and (row[1] <= cutoff_ms or row[1] > self.newest_ms):
                low = middle
            else:
                high = middle - 1
        return low

    def vacuum(self, pages: int) -> int:
        """Give back up to `pages` free pages; returns how many are still free."""
        self.connection.pragma("incremental_vacuum", pages)
        free: int = self.connection.pragma("freelist_count")
        return free

    def pages(self) -> int:
        """Pages of the file, with all of the log copied into it."""
        count: int = self.connection.pragma("page_count")
        return count

    def open_bytes(self) -> int:
        """Bytes of log that the open transaction takes, at most; 0 where none stays open."""
        return 0

    def free_pages(self) -> int:
        """Pages of the file that hold nothing."""
        free: int = self.connection.pragma("freelist_count")
        return free

    def kept(self) -> int:
        """Revisions that the log has."""
        count: int = self._execute(sql.COUNT_REVISIONS).get
        return count

    def checkpoint(self, mode: int, *, wait: bool = True) -> tuple[int, int]:
        """Copy the log into the file; returns (frames in the log, frames copied).

        Args:
            mode: of SQLite: ``RESTART`` for a log that begins anew, ``TRUNCATE`` for an empty one.
            wait: for readers that hold it, within the busy time-out.
        """
        self.flush()
        self.connection.set_busy_timeout(BUSY_TIMEOUT_MS if wait else 0)
        try:
            done = self.connection.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            return (self.wal_pages, 0)  # readers hold it; the next round goes on
        finally:
            self.connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        self.wal_pages = done[0]
        return done

    def mark(self, *, clean: bool) -> None:
        """Note whether the file is in use (a crash leaves the note) or was closed in order."""
        self._execute(sql.SET_META, ("clean", int(clean)))
        self._marked = True

    def close(self) -> None:
        """Close in order: note it, empty the log, close."""
        self.flush()
        self.mark(clean=True)
        self.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self.connection.close()

    def abandon(self) -> None:
        """Close as a crash would, for tests and failed starts; calling it twice is fine."""
        self.connection.close()

    def given_up_on_failure(self) -> AbstractContextManager[None]:
        """Abandon it when the block fails."""
        return closed_on_failure(self.connection)
