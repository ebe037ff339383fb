"""Which server runs on a data directory: the lock tells, files beside it only say more."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli.running import (
    FILE_NAME,
    Found,
    Record,
    State,
    look,
    recorded,
    told,
)
from kubetrio.cli.status import as_text
from kubetrio.store.lock import DirectoryLock, holder


def record(pid: int, url: str = "https://127.0.0.1:1") -> Record:
    return Record(
        pid=pid, url=url, since="2026-01-01T00:00:00Z", authority="", certificate="", key=""
    )


def test_what_a_dead_server_left_behind_says_nothing(tmp_path: Path) -> None:
    """Neither its record nor the pid in the lock file, even if the pid is somebody's again."""
    DirectoryLock(tmp_path).release()
    with told(tmp_path, record(1)):
        kept = (tmp_path / FILE_NAME).read_bytes()
    (tmp_path / FILE_NAME).write_bytes(kept)
    (tmp_path / "kubetrio.lock").write_text("1\n")
    assert look(tmp_path) == Found(state=State.STOPPED)


def test_a_record_counts_for_its_own_process(tmp_path: Path) -> None:
    """One that a server before this one left does not."""
    with told(tmp_path, record(5)):
        assert recorded(tmp_path, 5) == record(5)
        assert recorded(tmp_path, 6) is None
    assert recorded(tmp_path, 5) is None


@pytest.mark.parametrize("text", [b"", b"[]", b'{"pid": 5}', b'{"pid": 5, "other": 1}', b"\xff"])
def test_a_record_of_another_version_is_none(tmp_path: Path, text: bytes) -> None:
    """Nor is one that is cut off."""
    (tmp_path / FILE_NAME).write_bytes(text)
    assert recorded(tmp_path, 5) is None


def test_a_server_that_is_starting_has_no_address(tmp_path: Path) -> None:
    """It has the directory and has not said more."""
    lock = DirectoryLock(tmp_path)
    try:
        found = look(tmp_path)
    finally:
        lock.release()
    assert found.state is State.UNKNOWN
    assert f"process {found.pid}, which has not said where it listens" in as_text(tmp_path, found)


def test_looking_takes_the_lock_from_nobody(tmp_path: Path) -> None:
    """Not even from a server that begins just then; a directory without a lock file is free."""
    assert holder(tmp_path) is None
    DirectoryLock(tmp_path).release()
    assert holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == [tmp_path / "kubetrio.lock"]


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Who asks has mistyped it."""
    with pytest.raises(FileNotFoundError):
        holder(tmp_path / "none")
