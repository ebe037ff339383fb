"""What a journal has is made again where the database lacks it, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubetrio.store.model import EventType, Stamped
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.journal import Journal, Journaled, beside, read
from kubetrio.store.sqlite.journalreplay import replay
from kubetrio.store.sqlite.reader import Reader
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.writer import Writer

VALUE = Stamped(b"<", b">")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """A database with one key, at revision 1."""
    writer = open_writer(tmp_path / FILE_NAME, Writer, now_ms=1000)
    writer.begin(1000)
    writer.create("k", VALUE)
    writer.commit()
    writer.begin(1000)
    yield writer
    writer.abandon()


def journaled(tmp_path: Path, mark: int) -> Journaled:
    """An update and a deletion of the key, behind a revision with a mark."""
    place = beside(tmp_path / FILE_NAME)
    journal = Journal(place, 64 * 1024, 1, mark)
    journal.note(EventType.UPDATED, 2000, "k", b"<2>", 1, (1, b"<1>"), 0)
    journal.note(EventType.DELETED, 3000, "k", b"<3>", 1, (2, b"<2>"), 0)
    assert journal.fits
    journal.write()
    journal.close()
    there = read(place)
    assert there is not None
    return there


def test_writes_are_made_again_as_they_were(tmp_path: Path, writer: Writer) -> None:
    """With their revisions, values and times, and with checksums that hold."""
    replay(writer, journaled(tmp_path, writer.identity()))
    writer.commit()
    assert (writer.revision, writer.newest_ms) == (3, 3000)
    reader = Reader(tmp_path / FILE_NAME)
    events, _ = reader.events(0, None, 1 << 20)
    reader.close()
    assert [event.value for event in events] == [b"<1>", b"<2>", b"<3>"]


def test_the_journal_of_another_database_is_refused(tmp_path: Path, writer: Writer) -> None:
    """Its newest revision is another write."""
    with pytest.raises(DatabaseUnusable, match="is not that of"):
        replay(writer, journaled(tmp_path, writer.identity() + 1))


def test_a_damaged_state_is_not_built_on(tmp_path: Path, writer: Writer) -> None:
    """What the journal changes is not what was written."""
    writer.connection.execute("UPDATE revision SET value = x'3c393e' WHERE rev = 1")
    with pytest.raises(DatabaseUnusable, match="the stored value of k at revision 1 is damaged"):
        replay(writer, journaled(tmp_path, writer.identity()))
