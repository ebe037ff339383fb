"""Files of the audit log: when they are moved aside, and which of those stay."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from kubetrio.audit import rotation
from kubetrio.audit.rotation import DAY_S, Limits, RotatingFile

NOW = 1_700_000_000.25  # 2023-11-14T22:13:20.250
LINE = b"x" * 99 + b"\n"


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte is 1,000 bytes, so that tests write little."""
    monkeypatch.setattr(rotation, "MEGABYTE", 1000)


def opened(path: Path, clock: Clock, limits: Limits | None = None) -> RotatingFile:
    file = RotatingFile(path, limits or Limits(1, 0, 0), clock)
    file.prepare()
    return file


def test_only_the_owner_may_read(tmp_path: Path, clock: Clock) -> None:
    """Of the file, of its directory, and of the file behind one that was moved aside."""
    path = tmp_path / "deep" / "audit.log"
    file = opened(path, clock)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    file.write([LINE] * 11)
    assert {one.stat().st_mode & 0o777 for one in path.parent.iterdir()} == {0o600}


def test_a_file_with_another_mode_keeps_it(tmp_path: Path, clock: Clock) -> None:
    """Who lets a group read the log lets it read the next file too."""
    path = tmp_path / "audit.log"
    path.write_bytes(LINE)
    path.chmod(0o640)
    opened(path, clock).write([LINE] * 10)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_full_file_is_moved_aside(tmp_path: Path, clock: Clock) -> None:
    """Under a name with the time, and no line is lost or cut."""
    path = tmp_path / "audit.log"
    file = opened(path, clock)
    assert file.write([LINE] * 10) == [None] * 10
    assert [one.name for one in tmp_path.iterdir()] == ["audit.log"]
    assert file.write([LINE]) == [None]
    aside = tmp_path / "audit-2023-11-14T22-13-20.250.log"
    assert aside.read_bytes() == LINE * 10
    assert path.read_bytes() == LINE


def test_many_lines_at_once_fill_many_files(tmp_path: Path, clock: Clock) -> None:
    """What does not fit goes to the next file."""
    file = opened(tmp_path / "audit.log", clock, Limits(1, 0, 0))
    moved = 0
    for _ in range(25):
        clock.now += 1
        file.write([LINE])
    for one in tmp_path.iterdir():
        assert len(one.read_bytes()) <= 1000
        moved += len(one.read_bytes()) // 100
    assert moved == 25


def test_a_line_larger_than_a_file_is_an_error(tmp_path: Path, clock: Clock) -> None:
    """Those before and behind it are written."""
    file = opened(tmp_path / "audit.log", clock)
    results = file.write([LINE, b"y" * 1001, LINE])
    assert [str(one) if one else None for one in results] == [
        None, "write length 1001 exceeds maximum file size 1000", None,
    ]  # fmt: skip
    assert (tmp_path / "audit.log").read_bytes() == LINE * 2


def test_a_file_that_was_full_before_is_moved_at_the_first_line(
    tmp_path: Path, clock: Clock
) -> None:
    """As after a restart."""
    path = tmp_path / "audit.log"
    path.write_bytes(LINE * 10)
    opened(path, clock).write([LINE])
    assert path.read_bytes() == LINE
    assert len(list(tmp_path.iterdir())) == 2


def test_only_so_many_backups_stay(tmp_path: Path, clock: Clock) -> None:
    """The newest ones."""
    file = opened(tmp_path / "audit.log", clock, Limits(1, 0, 2))
    for _ in range(5):
        clock.now += 60
        file.write([LINE] * 10)
    assert file.untidy
    file.tidy()
    assert [one.path.name for one in file.old()] == [
        "audit-2023-11-14T22-18-20.250.log", "audit-2023-11-14T22-17-20.250.log",
    ]  # fmt: skip


def test_old_backups_go(tmp_path: Path, clock: Clock) -> None:
    """By the time in their names."""
    file = opened(tmp_path / "audit.log", clock, Limits(1, 1, 0))
    file.write([LINE] * 11)
    clock.now += DAY_S + 1
    file.tidy()
    assert [one.name for one in tmp_path.iterdir()] == ["audit.log"]


def test_backups_are_compressed(tmp_path: Path, clock: Clock) -> None:
    """With the same mode, and the plain file goes; one and its compressed copy count as one."""
    file = opened(tmp_path / "audit.log", clock, Limits(1, 0, 1, True))
    file.write([LINE] * 11)
    file.tidy()
    aside = tmp_path / "audit-2023-11-14T22-13-20.250.log.gz"
    assert gzip.decompress(aside.read_bytes()) == LINE * 10
    assert aside.stat().st_mode & 0o777 == 0o600
    file.tidy()
    assert aside.exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_files_of_others_stay(tmp_path: Path, clock: Clock) -> None:
    """What only looks like a backup is not touched."""
    others = ["audit-x.log", "audit-2023-13-45T22-13-20.250.log", "audit-2023.log.gz", "other.log"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    file = opened(tmp_path / "audit.log", clock, Limits(1, 1, 1, True))
    clock.now += 1000 * DAY_S
    file.tidy()
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([*others, "audit.log"])


def test_a_directory_that_went_is_made_again(tmp_path: Path, clock: Clock) -> None:
    """When the next file begins."""
    path = tmp_path / "deep" / "audit.log"
    file = opened(path, clock)
    path.unlink()
    path.parent.rmdir()
    assert file.write([LINE]) == [None]
    assert path.read_bytes() == LINE


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told(clock: Clock) -> None:
    """For each line that is lost; later ones are tried again."""
    file = RotatingFile(Path("/dev/full"), Limits(0, 0, 0), clock)
    results = file.write([LINE, LINE])
    assert [one.errno if one else 0 for one in results] == [28, 28]
