"""A database seen from outside: one snapshot of it, read-only, beside a server or without one.

Beside a server, a snapshot holds the write-ahead log for as long as it is open: the server goes on,
and its log grows by what is written meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

import apsw

from kubetrio.store.arrivals import Arrivals, SoleWriter
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.lock import holder
from kubetrio.store.model import (
    CommitHook,
    Event,
    EventType,
    JoinResult,
    KeyValue,
    ProgressHook,
    Range,
    RangeResult,
    Revision,
    Stamped,
)
from kubetrio.store.past import Past
from kubetrio.store.remote import FILE_NAME as NOTE_NAME
from kubetrio.store.remote import left
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.checksums import is_intact, is_intact_row
from kubetrio.store.sqlite.database import FILE_NAME, damaged, read_header, see_floor, unusable
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.reader import Reader
from kubetrio.store.sqlite.stopped import connect_to_read, is_frozen
from kubetrio.store.sqlite.versions import release_of, schema_of
from kubetrio.store.statistics import StoreStatistics

__all__ = ["FILE_NAME", "Fault", "Inspection", "LogRow", "Snapshot", "existing", "inspect"]

MOST_FAULTS = 20  # of one sort
PULSE = 20_000  # steps of SQLite's machine between two calls of who waits


class Fault(NamedTuple):
    """Something that is wrong in a database.

    Args:
        where: what it is about: a key, a revision, or the file.
        what: what is wrong.
    """

    where: str
    what: str


class LogRow(NamedTuple):
    """A row of the log.

    Args:
        revision: its revision.
        key: what it changed.
        type: what it did.
        value: the stored bytes.
        live: whether that is the newest state of its key.
        intact: whether it is what was written, by its checksum.
    """

    revision: Revision
    key: str
    type: EventType
    value: bytes
    live: bool
    intact: bool


CHECKS: tuple[tuple[str, str], ...] = (
    (sql.BEYOND_FLOOR, "compacted up to here, and the newest revision is older"),
    (sql.MISSING_REVISIONS, "the log has no such revision, though it is not compacted"),
    (sql.CURRENT_WITHOUT_REVISION, "live, and the log has no value for it"),
    (sql.CURRENT_OF_ANOTHER_SIZE, "its noted size is not that of its value"),
    (sql.NEWEST_NOT_CURRENT, "its newest revision is not what is live"),
    (sql.HISTORY_WITHOUT_REVISION, "in the history, and the log does not have it so"),
    (sql.REPLACED_WITHOUT_HISTORY, "the revision that it replaced is not in the history"),
    (sql.CREATED_OTHERWISE, "its creation, its predecessor and what it did do not agree"),
    (sql.LEASE_IN_THE_FUTURE, "has a time to live, and was never written"),
    (sql.CURRENT_OF_ANOTHER_CHECKSUM, "its noted checksum is not that of its value"),
    (sql.HISTORY_OF_ANOTHER_CHECKSUM, "in the history, and its checksum is not that of its value"),
)
"""What the tables say of each other, and what is said where they do not agree."""
SINCE = {
    sql.LEASE_IN_THE_FUTURE: 2,
    sql.CURRENT_OF_ANOTHER_CHECKSUM: sql.CHECKSUMS_SINCE,
    sql.HISTORY_OF_ANOTHER_CHECKSUM: sql.CHECKSUMS_SINCE,
}
"""Schema versions that have what a check asks for."""


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say of a database that cannot be read to its end what is to be done.

    Raises:
        DatabaseUnusable: that happens in the block.
    """
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
        raise damaged(path, error) from error


def _shown(key: bytes) -> str:
    """A key as text, also one whose bytes are damaged."""
    return key.decode(errors="backslashreplace")


