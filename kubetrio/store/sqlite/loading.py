"""A new database of values whose revisions are known: what was stored elsewhere.

It has another name until it is complete, so that no server takes a part for the whole.  What is
written is whole batches, in the order of revisions; after a killed process the next one goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from kubetrio.runtime.files import sync_directory
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.model import Revision, Stamped, Unstampable
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.writer import Writer

PARTIAL = f"{FILE_NAME}.migration"
"""Name of a database that is not complete."""
MIGRATED = "/kubetrio/migrated"
"""Key under which a store says that it was copied, and up to which revision."""


class Loaded(NamedTuple):
    """A value with the revision that it is to have.

    Args:
        key: the key.
        revision: the revision.
        value: complete bytes.
        hole: where the revision stands in it, -1 for nowhere.
        ttl_ms: its time to live from now on; 0 for good.
    """

    key: str
    revision: Revision
    value: bytes
    hole: int
    ttl_ms: int = 0

    @property
    def stamped(self) -> Stamped:
        """The value, to be written at its revision."""
        if self.hole < 0:
            return Unstampable(self.value, b"")
        end = self.hole + len(str(self.revision))
        return Stamped(self.value[: self.hole], self.value[end:])


class Loader:
    """Writes a new database; made by `loading`.

    Args:
        directory: data directory.
        writer: of the database.
    """

    def __init__(self, directory: Path, writer: Writer) -> None:
        self._directory = directory
        self._writer = writer

    @property
    def revision(self) -> Revision:
        """Newest revision written."""
        return self._writer.revision

    def written(self) -> Mapping[str, Revision]:
        """Return what is there, with the revision of each key.  Blocking."""
        rows = self._writer.connection.execute(sql.LIVE_NOW, ("", "\U0010ffff", -1))
        return {key: revision for key, revision, *_ in rows}

    def write(self, values: Iterable[Loaded], now_ms: int) -> None:
        """Write values, whose revisions grow and are above `revision`.  Blocking.

        Args:
            values: what is written, in one transaction.
            now_ms: wall clock.

        Raises:
            KeyExists: a key is there already; nothing is written.
            StoreUnavailable: it cannot be written.
        """
        writer, before = self._writer, self._writer.revision
        try:
            writer.begin(now_ms, now_ms)
            for each in values:
                writer.revision = each.revision - 1
                writer.create(each.key, each.stamped, each.ttl_ms)
            writer.commit()
        except apsw.Error as error:
            writer.rollback(before)
            raise StoreUnavailable(f"cannot write {self._directory / PARTIAL}: {error}") from error
        except BaseException:
            writer.rollback(before)
            raise

    def finish(
        self, revision: Revision, now_ms: int, notes: Mapping[str, Stamped] | None = None
    ) -> Revision:
        """Give the database its name; its history begins behind a revision.  Blocking.

        Clients that watched from there or before are told 410 and list anew.

        Args:
            revision: of the source, when it was read.
            now_ms: wall clock.
            notes: what else the store says of itself.

        Returns:
            The newest revision now.

        Raises:
            StoreUnavailable: it cannot be written.
            OSError: the same.
        """
        newest = max(revision, self.revision)
        migrated = Stamped(b'{"from":%d,"revision":' % revision, b"}")
        rows: list[Loaded] = []
        for key, value in {**(notes or {}), MIGRATED: migrated}.items():
            newest += 1
            rows.append(Loaded(key, newest, value.at(newest), value.hole))
        self.write(rows, now_ms)
        try:
            self._writer.compact(newest)
            self._writer.close()
        except apsw.Error as error:
            raise StoreUnavailable(f"cannot write {self._directory / PARTIAL}: {error}") from error
        with (self._directory / PARTIAL).open("rb") as file:
            os.fsync(file.fileno())
        (self._directory / PARTIAL).rename(self._directory / FILE_NAME)
        discard(self._directory)  # its log, which is empty
        sync_directory(self._directory)
        return newest


def discard(directory: Path) -> None:
    """Remove a database that is not complete.

    Raises:
        OSError: it cannot be removed.
    """
    for end in ("", "-wal", "-shm"):
        (directory / f"{PARTIAL}{end}").unlink(missing_ok=True)


@contextmanager
def loading(directory: Path, now_ms: int) -> Iterator[Loader]:
    """Write a new database, or go on with one, as long as the block lasts.  Blocking.

    Args:
        directory: data directory without a database, whose lock the caller has.
        now_ms: wall clock.

    Raises:
        DatabaseUnusable: there is a part of one that cannot be used.
        StoreUnavailable: it cannot be written.
    """
    path = directory / PARTIAL
    try:
        writer = open_writer(path, Writer, now_ms=now_ms)
    except apsw.Error as error:
        raise StoreUnavailable(f"cannot write {path}: {error}") from error
    try:
        yield Loader(directory, writer)
    finally:
        writer.abandon()
