"""The disk below a store: each operation of a life is counted, kept, and may fail.

Operations are those on the files of one directory: of SQLite through a file system of apsw's, of
Python through the functions of `os`, and syncs by io_uring through a kernel that is played, so
that `kubetrio.store.sqlite.uring` runs as it is.  Blocking calls have to run inline (`env.seeded`),
for operations to have an order.  Nothing is synced in truth: what a sync promises is worked out
from the operations that are kept (`fuzz.disk_images`).
"""

from __future__ import annotations

import contextlib
import enum
import errno
import io
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import apsw

from kubetrio.store.sqlite import reserve, sync, uring


class Kind(enum.Enum):
    """What an operation does."""

    OPEN = "open"
    CREATE = "create"
    WRITE = "write"
    TRUNCATE = "truncate"
    ALLOCATE = "allocate"
    SYNC = "sync"
    FAILED_SYNC = "failed sync"
    SYNC_DIRECTORY = "sync of the directory"
    RENAME = "rename"
    UNLINK = "unlink"


class Fault(enum.Enum):
    """What goes wrong with one operation.

    ``SHORT`` writes half and has no room for the rest, or to Python says that it wrote half;
    ``TORN`` writes half and fails; ``REFUSED`` is a ring that takes no sync, which is then made by
    a system call.
    """

    EIO = "EIO"
    ENOSPC = "ENOSPC"
    EMFILE = "EMFILE"
    SHORT = "short write"
    TORN = "torn write"
    REFUSED = "refused by the ring"


FAULTS_OF: dict[Kind, tuple[Fault, ...]] = {
    Kind.OPEN: (Fault.EIO, Fault.EMFILE),
    Kind.CREATE: (Fault.EIO, Fault.ENOSPC),
    Kind.WRITE: (Fault.EIO, Fault.ENOSPC, Fault.SHORT, Fault.TORN),
    Kind.TRUNCATE: (Fault.EIO,),
    Kind.ALLOCATE: (Fault.EIO, Fault.ENOSPC),
    Kind.SYNC: (Fault.EIO,),
    Kind.SYNC_DIRECTORY: (Fault.EIO,),
    Kind.RENAME: (Fault.EIO, Fault.ENOSPC),
    Kind.UNLINK: (Fault.EIO,),
}
NUMBERS = {
    Fault.EIO: errno.EIO,
    Fault.ENOSPC: errno.ENOSPC,
    Fault.EMFILE: errno.EMFILE,
    Fault.SHORT: errno.ENOSPC,
    Fault.TORN: errno.EIO,
}


class Op(NamedTuple):
    """One operation, as far as it was carried out.

    Args:
        kind: what it did.
        name: of the file, in its directory.
        at: where a write begins; a size.
        data: that was written; the new name of a renamed file.
        by: who asked: SQLite, Python or the ring.
    """

    kind: Kind
    name: str
    at: int = 0
    data: bytes = b""
    by: str = "Python"


