"""What was answered and is not in the file any more: it is missed, never forgotten in silence."""

import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
import trio

from kubetrio.env import seeded
from kubetrio.store.model import Stamped
from kubetrio.store.sqlite import head
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.head import Head, Noted, left_behind
from kubetrio.store.sqlite.journal import beside
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig

FULL = StoreConfig()
NORMAL = StoreConfig(durability="normal")
ACCEPT = StoreConfig(accept_data_loss=True)
VALUE = Stamped(b"", b"x" * 3000)


class Crash(Exception):
    """Leaves `open_store` as a killed process does."""


async def crash(directory: Path, config: StoreConfig = FULL, *, writes: int = 10) -> None:
    """Write, and end without order."""
    with suppress(ExceptionGroup):
        async with open_store(directory, config, seeded(1)) as store:
            for number in range(writes):
                await store.create(f"k{store.revision}/{number}", VALUE)
            raise Crash


def wal(directory: Path) -> Path:
    return directory / f"{FILE_NAME}-wal"


async def revision(directory: Path, config: StoreConfig = FULL) -> int:
    async with open_store(directory, config, seeded(1)) as store:
        return store.revision


async def test_nothing_is_missed_where_nothing_is_lost(tmp_path: Path) -> None:
    """A crash alone loses nothing, and an orderly end leaves no note."""
    await crash(tmp_path)
    noted = left_behind(tmp_path)
    assert noted is not None
    assert (noted.revision, noted.holds) == (10, True)
    assert await revision(tmp_path) == 10
    assert left_behind(tmp_path) is None


@pytest.mark.parametrize("kept", [None, 0, 100, 0.5])
async def test_a_log_that_is_gone_or_cut_off_is_missed(tmp_path: Path, kept: float | None) -> None:
    """One line says what is lost and which flag accepts it, each time; the flag does."""
    await crash(tmp_path)
    log = wal(tmp_path)
    if kept is None:
        log.unlink()
    else:
        size = int(log.stat().st_size * kept) if kept < 1 else int(kept)
        with log.open("r+b") as file:
            file.truncate(size)
    before = (tmp_path / FILE_NAME).read_bytes()
    for _ in range(2):
        with pytest.raises(DatabaseUnusable, match=r"revisions are lost.*--accept-data-loss") as no:
            await revision(tmp_path)
        assert "revision 10 was answered" in str(no.value)
        assert "\n" not in str(no.value)
        assert (tmp_path / FILE_NAME).read_bytes() == before
    left = await revision(tmp_path, ACCEPT)
    assert left < 10
    assert await revision(tmp_path) == left


async def test_a_log_that_is_brought_back_is_taken(tmp_path: Path) -> None:
    """A refused start leaves things so that the file still fits."""
    await crash(tmp_path)
    kept = wal(tmp_path).read_bytes()
    wal(tmp_path).unlink()
    with pytest.raises(DatabaseUnusable):
        await revision(tmp_path)
    wal(tmp_path).write_bytes(kept)
    assert await revision(tmp_path) == 10


async def test_a_database_that_is_gone_is_missed(tmp_path: Path) -> None:
    """It is not made anew."""
    await crash(tmp_path)
    wal(tmp_path).unlink()
    (tmp_path / FILE_NAME).unlink()
    with pytest.raises(DatabaseUnusable, match=r"is gone.* 10 revisions are lost, with it and"):
        await revision(tmp_path)
    assert not (tmp_path / FILE_NAME).exists()


async def test_a_log_that_another_program_copied_into_the_file_is_not_missed(
    tmp_path: Path,
) -> None:
    """SQLite's own shell does so when it is the last to close a crashed database."""
    await crash(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as shell:
        shell.execute("SELECT count(*) FROM revision").fetchone()
    assert not wal(tmp_path).exists()
    assert await revision(tmp_path) == 10


async def test_a_backup_of_a_running_store_is_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It says that it is in use, has no log and lacks nothing; that there is no log is said."""
    data, restored = tmp_path / "data", tmp_path / "restored"
    restored.mkdir()
    async with open_store(data, FULL, seeded(1)) as store:
        await store.create("k", VALUE)
        with (
            closing(sqlite3.connect(data / FILE_NAME)) as source,
            closing(sqlite3.connect(restored / FILE_NAME)) as copy,
        ):
            await trio.lowlevel.checkpoint()
            source.backup(copy)
    wal(restored).unlink(missing_ok=True)
    assert await revision(restored) == 1
    assert "log of an unclean stop is not there" in caplog.text


async def test_without_syncs_a_note_holds_until_the_system_starts_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``durability=normal`` power loss may take what was answered, a killed process not."""
    await crash(tmp_path, NORMAL)
    wal(tmp_path).unlink()
    with pytest.raises(DatabaseUnusable, match="are lost"):
        await revision(tmp_path, NORMAL)
    monkeypatch.setattr(head, "boot_id", lambda: "another")
    assert await revision(tmp_path, NORMAL) < 10


@pytest.mark.parametrize("text", ["", "rubbish", "1 synced", "x synced boot"])
def test_a_note_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    """As after a power loss, before it was on the disk."""
    (tmp_path / head.FILE_NAME).write_text(text)
    assert left_behind(tmp_path) is None


def test_a_note_where_none_can_be_written(tmp_path: Path) -> None:
    """A full disk does not stop writes for want of a note."""
    made = Head(tmp_path / "missing", synced=True)
    made.note(1)
    made.close(clean=True)


def test_notes_of_systems_without_a_boot_id_hold_when_synced_only() -> None:
    """Nothing is guessed."""
    assert Noted(1, True, "").holds
    assert not Noted(1, False, "").holds


@pytest.mark.parametrize("left", [None, b""])
async def test_a_database_that_is_gone_after_an_orderly_stop_is_missed(
    tmp_path: Path, left: bytes | None
) -> None:
    """A new cluster begins where that is asked for, and not in silence."""
    async with open_store(tmp_path, FULL, seeded(1)) as store:
        await store.create("k", VALUE)
    (tmp_path / FILE_NAME).unlink()
    if left is not None:
        (tmp_path / FILE_NAME).write_bytes(left)
    for _ in range(2):
        with pytest.raises(DatabaseUnusable, match="at revision 1: bring that file"):
            await revision(tmp_path)
    assert await revision(tmp_path, ACCEPT) == 0
    assert await revision(tmp_path) == 0


async def test_the_loss_of_a_journal_is_told_by_its_name(tmp_path: Path) -> None:
    """And not by that of the write-ahead log, which is there."""
    journaling = StoreConfig(journal_bytes=1 << 20)
    await crash(tmp_path, journaling)
    place = beside(tmp_path / FILE_NAME)
    place.unlink()
    with pytest.raises(DatabaseUnusable, match=re.escape(f"are lost, with {place}. ")):
        await revision(tmp_path, journaling)
