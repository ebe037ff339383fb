"""Environments for tests: blocking calls that can be held, and a disk that can fail."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar, TypeVarTuple

import apsw
import trio

from kubetrio.env import Env, seeded

T = TypeVar("T")
Args = TypeVarTuple("Args")


class Hold(enum.Enum):
    """Where blocking calls are held."""

    NOWHERE = "nowhere"
    BEFORE = "before"
    BEHIND = "behind"


class Gate:
    """Runs blocking calls inline, and holds them before or behind the call while asked to.

    Held before the call of a commit, a write is taken and not stored; held behind it, it is stored
    and neither announced nor answered.
    """

    def __init__(self) -> None:
        self._where = Hold.NOWHERE
        self._opened = trio.Event()

    def hold(self, where: Hold) -> None:
        """Hold the calls from now on."""
        self._where = where
        self._opened = trio.Event()

    def open(self) -> None:
        """Let go of what is held and hold nothing more."""
        self._where = Hold.NOWHERE
        self._opened.set()

    async def wait(self, where: Hold) -> None:
        """Wait here if calls are held here; not a checkpoint otherwise."""
        if self._where is where:
            await self._opened.wait()

    async def __call__(self, fn: Callable[[*Args], T], *args: *Args) -> T:
        """Call `fn(*args)`; see `kubetrio.env.RunBlocking`."""
        await trio.lowlevel.checkpoint()
        await self.wait(Hold.BEFORE)
        result = fn(*args)
        await self.wait(Hold.BEHIND)
        return result


def gated(seed: int) -> tuple[Env, Gate]:
    """A seeded Env whose blocking calls pass a gate."""
    gate = Gate()
    return replace(seeded(seed), run_blocking=gate), gate


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
