"""Copies of a database: a consistent one of a file in use, and one that takes its place later.

Source: sqlite.org/backup.html; etcd's ``etcdutl snapshot restore`` (``--bump-revision`` and
``--mark-compacted``) for what watchers of a former life may not be told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw

from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import Revision, Stamped
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.database import unusable
from kubetrio.store.sqlite.head import FILE_NAME as HEAD_FILE
from kubetrio.store.sqlite.head import Noted, left_behind
from kubetrio.store.sqlite.inspection import existing
from kubetrio.store.sqlite.journal import beside, read
from kubetrio.store.sqlite.reader import Reader
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.stopped import connect_to_read, untouched
from kubetrio.store.sqlite.writer import Writer

STEP_PAGES = 256  # one call of the backup, or of vacuum: 1 MB
STEP_REVISIONS = 4096  # of one transaction of compaction
RESTORED = "/kubetrio/restored"
"""The key under which a store says that it was restored, and from which revision."""

Tell = Callable[[int, int], None]
"""Told how much is done, and of how much."""


class Copied(NamedTuple):
    """What is in a copy.

    Args:
        revision: its newest revision.
        compacted: its newest compacted revision.
    """

    revision: Revision
    compacted: Revision


def copy(source: Path, target: Path, tell: Tell) -> Copied:
    """Copy a database as it is at one moment, while other processes may write to it.

    The whole copy is one snapshot: a write of another process would begin it anew otherwise.

    Args:
        source: database file.
        target: does not exist; mode 0600, and on the disk when this returns.
        tell: of pages.

    Raises:
        DatabaseUnusable: the source cannot be read.
        StoreUnavailable: the target cannot be written.
        OSError: the same.
    """
    with untouched(source) as path:
        return _copied(source, path, target, tell)


def _copied(source: Path, path: Path, target: Path, tell: Tell) -> Copied:
    """Copy a database, read from a path that `untouched` has yielded for it."""
    journaled = read(beside(source))  # before the snapshot: what is flushed meanwhile is in both
    try:
        reading = connect_to_read(path)
    except apsw.Error as error:
        raise unusable(source, "opened", error) from error
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        writing = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            writing.pragma("synchronous", "OFF")  # all of it is synced at the end
            reading.execute(sql.BEGIN_READING)
            copied = Copied(
                reading.execute(sql.HEAD).get, reading.execute(sql.GET_META, ("compacted",)).get
            )
            with writing.backup("main", reading, "main") as backup:
                while not backup.done:
                    backup.step(STEP_PAGES)
                    tell(backup.page_count - backup.remaining, backup.page_count)
            # It is whole without a log beside it, so opening it is a start after an orderly stop.
            writing.execute(sql.SET_META, ("clean", 1))
            writing.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            writing.close()
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
        raise StoreUnavailable(f"cannot write {target}: {error}") from error
    except apsw.Error as error:
        raise unusable(source, "copied", error) from error
    finally:
        reading.close()
    if journaled is not None and journaled.records:
        with _writing(target, now_ms=0) as writer, writer.replaying(journaled):
            copied = Copied(writer.revision, writer.compacted)
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return copied


@contextmanager
def settled(path: Path) -> Iterator[Path]:
    """A database with all that its journal has: the file, or a copy for as long as a block lasts.

    The directory of a server that has stopped is left as it is, file for file.

    Args:
        path: database file, which a server may use.

    Raises:
        DatabaseUnusable: it cannot be read.
        StoreUnavailable: there is no room for the copy.
        OSError: the same.
    """
    journaled = read(beside(path))
    if journaled is None or not journaled.records:
        with untouched(path) as readable:
            yield readable
        return
    with TemporaryDirectory(prefix="kubetrio-") as folder:
        target = Path(folder, path.name)
        copy(path, target, lambda _done, _of: None)
        yield target


def go_on_above(path: Path, ahead: int) -> Revision:
    """Have a copy go on above any revision that its original may have handed out since.

    One revision is written, which says so, and all before it count as compacted: who watched the
    original from a later revision than the copy has gets 410 and lists anew.

    Args:
        path: database file that no process uses.
        ahead: how many revisions are left out.

    Returns:
        The newest revision.

    Raises:
        DatabaseUnusable: it cannot be opened.
        StoreUnavailable: it cannot be written.
    """
    with _writing(path, now_ms=0) as writer:
        former = writer.revision
        note = Stamped(b'{"from":%d,"revision":' % former, b"}")
        reader = Reader(path)
        restored = reader.get(RESTORED, None)
        reader.close()
        writer.begin(0)  # at the time of the newest revision: nothing grows older while none runs
        writer.revision = former + ahead - 1
        if restored is None:
            writer.create(RESTORED, note)
        else:
            writer.update(RESTORED, note, restored.revision)
        writer.commit()
        writer.compact(writer.revision)
        return writer.revision


@contextmanager
def _writing(path: Path, *, now_ms: int, noted: Noted | None = None) -> Iterator[Writer]:
    """The writing connection of a file that no process uses; closed in order after the block.

    Raises:
        DatabaseUnusable: it cannot be opened.
        StoreUnavailable: it cannot be written.
    """
    writer = open_writer(path, Writer, now_ms=now_ms, noted=noted)
    try:
        with writer.given_up_on_failure():
            yield writer
            writer.close()
    except apsw.Error as error:
        raise StoreUnavailable(f"cannot write {path}: {error}") from error


class Shrunk(NamedTuple):
    """What compaction did.

    Args:
        compacted: newest compacted revision.
        revisions: rows that went.
        before: bytes of the file before.
        after: bytes of it now.
    """

    compacted: Revision
    revisions: int
    before: int
    after: int


def shrink(directory: Path, keep_s: float, *, now_ms: int, tell: Tell) -> Shrunk:
    """Drop history of a data directory that no server uses, and give the room back.

    It may be interrupted: what was dropped is, and the next one goes on.

    Args:
        directory: data directory.
        keep_s: how much history stays, seconds before the newest revision.
        now_ms: wall clock, for a schema of before.
        tell: of revisions, and then of pages that are given back.

    Raises:
        DataDirectoryLocked: a server uses it.
        DatabaseUnusable: it cannot be opened.
        StoreUnavailable: it cannot be written.
    """
    path = existing(directory)
    lock = DirectoryLock(directory)
    try:
        before = path.stat().st_size
        with _writing(path, now_ms=now_ms, noted=left_behind(directory)) as writer:
            rows = writer.kept()
            first = writer.compacted
            to = writer.revision_before(writer.newest_ms - int(keep_s * 1000))
            while writer.compacted < to:
                writer.compact(min(writer.compacted + STEP_REVISIONS, to))
                tell(writer.compacted - first, to - first)
            free = at_first = writer.free_pages()
            while free:
                left = writer.vacuum(STEP_PAGES)
                if left >= free:
                    break
                free = left
                tell(at_first - free, at_first)
            compacted, dropped = writer.compacted, rows - writer.kept()
        (directory / HEAD_FILE).unlink(missing_ok=True)
        return Shrunk(compacted, dropped, before, path.stat().st_size)
    finally:
        lock.release()
