"""One server, one data directory."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kubetrio.store.errors import DataDirectoryLocked
from kubetrio.store.lock import DirectoryLock

TAKE = """
import os, sys
from pathlib import Path
from kubetrio.store.errors import DataDirectoryLocked
from kubetrio.store.lock import DirectoryLock
try:
    lock = DirectoryLock(Path(sys.argv[1]))
except DataDirectoryLocked as error:
    sys.exit(str(error))
print(os.getpid(), flush=True)
sys.stdin.read()
"""


def take(directory: Path) -> "subprocess.Popen[str]":
    """A process that takes the lock and waits for the end of its input."""
    return subprocess.Popen(
        [sys.executable, "-c", TAKE, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.e2e
def test_a_second_process_is_refused(tmp_path: Path) -> None:
    """The message names the directory, the holder and what to do."""
    lock = DirectoryLock(tmp_path)
    try:
        with take(tmp_path) as process:
            _, said = process.communicate()
    finally:
        lock.release()
    assert process.returncode == 1
    assert str(tmp_path) in said
    assert f"in use by process {os.getpid()}:" in said
    assert "--data-dir" in said


@pytest.mark.e2e
def test_the_lock_goes_away_with_its_process(tmp_path: Path) -> None:
    """A killed holder leaves nothing that must be cleaned up."""
    with take(tmp_path) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        with pytest.raises(DataDirectoryLocked) as caught:
            DirectoryLock(tmp_path)
        assert caught.value.pid == pid
        process.kill()
    DirectoryLock(tmp_path).release()


def test_the_lock_is_not_shared_within_a_process(tmp_path: Path) -> None:
    """Two servers in one process are two servers."""
    lock = DirectoryLock(tmp_path)
    with pytest.raises(DataDirectoryLocked) as caught:
        DirectoryLock(tmp_path)
    assert (caught.value.path, caught.value.pid) == (tmp_path, os.getpid())
    lock.release()


def test_a_released_lock_can_be_taken(tmp_path: Path) -> None:
    """Releasing twice is fine, and does not take the lock from the next holder."""
    first = DirectoryLock(tmp_path)
    first.release()
    second = DirectoryLock(tmp_path)
    first.release()
    with pytest.raises(DataDirectoryLocked):
        DirectoryLock(tmp_path)
    second.release()


def test_a_lock_without_a_pid_names_nobody(tmp_path: Path) -> None:
    """A holder that has not written its pid yet is another process."""
    lock = DirectoryLock(tmp_path)
    (tmp_path / "kubetrio.lock").write_bytes(b"")
    with pytest.raises(DataDirectoryLocked, match="in use by another process"):
        DirectoryLock(tmp_path)
    lock.release()


def test_a_lock_outlives_its_file(tmp_path: Path) -> None:
    """Who removes the file does not let a second server in."""
    lock = DirectoryLock(tmp_path)
    (tmp_path / "kubetrio.lock").unlink()
    with pytest.raises(DataDirectoryLocked, match="in use by another process"):
        DirectoryLock(tmp_path)
    assert not (tmp_path / "kubetrio.lock").exists()
    lock.release()
    DirectoryLock(tmp_path).release()


def test_a_server_of_a_former_version_is_noticed(tmp_path: Path) -> None:
    """It locks the file only."""
    with (tmp_path / "kubetrio.lock").open("w+b") as file:
        file.write(b"123\n")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DataDirectoryLocked, match="process 123"):
            DirectoryLock(tmp_path)


def test_where_directories_cannot_be_locked_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on NFS."""
    flock = fcntl.flock

    def on_nfs(fd: int, how: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", on_nfs)
    lock = DirectoryLock(tmp_path)
    with pytest.raises(DataDirectoryLocked):
        DirectoryLock(tmp_path)
    lock.release()


def test_a_full_disk_does_not_keep_the_lock_from_being_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pid is for people."""

    def write(_fd: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        lock = DirectoryLock(tmp_path)
    with pytest.raises(DataDirectoryLocked):
        DirectoryLock(tmp_path)
    lock.release()
