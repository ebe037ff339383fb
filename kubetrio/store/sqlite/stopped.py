"""Databases of stopped servers, read without a trace.

SQLite makes an index of the write-ahead log beside a database that it opens, and changes it, even
to read.  Where no process uses the data directory and the log is empty, as an orderly stop leaves
it, the file is opened as one that does not change (``immutable``), which needs no index and no
lock.  A log with writes in it, which a crash leaves, is read from a private copy of both files.

Source: sqlite.org/uri.html (``immutable``); sqlite.org/walformat.html (the header has 32 bytes).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.lock import holder
from kubetrio.store.sqlite.database import connect

LOG_HEADER_BYTES = 32


def log_of(path: Path) -> Path:
    """The write-ahead log of a database, which need not exist."""
    return path.with_name(f"{path.name}-wal")


def is_frozen(path: Path) -> bool:
    """Return whether a database can be read as a file that does not change.

    Raises:
        OSError: its directory cannot be read.
    """
    return holder(path.parent) is None and not _has_log(path)


def connect_to_read(path: Path, *, cache_kib: int = 8192) -> apsw.Connection:
    """A connection that writes nothing where no server uses the database.

    Args:
        path: database file; of a stopped server as `untouched` yields it.
        cache_kib: page cache, KiB.
    """
    return connect(path, cache_kib=cache_kib, frozen=is_frozen(path))


@contextmanager
def untouched(path: Path) -> Iterator[Path]:
    """A database to be read by `connect_to_read`, whose directory is left as it is if it can be.

    Args:
        path: database file; where a server uses it, it is yielded as it is.

    Raises:
        StoreUnavailable: there is no room for a copy, or a server has begun to write meanwhile.
        OSError: the directory cannot be read.
    """
    if holder(path.parent) is not None:
        yield path
    elif _has_log(path):
        with TemporaryDirectory(prefix="kubetrio-") as folder:
            target = Path(folder, path.name)
            try:
                for source, copy in ((path, target), (log_of(path), log_of(target))):
                    shutil.copyfile(source, copy)
            except OSError as error:
                raise StoreUnavailable(f"cannot copy {path} to {folder}: {error}") from error
            yield target
    else:
        before = _written(path)
        yield path
        if _written(path) != before:
            raise StoreUnavailable(
                f"a server has started on {path.parent} and written to it while it was read: "
                "do it again"
            )


def _has_log(path: Path) -> bool:
    log = log_of(path)
    return log.exists() and log.stat().st_size > LOG_HEADER_BYTES


def _written(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