class Disk:
    """Counts and keeps operations, and has one of them fail; use it in a `with` block.

    Args:
        directory: whose files count.
        number: of the operation that fails, from 0; none when negative.
        fault: what goes wrong with it.
        ring: whether syncs are begun by io_uring.

    Attributes:
        ops: those carried out, and syncs that failed.
        points: kind, file and caller of each operation that was counted.
        fired: what failed, empty until then.
    """

    def __init__(
        self, directory: Path, number: int = -1, fault: Fault = Fault.EIO, *, ring: bool = False
    ) -> None:
        self._directory = os.path.realpath(directory) + os.sep
        self._number, self._fault, self._ring = number, fault, ring
        self._stack = ExitStack()
        self.ops: list[Op] = []
        self.points: list[Op] = []
        self.fired = ""

    # -------------------------------------------------------------- operations

    def name_of(self, file: object) -> str | None:
        """Name in the directory of a path or a descriptor; empty for the directory itself."""
        if isinstance(file, int):
            path = os.readlink(f"/proc/self/fd/{file}").removesuffix(" (deleted)")  # noqa: PTH115
        else:
            path = os.path.abspath(os.fsdecode(os.fspath(file)))  # type: ignore[call-overload]  # noqa: PTH100
        if path + os.sep == self._directory:
            return ""
        return path[len(self._directory) :] if path.startswith(self._directory) else None

    def asks(self, op: Op) -> Fault | None:
        """Count an operation; returns what goes wrong with it."""
        self.points.append(op._replace(data=b""))
        if len(self.points) - 1 != self._number:
            return None
        if self._fault is Fault.REFUSED or self._fault in FAULTS_OF[op.kind]:
            self.fired = f"{op.kind.value} of {op.name or 'the directory'} by {op.by}"
            return self._fault
        return None

    def asks_here(self, op: Op) -> Fault | None:
        """Count an operation of Python's.

        Raises:
            OSError: it fails, and nothing of it is carried out.
        """
        fault = self.asks(op)
        if fault is not None and not (op.kind is Kind.WRITE and fault in (Fault.SHORT, Fault.TORN)):
            if op.kind is Kind.SYNC:
                self.ops.append(op._replace(kind=Kind.FAILED_SYNC))
            raise OSError(NUMBERS[fault], os.strerror(NUMBERS[fault]), self._directory + op.name)
        return fault

    # ------------------------------------------------ in place of the system's

    def __enter__(self) -> Self:
        self._replace(os, "open", self._open)
        self._replace(io, "open", self._io_open)
        self._replace(os, "pwrite", self._pwrite)
        self._replace(os, "write", self._write)
        for name in ("ftruncate", "truncate"):
            self._replace(os, name, self._simple(getattr(os, name), Kind.TRUNCATE))
        self._replace(os, "unlink", self._simple(os.unlink, Kind.UNLINK))
        self._replace(os, "rename", self._rename)
        self._replace(reserve, "fallocate", self._fallocate)
        self._replace(os, "fsync", self._sync)
        self._replace(os, "fdatasync", self._sync)
        self._replace(sync, "fdatasync", self._sync)
        if self._ring:
            self._replace(sync, "open_ring", self._open_ring)
        vfs = _Vfs(self)
        self._stack.callback(vfs.unregister)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _replace(self, module: Any, name: str, by: Callable[..., Any]) -> None:
        former = getattr(module, name)
        if name in {"open", "pwrite", "write", "rename", "fallocate"}:
            call = by

            def by(*arguments: Any, **named: Any) -> Any:
                return call(former, *arguments, **named)

        self._stack.callback(setattr, module, name, former)
        setattr(module, name, by)

    def _open(self, former: Callable[..., int], path: Any, flags: int, *rest: Any, **k: Any) -> int:
        name = self.name_of(path) if "dir_fd" not in k else None
        if name:
            new = bool(flags & os.O_CREAT) and not os.path.lexists(path)
            op = Op(Kind.CREATE if new else Kind.OPEN, name)
            self.asks_here(op)
            if new:
                self.ops.append(op)
        return former(path, flags, *rest, **k)

    def _io_open(self, former: Callable[..., Any], file: Any, *rest: Any, **k: Any) -> Any:
        name = None if isinstance(file, int) else self.name_of(file)
        if name and os.path.lexists(file):
            self.asks_here(Op(Kind.OPEN, name))
        return former(file, *rest, **k)

    def _pwrite(self, former: Callable[..., int], fd: int, data: bytes, at: int) -> int:
        name = self.name_of(fd)
        if name is None:
            return former(fd, data, at)
        op = Op(Kind.WRITE, name, at, bytes(data))
        fault = self.asks_here(op)
        landed = op.data[: len(data) // 2] if fault else op.data
        self.ops.append(op._replace(data=landed))
        former(fd, landed, at)
        if fault is Fault.TORN:
            raise OSError(errno.EIO, os.strerror(errno.EIO), self._directory + name)
        return len(landed)

    def _write(self, former: Callable[..., int], fd: int, data: bytes) -> int:
        name = self.name_of(fd)
        if name is None:
            return former(fd, data)
        return self._pwrite(
            lambda fd, data, _: former(fd, data), fd, data, os.lseek(fd, 0, os.SEEK_CUR)
        )

    def _simple(self, former: Callable[..., None], kind: Kind) -> Callable[..., None]:
        def call(file: Any, *rest: Any, **k: Any) -> None:
            name = self.name_of(file) if "dir_fd" not in k else None
            if name:
                op = Op(kind, name, *rest)
                if kind is not Kind.UNLINK or os.path.lexists(file):
                    self.asks_here(op)
                    self.ops.append(op)
            former(file, *rest, **k)

        return call

    def _rename(self, former: Callable[..., None], old: Any, new: Any, **k: Any) -> None:
        name, to = self.name_of(old), self.name_of(new)
        if name and to:
            op = Op(Kind.RENAME, name, data=to.encode())
            self.asks_here(op)
            self.ops.append(op)
        former(old, new, **k)

    def _fallocate(self, former: Callable[..., None], fd: int, at: int, size: int) -> None:
        name = self.name_of(fd)
        if name:
            op = Op(Kind.ALLOCATE, name, at + size)
            self.asks_here(op)
            self.ops.append(op)
        former(fd, at, size)

    def _sync(self, fd: int) -> None:
        name = self.name_of(fd)
        if name is None:
            return
        op = Op(Kind.SYNC if name else Kind.SYNC_DIRECTORY, name)
        self.asks_here(op)
        self.ops.append(op)

    # ---------------------------------------------------------------- io_uring

    def synced_by_ring(self, fd: int) -> int | None:
        """Carry out a sync of the ring: returns its result; None if the ring refuses it."""
        op = Op(Kind.SYNC, self.name_of(fd) or "", by="ring")
        fault = self.asks(op)
        if fault is Fault.REFUSED:
            return None
        self.ops.append(op if fault is None else op._replace(kind=Kind.FAILED_SYNC))
        return 0 if fault is None else -NUMBERS[fault]

    @contextmanager
    def _open_ring(self, fd: int) -> Iterator[uring.Ring]:
        """A ring whose kernel is this disk; see `uring.open_ring`."""
        with ExitStack() as stack:
            memory = os.memfd_create("ring")
            stack.callback(os.close, memory)
            event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            stack.callback(os.close, event)
            kernel = _Kernel(self, memory, event)
            stack.callback(kernel.close)
            former = uring._system_call  # noqa: SLF001  (played here)
            uring._system_call = lambda: kernel  # noqa: SLF001
            try:
                ring = uring.Ring(memory, event, fd, kernel.parameters())
            finally:
                uring._system_call = former  # noqa: SLF001
            stack.callback(ring.close)
            yield ring


class _Kernel:
    """The other side of a ring: makes the sync that is submitted, and tells of its end.

    Where its parts are is the kernel's choice; io_uring_setup(2).
    """

    ENTRIES, COMPLETIONS = 2, 4
    TAIL_AT, ARRAY_AT, HEAD_AT, ENDED_AT, MASK_AT, COMPLETED_AT = 4, 64, 128, 132, 136, 192

    def __init__(self, disk: Disk, memory: int, event: int) -> None:
        self._disk, self._event, self._done = disk, event, 0
        os.truncate(memory, uring.ENTRIES_AT + mmap.PAGESIZE)
        self._rings = mmap.mmap(memory, mmap.PAGESIZE)
        self._entries = mmap.mmap(memory, mmap.PAGESIZE, offset=uring.ENTRIES_AT)
        uring.COUNT.pack_into(self._rings, self.MASK_AT, self.COMPLETIONS - 1)

    def parameters(self) -> bytes:
        """What `io_uring_setup` fills in."""
        out = bytearray(uring.PARAMETERS_BYTES)
        uring.SIZES.pack_into(out, 0, self.ENTRIES, self.COMPLETIONS, uring.SINGLE_MAP)
        submitted = (0, self.TAIL_AT, 0, 0, 0, 0, self.ARRAY_AT, 0)
        completed = (self.HEAD_AT, self.ENDED_AT, self.MASK_AT, 0, 0, self.COMPLETED_AT, 0, 0)
        uring.OFFSETS.pack_into(out, uring.SUBMITTED_AT, *submitted)
        uring.OFFSETS.pack_into(out, uring.COMPLETED_AT, *completed)
        return bytes(out)

    def __call__(self, *_: object) -> int:
        """`io_uring_enter` with one entry."""
        (tail,) = uring.COUNT.unpack_from(self._rings, self.TAIL_AT)
        slot = (tail - 1) & (self.ENTRIES - 1)
        (index,) = uring.COUNT.unpack_from(self._rings, self.ARRAY_AT + slot * uring.COUNT.size)
        entry = uring.ENTRY.unpack_from(self._entries, index * uring.ENTRY_BYTES)
        if entry[0] != uring.OP_FSYNC:
            raise AssertionError("only syncs are asked for")
        result = self._disk.synced_by_ring(entry[3])
        if result is None:
            return -1
        at = self.COMPLETED_AT + (self._done & (self.COMPLETIONS - 1)) * uring.COMPLETION.size
        uring.COMPLETION.pack_into(self._rings, at, 0, result, 0)
        self._done += 1
        uring.COUNT.pack_into(self._rings, self.ENDED_AT, self._done)
        os.eventfd_write(self._event, 1)
        return 1

    def close(self) -> None:
        """Give the memory back."""
        self._rings.close()
        self._entries.close()


class _Vfs(apsw.VFS):
    """SQLite's default file system, below which a `Disk` is."""

    def __init__(self, disk: Disk) -> None:
        super().__init__("kubetrio-enumerated", "", makedefault=True)
        self.disk = disk

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Open a file."""
        return _File(self.disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """Remove a file."""
        name = self.disk.name_of(filename)
        if name and os.path.lexists(filename):
            op = Op(Kind.UNLINK, name, by="SQLite")
            if self.disk.asks(op):
                raise apsw.IOError("the disk fails")
            self.disk.ops.append(op)
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = (path and disk.name_of(path)) or ""
        self._disk = disk
        if path and self._name:
            new = bool(flags[0] & apsw.SQLITE_OPEN_CREATE) and not Path(path).exists()
            op = Op(Kind.CREATE if new else Kind.OPEN, self._name, by="SQLite")
            if disk.asks(op):
                raise apsw.CantOpenError("the disk fails")
            if new:
                disk.ops.append(op)
        super().__init__("unix", name, flags)

    def _asks(self, op: Op) -> Fault | None:
        fault = self._disk.asks(op) if self._name else None
        if fault is None or fault is Fault.REFUSED:
            if self._name:
                self._disk.ops.append(op)
            return None
        return fault

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        fault = self._asks(op := Op(Kind.WRITE, self._name, offset, bytes(data), "SQLite"))
        if fault is None:
            super().xWrite(data, offset)
            return
        if fault in (Fault.SHORT, Fault.TORN):
            half = op.data[: len(data) // 2]
            self._disk.ops.append(op._replace(data=half))
            super().xWrite(half, offset)
        if NUMBERS[fault] == errno.ENOSPC:
            raise apsw.FullError("the disk is full")
        raise apsw.IOError("the disk fails")

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        if self._asks(Op(Kind.TRUNCATE, self._name, newsize, by="SQLite")):
            raise apsw.IOError("the disk fails")
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002
        if self._asks(op := Op(Kind.SYNC, self._name, by="SQLite")):
            self._disk.ops.append(op._replace(kind=Kind.FAILED_SYNC))
            raise apsw.IOError("the disk fails")


@contextmanager
def descriptors_kept() -> Iterator[None]:
    """See that as many descriptors are open behind the block as before it.

    Raises:
        AssertionError: they are not.
    """
    before = _open_files()
    yield
    after = _open_files()
    if len(after) != len(before):
        raise AssertionError(f"descriptors: {sorted(after)} and not {sorted(before)}")


def _open_files() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(FileNotFoundError):  # what listed them
            found.append(os.readlink(f"/proc/self/fd/{name}"))  # noqa: PTH115
    return found
