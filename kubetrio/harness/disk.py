"""A disk that can fail, below SQLite."""

from __future__ import annotations

import enum
from types import TracebackType
from typing import Self

import apsw


class Fault(enum.Enum):
    """What a `FaultyDisk` does."""

    NONE = "none"
    SYNC = "sync"
    FULL = "full"
    READ = "read"


class FaultyDisk(apsw.VFS):
    """SQLite's default file system for as long as a `with` block lasts; its `fault` may be set.

    ``SYNC`` fails every sync, as a dying disk does; ``FULL`` refuses every write;
    ``READ`` fails every read.

    Args:
        base: the file system below.
    """

    def __init__(self, base: str = "unix") -> None:
        super().__init__("kubetrio-faulty", base, makedefault=True)
        self.base = base
        self.fault = Fault.NONE

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.unregister()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Open a file of this disk."""
        return _FaultyFile(self, name, flags)


class _FaultyFile(apsw.VFSFile):
    def __init__(
        self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__(disk.base, name, flags)
        self._disk = disk

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._disk.fault is Fault.SYNC:
            raise apsw.IOError("the disk fails")
        super().xSync(flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        if self._disk.fault is Fault.READ:
            raise apsw.IOError("the disk cannot be read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._disk.fault is Fault.FULL:
            raise apsw.FullError("the disk is full")
        super().xWrite(data, offset)
