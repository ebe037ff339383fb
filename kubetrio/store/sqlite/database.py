"""The SQLite file: header, pragmas, schema, connections.

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
from collections.abc import Iterator
from pathlib import Path

import apsw

from kubetrio.runtime.files import FULL, NO_DESCRIPTORS, sync_directory
from kubetrio.store.model import Revision
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.versions import schema_of

FILE_NAME = "kubetrio.db"
BUSY_TIMEOUT_MS = 5000
MOST_TOLD = 200  # characters of what is wrong with a file; kubetrio verify tells all
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

    Until it has its name nothing of it counts, so it is synced once, when it is whole: SQLite would
    sync it 18 times, for each transaction.

    Raises:
        OSError: the directory cannot be written.
    """
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    # Secrets are in it: for the owner only, and SQLite gives its logs the same mode.
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = _open(fresh)
    with closed_on_failure(connection):
        connection.pragma("synchronous", "OFF")
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
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
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


def _open_frozen(path: Path) -> apsw.Connection:
    """A connection to a file that does not change while it is open; nothing is made beside it.

    Raises:
        apsw.CantOpenError: the file cannot be opened.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOMUTEX
    uri = f"{path.absolute().as_uri()}?immutable=1"
    return apsw.Connection(uri, flags=flags, statementcachesize=64)


@contextlib.contextmanager
def closed_on_failure(connection: apsw.Connection) -> Iterator[None]:
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


def migrate(connection: apsw.Connection, now_ms: int) -> int:
    """Bring an older schema to this version, one transaction per version.

    Returns:
        The version that it had.

    Raises:
        DatabaseUnusable: the file is newer than this program.
    """
    former = schema_of(connection)
    for version in range(former + 1, sql.SCHEMA_VERSION + 1):
        with _transaction(connection):
            for statement in sql.MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(sql.RECORD_MIGRATION, (version, now_ms))
    return former


def connect(
    path: Path, *, synchronous: str = "FULL", cache_kib: int = 8192, frozen: bool = False
) -> apsw.Connection:
    """A connection with the project's pragmas.

    Args:
        path: database file, which must exist.
        synchronous: ``FULL`` (power loss loses nothing) or ``NORMAL``.
        cache_kib: page cache, KiB.
        frozen: whether the file is only read, and nothing changes it meanwhile (`store.sqlite.
            stopped`).
    """
    connection = _open_frozen(path) if frozen else _open(path)
    with closed_on_failure(connection):
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
    told = " ".join(str(why).split())  # SQLite's checks tell it in several lines
    if len(told) > MOST_TOLD:
        told = told[:MOST_TOLD].rsplit(" ", 1)[0] + " ..."
    return DatabaseUnusable(f"{path} is damaged ({told}): restore a backup or move it away")


def see_floor(path: Path, compacted: object, newest: Revision) -> None:
    """See that a database says up to which revision its history is compacted.

    Args:
        path: its file.
        compacted: what it says.
        newest: its newest revision.

    Raises:
        DatabaseUnusable: it says none, or one that is newer than all that it has.
    """
    if type(compacted) is not int or not 0 <= compacted <= newest:
        says = "nothing" if compacted is None else f"{compacted}, of {newest} revisions,"
        raise damaged(path, f"it says {says} where it says up to which revision it is compacted")
