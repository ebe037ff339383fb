"""Whether there is room on the disk, and what is done where there is none.

While the disk is *full*, creations and updates are refused at once, the reserve is given up, and
what frees room goes on: deletions, compaction (all history goes, for room is worth more than the
past), checkpoints.  It ends by itself when the reserve can be made anew.  Prior art: the NOSPACE
alarm of etcd, which takes deletions and refuses puts until an operator disarms it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

import apsw
import trio

from kubetrio.observe.logs import Log
from kubetrio.runtime.files import FULL
from kubetrio.store.sqlite.reserve import STEP_BYTES, Reserve

LOG = Log("kubetrio.store")
LOOKS_EACH_S = 5.0
SAID_EACH_S = 60.0
OPENS_WITH_BYTES = 128 * 1024  # for the next start: SQLite makes its index of the log anew
LOG_BYTES = 256 * 1024  # of log, with which something can be deleted
FREED_BYTES = 64 * 1024  # of last values, behind which their pages are freed before others come


class Space:
    """Room on the disk of one data directory.

    Args:
        reserve: what is kept there.
        file: the database, which need not be there yet; nor need its log.

    Attributes:
        full: whether the disk is.
        freed: bytes of values that were deleted since room was made.
    """

    def __init__(self, reserve: Reserve, file: Path) -> None:
        self._reserve = reserve
        self._file = file
        self._fds: list[int] = []  # of the database and its log
        self._begun = trio.Event()
        self._asked = trio.Event()
        self._looked = trio.Event()
        self._said_at = -SAID_EACH_S
        self._wanted = self._wanted_now = 0  # by who waits for the next look, and for this one
        self.full = False
        self.freed = 0

    def opening(self) -> None:
        """Take the reserve, before anything else is written; without room for it, begin full.

        Raises:
            OSError: the disk fails for another reason.
        """
        self.full = not self._reserve.take()

    def more(self) -> bool:
        """Give some room for opening the files; False where it is not missing, or not there."""
        held = self._reserve.held
        self.full = self.full or not self._reserve.room()
        if not self.full or not held:
            return False
        self._give(STEP_BYTES)
        return self._reserve.held < held

    def opened(self) -> None:
        """Begin, now that the files are there.

        Raises:
            OSError: they cannot be opened.
        """
        for path in (self._file, self._file.with_name(self._file.name + "-wal")):
            self._fds.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if self.full:
            self._begin()

    def closed(self) -> None:
        """End, behind the last connection: closing a file lets go of SQLite's locks on it."""
        while self._fds:
            os.close(self._fds.pop())
        self.refill()

    @property
    def low(self) -> bool:
        """Whether the next start would have no room."""
        return self._reserve.held < OPENS_WITH_BYTES

    def refill(self) -> None:
        """Take what was freed, before another process does."""
        self._reserve.take_some()

    def grow(self, file_bytes: int, open_bytes: int) -> None:
        """Give the database the room that a checkpoint needs, and the log some.

        Args:
            file_bytes: how long the database will be.
            open_bytes: of log that the open transaction takes.
        """
        file, log = self._fds
        more = self._wanted_now  # once as the last value, and once in the log
        for fd, size in ((file, file_bytes + more), (log, LOG_BYTES + open_bytes + more)):
            spare = self._reserve.held - OPENS_WITH_BYTES
            self._give(min(size - os.fstat(fd).st_size, spare), fd)

    def failed(self, error: BaseException) -> bool:
        """Note a failed write; returns whether it failed for want of room."""
        if not isinstance(error, apsw.FullError | apsw.IOError | apsw.CantOpenError | OSError):
            return False
        if not self.full and not self._reserve.room():
            self._begin()
        else:
            self._say(error, "A write failed")
        return self.full or isinstance(error, apsw.FullError)

    def exceeded(self, quota: int) -> None:
        """Note that the database has more bytes than it may have."""
        if not self.full:
            self._begin(f"The database has reached its bound of {quota} bytes")

    def _begin(self, why: str = "The disk is full") -> None:
        self.full = True
        self._begun.set()
        LOG.error(
            None,
            f"{why}: only deletions are taken until there is room",
            dataDir=str(self._file.parent),
        )
        self._said_at = trio.current_time()

    def _give(self, size: int, to: int = -1) -> None:
        if size <= 0:
            return
        try:
            self._reserve.give(size, to)
        except OSError as error:
            if error.errno not in FULL:  # another process was faster
                LOG.error(error, "The reserve cannot be given up")

    async def looked(self, wanted: int = 0) -> None:
        """Have room made, by a look that begins from now on, and wait until that was tried.

        Args:
            wanted: bytes of the value whose deletion found no room.
        """
        self._wanted = max(self._wanted, wanted)
        self._asked.set()
        await self._looked.wait()

    async def keep(self, make_room: Callable[[], Awaitable[bool]]) -> NoReturn:
        """While the disk is full make room, and look whether there is some; until cancelled.

        Args:
            make_room: frees what it can; returns whether the store can be written.
        """
        while True:
            await self._begun.wait()
            while True:
                self._asked = trio.Event()
                asked, self._looked = self._looked, trio.Event()
                self._wanted, self._wanted_now = 0, self._wanted
                try:
                    if await make_room() and self._taken():
                        break
                    self.refill()
                    self.freed = 0
                finally:
                    asked.set()
                if trio.current_time() - self._said_at >= SAID_EACH_S:
                    LOG.warning("There is still no room", dataDir=str(self._file.parent))
                    self._said_at = trio.current_time()
                with trio.move_on_after(LOOKS_EACH_S):
                    await self._asked.wait()
            self.full = False
            self._begun = trio.Event()
            self._looked.set()
            self._looked = trio.Event()
            LOG.info("There is room again", dataDir=str(self._file.parent))

    def _taken(self) -> bool:
        """Make the reserve anew; False where that fails, for whatever reason."""
        try:
            return self._reserve.take()
        except OSError as error:
            self._say(error, "The reserve cannot be made anew")
            return False

    def _say(self, error: BaseException, text: str) -> None:
        """Log an error, when nothing was said for a while."""
        if trio.current_time() - self._said_at >= SAID_EACH_S:
            LOG.error(error, text, dataDir=str(self._file.parent))
            self._said_at = trio.current_time()