class Inspection:
    """One snapshot of a database; made by `inspect`.

    Args:
        path: of the database, for errors.
        connection: in a read transaction.

    Attributes:
        schema: version of its schema.
        release: that opened it for writing last; empty where none is noted.
        revision: its newest revision.
        compacted: its newest compacted revision.

    Raises:
        DatabaseUnusable: it is of a newer kubetrio.
    """

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self._path = path
        self._connection = connection
        self.schema = schema_of(connection)
        self._sql = sql.reads_of(self.schema)
        self.release = release_of(connection)
        self.revision: Revision = connection.execute(sql.HEAD).get
        self.compacted: Revision = connection.execute(sql.GET_META, ("compacted",)).get
        if type(self.compacted) is not int:
            see_floor(path, self.compacted, self.revision)

    def __len__(self) -> int:
        """Revisions that are kept."""
        with readable(self._path):
            count: int = self._connection.execute(sql.COUNT_REVISIONS).get
        return count

    def value(self, key: str) -> bytes | None:
        """The newest value of a key.

        Raises:
            DatabaseUnusable: it is not what was written.
        """
        with readable(self._path):
            row: Any = self._connection.execute(self._sql.get, (key,)).fetchone()
        return None if row is None else self.value_of(row[1])

    def live(self) -> list[tuple[Revision, str]]:
        """Revisions and keys of what is live, oldest first."""
        with readable(self._path):
            rows: Any = self._connection.execute(sql.LIVE_BY_REVISION).fetchall()
        return [(revision, key) for revision, key in rows]

    def value_of(self, revision: Revision) -> bytes:
        """The value that a revision has written, which is kept.

        Raises:
            DatabaseUnusable: it is not what was written.
        """
        with readable(self._path):
            row: Any = self._connection.execute(self._sql.written, (revision,)).get
        data, kind, value, created, previous, checksum = row
        key = _shown(data)
        if not is_intact_row(checksum, key, kind, value, revision, created, previous):
            raise damaged(self._path, f"the value of {key} at revision {revision}")
        return bytes(value)

    def values(self, keys: Range) -> Iterator[bytes]:
        """The newest values of a range that are what was written."""
        with readable(self._path):
            rows: Any = self._connection.execute(self._sql.range_now, (keys.start, keys.end, -1))
            for _, value, revision, created, previous, checksum, ours in rows:
                if ours and is_intact(checksum, value, revision, created, previous):
                    yield value

    def faults(self, pulse: Callable[[], None]) -> Iterator[Fault]:
        """What is wrong with the file and its tables.

        Args:
            pulse: called now and then, for who waits.
        """

        def beat() -> bool:
            pulse()
            return False

        self._connection.set_progress_handler(beat, PULSE)
        try:
            for (text,) in self._connection.execute(f"PRAGMA integrity_check({MOST_FAULTS})"):
                if text != "ok":
                    yield Fault(self._path.name, text)
            for statement, what in CHECKS:
                if self.schema < SINCE.get(statement, 1):
                    continue
                bound = (self.compacted,) if "?1" in statement else ()
                wrong = self._connection.execute(sql.BYTES_OF_KEYS.format(statement), bound)
                for number, (key, revision) in enumerate(wrong):
                    if number == MOST_FAULTS:
                        yield Fault("further rows", what)
                        break
                    where = f"revision {revision}"
                    yield Fault(f"{_shown(key)} at {where}" if key is not None else where, what)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            yield Fault(self._path.name, f"cannot be read to its end: {error}")
        finally:
            self._connection.set_progress_handler(None)

    def rows(self) -> Iterator[LogRow]:
        """All that the log has, oldest first.

        Raises:
            DatabaseUnusable: the file is damaged.
        """
        try:
            for row in self._connection.execute(self._sql.all_revisions):
                revision, data, kind, value, live, created, previous, checksum = row
                key = _shown(data)
                intact = is_intact_row(checksum, key, kind, value, revision, created, previous)
                done = EventType(kind) if intact else EventType.UPDATED
                yield LogRow(revision, key, done, value, bool(live), intact)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise damaged(self._path, error) from error


def existing(directory: Path) -> Path:
    """The database of a data directory.

    Raises:
        DatabaseUnusable: there is none, or not kubetrio's, or not what its server used last.
    """
    path = directory / FILE_NAME
    if (remote := left(directory)) is not None:
        former = f" {path} is older; remove {NOTE_NAME} to use it." if path.exists() else ""
        raise DatabaseUnusable(
            f"the server of {directory} keeps objects in etcd.{former} Copy them, kubetrio migrate "
            f"from-etcd {remote.flags} --data-dir COPY, and name COPY with --data-dir; a backup of "
            "etcd is made with etcdctl snapshot save"
        )
    try:
        read_header(path)
    except FileNotFoundError:
        raise DatabaseUnusable(f"{directory} has no {FILE_NAME}: {_why_none(directory)}") from None
    except OSError as error:
        raise DatabaseUnusable(f"cannot read {path}: {error.strerror}") from error
    return path


