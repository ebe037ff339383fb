"""The newest revision that was answered, noted beside the database while that is in use.

SQLite opens a database whose write-ahead log is gone, or was cut off, with what was before it, and
says nothing.  This note says what should be there.  It is written after each commit and not
synced: a killed process leaves the newest revision, and power loss perhaps an older one, which is
never too new.  With ``durability=normal`` power loss may take commits that were noted; there the
note counts only as long as the system has not been started anew.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kubetrio.store.model import Revision

FILE_NAME = "kubetrio.head"
STOPPED_NAME = "kubetrio.stopped"
MODE = 0o600
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Noted(NamedTuple):
    """What a run that did not end in order left.

    Args:
        revision: newest revision that was answered.
        synced: whether it was on the disk before.
        boot: of the system; empty where that is unknown.
    """

    revision: Revision
    synced: bool
    boot: str

    @property
    def holds(self) -> bool:
        """Whether the revision must be there."""
        return self.synced or (self.boot != "" and self.boot == boot_id())


def boot_id() -> str:
    """What tells one start of the system from another; empty where there is no such thing."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


def left_behind(directory: Path) -> Noted | None:
    """The note of the run before, when that did not end in order."""
    try:
        revision, synced, boot = (directory / FILE_NAME).read_text().rstrip("\n").split(" ")
        return Noted(int(revision), synced == "synced", boot)
    except (OSError, ValueError):
        return None


def stopped_at(directory: Path) -> Revision:
    """The revision at which a server last ended in order; 0 if none did.

    A database that is gone since, or empty, is no new one.
    """
    try:
        return int((directory / STOPPED_NAME).read_text())
    except (OSError, ValueError):
        return 0


def note_stop(directory: Path, revision: Revision) -> None:
    """Note that a server ends in order."""
    with suppress(OSError):  # a full disk; then nothing is noted
        fd = os.open(directory / STOPPED_NAME, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            os.pwrite(fd, b"%020d\n" % revision, 0)
        finally:
            os.close(fd)


class Head:
    """The note of this run.

    Args:
        directory: the data directory.
        synced: whether commits are on the disk before they are noted.
    """

    def __init__(self, directory: Path, *, synced: bool) -> None:
        self._path = directory / FILE_NAME
        self._rest = b" %s %s\n" % (b"synced" if synced else b"unsynced", boot_id().encode())
        self._fd = -1
        with suppress(OSError):  # a full disk; then nothing is noted
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)

    def note(self, revision: Revision) -> None:
        """Note a revision before it is answered."""
        if self._fd >= 0:
            with suppress(OSError):
                os.pwrite(self._fd, b"%020d%b" % (revision, self._rest), 0)

    def close(self, *, clean: bool) -> None:
        """End; what was closed in order needs no note."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if clean:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
