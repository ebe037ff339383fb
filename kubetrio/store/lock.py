"""One server, one data directory: an advisory lock that names its holder.

The lock is the operating system's (`flock`), so it goes away with the process however it dies; the
pid in the file is only for the message.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kubetrio.store.errors import DataDirectoryLocked

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class DirectoryLock:
    """An exclusive lock on a data directory, held until `release`.

    Args:
        directory: the data directory, which must exist.

    Raises:
        DataDirectoryLocked: another process holds it.
        OSError: the directory cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "kubetrio.lock"
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(self._fd)
        except OSError:
            pid = os.pread(self._fd, 32, 0).strip() if hasattr(os, "pread") else b""
            os.close(self._fd)
            raise DataDirectoryLocked(directory, int(pid) if pid.isdigit() else 0) from None
        os.ftruncate(self._fd, 0)
        os.write(self._fd, b"%d\n" % os.getpid())

    def release(self) -> None:
        """Give the directory back; calling it twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
