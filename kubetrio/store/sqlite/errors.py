"""Errors that only this engine has: of its file, its directory and its disk."""

from __future__ import annotations

from kubetrio.store.errors import StoreError


class StoreBroken(StoreError):
    """The disk could not sync what was committed: what is on it is unknown, and the store ends.

    A sync that failed once may succeed the next time without the data (fsync(2)), so trying again
    proves nothing.  What was acknowledged is there; the file is checked when it is opened again.

    Args:
        error: what the system said.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the disk failed to sync the write-ahead log: {error}")


class DatabaseUnusable(StoreError):
    """The database file is foreign, corrupt or of a newer version; it was left as it was."""
