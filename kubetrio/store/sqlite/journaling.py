"""The writing connection with a journal: a commit is a record there.

The transaction stays open, and a commit is a savepoint of it, so that it can be rolled back alone.
Readers have to use this connection too.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import apsw

from kubetrio.store.model import EventType, Reopen, Revision, unstampable
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite import sync
from kubetrio.store.sqlite.checksums import Damage
from kubetrio.store.sqlite.database import PAGE_BYTES
from kubetrio.store.sqlite.errors import DatabaseUnusable, StoreBroken
from kubetrio.store.sqlite.journal import Journal, beside
from kubetrio.store.sqlite.writer import Writer

LOGGED_BYTES = PAGE_BYTES + 24
"""Of a page in the log."""
INLINE_BYTES = 256 * 1024
"""Room of the journal below which a batch may have to wait for a flush."""


class JournalingWriter(Writer):
    """Writes to a journal, as soon as `begin_journal` was called; see `Writer`."""

    def __init__(
        self,
        path: Path,
        *,
        cache_kib: int,
        reopen: Reopen = unstampable,
        damage: Damage | None = None,
    ) -> None:
        super().__init__(path, cache_kib=cache_kib, reopen=reopen, damage=damage)
        self._path = path
        self._journal: Journal | None = None
        self._log = -1  # descriptor of the write-ahead log
        self._changes = 0  # rows that had been changed when the transaction was opened

    def begin_journal(self, size: int, log: Path) -> Path:
        """Begin one beside the database; returns where it is.

        Args:
            size: bytes of its file.
            log: the write-ahead log.

        Raises:
            OSError: it cannot be made.
        """
        path = beside(self._path)
        self._log = os.open(log, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._journal = Journal(path, size, self.revision, self.identity())
        return path

    @property
    def quick(self) -> bool:
        """See `Writer`."""
        return self._journal is None or self._journal.free > 2 * INLINE_BYTES

    @property
    def flush_due(self) -> bool:
        """See `Writer`."""
        return self._journal is not None and self._journal.due

    def open_bytes(self) -> int:
        """See `Writer`: each row that was changed is on a page of its own, or on several."""
        if self._journal is None or not self._in_transaction():
            return 0
        rows = self.connection.total_changes() - self._changes
        return min(self.pages(), rows + self._journal.unflushed // PAGE_BYTES) * LOGGED_BYTES

    def _in_transaction(self) -> bool:
        return self.connection.in_transaction

    def _enter(self) -> None:
        if self._journal is None:
            super()._enter()
            return
        if not self._in_transaction():
            self._begin()
        self._execute(sql.SAVEPOINT)

    def _begin(self) -> None:
        self._execute(sql.BEGIN)
        self._changes = self.connection.total_changes()

    def _leave(self) -> None:
        journal = self._journal
        if journal is None:
            super()._leave()
        elif journal.fits:
            journal.write()
            self._execute(sql.RELEASE)
        else:
            self.flush()

    def _undo(self) -> None:
        if self._journal is None:
            super()._undo()
            return
        self._execute(sql.ROLLBACK_TO)
        self._execute(sql.RELEASE)

    def has_committed(self) -> bool:
        """See `Writer`.

        Raises:
            MemoryError: with a journal that is not known.
        """
        raise MemoryError

    def rollback(self, revision: Revision) -> None:
        """See `Writer`; what the journal has stays, also where SQLite gave all of it up."""
        super().rollback(revision)
        if self._journal is not None:
            self._journal.forget()
            if not self._in_transaction():
                self._recover(self._journal)

    def _note(
        self,
        done: EventType,
        key: str,
        value: bytes,
        hole: int,
        previous: tuple[Revision, bytes] = (0, b""),
        ttl_ms: int = 0,
    ) -> None:
        if self._journal is not None:
            self._journal.note(done, self.newest_ms, key, value, hole, previous, ttl_ms)

    def _note_compaction(self, to: Revision) -> None:
        if self._journal is not None:
            self._journal.note_compaction(to)

    def flush(self) -> None:
        """Commit what is open, have the disk take it, and begin the journal anew.

        Raises:
            apsw.Error: the database does not take it; what was committed is as it was.
            StoreBroken: whether the disk took it is unknown.  The journal has it all.
        """
        journal = self._journal
        if journal is None or not self._in_transaction():
            return
        try:
            self._execute(sql.COMMIT)
        except apsw.Error:
            if not self._in_transaction():
                self._recover(journal)
            raise
        try:
            sync.fdatasync(self._log)
        except OSError as error:
            raise StoreBroken(error) from error
        with suppress(OSError):  # a file system that wants room for it; until then all is flushed
            journal.restart(self.revision, self.identity())

    def _recover(self, journal: Journal) -> None:
        """Open the transaction anew, as the journal has it.

        Raises:
            DatabaseUnusable: what was answered cannot be made again.
        """
        self.revision = self._execute(sql.HEAD).get
        self.compacted = self._execute(sql.GET_META, ("compacted",)).get
        self._begin()
        self._journal = None
        try:
            self.replay(journal.held())
        finally:
            self._journal = journal
        if self.revision != journal.newest:
            raise DatabaseUnusable(
                f"the journal ends at revision {self.revision}, and {journal.newest} was answered"
            )

    def close(self) -> None:
        """See `Writer`; the journal has nothing then that the database lacks."""
        super().close()
        self._end()

    def abandon(self) -> None:
        """See `Writer`; the journal stays."""
        super().abandon()
        self._end()

    def _end(self) -> None:
        if self._journal is not None:
            self._journal.close()
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
