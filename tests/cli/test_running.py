"""Which server runs on a data directory: the lock tells, files beside it only say more."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trio

from kubetrio.cli.running import (
    FILE_NAME,
    Found,
    Record,
    State,
    failing_checks,
    look,
    recorded,
    told,
    until,
)
from kubetrio.cli.status import as_text
from kubetrio.cli.stop import Told, tell
from kubetrio.config import Config, Serving
from kubetrio.server import open_server
from kubetrio.store.lock import DirectoryLock, holder
from kubetrio.tls import pki


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


async def test_waiting_ends_with_the_state_or_the_time(autojump_clock: trio.abc.Clock) -> None:
    """And says what was found last."""
    states = iter([State.STOPPED, State.UNKNOWN, State.READY, State.STOPPED])
    began = trio.current_time()
    assert (await until(lambda: Found(state=next(states)), State.READY, 5)).state is State.READY
    assert trio.current_time() - began < 1
    began = trio.current_time()
    waiting = Found(state=State.UNKNOWN, pid=7)
    assert await until(lambda: waiting, State.READY, 5) is waiting
    assert 5 <= trio.current_time() - began < 5.2


async def test_no_time_is_one_look() -> None:
    """Without a wait."""
    looks = []
    await until(lambda: looks.append(1) or Found(state=State.STOPPED), State.READY, 0)
    assert looks == [1]


async def test_a_running_server_is_asked_for_its_checks(tmp_path: Path) -> None:
    """It is ready, then one of them fails; another server at its address is not believed."""
    config = Config(data_dir=tmp_path / "data", serving=Serving(secure_port=0))
    async with open_server(config) as server:
        shown = server.shown()
        asked = Record(
            pid=1,
            url=server.url,
            since="",
            authority=shown.authority.decode(),
            certificate=str(server.pki.admin.cert),
            key=str(server.pki.admin.key),
        )
        assert await server.api.edge.env.run_blocking(failing_checks, asked) == ()
        server.state.stopping = True
        assert await server.api.edge.env.run_blocking(failing_checks, asked) == ("shutdown",)
        server.state.stopping = False
        other = pki.ensure(
            tmp_path / "other", now=server.api.edge.env.utcnow(), hosts=["127.0.0.1"]
        )
        foreign = Record(
            pid=1,
            url=server.url,
            since="",
            authority=other.ca.cert.read_text(),
            certificate=str(other.admin.cert),
            key=str(other.admin.key),
        )
        with pytest.raises(ssl.SSLError):
            await server.api.edge.env.run_blocking(failing_checks, foreign)


def test_nobody_else_is_told_to_end() -> None:
    """A pid that is not known, is of no process, or does not have the directory any more."""
    import os

    assert tell(0, lambda: 0) is Told.HIDDEN
    assert tell(os.getpid(), lambda: None) is Told.GONE
    assert tell(os.getpid(), lambda: 1) is Told.GONE
    nobody = 2**22 + 1  # above what the kernel gives
    assert tell(nobody, lambda: nobody) is Told.HIDDEN
    assert tell(nobody, lambda: None) is Told.GONE
