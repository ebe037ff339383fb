"""Databases of stopped servers are read, and their directories stay as they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import Stamped
from kubetrio.store.sqlite import recovery
from kubetrio.store.sqlite.copies import copy, settled
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.inspection import Snapshot, inspect
from kubetrio.store.sqlite.stopped import is_frozen, log_of, untouched
from kubetrio.store.sqlite.writer import Writer

COUNT = 5


def files(directory: Path) -> dict[str, bytes]:
    """All that is in a directory."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def fill(writer: Writer, count: int) -> None:
    writer.begin(1000)
    for number in range(count):
        writer.create(f"/k{writer.revision}/{number}", Stamped(b"", b"x"))
    writer.commit()


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """The directory of a database that was closed in order, without an index of its log."""
    writer = recovery.open_writer(tmp_path / FILE_NAME, Writer, now_ms=1000)
    fill(writer, COUNT)
    writer.close()
    log_of(tmp_path / FILE_NAME).with_name(f"{FILE_NAME}-shm").unlink(missing_ok=True)
    return tmp_path


@pytest.fixture
def crashed(tmp_path: Path) -> Iterator[Path]:
    """The directory of a database whose log has all that was written."""
    origin, left = tmp_path / "origin", tmp_path / "left"
    origin.mkdir()
    writer = recovery.open_writer(origin / FILE_NAME, Writer, now_ms=1000)
    fill(writer, COUNT)
    shutil.copytree(origin, left)
    yield left
    writer.abandon()


async def _read(database: Path) -> int:
    with inspect(database) as seen:
        live = len(seen.live())
        assert list(seen.faults(lambda: None)) == []
    snapshot = Snapshot(database)
    assert snapshot.revision == COUNT
    snapshot.close()
    return live


async def test_after_an_orderly_stop(stopped: Path) -> None:
    """The file itself is read, and nothing is made beside it."""
    before = files(stopped)
    assert is_frozen(stopped / FILE_NAME)
    with settled(stopped / FILE_NAME) as database:
        assert database == stopped / FILE_NAME
        assert await _read(database) == COUNT
        assert files(stopped) == before
    assert files(stopped) == before


@pytest.fixture
def locked_away(stopped: Path) -> Iterator[Path]:
    """The same under a name with what addresses escape, which cannot be written."""
    odd = stopped.with_name("a b%20?#&é")
    stopped.rename(odd)
    odd.chmod(0o500)
    (odd / FILE_NAME).chmod(0o400)
    yield odd
    odd.chmod(0o700)


async def test_in_a_directory_that_cannot_be_written(locked_away: Path) -> None:
    """Reading needs no more than the right to read."""
    with settled(locked_away / FILE_NAME) as database:
        assert await _read(database) == COUNT


async def test_after_a_crash(crashed: Path, tmp_path: Path) -> None:
    """What is in the log is read, from a copy."""
    assert log_of(crashed / FILE_NAME).stat().st_size > 1000
    before = files(crashed)
    with settled(crashed / FILE_NAME) as database:
        assert database.parent != crashed
        assert await _read(database) == COUNT
    assert not database.exists()
    target = tmp_path / "copy.db"
    assert copy(crashed / FILE_NAME, target, lambda _done, _of: None).revision == COUNT
    with inspect(target) as seen:
        assert len(seen.live()) == COUNT
    assert files(crashed) == before


def test_beside_a_server(stopped: Path) -> None:
    """The file is read as the server shares it."""
    lock = DirectoryLock(stopped)
    try:
        assert not is_frozen(stopped / FILE_NAME)
        with untouched(stopped / FILE_NAME) as database:
            assert database == stopped / FILE_NAME
            os.utime(database, (1, 1))
    finally:
        lock.release()


def test_a_server_that_starts_meanwhile_is_told(stopped: Path) -> None:
    """What was read may be of two states then."""
    with (
        pytest.raises(StoreUnavailable, match="do it again"),
        untouched(stopped / FILE_NAME) as database,
    ):
        os.utime(database, (1, 1))
