"""A log file that is moved aside when it is large, and what is done with those that were.

Names and rules are those of the Go library lumberjack, so that what collects kube-apiserver's
files finds these: ``audit.log`` becomes ``audit-2026-11-23T19-33-06.213.log``, then perhaps
``.gz``.  All functions block; they run in a thread.
"""

from __future__ import annotations

import datetime as dt
import gzip
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

MEGABYTE = 1024 * 1024
DAY_S = 86400
PACKED = ".gz"
_TIMED = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}", re.ASCII)


class Limits(NamedTuple):
    """When a file is moved aside, and which of those are kept.

    Args:
        size_mb: megabytes (2^20 bytes) of a file; 0 for any size.
        days: how long old ones are kept; 0 for ever.
        backups: how many are kept; 0 for all.
        compress: whether they are compressed.
    """

    size_mb: int = 100
    days: int = 366
    backups: int = 100
    compress: bool = False


class Old(NamedTuple):
    """A file that was moved aside."""

    path: Path
    when: float


class RotatingFile:
    """The file that is written to.

    Args:
        path: where.
        limits: see there.
        now: wall clock, seconds since the epoch.
    """

    def __init__(self, path: Path, limits: Limits, now: Callable[[], float]) -> None:
        self._path = path
        self._limits = limits
        self._now = now
        self._fd = -1
        self._size = 0
        self.untidy = True  # old files are to be looked at

    @property
    def _most(self) -> int:
        return self._limits.size_mb * MEGABYTE

    def prepare(self) -> None:
        """Make the file and its directory, readable by the owner alone.

        Raises:
            OSError: that is not possible.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600))

    def write(self, lines: list[bytes]) -> list[OSError | None]:
        """Write lines, as many at once as fit; for each, why it could not be written.

        Args:
            lines: with their newlines.
        """
        results: list[OSError | None] = []
        begin = 0
        while begin < len(lines):
            end, error = self._write_some(lines, begin)
            results += [error] * (end - begin)
            begin = end
        return results

    def _write_some(self, lines: list[bytes], begin: int) -> tuple[int, OSError | None]:
        """Write the first lines; up to which, and what was wrong with all of them."""
        most, first = self._most, len(lines[begin])
        if most and first > most:
            return begin + 1, OSError(f"write length {first} exceeds maximum file size {most}")
        try:
            self._open_for(first)
            if most and self._size + first > most:
                self._rotate()
            end, total = begin + 1, first
            while end < len(lines) and (not most or self._size + total + len(lines[end]) <= most):
                total += len(lines[end])
                end += 1
        except OSError as error:
            return begin + 1, error
        view = memoryview(b"".join(lines[begin:end]))
        try:
            while view:
                count = os.write(self._fd, view)
                self._size += count
                view = view[count:]
        except OSError as error:
            return end, error
        return end, None

    def _open_for(self, first: int) -> None:
        if self._fd >= 0:
            return
        self.untidy = True
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            self._open_new()
            return
        if self._most and size + first >= self._most:
            self._rotate()
            return
        try:
            self._fd = os.open(self._path, os.O_APPEND | os.O_WRONLY)
            self._size = size
        except OSError:
            self._open_new()

    def close(self) -> None:
        """Close the file; the next write opens it."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def _rotate(self) -> None:
        self.close()
        self._open_new()
        self.untidy = True

    def _open_new(self) -> None:
        """Move a file aside that is there, and begin one with its mode and owner."""
        path = self._path
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        mode, owner = 0o600, None
        try:
            before = path.stat()
        except FileNotFoundError:
            pass
        else:
            mode, owner = before.st_mode & 0o777, (before.st_uid, before.st_gid)
            path.rename(self._name_aside())
        fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode)
        try:
            if owner is not None:
                os.fchown(fd, *owner)
        except OSError:
            os.close(fd)
            raise
        self._fd, self._size = fd, 0

    def _name_aside(self) -> Path:
        at = dt.datetime.fromtimestamp(self._now(), dt.UTC)
        text = f"{at:%Y-%m-%dT%H-%M-%S}.{at.microsecond // 1000:03d}"
        stem, ext = _split(self._path.name)
        return self._path.with_name(f"{stem}-{text}{ext}")

    # ------------------------------------------------------------------ old ones

    def tidy(self) -> None:
        """Remove and compress old files, as the limits have it; what fails is tried again.

        Raises:
            OSError: the first thing that failed; the rest was done.
        """
        limits = self._limits
        self.untidy = False
        if not (limits.backups or limits.days or limits.compress):
            return
        failed: OSError | None = None
        kept, gone = self._sorted_out(self.old())
        for one in gone:
            try:
                one.path.unlink()
            except OSError as error:
                failed = failed or error
        for one in kept if limits.compress else ():
            if one.path.suffix == PACKED:
                continue
            try:
                _compress(one.path)
            except OSError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def old(self) -> list[Old]:
        """Files that were moved aside, the newest first."""
        stem, ext = _split(self._path.name)
        files = []
        for path in self._path.parent.iterdir():
            name = path.name
            if not name.startswith(f"{stem}-") or path.is_dir():
                continue
            for end in (ext, ext + PACKED):
                text = name[len(stem) + 1 : len(name) - len(end)]
                if name.endswith(end) and _TIMED.fullmatch(text):
                    try:
                        when = dt.datetime.strptime(text, "%Y-%m-%dT%H-%M-%S.%f")  # noqa: DTZ007
                    except ValueError:
                        continue  # no such day
                    files.append(Old(path, when.replace(tzinfo=dt.UTC).timestamp()))
                    break
        files.sort(key=lambda one: one.when, reverse=True)
        return files

    def _sorted_out(self, old: list[Old]) -> tuple[list[Old], list[Old]]:
        limits, kept, gone = self._limits, list[Old](), list[Old]()
        names = set[str]()
        oldest = self._now() - limits.days * DAY_S
        for one in old:
            # A file and what it was compressed to are one.
            names.add(one.path.name.removesuffix(PACKED))
            too_many = bool(limits.backups) and len(names) > limits.backups
            too_old = bool(limits.days) and one.when < oldest
            (gone if too_many or too_old else kept).append(one)
        return kept, gone


def _split(name: str) -> tuple[str, str]:
    """A name and its ending, which has the last dot."""
    stem, dot, ext = name.rpartition(".")
    return (stem, dot + ext) if dot else (name, "")


def _compress(path: Path) -> None:
    """Put a compressed file in the place of a file."""
    target = path.with_name(path.name + PACKED)
    before = path.stat()
    fd = os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, before.st_mode & 0o777)
    try:
        with (
            os.fdopen(fd, "wb") as raw,
            gzip.GzipFile(fileobj=raw, mode="wb", filename="") as packed,
            path.open("rb") as source,
        ):
            os.fchown(raw.fileno(), before.st_uid, before.st_gid)
            shutil.copyfileobj(source, packed, MEGABYTE)
    except OSError:
        target.unlink(missing_ok=True)
        raise
    path.unlink()


class Plain:
    """A file that is never moved aside, or the standard output.

    Args:
        fd: where lines go.
    """

    untidy = False

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, lines: list[bytes]) -> list[OSError | None]:
        """See `RotatingFile.write`."""
        view = memoryview(b"".join(lines))
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            return [error] * len(lines)
        return [None] * len(lines)

    def tidy(self) -> None:
        """Do nothing: a stream has no old files."""

    def close(self) -> None:
        """Leave the descriptor open: others may write to it too."""
