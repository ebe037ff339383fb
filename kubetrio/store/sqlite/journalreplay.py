"""The writes of a journal, made again in a database that lacks them."""

from __future__ import annotations

import zlib
from typing import Protocol

import apsw

from kubetrio.store.errors import ChecksumMismatch, StoreError
from kubetrio.store.model import EventType, Revision, Stamped, reopened
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.journal import Journaled, Record


class Writer(Protocol):
    """What a replay needs of the writing connection (`store.sqlite.writer`)."""

    connection: apsw.Connection
    revision: Revision
    compacted: Revision
    newest_ms: int

    def identity(self) -> int:
        """See there."""
        ...

    def drop_until(self, to: Revision) -> None:
        """See there."""
        ...

    def create(self, key: str, value: Stamped, ttl_ms: int = 0) -> object:
        """See there."""
        ...

    def update(self, key: str, value: Stamped, expected: Revision, ttl_ms: int = 0) -> object:
        """See there."""
        ...

    def delete(self, key: str, expected: Revision, last: Stamped | None = None) -> object:
        """See there."""
        ...


def replay(writer: Writer, journaled: Journaled) -> None:
    """Make the writes of a journal again that the database does not have.

    Args:
        writer: in a transaction.
        journaled: what the journal has.

    Raises:
        DatabaseUnusable: they are not those of this database.
    """
    revision, mark, records = journaled
    foreign = (
        f"the journal is not that of {FILE_NAME}, which ends at revision {writer.revision}: "
        "bring the database back that belongs to it, or move the journal away"
    )
    at_first = writer.revision
    if records and (revision > at_first or (revision == at_first and mark != writer.identity())):
        raise DatabaseUnusable(foreign)
    try:
        for record in records:
            if record.type is None:
                if record.previous > writer.compacted:
                    writer.drop_until(record.previous)
                    writer.compacted = record.previous
                continue
            revision += 1
            if revision > at_first:
                _make(writer, record)
            elif revision == at_first and not _is_newest(writer, record):
                raise DatabaseUnusable(foreign)
    except DatabaseUnusable:
        raise
    except ChecksumMismatch as error:
        raise DatabaseUnusable(f"the journal changes what {FILE_NAME} lacks: {error}") from error
    except (StoreError, ValueError, zlib.error) as error:
        raise DatabaseUnusable(foreign) from error


def _is_newest(writer: Writer, record: Record) -> bool:
    """Whether a record is the write that made the newest revision."""
    key, kind, previous = writer.connection.execute(sql.WHAT_WAS_DONE, (writer.revision,)).get
    if record.type is EventType.CREATED and record.key_and_value()[0] != key:
        return False
    return bool(kind == record.type and (previous or 0) == record.previous)


def _make(writer: Writer, record: Record) -> None:
    writer.newest_ms = max(writer.newest_ms, record.at_ms)
    revision = writer.revision + 1
    if record.type is EventType.CREATED:
        key, value = record.key_and_value()
        writer.create(key, reopened(value, record.hole, revision), record.ttl_ms)
        return
    row = writer.connection.execute(sql.KEY_AND_VALUE, (record.previous,)).get
    key, before = row or ("", b"")
    stamped = reopened(record.value(before), record.hole, revision)
    if record.type is EventType.UPDATED:
        writer.update(key, stamped, record.previous, record.ttl_ms)
    else:
        writer.delete(key, record.previous, stamped)
