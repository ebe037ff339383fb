"""What a disk may hold after power was lost, worked out from the operations before.

A write is on the disk once its file was synced, a name once its directory was.  What was not
synced may be there or not, each write for itself, whole or some of its sectors; so a later one may
be there where an earlier one is not.  After a sync that failed, what it should have brought may be
lost for good although a later sync succeeds (fsync(2)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)

from fuzz.disk_ops import Kind, Op

SECTOR = 512
WITHOUT = frozenset({"kubetrio.lock", "kubetrio.reserve", "kubetrio.probe"})
"""Files that hold nothing."""
LOST, KEPT, LAST, TORN, SOME = "lost", "kept", "last only", "torn", "some"
WAYS = (LOST, KEPT, LAST, TORN, SOME)
"""Of what was not synced: nothing, all, only the newest write, all with a torn one, some."""


@dataclass
class _File:
    durable: bytearray = field(default_factory=bytearray)
    later: list[tuple[Op, bool | None]] = field(default_factory=list)
    """What came later, with whether it was synced; None where a sync of it failed."""


class Platter:
    """The disk at a point of a life.

    Args:
        base: files at the beginning, all of them durable.
    """

    def __init__(self, base: Mapping[str, bytes]) -> None:
        files = {name: _File(bytearray(data)) for name, data in base.items() if _counts(name)}
        self._names = files
        self._durable_names = dict(files)
        self._named: list[Op] = []  # changes of names that are not durable
        self._made: list[_File | None] = []  # what each of them creates

    def apply(self, op: Op) -> None:
        """Go on by an operation."""
        if op.kind is Kind.SYNC_DIRECTORY:
            self._durable_names = dict(self._names)
            self._named.clear()
            self._made.clear()
        elif _counts(op.name):
            if op.kind in (Kind.CREATE, Kind.RENAME, Kind.UNLINK):
                made = _File() if op.kind is Kind.CREATE else None
                _rename(self._names, op, made)
                self._named.append(op)
                self._made.append(made)
            elif (file := self._names.get(op.name)) is not None:
                _change(file, op)

    def image(self, way: str, rng: Random) -> dict[str, bytes]:
        """What the disk may hold, if power is lost now.

        Args:
            way: what becomes of what was not synced: one of `WAYS`.
            rng: chooses.
        """
        names = dict(self._durable_names)
        upto = {LOST: 0, SOME: rng.randint(0, len(self._named))}.get(way, len(self._named))
        for op, made in zip(self._named[:upto], self._made, strict=False):
            _rename(names, op, made)
        return {name: _held(file, way, rng) for name, file in names.items()}


def _counts(name: str) -> bool:
    return name not in WITHOUT and not name.endswith("-shm")


def _rename(names: dict[str, _File], op: Op, made: _File | None) -> None:
    if op.kind is Kind.CREATE:
        names.setdefault(op.name, made or _File())
    elif (file := names.pop(op.name, None)) is not None and op.kind is Kind.RENAME:
        names[op.data.decode()] = file


def _change(file: _File, op: Op) -> None:
    if op.kind is Kind.SYNC:
        file.later = [(each, True if synced is False else synced) for each, synced in file.later]
        if all(synced for _, synced in file.later):
            for each, _ in file.later:
                _carry_out(file.durable, each)
            file.later = []
    elif op.kind is Kind.FAILED_SYNC:
        file.later = [(each, synced or None) for each, synced in file.later]
    elif op.kind in (Kind.WRITE, Kind.TRUNCATE, Kind.ALLOCATE):
        file.later.append((op, False))


def _held(file: _File, way: str, rng: Random) -> bytes:
    data = bytearray(file.durable)
    for number, (op, synced) in enumerate(file.later):
        if synced:
            _carry_out(data, op)
            continue
        last = number == len(file.later) - 1
        if way == SOME:
            if rng.random() < 0.5:
                _carry_out(data, _torn(op, rng) if rng.random() < 0.2 else op)
        elif way == TORN:
            _carry_out(data, _torn(op, rng) if last else op)
        elif way == KEPT or (way == LAST and last):
            _carry_out(data, op)
    return bytes(data)


def _torn(op: Op, rng: Random) -> Op:
    """Some of the sectors of a write: the first ones, or the last ones."""
    sectors = (op.at + len(op.data) - 1) // SECTOR - op.at // SECTOR
    if op.kind is not Kind.WRITE or sectors < 1:
        return op
    cut = (op.at // SECTOR + rng.randint(1, sectors)) * SECTOR - op.at
    if rng.random() < 0.5:
        return op._replace(data=op.data[:cut])
    return op._replace(at=op.at + cut, data=op.data[cut:])


def _carry_out(data: bytearray, op: Op) -> None:
    if op.kind is Kind.WRITE:
        if len(data) < op.at:
            data.extend(bytes(op.at - len(data)))
        data[op.at : op.at + len(op.data)] = op.data
    elif op.kind is Kind.TRUNCATE:
        data[op.at :] = bytes(max(0, op.at - len(data)))
    elif op.kind is Kind.ALLOCATE and len(data) < op.at:
        data.extend(bytes(op.at - len(data)))


def read_files(directory: Path) -> dict[str, bytes]:
    """The files of a directory, but those that SQLite makes anew."""
    if not directory.exists():
        return {}
    files = (each for each in directory.iterdir() if not each.name.endswith("-shm"))
    return {each.name: each.read_bytes() for each in files}


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Make a directory, which does not exist, with files."""
    directory.mkdir(mode=0o700, parents=True)
    for name, data in files.items():
        (directory / name).write_bytes(data)
