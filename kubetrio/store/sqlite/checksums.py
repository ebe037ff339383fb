"""Checksums of stored values: bit rot is found when a value is read, and named.

SQLite has no checksum of what is in the database file, so a disk that returns other bits than were
written changes a value without a trace.  A checksum has 63 bits.  The lower 32 are the CRC-32 of
the value.  The upper ones are a sum: of the revisions in the row, and in a row of `revision` of a
CRC-32 of its key and type.  The rows of `current` and `history` have a checksum of the value that
they lead to as well, so that one that leads to another revision is found.  They need none of the
key, which both rows have: reads compare the two.

A change of one bit changes the checksum for certain, any other one with all but one in 2^32.

Rows that a former release wrote have no checksum, and are not checked.
"""

from __future__ import annotations

from zlib import crc32

from kubetrio.observe.logs import Log
from kubetrio.store.errors import ChecksumMismatch
from kubetrio.store.model import EventType, Revision

LOG = Log("kubetrio.store")

LOWER = (1 << 32) - 1
UPPER = (1 << 31) - 1
BITS = (1 << 63) - 1
KINDS = frozenset(map(int, EventType))
MOST_NAMED = 1000  # of damaged values that are logged and counted once


def of_value(value: bytes, revision: Revision, created: Revision, previous: Revision | None) -> int:
    """Return the checksum of a value and of the revisions in its row."""
    return (revision + 3 * created + 5 * (previous or 0) & UPPER) << 32 | crc32(value)


def of_row(key: str, kind: int, checksum: int) -> int:
    """Return the checksum of a row of the log.

    Args:
        key: what it changes.
        kind: what it does, as a number.
        checksum: of its value.
    """
    return (crc32(key.encode(), kind) << 32) + checksum & BITS


def is_intact(
    checksum: int | None,
    value: bytes,
    revision: Revision,
    created: Revision,
    previous: Revision | None,
) -> bool:
    """Return whether a value is what was written; one without a checksum counts as such.

    Args:
        checksum: as stored in the row that leads to the value.
        value: what was read; of another type where its row is damaged.
        revision: that wrote it.
        created: that created its key.
        previous: that it replaced.
    """
    if type(value) is not bytes:
        return False
    if checksum is None:
        return True
    try:
        upper = revision + 3 * created + 5 * (previous or 0) & UPPER  # as of `of_value`
        return checksum == upper << 32 | crc32(value)
    except TypeError:  # what should be a number is none
        return False


def is_intact_row(
    checksum: int | None,
    key: str,
    kind: int,
    value: bytes,
    revision: Revision,
    created: Revision,
    previous: Revision | None,
) -> bool:
    """Return whether a row of the log is what was written; see `is_intact`.

    Args:
        checksum: of the whole row.
        key: what it changes.
        kind: what it does, as a number.
        value: as of `is_intact`, and so the rest.
        revision: see there.
        created: see there.
        previous: see there.
    """
    if type(key) is not str or kind not in KINDS or type(value) is not bytes:
        return False
    if checksum is None:
        return True
    try:
        return of_row(key, kind, of_value(value, revision, created, previous)) == checksum
    except TypeError:  # what should be a number is none
        return False


class Damage:
    """Values that were found damaged since the start.  Threads use it too.

    Attributes:
        values: how many.
    """

    def __init__(self) -> None:
        self._named: set[tuple[str, Revision]] = set()
        self.values = 0

    def found(self, key: str, revision: Revision) -> ChecksumMismatch:
        """Return what is raised for a damaged value; the log names each of them once."""
        error = ChecksumMismatch(key, revision)
        if (key, revision) not in self._named:
            self.values += 1
            if len(self._named) < MOST_NAMED:
                self._named.add((key, revision))
            LOG.error(error, "A stored value is damaged", key=key, revision=revision)
        return error
