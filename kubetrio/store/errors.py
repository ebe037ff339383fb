"""Errors of the store: data, no HTTP.  `resources.translate` turns them into API errors."""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """Base of all store errors."""


class LostCompareAndSwap(StoreError):
    """A write expected another state of its key than the engine found.

    The state that won may not have been announced yet where others write too: a caller that tries
    again waits for `winner` first (`store.consistent`).

    Args:
        text: what was found.
        key: the key.
        winner: revision at which the state that won can be read.
    """

    def __init__(self, text: str, key: str, winner: int) -> None:
        super().__init__(text)
        self.key = key
        self.winner = winner


class KeyExists(LostCompareAndSwap):
    """A create met an existing key; `winner` is its revision."""

    def __init__(self, key: str, winner: int) -> None:
        super().__init__(f"{key} exists", key, winner)


class KeyMissing(LostCompareAndSwap):
    """An update or delete met no key; `winner` is a revision that has no such key."""

    def __init__(self, key: str, winner: int) -> None:
        super().__init__(f"{key} does not exist", key, winner)


class RevisionMismatch(LostCompareAndSwap):
    """An update or delete expected another revision of the key; `winner` is what it is at."""

    def __init__(self, key: str, winner: int) -> None:
        super().__init__(f"{key} is at revision {winner}", key, winner)


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
    """The engine could not commit or read.

    Attributes:
        undecided: whether a write may have been made, or may still be; else nothing was kept.
    """

    undecided = False


class EngineFailed(StoreUnavailable):
    """An engine in other processes did not answer, or answered that it cannot.

    Args:
        text: what it says, or what keeps it from answering.
        timed_out: whether no answer came in time.
        undecided: see `StoreUnavailable`.
    """

    def __init__(self, text: str, *, timed_out: bool, undecided: bool) -> None:
        super().__init__(text)
        self.timed_out = timed_out
        self.undecided = undecided


class StoreBehind(StoreUnavailable):
    """Local state has not come to a revision in time, so that nothing fresh can be read.

    Args:
        revision: what it should have come to.
        current: what it has come to.
    """

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"local state is at revision {current} and has not come to {revision}")
        self.revision = revision
        self.current = current


class StoreUndecided(StoreUnavailable):
    """The engine failed between keeping a write and being sure of it.

    Args:
        text: what failed.
    """

    undecided = True

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}; the next start tells whether this write was kept")


class StoreFull(StoreUnavailable):
    """The engine has no room for this write; nothing of it was kept."""

    def __init__(self) -> None:
        super().__init__("the disk is full")


class Unreadable(StoreError):
    """A value is there and cannot be read; those of other keys can.

    Attributes:
        key: the key, of a range the first such key; empty where it is not known.
    """

    key = ""


class Undecodable(Unreadable):
    """A value is no object that is known: damaged, or of a kind or version that is newer."""


class ChecksumMismatch(Unreadable):
    """A value is not what was written: the disk has changed it.

    Args:
        key: the key.
        revision: that wrote the value.
    """

    def __init__(self, key: str, revision: int) -> None:
        super().__init__(
            f"the stored value of {key} at revision {revision} is damaged, its checksum does not "
            "match: kubetrio verify lists all such values; restore a backup"
        )
        self.key = key
        self.revision = revision


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
