"""The SQLite file: the one writing connection, pragmas, opening and checking.

Everything here is synchronous.  `store.sqlite.revisions` decides what runs on the event loop (few
rows, small pages, inserts into the page cache: microseconds) and what goes to a thread (commits,
long reads, compaction, checkpoints).

Rules that others paid for: one writer, no shared cache, BEGIN IMMEDIATE, a busy time-out,
checkpoints off the commit path, incremental vacuum.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

import apsw

from kubetrio.files import FULL, NO_DESCRIPTORS
from kubetrio.logs import Log
from kubetrio.store.errors import KeyExists, KeyMissing, RevisionMismatch
from kubetrio.store.model import (
    Change,
    Event,
    EventType,
    KeyValue,
    Revision,
    Stamped,
    reopened,
)
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.head import Noted
from kubetrio.store.sqlite.sync import sync_directory

T = TypeVar("T")
Wrote = tuple[T, Sequence[Event]]  # what the writer is answered, and what happened

LOG = Log("kubetrio.store")

FILE_NAME = "kubetrio.db"
BUSY_TIMEOUT_MS = 5000
PAGE_BYTES = 4096


def read_header(path: Path) -> None:
    """Refuse a file that is not a kubetrio database, without opening it as one.

    Raises:
        DatabaseUnusable: not SQLite, or some other application's.
    """
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise DatabaseUnusable(
            f"{path} is not a SQLite database: move it away or choose another --data-dir"
        )
    (application,) = struct.unpack(">I", header[68:72])
    if application != sql.APPLICATION_ID:
        raise DatabaseUnusable(
            f"{path} belongs to another application: move it away or choose another --data-dir"
        )


def create(path: Path, now_ms: int) -> None:
    """Make an empty database and put it in place atomically.

    Raises:
        OSError: the directory cannot be written.
    """
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    # Secrets are in it: for the owner only, and SQLite gives its logs the same mode.
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = _open(fresh)
    with _closed_on_failure(connection):
        connection.pragma("auto_vacuum", 2)  # incremental: compaction returns file space in steps
        connection.pragma("application_id", sql.APPLICATION_ID)
        connection.pragma("journal_mode", "wal")
        with _transaction(connection):
            for statement in sql.CREATE_BOOKKEEPING:
                connection.execute(statement)
            connection.execute(sql.SET_META, ("compacted", 0))
            connection.execute(sql.SET_META, ("clean", 1))
        migrate(connection, now_ms)
        connection.pragma("wal_checkpoint", "TRUNCATE")
    connection.close()
    fresh.rename(path)
    sync_directory(path.parent)


def _open(path: Path) -> apsw.Connection:
    """A connection to a file that exists, for reading and writing.

    Raises:
        apsw.CantOpenError: the file cannot be opened.
    """
    try:
        connection = apsw.Connection(
            str(path),
            flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX,
            statementcachesize=64,
        )
    except apsw.CantOpenError as error:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        except OSError as system:
            _note(error, system.errno)
        raise
    if connection.readonly("main"):  # what SQLite tries when it gets no descriptor at first
        connection.close()
        raise apsw.CantOpenError("it can only be read")
    return connection


@contextlib.contextmanager
def _closed_on_failure(connection: apsw.Connection) -> Iterator[None]:
    """Close a connection when the block fails."""
    try:
        yield
    except BaseException as error:
        _note(error, connection.system_errno)
        connection.close()
        raise


def _note(error: BaseException, number: int | None) -> None:
    """Add what the system lacks to an error of SQLite, which does not tell."""
    if (
        number
        and number in FULL | NO_DESCRIPTORS
        and isinstance(error, apsw.CantOpenError | apsw.IOError)
    ):
        error.add_note(os.strerror(number))


@contextlib.contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    """A transaction; where it fails the first error is raised, not that of rolling back."""
    connection.execute(sql.BEGIN)
    try:
        yield
        connection.execute(sql.COMMIT)
    except BaseException:
        with contextlib.suppress(apsw.Error):  # SQLite may have rolled back by itself
            connection.execute(sql.ROLLBACK)
        raise


def migrate(connection: apsw.Connection, now_ms: int) -> None:
    """Bring an older schema to this version, one transaction a version.

    Raises:
        DatabaseUnusable: the file is newer than this program.
    """
    found: int = connection.execute(sql.SCHEMA_VERSION_FOUND).get
    if found > sql.SCHEMA_VERSION:
        raise DatabaseUnusable(
            f"database has schema version {found}, this kubetrio knows {sql.SCHEMA_VERSION}: "
            "upgrade kubetrio"
        )
    for version in range(found + 1, sql.SCHEMA_VERSION + 1):
        with _transaction(connection):
            for statement in sql.MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(sql.RECORD_MIGRATION, (version, now_ms))


def connect(path: Path, *, synchronous: str = "FULL", cache_kib: int = 8192) -> apsw.Connection:
    """A connection with the project's pragmas.

    Args:
        path: database file, which must exist.
        synchronous: ``FULL`` (power loss loses nothing) or ``NORMAL``.
        cache_kib: page cache, KiB.
    """
    connection = _open(path)
    with _closed_on_failure(connection):
        # A refused or crashed file must stay as it was: no checkpoint as a side effect of closing.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # Statements are planned once: else SQLite plans anew for each key that is bound.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.pragma("synchronous", synchronous)
        connection.pragma("cache_size", -cache_kib)
        connection.wal_autocheckpoint(0)
    return connection


class Writer:
    """The one writing connection: applies writes to an open transaction and commits it.

    A commit is not synced: ``synchronous=FULL`` is ``NORMAL`` and a sync of the write-ahead log
    behind each commit (sqlite.org/pragma.html), and `store.sqlite.commits` does that beside the
    event loop.

    Args:
        path: database file.
    """

    def __init__(self, path: Path) -> None:
        self._connection = connect(path, synchronous="NORMAL", cache_kib=16384)
        self._execute = self._connection.execute
        self.wal_pages = 0
        self._marked = False
        with _closed_on_failure(self._connection):
            self.revision: Revision = self._execute(sql.HEAD).get
            self.compacted: Revision = self._execute(sql.GET_META, ("compacted",)).get
            self.newest_ms: int = self._execute(sql.NEWEST_AT).get or 0
            self._connection.set_wal_hook(self._on_wal)

    def _on_wal(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self.wal_pages = pages
        return apsw.SQLITE_OK

    def begin(self, now_ms: int) -> None:
        """Open a transaction whose writes carry a time (`Clock`) that never goes back."""
        self.newest_ms = max(self.newest_ms, now_ms)
        self._execute(sql.BEGIN)
        if not self._marked:  # there was no room for it when the file was opened
            self._execute(sql.SET_META, ("clean", 0))

    def commit(self) -> None:
        """Put the open transaction into the log."""
        self._execute(sql.COMMIT)
        self._marked = True

    def rollback(self, revision: Revision) -> None:
        """Forget the open transaction; `revision` is the newest committed one."""
        with contextlib.suppress(apsw.Error):  # SQLite may have rolled back by itself
            self._execute(sql.ROLLBACK)
        self.revision = revision

    def _append(
        self,
        key: str,
        kind: EventType,
        created: Revision,
        before: tuple[Revision, int] | None,
        stamped: bytes,
    ) -> None:
        """Add a row to the log, under the next revision."""
        revision = self.revision + 1
        previous = before[0] if before else None
        self._execute(
            sql.APPEND, (revision, key, int(kind), created, previous, self.newest_ms, stamped)
        )
        if before:
            self._execute(sql.ADD_HISTORY, (key, before[0], revision, before[1]))
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
        try:
            self._execute(sql.ADD_CURRENT, (key, revision, len(stamped)))
        except apsw.ConstraintError:
            if self._execute(sql.FIND, (key,)).fetchone() is None:
                raise  # what is wrong is something else
            raise KeyExists(key) from None
        self._append(key, EventType.CREATED, revision, None, stamped)
        if ttl_ms:
            self._lease(value, ttl_ms)
        event = Event(revision, key, EventType.CREATED, stamped, None)
        return KeyValue(key, stamped, revision, revision), (event,)

    def _find(self, key: str, expected: Revision) -> tuple[Revision, int, bytes]:
        """Create revision, size and bytes of a key that must be at `expected`."""
        row = self._execute(sql.FIND, (key,)).fetchone()
        if row is None:
            raise KeyMissing(key)
        if row[0] != expected:
            raise RevisionMismatch(key, row[0])
        return row[1], row[2], row[3]

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
        created, size, previous = self._find(key, expected)
        revision = self.revision + 1
        stamped = value.at(revision)
        self._append(key, EventType.UPDATED, created, (expected, size), stamped)
        self._execute(sql.MOVE_CURRENT, (revision, len(stamped), key))
        if ttl_ms:
            self._lease(value, ttl_ms)
        event = Event(revision, key, EventType.UPDATED, stamped, previous)
        return KeyValue(key, stamped, revision, created), (event,)

    def delete(self, key: str, last: Stamped, expected: Revision) -> Wrote[KeyValue]:
        """Apply a deletion; raises as `update`."""
        created, size, previous = self._find(key, expected)
        revision = self.revision + 1
        stamped = last.at(revision)
        self._append(key, EventType.DELETED, created, (expected, size), stamped)
        self._execute(sql.DROP_CURRENT, (key,))
        event = Event(revision, key, EventType.DELETED, stamped, previous)
        return KeyValue(key, stamped, revision, created), (event,)

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
            elif self._execute(sql.FIND, (change.key,)).fetchone() is not None:
                raise KeyExists(change.key)
        events: list[Event] = []
        for kind, key, value, expected, ttl_s in changes:
            ttl_ms = ceil(ttl_s * 1000)
            if kind is EventType.CREATED:
                events += self.create(key, value, ttl_ms)[1]
            elif kind is EventType.UPDATED:
                events += self.update(key, value, expected, ttl_ms)[1]
            else:
                events += self.delete(key, value, expected)[1]
        return None, events

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
                value = self._find(key, revision)[2]
                events += self.delete(key, reopened(value, hole, revision), revision)[1]
            self._execute(sql.DROP_LEASE, (at, revision))
        return len(due) == most, events

    def compact(self, to: Revision) -> None:
        """Drop what only revisions older than `to` can see, in one transaction."""
        bounds = (self.compacted, to)
        self._execute(sql.BEGIN)
        try:
            for statement in (sql.COMPACT_HISTORY, sql.COMPACT_REPLACED, sql.COMPACT_DELETIONS):
                self._execute(statement, bounds)
            self._execute(sql.SET_META, ("compacted", to))
            self._execute(sql.COMMIT)
        except apsw.Error:
            self.rollback(self.revision)
            raise
        self.compacted = to

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
        self._connection.pragma("incremental_vacuum", pages)
        free: int = self._connection.pragma("freelist_count")
        return free

    def pages(self) -> int:
        """Pages of the file, with all of the log copied into it."""
        count: int = self._connection.pragma("page_count")
        return count

    def free_pages(self) -> int:
        """Pages of the file that hold nothing."""
        free: int = self._connection.pragma("freelist_count")
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
        self._connection.set_busy_timeout(BUSY_TIMEOUT_MS if wait else 0)
        try:
            done = self._connection.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            return (self.wal_pages, 0)  # readers hold it; the next round goes on
        finally:
            self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        self.wal_pages = done[0]
        return done

    def mark(self, *, clean: bool) -> None:
        """Note whether the file is in use (a crash leaves the note) or was closed in order."""
        self._execute(sql.SET_META, ("clean", int(clean)))
        self._marked = True

    def close(self) -> None:
        """Close in order: note it, empty the log, close."""
        self.mark(clean=True)
        self.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._connection.close()

    def abandon(self) -> None:
        """Close as a crash would, for tests and failed starts; calling it twice is fine."""
        self._connection.close()

    def given_up_on_failure(self) -> AbstractContextManager[None]:
        """Abandon it when the block fails."""
        return _closed_on_failure(self._connection)


def open_writer(path: Path, *, now_ms: int, noted: Noted | None = None) -> Writer:
    """Open or create the database, checking it whole after an unclean stop.

    Args:
        path: database file.
        now_ms: wall clock.
        noted: what the run before left when it did not end in order; None also to take the file
            as it is.

    Raises:
        DatabaseUnusable: foreign, corrupt, newer, or without what was answered; the file is as it
            was.
        OSError: the directory cannot be written.
    """
    log = path.with_name(path.name + "-wal")
    if not path.exists() or path.stat().st_size == 0:
        if log.exists() and log.stat().st_size:
            # SQLite would replay it over the new file; and it may be the rest of a moved database.
            raise DatabaseUnusable(
                f"{log} is the log of a database that is not there: move it away with its database"
            )
        _refuse_loss(path, 0, noted)
        path.unlink(missing_ok=True)
        try:
            create(path, now_ms)
        except apsw.Error as error:
            raise unusable(path, "made", error) from error
    read_header(path)
    logged = log.exists()
    try:
        connection = connect(path)
        with _closed_on_failure(connection):
            unclean = connection.execute(sql.GET_META, ("clean",)).get != 1
            if unclean or noted is not None:
                found = connection.execute("PRAGMA quick_check(5)").get
                if found != "ok":
                    raise damaged(path, found if isinstance(found, str) else "; ".join(found))
            migrate(connection, now_ms)
        connection.close()
        writer = Writer(path)
        with writer.given_up_on_failure():
            _refuse_loss(path, writer.revision, noted)
            if unclean and not logged and noted is None:
                LOG.warning(
                    "The write-ahead log of an unclean stop is not there: if it held writes, they "
                    "are lost",
                    file=str(log),
                )
            with contextlib.suppress(apsw.FullError):  # then with the first write
                writer.mark(clean=False)
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        raise damaged(path, error) from error
    except apsw.Error as error:
        raise unusable(path, "opened", error) from error
    return writer


def unusable(path: Path, to_be: str, error: apsw.Error) -> DatabaseUnusable:
    """What is said of a file that cannot be used, with what the system said of it.

    Args:
        path: database file.
        to_be: what was tried: ``made`` or ``opened``.
        error: what came of it.
    """
    why = ": ".join([str(error), *getattr(error, "__notes__", ())])
    return DatabaseUnusable(f"{path} cannot be {to_be}: {why}")


def damaged(path: Path, why: object) -> DatabaseUnusable:
    """What is said of a file that cannot be read."""
    return DatabaseUnusable(f"{path} is damaged ({why}): restore a backup or move it away")


def _refuse_loss(path: Path, revision: Revision, noted: Noted | None) -> None:
    """Refuse a file that lacks what was answered."""
    if noted is None or not noted.holds or noted.revision <= revision:
        return
    raise DatabaseUnusable(
        f"{path} ends at revision {revision}, and revision {noted.revision} was answered before "
        f"the server was killed: {noted.revision - revision} revisions are lost, with {path}-wal. "
        "Bring that file or a backup back, or go on without them with --accept-data-loss"
    )
