"""One server, one data directory: advisory locks that name their holder.

The locks are the operating system's (`flock`), so they go away with the process however it dies.
The directory itself is locked, where the system can, because a lock file can be removed while it is
held; the file is for systems that cannot, and the pid in it only for the message.
"""

from __future__ import annotations

import errno
import os
import select
import sys
from contextlib import suppress
from pathlib import Path

from kubetrio.store.errors import DataDirectoryLocked

FILE_NAME = "kubetrio.lock"
_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)
_ASK_AGAIN_S = (0.001, 0.01, 0.05)
"""Before a lock counts as taken: `holder` has it for a moment where no server does."""

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    def _lock_directory(_path: Path) -> int:
        return -1

    def _taken(fd: int) -> bool:
        try:
            _lock(fd)
        except OSError:
            return True
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
        return False

else:
    import fcntl

    def _lock(fd: int) -> None:
        for wait_s in _ASK_AGAIN_S:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                select.select((), (), (), wait_s)
            else:
                return
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _taken(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in _TAKEN
        return False

    def _lock_directory(path: Path) -> int:
        """A descriptor that holds the lock, -1 where directories cannot be locked (NFS)."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _lock(fd)
        except OSError as error:
            os.close(fd)
            if error.errno in _TAKEN:
                raise
            return -1
        return fd


class DirectoryLock:
    """An exclusive lock on a data directory, held until `release`.

    Args:
        directory: the data directory, which must exist.

    Raises:
        DataDirectoryLocked: another process holds it.
        OSError: the directory cannot be read or written.
    """

    def __init__(self, directory: Path) -> None:
        path = directory / FILE_NAME
        self._fds: list[int] = []
        try:
            self._fds.append(_lock_directory(directory))
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            raise DataDirectoryLocked(directory, _holder(path)) from None
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._fds.append(fd)
            _lock(fd)
        except OSError as error:
            self.release()
            if error.errno not in _TAKEN or error.filename:
                raise
            raise DataDirectoryLocked(directory, _holder(path)) from None
        with suppress(OSError):  # a full disk: the lock counts, not the name on it
            os.ftruncate(fd, 0)
            os.write(fd, b"%d\n" % os.getpid())

    def release(self) -> None:
        """Give the directory back; calling it twice is fine."""
        while self._fds:
            fd = self._fds.pop()
            if fd >= 0:
                os.close(fd)


def holder(directory: Path) -> int | None:
    """Process that has a data directory now: its pid, 0 if that is unknown, None without one.

    The locks tell, not the pid that a file may have from before.

    Raises:
        OSError: the directory is not there, or cannot be read.
    """
    path = directory / FILE_NAME
    for place in (directory, path):
        if place is directory and sys.platform == "win32":
            continue
        try:
            fd = os.open(place, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except FileNotFoundError:
            if place is directory:
                raise
            return None
        try:
            if _taken(fd):
                return _holder(path)
        finally:
            os.close(fd)
    return None


def _holder(path: Path) -> int:
    """The pid in a lock file, 0 where there is none."""
    try:
        pid = path.read_bytes()[:32].strip()
    except OSError:
        return 0
    return int(pid) if pid.isdigit() else 0
