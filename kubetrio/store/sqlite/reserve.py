"""Room that is kept on the disk, for what must go on when there is no other.

A file that holds nothing but its blocks.  When the disk is full they are given to the database and
its log, so that deletions, compaction, a checkpoint and an orderly stop can write; when there is
room again it is made anew.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kubetrio.runtime.files import FULL

FILE_NAME = "kubetrio.reserve"
MODE = 0o600
PIECE = 1 << 20
STEP_BYTES = 64 * 1024
SMALLEST_BYTES = 256 * 1024
SHARE_OF_DISK = 16  # of a small file system no more than this part is kept
SHARE_OF_SMALL, SMALL_BYTES = 4, 2 * 1024 * 1024  # of a very small one this part, up to so much
SLACK = 4  # room for this part of the reserve beside it: else it would be given up again at once


def _fill(fd: int, begin: int, size: int) -> None:
    """Write zeros: for systems that cannot allocate."""
    os.lseek(fd, begin, os.SEEK_SET)
    while size > 0:
        size -= os.write(fd, bytes(min(size, PIECE)))


fallocate: Callable[[int, int, int], None] = getattr(os, "posix_fallocate", _fill)


def size_for(directory: Path, wanted: int) -> int:
    """Bytes to keep on the file system of a directory.

    Args:
        directory: the data directory.
        wanted: bytes to keep where there is plenty; 0 for no reserve.
    """
    if not wanted or not hasattr(os, "statvfs"):
        return wanted
    system = os.statvfs(directory)
    whole = system.f_blocks * system.f_frsize
    share = max(whole // SHARE_OF_DISK, min(whole // SHARE_OF_SMALL, SMALL_BYTES))
    return max(SMALLEST_BYTES, min(wanted, share)) if whole else wanted


class Reserve:
    """The file.

    Args:
        directory: the data directory.
        size: bytes it holds; 0 for none, and then the disk is never said to be full.
    """

    def __init__(self, directory: Path, size: int) -> None:
        self._path = directory / FILE_NAME
        self._size = size
        self._slack = size // SLACK

    @property
    def held(self) -> int:
        """Bytes that it holds now."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def take(self) -> bool:
        """Make it whole, with some room left beside it; False where there is not so much.

        Raises:
            OSError: the disk fails for another reason.
        """
        return not self._size or _grow(self._path, self._size, self._slack)

    def take_some(self) -> None:
        """Take the free space that there is, before another process does."""
        held = self.held
        step = self._size - held
        with suppress(OSError):
            while step >= STEP_BYTES and held < self._size:
                before = held
                if not _grow(self._path, held + step, 0):
                    step //= 2
                elif (held := self.held) <= before:
                    return  # a file system that cannot allocate

    def room(self) -> bool:
        """Whether there is room beside it."""
        if not self._size:
            return True
        probe = self._path.with_suffix(".probe")
        try:
            return _grow(probe, 0, self._slack)
        except OSError:
            return True  # not for want of room
        finally:
            with suppress(OSError):  # an empty file
                probe.unlink(missing_ok=True)

    def give(self, size: int, to: int = -1) -> None:
        """Give up bytes of it.

        Args:
            size: how many.
            to: descriptor of a file that is made longer by as many, step by step, so that no
                other process gets them; -1 leaves them to any process.

        Raises:
            OSError: they cannot be given.
        """
        left = max(0, self.held - size)
        while (held := self.held) > left:
            step = min(held - left, STEP_BYTES)
            os.truncate(self._path, held - step)
            if to >= 0:
                fallocate(to, os.fstat(to).st_size, step)


def _grow(path: Path, size: int, slack: int) -> bool:
    """Give a file so many bytes, when there is room for them and some more."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            before = os.fstat(fd).st_size
            try:
                fallocate(fd, 0, size + slack)
            except OSError as error:
                os.ftruncate(fd, min(before, size))
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                    raise
            else:  # else a file system that cannot: then there is none
                os.ftruncate(fd, size)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno not in FULL:  # making a file shorter takes room too where files are copied
            raise
        return False
    return True
