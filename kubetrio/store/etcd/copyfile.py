"""The file of a replica's table: a head, one record for each key, and a digest of all of it.

| part | bytes |
| --- | --- |
| head | JSON and a newline: what the copy is of (`Head`) |
| record | lengths of key and value (4 each), revisions (8 each), stale (1); key, value |
| digest | BLAKE2b of all before it (32) |

Numbers are little-endian; revisions are that of the value and that of the creation.  A value that
is left out has the length 2^32 - 1.  The file is written beside the old one and renamed when it is
on the disk, so one of the two is whole at any time.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self

from kubetrio.runtime.files import sync_directory
from kubetrio.store.etcd.marks import Mark
from kubetrio.store.model import KeyValue, Revision, Stale

FORMAT: Final = 1
RECORD: Final = struct.Struct("<IIQQB")
LEFT_OUT: Final = 0xFFFFFFFF
DIGEST_BYTES: Final = 32
HEAD_BYTES: Final = 1 << 16
"""Longest head that is read."""


class UnusableCopy(Exception):
    """A copy is damaged, or of something else; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a copy is of.

    Args:
        identity: what it depends on, by name: another value makes it useless.
        revision: of the table.
        keys: number of records.
        mark: newest change that the table has, None where there was none.
    """

    identity: Mapping[str, str]
    revision: Revision
    keys: int
    mark: Mark | None

    def to_line(self) -> bytes:
        """Return the first line of the file."""
        mark = None if self.mark is None else self.mark.to_json()
        members = {
            "format": FORMAT,
            **self.identity,
            "revision": self.revision,
            "keys": self.keys,
            "mark": mark,
        }
        return json.dumps(members).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes, identity: Mapping[str, str]) -> Self:
        """Return the head in the first line of a file.

        Args:
            line: the line.
            identity: what it has to be.

        Raises:
            UnusableCopy: it is of something else, or damaged.
        """
        try:
            members = json.loads(line)
            if members["format"] != FORMAT:
                raise UnusableCopy(f"it has format {members['format']}, not {FORMAT}")
            for name, value in identity.items():
                if members[name] != value:
                    raise UnusableCopy(f"its {name} is {members[name]!r}, not {value!r}")
            mark = None if members["mark"] is None else Mark.from_json(members["mark"])
            return cls(identity, int(members["revision"]), int(members["keys"]), mark)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise UnusableCopy(f"its head is damaged: {error!r}") from error


class Copy(NamedTuple):
    """What a file has.

    Args:
        head: what it is of.
        states: keys with their values.
        left_out: keys whose values the file does not have.
    """

    head: Head
    states: Sequence[KeyValue]
    left_out: Sequence[str]


def unfinished(path: Path) -> Path:
    """Return where a file is written before it takes its place."""
    return path.with_name(f".{path.name}.new")


def remove_copy(path: Path) -> None:
    """Remove a file, and what is left of one that was not finished; either may be missing.

    Args:
        path: of the file.

    Raises:
        OSError: one cannot be removed; the other is, if that is possible.
    """
    try:
        unfinished(path).unlink(missing_ok=True)
    finally:
        path.unlink(missing_ok=True)


class CopyWriter:
    """Writes a file; nothing is at its place until `finish`.

    Args:
        path: of the file.
        head: what it is of.

    Raises:
        OSError: the directory cannot be written.
    """

    def __init__(self, path: Path, head: Head) -> None:
        self._path = path
        self._new = unfinished(path)
        self._new.unlink(missing_ok=True)  # that of a server that was killed, whatever its mode
        handle = os.open(self._new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file: BinaryIO = os.fdopen(handle, "wb")
        self._digest = blake2b(digest_size=DIGEST_BYTES)
        self._write(head.to_line())

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)

    def add(self, states: Iterable[KeyValue]) -> None:
        """Add records with values.

        Raises:
            OSError: there is no room.
        """
        parts: list[bytes] = []
        for state in states:
            key = state.key.encode()
            numbers = (state.revision, state.create_revision, state.stale)
            parts += RECORD.pack(len(key), len(state.value), *numbers), key, state.value
        self._write(b"".join(parts))

    def leave_out(self, keys: Iterable[str]) -> None:
        """Add records without values.

        Raises:
            OSError: there is no room.
        """
        names = [key.encode() for key in keys]
        self._write(b"".join(RECORD.pack(len(key), LEFT_OUT, 0, 0, 0) + key for key in names))

    def finish(self) -> None:
        """Put the file in its place, when all of it is on the disk.

        Raises:
            OSError: it cannot be written.
        """
        self._file.write(self._digest.digest())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._new.replace(self._path)
        if os.name == "posix":  # elsewhere directories cannot be opened
            sync_directory(self._path.parent)

    def give_up(self) -> None:
        """Leave what is there.

        Raises:
            OSError: what is begun cannot be removed.
        """
        try:
            self._file.close()  # which writes what is buffered, on a disk that may be full
        finally:
            self._new.unlink(missing_ok=True)


def read_copy(path: Path, identity: Mapping[str, str]) -> Copy | None:
    """Return what a file has, None where there is no file.

    Args:
        path: of the file.
        identity: what the copy has to depend on.

    Raises:
        UnusableCopy: it is damaged, or of something else.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return _read(file, size, identity)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnusableCopy(f"it cannot be read: {error}") from error


def _read(file: BinaryIO, size: int, identity: Mapping[str, str]) -> Copy:
    digest = blake2b(digest_size=DIGEST_BYTES)
    line = file.readline(HEAD_BYTES)
    head = Head.from_line(line, identity)
    digest.update(line)
    left = size - len(line) - DIGEST_BYTES
    states: list[KeyValue] = []
    left_out: list[str] = []
    for _ in range(head.keys):
        record = file.read(RECORD.size)
        if len(record) < RECORD.size:
            raise UnusableCopy("it is cut off")
        key_bytes, value_bytes, revision, created, stale = RECORD.unpack(record)
        whole = value_bytes != LEFT_OUT
        length = key_bytes + (value_bytes if whole else 0)
        left -= RECORD.size + length
        if left < 0:
            raise UnusableCopy("it is cut off")
        data = file.read(length)
        digest.update(record)
        digest.update(data)
        key = data[:key_bytes].decode(errors="replace")
        if whole:
            kind = Stale if stale else KeyValue
            states.append(kind(key, data[key_bytes:], revision, created))
        else:
            left_out.append(key)
    if left or file.read() != digest.digest():
        raise UnusableCopy("its checksum is wrong")
    return Copy(head, states, left_out)