def _why_none(directory: Path) -> str:
    """Why a data directory has no database, and what to do."""
    try:
        used = holder(directory) is not None
    except OSError:  # it is not there, or not for us
        used = False
    if not used:
        return "name the directory of a server with --data-dir"
    return (
        "the server that runs on it keeps everything in memory; read objects from it with kubectl, "
        "or start it without --in-memory"
    )


@contextmanager
def inspect(path: Path) -> Iterator[Inspection]:
    """A snapshot of a database for as long as the block lasts; nothing in the file changes.

    Raises:
        DatabaseUnusable: it cannot be opened, or is of a newer kubetrio.
    """
    try:
        connection = connect_to_read(path)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise damaged(path, error) from error
    except apsw.Error as error:
        raise unusable(path, "opened", error) from error
    try:
        try:
            connection.pragma("query_only", 1)
            connection.execute(sql.BEGIN_READING)
            seen = Inspection(path, connection)
        except (
            apsw.CorruptError, apsw.NotADBError, apsw.SQLError, UnicodeDecodeError
        ) as error:  # fmt: skip
            raise damaged(path, error) from error
        yield seen
    finally:
        connection.close()


class Snapshot(SoleWriter):
    """A store at one revision, which cannot be written; follows `store.model.Store`.

    Args:
        path: of the database.

    Raises:
        DatabaseUnusable: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._reader = Reader(path, frozen=is_frozen(path))
            self._reader.keep(True)
            with inspect(path) as now:
                self.compacted = now.compacted
            # A snapshot is never compacted: what is read first is the state of all that follows.
            newest = self._reader.range(Range.single("/"), None, 1, 0).revision
            self.arrivals = Arrivals(newest)
        except apsw.Error as error:
            raise damaged(path, error) from error

    def close(self) -> None:
        """Let go of the snapshot."""
        self._reader.close()

    async def revisions_of(self, key: str) -> Sequence[Past]:
        """The revisions of a key that are kept, oldest first."""
        with readable(self._path):
            return self._reader.revisions_of(key)

    async def dates(self, revisions: Sequence[Revision]) -> Mapping[Revision, int]:
        """When revisions were made; see `store.past.Retained`."""
        with readable(self._path):
            return self._reader.dates(revisions)

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`."""
        with readable(self._path):
            return self._reader.get(key, at)

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        with readable(self._path):
            return self._reader.range(keys, at, limit, max_bytes)

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
        with readable(self._path):
            return self._reader.join(keys, skip, separator, at, limit, max_bytes)

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys; see `Store.count`."""
        with readable(self._path):
            return self._reader.count(keys, at)

    async def events(
        self, *, after: Revision, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision; see `Store.events`."""
        with readable(self._path):
            return self._reader.events(after, keys, max_bytes)

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Refused."""
        self._refuse(key, value, ttl_s)

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Refused."""
        self._refuse(key, value, expected, ttl_s)

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Refused."""
        self._refuse(key, expected)

    @property
    def freeing(self) -> Self:
        """Updates, which are refused."""
        return self

    @property
    def rewinding(self) -> None:
        """No writing of several keys."""

    async def compact(self, to: Revision) -> None:
        """Refused."""
        self._refuse(to)

    def _refuse(self, *_: object) -> NoReturn:
        raise StoreUnavailable("a snapshot cannot be written")

    def on_commit(self, hook: CommitHook) -> None:
        """Nothing is committed."""

    def on_progress(self, hook: ProgressHook) -> None:
        """Nothing grows."""

    async def probe(self, limit_s: float) -> None:
        """Return at once: an open snapshot answers."""

    def statistics(self) -> StoreStatistics:
        """Numbers of the snapshot."""
        return StoreStatistics(
            revision=self.revision,
            compacted=self.compacted,
            writes=0,
            size_bytes=self._path.stat().st_size,
            queued=0,
        )
