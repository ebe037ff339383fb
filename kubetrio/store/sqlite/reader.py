"""Reading connections: keys, ranges, counts and events of one state.

Everything here is synchronous; see `store.sqlite.database`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from zlib import crc32

import apsw

from kubetrio.store.errors import ChecksumMismatch, Compacted, FutureRevision
from kubetrio.store.model import (
    Event,
    EventType,
    JoinResult,
    KeyValue,
    Range,
    RangeResult,
    Revision,
)
from kubetrio.store.past import Past
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.checksums import LOWER, Damage, is_intact, is_intact_row
from kubetrio.store.sqlite.database import connect

PAGE_PROBE = 4096  # keys looked at, at most, to size one page of a joined list
NO_LIMIT = -1
COUNTED_BACK = 1000  # revisions that are cheaper to look at than what they replaced
MAPPED_BYTES = (1 << 31) - (1 << 16)  # of the file; SQLite takes no more (SQLITE_MAX_MMAP_SIZE)
UNMAPPED_FROM = 32 * 1024 * 1024
"""Bytes of lists after which the file is mapped anew: what they touched would stay resident, which
looks as if the process had grown by all that was ever listed."""
MAPPED_FROM = 256  # reads of one snapshot: after a commit SQLite maps the file anew
UNREAD = 64  # commits without a read between, after which no snapshot is taken for those who might
SNAPSHOT_KEPT = contextlib.nullcontext()


class Reader:
    """One reading connection; not to be used by two threads at a time.

    One that keeps its snapshots reads the same state until `renew`: locking and finding out what
    is new cost more than a row.  The owner of a reader that keeps them renews them after each
    commit, and lets go of them while a checkpoint runs, which would wait for their end.

    The writer calls `hold` before it commits, so that reads see nothing of what is not durable yet.
    A snapshot that no read uses is a waste, so snapshots end when there was no read for a while:
    the reader is not `apart` then, and the next read waits for what is in flight.

    Args:
        path: database file.
        cache_kib: page cache, KiB.
        maps: whether the file is mapped into memory while there are many reads and no commits,
            which saves a system call and a copy for each page.  A disk that fails to read a page
            ends the process then, as it ends etcd's.
        frozen: see `database.connect`.
        damage: is told of values that are not what was written.
    """

    shared = False
    """Whether the writer uses the connection too."""

    def __init__(
        self,
        path: Path,
        *,
        cache_kib: int = 8192,
        maps: bool = False,
        frozen: bool = False,
        damage: Damage | None = None,
    ) -> None:
        self._connection = connect(path, cache_kib=cache_kib, frozen=frozen)
        self._connection.pragma("query_only", 1)
        self._sql = sql.reads_of(self._connection.execute(sql.SCHEMA_VERSION_FOUND).get)
        self._damage = damage or Damage()
        self._maps = maps and sys.maxsize > 1 << 32  # 32 bits have no addresses to spare
        self._reads = 0  # of the snapshot that is kept
        self._listed = 0  # bytes that lists have read since the file was mapped
        self._keeps = False
        self._apart = True
        self._unread = 0  # commits since the last read

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def keep(self, keeps: bool) -> None:
        """Begin or cease to keep snapshots."""
        self.renew()
        self._keeps = keeps
        self._apart = False  # there may be a commit in flight that `hold` was not told of

    def renew(self) -> None:
        """Let the next read see what is newest."""
        self._apart = True
        if self._connection.in_transaction:
            self._connection.execute(sql.COMMIT)
        if self._reads >= MAPPED_FROM:
            self._map(0)
        self._reads = 0

    def hold(self) -> None:
        """See what is there now until `renew`, if snapshots are kept and there are readers."""
        self._unread += 1
        self._apart = self._connection.in_transaction or self._unread <= UNREAD
        if self._keeps and self._apart and not self._connection.in_transaction:
            self._connection.execute(sql.BEGIN_READING)
            # A snapshot begins with the first read: of a table of one page.
            self._connection.execute(sql.GET_META, ("compacted",)).fetchone()

    @property
    def apart(self) -> bool:
        """Whether reads see nothing of a commit that is in flight."""
        return self._keeps and self._apart

    def _begin(self) -> None:
        self._unread = 0
        if not self._keeps:
            return
        if not self._connection.in_transaction:
            self._connection.execute(sql.BEGIN_READING)
        self._reads += 1
        if self._reads == MAPPED_FROM:
            self._map(MAPPED_BYTES)

    def _map(self, size: int) -> None:
        """Map so much of the file, if it is mapped at all; 0 to read it by system calls again."""
        if self._maps:
            self._connection.pragma("mmap_size", size)
            self._listed = 0

    def _note_listed(self, size: int) -> None:
        """Count what a list has read."""
        if self._reads < MAPPED_FROM or not self._maps:
            return
        self._listed += size
        if self._listed > UNMAPPED_FROM:
            self._map(0)
            self._map(MAPPED_BYTES)

    def _one_snapshot(self) -> AbstractContextManager[object]:
        """Several statements in the block see one state."""
        self._begin()
        return SNAPSHOT_KEPT if self._keeps else self._connection

    def _snapshot(self, at: Revision | None) -> tuple[Revision, Revision | None]:
        """Inside a transaction: its newest revision, and `at` if to read that takes the history."""
        head: Revision = self._connection.execute(sql.HEAD).get
        if at is None or at == head:
            return head, None
        if at > head:
            raise FutureRevision(at, head)
        floor: Revision = self._connection.execute(sql.GET_META, ("compacted",)).get
        if at < floor:
            raise Compacted(at, floor)
        return head, at

    def get(self, key: str, at: Revision | None) -> KeyValue | None:
        """One key, newest or at a revision.

        Raises:
            ChecksumMismatch: its value is not what was written.
            Compacted: history behind `at` is gone.
            FutureRevision: `at` does not exist yet.
        """
        if at is None:
            self._begin()
            row = self._connection.execute(self._sql.get, (key,)).fetchone()
        else:
            with self._one_snapshot():
                self._snapshot(at)
                row = self._connection.execute(self._sql.get_at, (key, at)).fetchone()
        if row is None:
            return None
        value, revision, created, previous, checksum, ours = row
        if not ours or not is_intact(checksum, value, revision, created, previous):
            raise self._damage.found(key, revision)
        return KeyValue(key, value, revision, created)

    def revisions_of(self, key: str) -> list[Past]:
        """Each retained revision of a key, oldest first."""
        with self._one_snapshot():
            rows: list[Any] = self._connection.execute(sql.REVISIONS_OF, (key,)).fetchall()
        return [Past(revision, EventType(kind), at) for revision, kind, at in rows]

    def dates(self, revisions: Sequence[Revision]) -> dict[Revision, int]:
        """Milliseconds of the wall clock of those revisions that are kept, where they are noted."""
        with self._one_snapshot():
            found: dict[Revision, int] = {}
            for revision in revisions:
                row = self._connection.execute(sql.DATE_OF, (revision,)).fetchone()
                if row is not None and row[0]:
                    found[revision] = row[0]
        return found

    def reread(self, key: str) -> KeyValue | None:
        """One key now, from the file itself: what this connection remembers is forgotten first."""
        self._connection.pragma("shrink_memory")
        return self.get(key, None)

    def range(
        self, keys: Range, at: Revision | None, limit: int, max_bytes: int = 0
    ) -> RangeResult:
        """A range in key order; bounds of 0 are none.  Raises as `get`."""
        with self._one_snapshot():
            head, at = self._snapshot(at)
            revision = head if at is None else at
            bounds: tuple[Any, ...] = (keys.start, keys.end, limit + 1 if limit else NO_LIMIT)
            if at is None:
                cursor = self._connection.execute(self._sql.range_now, bounds)
            else:
                cursor = self._connection.execute(self._sql.range_at, (*bounds, at))
            items: list[KeyValue] = []
            size = 0
            try:
                if max_bytes:
                    for row in cursor:
                        items.append(self._whole(row, keys))
                        size += len(row[1])
                        if len(items) > limit > 0:
                            break
                        if size >= max_bytes:  # a further row would be read with its value
                            self._note_listed(size)
                            more = self._exists(keys.after(row[0]), at)
                            return RangeResult(revision, items, more)
                else:
                    items = [self._whole(row, keys) for row in cursor]
            except UnicodeDecodeError as error:
                raise self._no_text(at, bounds) or error from error
            finally:
                # Where an error holds on to the cursor, the snapshot would outlive `renew`.
                cursor.close()
        self._note_listed(size)
        more = bool(limit) and len(items) > limit
        return RangeResult(revision, items[:limit] if more else items, more)

    def _whole(self, row: tuple[Any, ...], keys: Range) -> KeyValue:
        """A row of a range; raises as `get`."""
        key, value, revision, created, previous, checksum, ours = row
        if not ours or not is_intact(checksum, value, revision, created, previous):
            error = self._damage.found(key, revision)
            if key not in keys:
                error.key = ""  # the key itself is damaged: reading around it leads nowhere
            raise error
        return KeyValue(key, value, revision, created)

    def _no_text(self, at: Revision | None, bounds: tuple[Any, ...]) -> ChecksumMismatch | None:
        """What is raised for a key of a range whose bytes are no text any more; see `range`.

        Args:
            at: revision of the range; None for the newest.
            bounds: first key, first behind it, and most keys.
        """
        if at is None:
            return self._first_no_text(sql.KEYS_NOW, bounds[:3])
        return self._first_no_text(sql.KEYS_AT, (*bounds[:3], at))

    def _first_no_text(self, statement: str, bounds: tuple[Any, ...]) -> ChecksumMismatch | None:
        for data, revision in self._connection.execute(statement, bounds):
            try:
                data.decode()
            except UnicodeDecodeError:
                error = self._damage.found(data.decode(errors="backslashreplace"), revision)
                error.key = ""  # as of `_whole`
                return error
        return None

    def join(
        self,
        keys: Range,
        skip: int,
        separator: bytes,
        at: Revision | None,
        limit: int,
        max_bytes: int,
    ) -> JoinResult:
        """Values of a range as one piece of bytes.  Raises as `get`."""
        execute = self._connection.execute
        with self._one_snapshot():
            head, at = self._snapshot(at)
            revision = head if at is None else at
            probe = min(limit, PAGE_PROBE) if limit else PAGE_PROBE
            sizes, when = (sql.SIZES_NOW, ()) if at is None else (sql.SIZES_AT, (at,))
            while True:
                bounds = (keys.start, keys.end, probe, *when)
                try:
                    count, last, total = execute(sizes, bounds).get
                except UnicodeDecodeError as error:
                    raise self._no_text(at, bounds) or error from error
                if total <= max_bytes or count <= 1:
                    break
                probe = max(1, min(count - 1, count * max_bytes // total))
            if not count:
                return JoinResult(revision, b"", 0, "", more=False)
            bounds = (keys.start, keys.end, count, *when)
            joining = self._sql.join_now if at is None else self._sql.join_at
            row: tuple[Any, ...] = execute(joining, (*bounds, skip + 1, separator.decode())).get
            left_out = b""
            if skip:
                cutting = self._sql.left_out_now if at is None else self._sql.left_out_at
                left_out = execute(cutting, (*bounds, skip)).get
            if _is_intact_join(row, count, left_out, len(separator)):
                body: bytes = row[0]
            else:
                items = self.range(keys, at, count).items  # raises with the key of what is damaged
                body = separator.join([item.value[skip:] for item in items])
            more = self._exists(keys.after(last), at)
        self._note_listed(len(body))
        return JoinResult(revision, body, count, last, more)

    def _exists(self, keys: Range, at: Revision | None) -> bool:
        """Whether a range has a key, inside a transaction; without a revision, now."""
        bounds = (keys.start, keys.end)
        if at is None:
            return bool(self._connection.execute(sql.EXISTS_NOW, bounds).get)
        return bool(self._connection.execute(sql.EXISTS_AT, (*bounds, at)).get)

    def sizes(self, keys: Range, most: int) -> tuple[int, int, int]:
        """How many of the first keys of a range there are now, and bytes of values.

        Args:
            keys: the range.
            most: keys that are looked at.

        Returns:
            The number, the bytes of the largest value, and those of all.
        """
        count, largest, total = self._connection.execute(
            sql.LARGEST, (keys.start, keys.end, most)
        ).get
        return count, largest, total

    def size(self, key: str) -> int:
        """Bytes of the newest value of a key; 0 without one."""
        size: int | None = self._connection.execute(sql.SIZE, (key,)).get
        return size or 0

    def count(self, keys: Range, at: Revision | None) -> int:
        """Number of keys of a range.  Raises as `get`."""
        execute, bounds = self._connection.execute, (keys.start, keys.end)
        count: int
        with self._one_snapshot():
            head, at = self._snapshot(at)
            if at is not None and head - at > COUNTED_BACK:
                count = execute(sql.COUNT_AT, (*bounds, at)).get
            else:
                count = execute(sql.COUNT, bounds).get
                if at is not None:
                    count -= execute(sql.GROWN_SINCE, (at, *bounds)).get
        return count

    def count_some(self, keys: Range, most: int) -> int:
        """Number of keys of a range now, but not more than `most`, at the cost of so many."""
        count: int = self._connection.execute(sql.COUNT_SOME, (keys.start, keys.end, most)).get
        return count

    def events(
        self, after: Revision, keys: Range | None, max_bytes: int
    ) -> tuple[list[Event], Revision]:
        """Events after a revision and how far they are complete.

        Raises:
            ChecksumMismatch: a value among them, or before one, is not what was written.
            Compacted: history behind `after` is gone.
        """
        with self._one_snapshot():
            head: Revision = self._connection.execute(sql.HEAD).get
            floor: Revision = self._connection.execute(sql.GET_META, ("compacted",)).get
            if after < floor:
                raise Compacted(after, floor)
            # Bounded by revisions looked at: a watcher of a quiet prefix must not scan for long.
            upto = min(head, after + PAGE_PROBE)
            if keys is None:
                cursor = self._connection.execute(self._sql.events, (after, upto, PAGE_PROBE))
            else:
                cursor = self._connection.execute(
                    self._sql.events_in, (after, upto, keys.start, keys.end, PAGE_PROBE)
                )
            events: list[Event] = []
            size = 0
            try:
                for row in cursor:
                    events.append(self._event(row))
                    size += len(row[3])
                    if size >= max_bytes:
                        upto = row[0]
                        break
            except UnicodeDecodeError as error:
                raise self._first_no_text(sql.KEYS_OF_LOG, (after, upto)) or error from error
            finally:
                cursor.close()  # as of `range`
        return events, upto

    def _event(self, row: tuple[Any, ...]) -> Event:
        """A row of `events`; raises as that."""
        revision, key, kind, value, before, created, previous, checksum = row[:8]
        if not is_intact_row(checksum, key, kind, value, revision, created, previous):
            raise self._damage.found(key, revision)
        if previous is not None:
            kind_before, created_before, previous_before, checksum_before, ours = row[8:]
            if not ours or not is_intact_row(
                checksum_before, key, kind_before, before, previous, created_before, previous_before
            ):
                raise self._damage.found(key, previous)
        return Event(revision, key, EventType(kind), value, before)


def _is_intact_join(row: tuple[Any, ...], count: int, left_out: bytes, gap: int) -> bool:
    """Return whether each value of a list is what was written.

    Args:
        row: of a statement that joins.
        count: how many values there are.
        left_out: what each value begins with, which is not in the list.
        gap: bytes between two.
    """
    body, joined, told = row
    if joined != count or type(body) is not bytes or type(left_out) is not bytes:
        return False
    view, at = memoryview(body), 0
    skip, begun = len(left_out), crc32(left_out)
    for number in map(int, told.split()):
        if number < 0:  # a former release wrote it
            at += gap - number - skip
            continue
        end = at + (number >> 32) - skip
        if crc32(view[at:end], begun) != number & LOWER:
            return False
        at = end + gap
    return at - gap == len(body)


class SharedReader(Reader):
    """Reads by the writing connection, between writes: what it sees is what was committed.

    Args:
        connection: has an open transaction of the writer, or none.
        damage: as of `Reader`.
    """

    shared = True

    def __init__(self, connection: apsw.Connection, damage: Damage) -> None:
        self._connection = connection
        self._sql = sql.Reads()
        self._damage = damage

    def close(self) -> None:
        """Keep the connection open, for the writer owns it."""

    def keep(self, keeps: bool) -> None:
        """There are no snapshots."""

    def renew(self) -> None:
        """There are no snapshots."""

    def hold(self) -> None:
        """There are no snapshots."""

    @property
    def apart(self) -> bool:
        """It would see what is in flight."""
        return False

    def reread(self, key: str) -> KeyValue | None:
        """One key now; pages that hold what is not in the file yet cannot be forgotten."""
        return self.get(key, None)

    def _begin(self) -> None:
        pass

    def _note_listed(self, size: int) -> None:
        pass

    def _one_snapshot(self) -> AbstractContextManager[object]:
        return SNAPSHOT_KEPT
