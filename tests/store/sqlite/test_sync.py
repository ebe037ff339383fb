"""Syncs begun and waited for apart: by io_uring where there is one, else in a thread."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from kubetrio.env import Env, seeded
from kubetrio.store.sqlite import sync
from kubetrio.store.sqlite.sync import WorkerSync, open_sync
from kubetrio.store.sqlite.uring import Ring, open_ring


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.write_bytes(b"x")
    return path


def a_ring_or_skip(fd: int) -> None:
    try:
        with open_ring(fd):
            pass
    except OSError as error:
        pytest.skip(f"no io_uring here: {error}")


@contextmanager
def forbidden(fd: int) -> Iterator[Ring]:
    """As in a container that forbids io_uring."""
    raise OSError(errno.EPERM, "Operation not permitted")
    yield


async def test_a_ring_syncs_again_and_again(file: Path) -> None:
    """More often than it has entries; waiting early or late makes no difference."""
    with file.open("r+b", buffering=0) as opened:
        a_ring_or_skip(opened.fileno())
        with open_ring(opened.fileno()) as ring:
            for number in range(20):
                opened.write(b"y" * 5000)
                ring.start()
                if number % 2:
                    await trio.sleep(0.001)
                await ring.wait()


async def test_a_ring_tells_what_the_disk_said() -> None:
    """A pipe cannot be synced."""
    reading, writing = os.pipe()
    try:
        a_ring_or_skip(writing)
        with open_ring(writing) as ring:
            for _ in range(3):
                ring.start()
                with pytest.raises(OSError, match="Invalid argument") as caught:
                    await ring.wait()
                assert caught.value.errno == errno.EINVAL
    finally:
        os.close(reading)
        os.close(writing)


async def test_a_sync_that_cannot_begin_is_done_at_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may be out of memory for a moment; the next one goes to it again."""
    synced: list[int] = []
    with file.open("r+b") as opened:
        a_ring_or_skip(opened.fileno())
        with open_ring(opened.fileno()) as ring:
            call = ring._call
            monkeypatch.setattr(os, "fdatasync", synced.append)
            ring._call = lambda *_: -1
            ring.start()
            await ring.wait()
            assert synced == [opened.fileno()]
            ring._call = call
            ring.start()
            await ring.wait()
            assert synced == [opened.fileno()]


def test_a_ring_gives_everything_back(file: Path) -> None:
    """File descriptors and memory."""
    with file.open("r+b") as opened:
        a_ring_or_skip(opened.fileno())
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(10):
            with open_ring(opened.fileno()):
                pass
        assert len(list(Path("/proc/self/fd").iterdir())) == before


async def test_a_thread_syncs_where_there_is_no_ring(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its errors arrive."""
    calls: list[int] = []

    def fdatasync(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 3:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(sync, "open_ring", forbidden)
    monkeypatch.setattr(sync, "fdatasync", fdatasync)
    with open_sync(file, Env()) as made:
        assert isinstance(made, WorkerSync)
        assert len(calls) == 1  # what the file held
        made.start()
        await made.wait()
        made.start()
        with pytest.raises(OSError, match="Input/output"):
            await made.wait()


async def test_a_seeded_environment_syncs_in_place(file: Path) -> None:
    """No kernel thread decides what comes first."""
    with open_sync(file, seeded(1)) as made:
        assert isinstance(made, WorkerSync)
        made.start()
        await made.wait()


def test_what_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    """As everywhere."""
    with pytest.raises(FileNotFoundError), open_sync(tmp_path / "nothing", Env()):
        pass
