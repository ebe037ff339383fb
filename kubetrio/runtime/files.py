"""Files that are whole at any time, and directories that one process changes at a time."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

FULL = frozenset(
    number for name in ("ENOSPC", "EDQUOT") if (number := getattr(errno, name, None)) is not None
)
"""Numbers of errors that say that there is no room on the disk."""

NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})
"""Those that say that no more files can be open."""


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file of mode 0600 so that at any time it has the old or the new content.

    Raises:
        OSError: the directory is missing, not writable or full.
    """
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    if os.name == "posix":  # elsewhere directories cannot be opened
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable.

    Raises:
        OSError: it cannot be opened or synced.
    """
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def exposed(path: Path) -> str | None:
    """The command that keeps a file or directory to its owner, where others may use it.

    Its group may read it, for that is how secrets are mounted into containers.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None
    if os.name != "posix" or not mode & (stat.S_IRWXO | stat.S_IWGRP):
        return None
    return f"chmod {'700' if path.is_dir() else '600'} {shlex.quote(str(path))}"


def owner_of(path: Path) -> str:
    """Other owner of a file or directory; empty for this user and where it is not known."""
    try:
        uid = path.stat().st_uid
    except OSError:
        return ""
    if os.name != "posix" or uid == os.geteuid():
        return ""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@contextlib.contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Keep others out of a directory who ask the same, where the system can."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # not on every network file system
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
