"""Errors of the store: data, no HTTP.  `resources.translate` turns them into API errors."""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """Base of all store errors."""


class KeyExists(StoreError):
    """A create met an existing key."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class KeyMissing(StoreError):
    """An update or delete met no key."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class RevisionMismatch(StoreError):
    """An update or delete expected another revision of the key.

    Args:
        key: the key.
        current: revision the key is at.
    """

    def __init__(self, key: str, current: int) -> None:
        super().__init__(f"{key} is at revision {current}")
        self.key = key
        self.current = current


class Compacted(StoreError):
    """A revision older than the history kept.

    Args:
        revision: what was asked for.
        floor: oldest revision that may be asked for.
    """

    def __init__(self, revision: int, floor: int) -> None:
        super().__init__(f"revision {revision} is compacted, oldest is {floor}")
        self.revision = revision
        self.floor = floor


class FutureRevision(StoreError):
    """A revision that does not exist yet.

    Args:
        revision: what was asked for.
        current: newest revision.
    """

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is in the future, newest is {current}")
        self.revision = revision
        self.current = current


class StoreUnavailable(StoreError):
    """The engine could not commit (disk full, I/O error); nothing of the write was kept."""


class StoreFull(StoreUnavailable):
    """There is no room on the disk for this write; nothing of it was kept."""

    def __init__(self) -> None:
        super().__init__("the disk is full")


class StoreBroken(StoreError):
    """The disk could not sync what was committed: what is on it is unknown, and the store ends.

    A sync that failed once may succeed the next time without the data (fsync(2)), so trying again
    proves nothing.  What was acknowledged is there; the file is checked when it is opened again.

    Args:
        error: what the system said.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the disk failed to sync the write-ahead log: {error}")


class StoreClosed(StoreError):
    """The store is shutting down; nothing of the write was kept."""


class DataDirectoryLocked(StoreError):
    """Another server has the data directory.

    Args:
        path: the data directory.
        pid: process that holds it, 0 when unknown.
    """

    def __init__(self, path: Path, pid: int) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(
            f"data directory {path} is in use by {holder}: "
            "stop that server or choose another --data-dir"
        )
        self.path = path
        self.pid = pid


class DatabaseUnusable(StoreError):
    """The database file is foreign, corrupt or of a newer version; it was left as it was."""
