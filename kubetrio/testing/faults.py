"""File operations that fail: one of them, or all from one of them on.

The operations below one directory are counted as they are made, those of Python and those of
SQLite, whose system calls are replaced by ours (``xSetSystemCall``, sqlite.org/c3ref/vfs.html).  So
a test can have the first, the second, ... operation of a whole life fail, until none is left to
fail.  Blocking calls have to run inline, for the operations to have an order.  Syncs that succeed
are not made: no power is lost, and they take most of the time.
"""

from __future__ import annotations

import ctypes
import enum
import errno
import io
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

from kubetrio.store.sqlite import reserve, sync


class Lack(enum.Enum):
    """What there is none of."""

    DESCRIPTORS = "descriptors"
    ROOM = "room"
    SYNCS = "syncs"


NUMBERS = {Lack.DESCRIPTORS: errno.EMFILE, Lack.ROOM: errno.ENOSPC, Lack.SYNCS: errno.EDQUOT}
ENOUGH = 1 << 40  # operations

# Of Python, by the module that they are looked up in.
WRAPPED: tuple[tuple[Any, str, Lack], ...] = (
    *((os, name, Lack.ROOM) for name in ("write", "pwrite", "ftruncate", "truncate")),
    *((os, name, Lack.ROOM) for name in ("rename", "replace", "unlink", "mkdir")),
    (reserve, "fallocate", Lack.ROOM),
    (io, "open", Lack.DESCRIPTORS),
    (os, "fsync", Lack.SYNCS),
    (sync, "fdatasync", Lack.SYNCS),
)
# Of SQLite: what they return and take.
SYSTEM_CALLS: dict[str, tuple[Any, ...]] = {
    "open": (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    "pwrite64": (
        ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64,
    ),
    "ftruncate": (ctypes.c_int, ctypes.c_int, ctypes.c_int64),
}  # fmt: skip


class Faults:
    """Counts file operations, and has some fail; use it in a `with` block.

    Args:
        directory: where the operations of Python are that count; of SQLite all do.

    Attributes:
        fired: names of the operations that failed, in order.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = os.fspath(directory)
        self._lack = Lack.ROOM
        self._left = ENOUGH  # operations that succeed before the first that fails
        self._times = 0  # how many fail then
        self._stack = ExitStack()
        self._fds: set[int] = set()  # that Python has open there
        self._calls: list[Any] = []
        self.fired: list[str] = []

    def fail(self, lack: Lack, after: int, times: int = ENOUGH) -> None:
        """Have operations fail, counted from now.

        Args:
            lack: which ones.
            after: how many succeed before.
            times: how many fail.
        """
        self._lack, self._left, self._times = lack, after, times
        self.fired = []

    def clear(self) -> None:
        """Let all succeed."""
        self._times = 0

    def refused(self, lack: Lack, name: str) -> int:
        """Count an operation; returns the number of its error, 0 to let it succeed."""
        if lack is not self._lack or not self._times:
            return 0
        if self._left:
            self._left -= 1
            return 0
        self._times -= 1
        self.fired.append(name)
        return NUMBERS[lack]

    def _check(self, lack: Lack, name: str, file: object) -> None:
        number = self.refused(lack, name)
        if number:
            raise OSError(number, os.strerror(number), None if isinstance(file, int) else file)

    def _ours(self, file: Any) -> bool:
        if isinstance(file, int):
            return file in self._fds
        return os.fsdecode(file).startswith(self._directory)

    # ------------------------------------------------------------------ in place of the system

    def __enter__(self) -> Self:
        for module, name, lack in WRAPPED:
            self._replace(module, name, self._counted(getattr(module, name), name, lack))
        self._replace(os, "open", self._opening(os.open))
        self._replace(os, "close", self._closing(os.close))
        disk = _Disk(self)
        self._stack.callback(disk.unregister)
        for name, types in SYSTEM_CALLS.items():
            call = _system_call(self, name, ctypes.CFUNCTYPE(*types, use_errno=True), disk)
            self._calls.append(call)  # as long as SQLite has its address
            disk.xSetSystemCall(name, ctypes.cast(call, ctypes.c_void_p).value or 0)
            self._stack.callback(disk.xSetSystemCall, name, 0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _replace(self, module: Any, name: str, by: Callable[..., Any]) -> None:
        self._stack.callback(setattr, module, name, getattr(module, name))
        setattr(module, name, by)

    def _counted(self, former: Callable[..., Any], name: str, lack: Lack) -> Callable[..., Any]:
        def call(file: Any, *arguments: Any, **named: Any) -> Any:
            if self._ours(file):
                self._check(lack, name, file)
                if lack is Lack.SYNCS:
                    return None
            return former(file, *arguments, **named)

        return call

    def _opening(self, former: Callable[..., int]) -> Callable[..., int]:
        def call(file: Any, flags: int, *arguments: Any, **named: Any) -> int:
            if not self._ours(file):
                return former(file, flags, *arguments, **named)
            self._check(Lack.DESCRIPTORS, "open", file)
            if flags & os.O_CREAT and not os.path.lexists(file):
                self._check(Lack.ROOM, "creat", file)
            fd = former(file, flags, *arguments, **named)
            self._fds.add(fd)
            return fd

        return call

    def _closing(self, former: Callable[[int], None]) -> Callable[[int], None]:
        def call(fd: int) -> None:
            self._fds.discard(fd)
            former(fd)

        return call


@contextmanager
def no_descriptors(pid: int = 0) -> Iterator[None]:
    """Let a process open nothing, in whatever way, for as long as the block lasts (Linux).

    Args:
        pid: of the process, 0 for this one.
    """
    import resource

    found = tuple(Path(f"/proc/{pid or 'self'}/fd").iterdir())
    used = {int(each.name) for each in found if each.is_symlink()}  # not what listed them
    # The limit is of numbers: the lowest that is free is the first that is refused.
    lowest = next(number for number in itertools.count() if number not in used)
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest, before[1]))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):  # it has ended
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def _system_call(faults: Faults, name: str, kind: Any, disk: apsw.VFS) -> Any:
    """A system call of SQLite's that is counted."""
    former = kind(disk.xGetSystemCall(name))

    def call(file: Any, *arguments: Any) -> int:
        number = 0
        if name == "open":
            number = faults.refused(Lack.DESCRIPTORS, "SQLite's open")
            new = arguments[0] & os.O_CREAT and not os.path.lexists(file)
        else:
            new = True
        if new and not number:
            number = faults.refused(Lack.ROOM, f"SQLite's {name}")
        if number:
            ctypes.set_errno(number)
            return -1
        done: int = former(file, *arguments)
        return done

    return kind(call)


class _Disk(apsw.VFS):
    """SQLite's default file system, with syncs that are counted."""

    def __init__(self, faults: Faults) -> None:
        super().__init__("kubetrio-counted", "", makedefault=True)
        self.faults = faults

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Open a file of this disk."""
        return _File(self.faults, name, flags)


class _File(apsw.VFSFile):
    def __init__(
        self, faults: Faults, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__("unix", name, flags)
        self._faults = faults

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002
        if self._faults.refused(Lack.SYNCS, "SQLite's sync"):
            raise apsw.IOError("the disk fails")
