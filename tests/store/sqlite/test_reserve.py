"""Room kept on the disk: taken whole or not at all, and given where nobody else gets it."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kubetrio.store.sqlite import reserve
from kubetrio.store.sqlite.reserve import FILE_NAME, SMALLEST_BYTES, STEP_BYTES, Reserve, size_for

SIZE = 4 * STEP_BYTES


def refuse(number: int) -> Callable[[int, int, int], None]:
    def fallocate(_fd: int, _begin: int, _size: int) -> None:
        raise OSError(number, os.strerror(number))

    return fallocate


def test_a_reserve_has_blocks(tmp_path: Path) -> None:
    """It is no file with a hole in it, and what it asked for beside it is given back."""
    kept = Reserve(tmp_path, SIZE)
    assert kept.take()
    found = (tmp_path / FILE_NAME).stat()
    assert found.st_size == SIZE == kept.held
    assert found.st_blocks * 512 >= SIZE
    assert found.st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_without_room_a_reserve_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """What it holds it keeps; that there is nothing beside it is said."""
    kept = Reserve(tmp_path, SIZE)
    kept.take()
    monkeypatch.setattr(reserve, "fallocate", refuse(number))
    assert not kept.take()
    assert not kept.room()
    assert kept.held == SIZE


def test_a_failing_disk_is_not_a_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other errors are raised."""
    monkeypatch.setattr(reserve, "fallocate", refuse(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        Reserve(tmp_path, SIZE).take()


def test_where_nothing_can_be_allocated_there_is_no_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that cannot allocate is not full."""
    monkeypatch.setattr(reserve, "fallocate", refuse(errno.EOPNOTSUPP))
    assert Reserve(tmp_path, SIZE).take()


def test_blocks_go_to_a_file(tmp_path: Path) -> None:
    """By as much as the reserve is shorter, the file is longer."""
    kept = Reserve(tmp_path, SIZE)
    kept.take()
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    with path.open("r+b") as file:
        kept.give(2 * STEP_BYTES + 7, file.fileno())
    assert kept.held == SIZE - 2 * STEP_BYTES - 7
    assert path.read_bytes() == b"12345" + bytes(2 * STEP_BYTES + 7)


def test_a_part_of_a_reserve_is_better_than_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of a full disk is taken, and what is held is not given back for less."""
    kept = Reserve(tmp_path, 4 * SMALLEST_BYTES)
    room = 2 * SMALLEST_BYTES
    allocate = reserve.fallocate

    def fallocate(fd: int, begin: int, size: int) -> None:
        if size > room:
            raise OSError(errno.ENOSPC, "full")
        allocate(fd, begin, size)

    monkeypatch.setattr(reserve, "fallocate", fallocate)
    kept.take_some()
    assert kept.held == 2 * SMALLEST_BYTES
    room = SMALLEST_BYTES
    kept.take_some()
    assert kept.held == 2 * SMALLEST_BYTES


def test_all_that_is_left_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not only a half or a quarter of the reserve."""
    kept = Reserve(tmp_path, 16 * STEP_BYTES)
    room = 13 * STEP_BYTES
    allocate = reserve.fallocate

    def fallocate(fd: int, begin: int, size: int) -> None:
        if size > room:
            raise OSError(errno.ENOSPC, "full")
        allocate(fd, begin, size)

    monkeypatch.setattr(reserve, "fallocate", fallocate)
    kept.take_some()
    assert kept.held == 13 * STEP_BYTES
    monkeypatch.setattr(reserve, "fallocate", refuse(errno.EOPNOTSUPP))
    kept.take_some()
    assert kept.held == 13 * STEP_BYTES


def test_zeros_are_blocks_too(tmp_path: Path) -> None:
    """Where the system has no call for it, they are written."""
    with (tmp_path / "file").open("w+b") as file:
        reserve._fill(file.fileno(), 0, reserve.PIECE + 5)
    assert (tmp_path / "file").stat().st_size == reserve.PIECE + 5


def test_a_small_disk_keeps_less(tmp_path: Path) -> None:
    """Never more than a part of it, and all that is wanted of a large one."""
    system = os.statvfs(tmp_path)
    whole = system.f_blocks * system.f_frsize
    assert size_for(tmp_path, whole) == whole // reserve.SHARE_OF_DISK
    assert size_for(tmp_path, SMALLEST_BYTES) == SMALLEST_BYTES
    assert size_for(tmp_path, 0) == 0


@pytest.mark.parametrize(
    ("mebibytes", "kept"), [(1024, 16), (256, 16), (64, 4), (32, 2), (24, 2), (8, 2), (4, 1)]
)
def test_a_very_small_disk_keeps_a_larger_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mebibytes: int, kept: int
) -> None:
    """A deletion takes as much room there as elsewhere."""
    found = list(os.statvfs(tmp_path))
    found[0] = found[1] = 4096
    found[2] = mebibytes << 8
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(found))
    assert size_for(tmp_path, 16 << 20) == kept << 20
