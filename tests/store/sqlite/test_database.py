"""Opening, checking and refusing database files; times of the log."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from kubetrio import __version__
from kubetrio.store.model import Range, Stamped
from kubetrio.store.sqlite import database, recovery
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.reader import Reader
from kubetrio.store.sqlite.writer import Writer
from kubetrio.testing.faults import Faults, Lack

PAGE = 4096
VALUE = Stamped(b"", b"x" * 500)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / database.FILE_NAME


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    writer = open_writer(path)
    yield writer
    writer.abandon()


def open_writer(path: Path, *, now_ms: int = 1000) -> Writer:
    return recovery.open_writer(path, Writer, now_ms=now_ms)


def fill(writer: Writer, count: int, *, now_ms: int = 1000) -> None:
    """Create keys in one transaction."""
    writer.begin(now_ms)
    for number in range(count):
        writer.create(f"k{writer.revision}/{number}", VALUE)
    writer.commit()


def ask(path: Path, question: str) -> list[tuple[object, ...]]:
    """Rows of a query by another program."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(question).fetchall()


@pytest.mark.skipif(sys.platform != "linux", reason="replaces Linux's system calls")
def test_a_new_file_is_on_the_disk_before_it_has_its_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it by one sync, and then the name by another."""
    synced: list[tuple[str, bool]] = []

    def noted(fd: int) -> None:
        synced.append((Path(f"/proc/self/fd/{fd}").resolve().name, path.exists()))

    with Faults(path.parent) as faults, monkeypatch.context() as patched:
        faults.fail(Lack.SYNCS, 0)  # of SQLite; those of Python are noted and do not fail
        patched.setattr(os, "fsync", noted)
        database.create(path, 1000)
    fresh = path.with_suffix(".new").name
    assert synced == [(fresh, False), (path.parent.name, True)]


def test_a_new_file_says_whose_it_is(path: Path) -> None:
    """Application id, schema version and WAL mode are in the file from the beginning."""
    open_writer(path).close()
    assert ask(path, "PRAGMA application_id") == [(sql.APPLICATION_ID,)]
    versions = ask(path, "SELECT version, at FROM migration ORDER BY version")
    assert versions == [(version, 1000) for version in range(1, sql.SCHEMA_VERSION + 1)]
    assert ask(path, "PRAGMA journal_mode") == [("wal",)]
    assert ask(path, "PRAGMA auto_vacuum") == [(2,)]


@pytest.mark.parametrize(
    "content", [b"not a database", b"x" * 5000, b"SQLite format 3\0", b"SQLite format 2\0" * 400]
)
def test_other_files_are_refused_and_left_alone(path: Path, content: bytes) -> None:
    """What does not begin as SQLite is not opened as SQLite, and nothing appears beside it."""
    path.write_bytes(content)
    with pytest.raises(DatabaseUnusable, match="not a SQLite database"):
        open_writer(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_databases_of_other_programs_are_refused_and_left_alone(path: Path) -> None:
    """The application id decides."""
    with closing(sqlite3.connect(path)) as foreign, foreign:
        foreign.execute("CREATE TABLE revision (rev INTEGER PRIMARY KEY)")
    content = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match="belongs to another application"):
        open_writer(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_newer_databases_are_refused_and_left_alone(path: Path) -> None:
    """A schema from the future is told with both versions and the release that wrote it."""
    open_writer(path).close()
    for release, writer, again in (
        ("", "a newer kubetrio", "that"),
        ("9.1.0", "kubetrio 9.1.0", "kubetrio 9.1.0 or later"),
    ):
        with closing(sqlite3.connect(path)) as future, future:
            future.execute("INSERT OR REPLACE INTO migration VALUES (99, 0)")
            if release:
                future.execute("INSERT INTO meta VALUES (?, 5000)", (f"release:{release}",))
        content = path.read_bytes()
        with pytest.raises(DatabaseUnusable) as caught:
            open_writer(path)
        assert str(caught.value) == (
            f"{path} has schema version 99, which {writer} wrote, and kubetrio {__version__} knows "
            f"versions up to {sql.SCHEMA_VERSION}: start {again}, or restore a backup that was "
            "made before the upgrade"
        )
        assert path.read_bytes() == content


def test_a_database_without_tables_is_refused(path: Path) -> None:
    """Ours by its header and yet empty: damaged, not new."""
    with closing(sqlite3.connect(path)) as bare, bare:
        bare.execute(f"PRAGMA application_id = {sql.APPLICATION_ID}")
        bare.execute("CREATE TABLE other (a)")
    content = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match="is damaged"):
        open_writer(path)
    assert path.read_bytes() == content


def damage(path: Path, pages: range) -> bytes:
    """Overwrite pages; returns the damaged content."""
    content = bytearray(path.read_bytes())
    for page in pages:
        content[page * PAGE : (page + 1) * PAGE] = b"\xa5" * PAGE
    path.write_bytes(content)
    return bytes(content)


def test_damage_is_found_after_an_unclean_stop(path: Path) -> None:
    """The whole file is checked, and a damaged one is left byte for byte as it was."""
    writer = open_writer(path)
    fill(writer, 300)
    writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
    writer.abandon()
    size = path.stat().st_size // PAGE
    content = damage(path, range(size - 3, size - 1))
    with pytest.raises(DatabaseUnusable, match=r"is damaged .*restore a backup") as error:
        open_writer(path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300 + len(str(path))
    assert path.read_bytes() == content


def test_damage_at_the_root_is_found_always(path: Path) -> None:
    """Also after a clean stop, a file whose tables cannot be read is refused and left alone."""
    writer = open_writer(path)
    fill(writer, 300)
    writer.close()
    content = damage(path, range(1, path.stat().st_size // PAGE))
    with pytest.raises(DatabaseUnusable, match="is damaged"):
        open_writer(path)
    assert path.read_bytes() == content


def test_a_truncated_file_is_found_after_an_unclean_stop(path: Path) -> None:
    """Half a database is not a database."""
    writer = open_writer(path)
    fill(writer, 300)
    writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
    writer.abandon()
    content = path.read_bytes()[: path.stat().st_size // PAGE // 2 * PAGE]
    path.write_bytes(content)
    with pytest.raises(DatabaseUnusable, match="is damaged"):
        open_writer(path)
    assert path.read_bytes() == content


def test_the_note_of_a_clean_stop(path: Path) -> None:
    """While it is open, and after a crash, the file says that it is in use; after closing not."""
    writer = open_writer(path)
    clean = "SELECT value FROM meta WHERE name = 'clean'"
    assert ask(path, clean) == [(0,)]
    writer.abandon()
    assert ask(path, clean) == [(0,)]
    open_writer(path).close()
    assert ask(path, clean) == [(1,)]


def test_a_clean_stop_leaves_everything_in_the_file(path: Path) -> None:
    """The log is empty, so a copy of the one file is a backup."""
    writer = open_writer(path)
    fill(writer, 10)
    writer.close()
    assert path.with_name(path.name + "-wal").stat().st_size == 0
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    assert ask(copy, "SELECT count(*), max(rev) FROM revision") == [(10, 10)]


def test_an_unclean_stop_loses_nothing_committed(path: Path) -> None:
    """What was committed is there again, what was not is not."""
    writer = open_writer(path)
    fill(writer, 10)
    writer.begin(1000)
    writer.create("half", VALUE)
    writer.abandon()
    again = open_writer(path)
    assert again.revision == 10
    reader = Reader(path)
    assert reader.get("half", None) is None
    assert reader.count(Range.prefix("k"), None) == 10
    reader.close()
    again.abandon()


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    """A start that died before it wrote anything is not damage."""
    path.touch()
    open_writer(path).close()
    database.read_header(path)


def test_a_half_made_database_is_made_again(path: Path) -> None:
    """A start that died while making the file left it under another name."""
    path.with_suffix(".new").write_bytes(b"rubbish")
    path.with_suffix(".new-wal").write_bytes(b"rubbish")
    writer = open_writer(path)
    assert writer.revision == 0
    writer.close()
    assert not path.with_suffix(".new").exists()


def test_the_log_of_a_moved_database_is_not_replayed(path: Path) -> None:
    """A log without its database would bring old pages into a new file: it is refused, not lost."""
    writer = open_writer(path)
    fill(writer, 10)
    writer.abandon()
    content = path.read_bytes()
    path.unlink()
    log = path.with_name(path.name + "-wal")
    with pytest.raises(DatabaseUnusable, match="move it away with its database"):
        open_writer(path)
    assert log.stat().st_size
    assert not path.exists()
    path.write_bytes(content)
    back = open_writer(path)
    assert back.revision == 10
    back.abandon()


def test_times_never_go_back(path: Path, writer: Writer) -> None:
    """A wall clock that is set back does not make newer revisions older."""
    for now_ms in (5000, 3000, 4000, 6000):
        fill(writer, 1, now_ms=now_ms)
    assert ask(path, "SELECT at FROM revision ORDER BY rev") == [(5000,), (5000,), (5000,), (6000,)]


def test_the_revision_of_a_time(writer: Writer) -> None:
    """The newest one that is as old, at least the compacted one."""
    for now_ms in (1000, 2000, 2000, 3000):
        fill(writer, 1, now_ms=now_ms)
    cutoffs = (0, 999, 1000, 1999, 2000, 2999, 3000, 9000)
    assert [writer.revision_before(cutoff) for cutoff in cutoffs] == [0, 0, 1, 1, 3, 3, 4, 4]
    writer.compact(2)
    assert [writer.revision_before(cutoff) for cutoff in cutoffs] == [2, 2, 2, 2, 3, 3, 4, 4]


def test_the_revision_of_a_time_finds_its_way_over_holes(writer: Writer) -> None:
    """Revisions that compaction removed are not needed to find the next one."""
    fill(writer, 1, now_ms=1000)
    for number in range(20):
        writer.begin(1000 + number)
        writer.update("k0/0", VALUE, writer.revision)
        writer.commit()
    writer.compact(15)
    for rev in range(16, 22):
        assert writer.revision_before(1000 + rev - 2) == rev


def test_times_ahead_of_the_newest_are_behind_all_others(path: Path) -> None:
    """Former versions dated revisions by a wall clock that may have been ahead for a while."""
    first = open_writer(path)
    for now_ms in (1000, 2000, 3000, 4000):
        fill(first, 1, now_ms=now_ms)
    first.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE revision SET at = 900000 WHERE rev <= 3")
    again = open_writer(path)
    assert again.newest_ms == 4000
    assert again.revision_before(3000) == 3
    assert again.revision_before(4000) == 4
    again.abandon()


@pytest.mark.skipif(sys.platform != "linux", reason="replaces Linux's system calls")
def test_a_connection_that_can_only_read_is_none(path: Path) -> None:
    """SQLite makes one when the first descriptor that it asks for is refused."""
    database.create(path, 0)
    with Faults(path.parent) as faults:
        faults.fail(Lack.DESCRIPTORS, 0, times=1)
        with pytest.raises(apsw.CantOpenError, match="only be read"):
            database.connect(path)
        database.connect(path).close()


@pytest.mark.skipif(sys.platform != "linux", reason="replaces Linux's system calls")
def test_a_migration_without_room_is_not_told_as_damage(path: Path) -> None:
    """Each of its writes may be the one that is refused."""
    database.create(path, 0)
    number = 0
    with Faults(path.parent) as faults:
        while True:
            with closing(sqlite3.connect(path)) as db, db:
                db.execute("DELETE FROM migration")
                db.execute("DROP TABLE IF EXISTS lease")
                db.execute("DROP TABLE IF EXISTS history")
                db.execute("DROP TABLE IF EXISTS current")
                db.execute("DROP TABLE IF EXISTS revision")
            faults.fail(Lack.ROOM, number)
            said = ""
            try:
                open_writer(path).abandon()
            except DatabaseUnusable as error:
                said = str(error)
            faults.clear()
            assert "damaged" not in said
            if not faults.fired:
                break
            number += 1
    assert number > 5
