"""The journal: what was written since the database was last brought up to date, in few bytes.

A commit of SQLite writes each page that it changes, at least three of 4 KiB for an update, and a
checkpoint writes them again.  Flash wears by that.  With a journal the transaction stays open over
many writes and each of them is durable by a record here: the value, compressed against the value
that it replaces.  A *flush* commits the transaction, in which a page that many writes changed
stands once, and begins the journal anew.  After a crash the records are written again.

    header   4,096 bytes: magic, generation, base revision, what the database had there, checksum
    frame    length, checksum, records of one batch, in order; revisions follow the base one by one
    record   what was done, the revision that was replaced, time, time to live, hole, value;
             or, for a compaction, its revision alone

The checksum of a frame begins with its generation and base, so that what is left of an older
journal behind the newest frame ends it.  A sync covers the header too, and nothing is answered
before its frame is synced: a header that was lost loses nothing that was answered.  As SQLite does
for its log, this takes it that a sector's write leaves the sectors beside it alone
(sqlite.org/psow.html).

The file has all its room from the beginning: a full disk takes none of it away, and a sync has no
new blocks to note.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kubetrio.runtime.files import sync_directory
from kubetrio.store.model import EventType, Revision
from kubetrio.store.sqlite import reserve, sync
from kubetrio.store.sqlite.errors import DatabaseUnusable

FILE_NAME = "kubetrio.journal"
OURS = b"ktjrnl"
MAGIC = OURS + b"01"
HEADER = struct.Struct("<8sQQII")
HEADER_BYTES = 4096
SEED = struct.Struct("<QQI")
FRAME = struct.Struct("<II")
RECORD = struct.Struct("<BQqqiI")
MODE = 0o600
MOST_PACKED = 64 * 1024  # bytes of a value that are worth the time to compress
RAW_DEFLATE = -15
PACKED = 0x80  # in what was done: the value is compressed
COMPACTED = 0x40  # what was done is a compaction
TRIES = 5  # to read it while a server begins it anew


class Record(NamedTuple):
    """One write, as it is noted, or a compaction.

    Args:
        type: what it did; None for a compaction.
        previous: the revision that it replaced, 0 for a creation; that of a compaction.
        at_ms: when, by the clock of the store.
        ttl_ms: its time to live; 0 for good.
        hole: where in the value the revision stands (`Stamped.hole`).
        packed: the value; with its key before it for a creation.
        compressed: whether that is compressed.
    """

    type: EventType | None
    previous: Revision
    at_ms: int
    ttl_ms: int
    hole: int
    packed: bytes
    compressed: bool

    def key_and_value(self) -> tuple[str, bytes]:
        """Of a creation."""
        key, _, value = self.value(b"").partition(b"\0")
        return key.decode(), value

    def value(self, previous: bytes) -> bytes:
        """The value.

        Args:
            previous: the value that it replaced.
        """
        if not self.compressed:
            return self.packed
        unpacking = zlib.decompressobj(RAW_DEFLATE, zdict=previous)
        return unpacking.decompress(self.packed) + unpacking.flush()


class Journaled(NamedTuple):
    """What a journal holds.

    Args:
        base: revision of the database when it began.
        mark: what tells the database that had it from others (`mark_of`).
        records: writes, of the revisions after it one by one, and compactions between them.
    """

    base: Revision
    mark: int
    records: Sequence[Record]

    @property
    def newest(self) -> Revision:
        """Revision of the last write."""
        return self.base + sum(record.type is not None for record in self.records)


def mark_of(key: bytes, value: bytes) -> int:
    """What tells databases of the same newest revision from each other: a sum of its row."""
    return zlib.crc32(value, zlib.crc32(key))


def beside(database: Path) -> Path:
    """Where the journal of a database is."""
    return database.resolve().with_name(FILE_NAME)


def read(path: Path) -> Journaled | None:
    """What a journal holds up to the first frame that is not whole; None where there is none.

    A server may write to it meanwhile.

    Raises:
        DatabaseUnusable: it has the form of a newer release.
        OSError: it cannot be read.
    """
    for _ in range(TRIES):
        try:
            with path.open("rb") as file:
                header = file.read(HEADER_BYTES)
                body = file.read()
                file.seek(0)
                again = file.read(HEADER_BYTES)
        except FileNotFoundError:
            return None
        if header == again:
            break
    head = _header(header)
    if head is None:
        return None
    _, base, mark = head
    return Journaled(base, mark, list(_records(body, _seed(*head))))


def _header(header: bytes) -> tuple[int, Revision, int] | None:
    """Generation, base and mark; None for what is none, as a file that was only begun.

    Raises:
        DatabaseUnusable: it has the form of a newer release.
    """
    if len(header) < HEADER.size:
        return None
    magic, generation, base, mark, checksum = HEADER.unpack_from(header)
    if magic != MAGIC and magic.startswith(OURS):
        raise DatabaseUnusable(
            f"{FILE_NAME} is of a newer kubetrio: start that, or restore a backup that was made "
            "before the upgrade"
        )
    if magic != MAGIC or checksum != _seed(generation, base, mark):
        return None
    return generation, base, mark


def _generation(path: Path, size: int) -> int:
    """Of a file that can be written over; 0 where there is none of that size."""
    try:
        with path.open("rb") as file:
            head = _header(file.read(HEADER_BYTES))
            return head[0] if head is not None and os.fstat(file.fileno()).st_size == size else 0
    except FileNotFoundError:
        return 0


def _seed(generation: int, base: Revision, mark: int) -> int:
    return zlib.crc32(SEED.pack(generation, base, mark))


def _records(body: bytes, seed: int) -> Iterator[Record]:
    at = 0
    while at + FRAME.size <= len(body):
        size, checksum = FRAME.unpack_from(body, at)
        begin = at + FRAME.size
        payload = body[begin : begin + size]
        if not size or len(payload) < size or zlib.crc32(payload, seed) != checksum:
            return
        at = begin + size
        inside = 0
        while inside < size:
            done, previous, at_ms, ttl_ms, hole, length = RECORD.unpack_from(payload, inside)
            inside += RECORD.size
            packed = payload[inside : inside + length]
            inside += length
            kind = None if done == COMPACTED else EventType(done & ~PACKED)
            yield Record(kind, previous, at_ms, ttl_ms, hole, packed, bool(done & PACKED))


class Journal:
    """The journal of a database in use.

    Args:
        path: where it is; a file of that size is written over.
        size: bytes of its file.
        base: revision of the database.
        mark: of it.

    Attributes:
        newest: revision of the newest record.
        used: bytes of frames.
        unflushed: bytes of values that the database does not have.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, path: Path, size: int, base: Revision, mark: int) -> None:
        self._path = path
        self._room = size - HEADER_BYTES
        self._generation = _generation(path, size)
        self._seed = 0
        self._pending: list[bytes] = []
        self._writes = 0  # among what is pending
        self._noted = 0  # bytes of what is pending
        self._values = 0  # bytes of its values
        self.newest: Revision = base
        self.used = 0
        self.unflushed = 0
        if not self._generation:
            path.unlink(missing_ok=True)  # a fresh one is empty behind its frames
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            reserve.fallocate(self._fd, 0, size)
            self.restart(base, mark)
            sync.fdatasync(self._fd)
            sync_directory(path.parent)
        except BaseException:
            self.close()
            raise

    @property
    def free(self) -> int:
        """Bytes that frames have left."""
        return self._room - self.used

    @property
    def fits(self) -> bool:
        """Whether what was noted has room."""
        return FRAME.size + self._noted <= self.free

    @property
    def due(self) -> bool:
        """Whether the database should be brought up to date."""
        return self.used > self._room // 2 or self.unflushed > self._room

    def note(
        self,
        done: EventType,
        at_ms: int,
        key: str,
        value: bytes,
        hole: int,
        previous: tuple[Revision, bytes],
        ttl_ms: int,
    ) -> None:
        """Note one write of the next frame.

        Args:
            done: what it did.
            at_ms: when, by the clock of the store.
            key: of what.
            value: the complete value.
            hole: where the revision stands in it.
            previous: revision and value that it replaced; of no meaning for a creation.
            ttl_ms: its time to live; 0 for good.
        """
        kind = int(done)
        packed = value
        if done is EventType.CREATED:
            packed = b"%b\0%b" % (key.encode(), value)
        if len(packed) <= MOST_PACKED:
            packing = zlib.compressobj(1, zlib.DEFLATED, RAW_DEFLATE, zdict=previous[1])
            packed = packing.compress(packed) + packing.flush()
            kind |= PACKED
        head = RECORD.pack(kind, previous[0], at_ms, ttl_ms, hole, len(packed))
        self._pending += (head, packed)
        self._writes += 1
        self._noted += len(head) + len(packed)
        self._values += len(value)

    def note_compaction(self, to: Revision) -> None:
        """Note that what only revisions older than one can see is gone."""
        self._pending.append(RECORD.pack(COMPACTED, to, 0, 0, 0, 0))
        self._noted += RECORD.size

    def write(self) -> None:
        """Write what was noted as one frame.

        Raises:
            OSError: it is not written.
        """
        if not self._pending:
            return
        payload = b"".join(self._pending)
        frame = FRAME.pack(len(payload), zlib.crc32(payload, self._seed)) + payload
        _write(self._fd, frame, HEADER_BYTES + self.used)
        self.newest += self._writes
        self.used += len(frame)
        self.unflushed += self._values
        self.forget()

    def forget(self) -> None:
        """Note nothing of what was noted since the last frame."""
        self._pending.clear()
        self._writes = self._noted = self._values = 0

    def restart(self, base: Revision, mark: int) -> None:
        """Begin anew: the database has all up to a revision, and has it on the disk.

        Raises:
            OSError: it cannot be written.  It has no room then until this succeeds, since its
                header may be half written.
        """
        self.used = self._room
        self.newest = base
        self.forget()
        generation = self._generation + 1
        seed = _seed(generation, base, mark)
        _write(self._fd, HEADER.pack(MAGIC, generation, base, mark, seed), 0)
        self._generation, self._seed = generation, seed
        self.used = self.unflushed = 0

    def held(self) -> Journaled:
        """What it holds.

        Raises:
            OSError: it cannot be read.
        """
        return read(self._path) or Journaled(0, 0, ())

    def close(self) -> None:
        """End; calling it twice is fine.  The file keeps its room for the next start."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _write(fd: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(fd, data, at)
        data, at = data[written:], at + written
