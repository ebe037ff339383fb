"""What one reading connection sees, and how much at a time."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from kubetrio.store.errors import Compacted, FutureRevision
from kubetrio.store.model import Range, Stamped
from kubetrio.store.sqlite import database
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.reader import (
    MAPPED_BYTES,
    MAPPED_FROM,
    PAGE_PROBE,
    UNMAPPED_FROM,
    UNREAD,
    Reader,
)
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.writer import Writer

VALUE = Stamped(b"", b"x" * 500)
ALL = Range.prefix("k")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    path = tmp_path / database.FILE_NAME
    writer = open_writer(path, Writer, now_ms=1000)
    yield writer
    writer.abandon()


@pytest.fixture
def reader(tmp_path: Path, writer: Writer) -> Iterator[Reader]:
    del writer  # it makes the file
    reader = Reader(tmp_path / database.FILE_NAME)
    yield reader
    reader.close()


def fill(writer: Writer, count: int) -> None:
    """Create keys in one transaction."""
    writer.begin(1000)
    for number in range(count):
        writer.create(f"k{writer.revision}/{number}", VALUE)
    writer.commit()


def test_events_of_a_quiet_prefix_come_in_bounded_looks(reader: Reader, writer: Writer) -> None:
    """One look scans so many revisions at most, and says how far it came."""
    fill(writer, PAGE_PROBE + 10)
    quiet = Range.prefix("quiet/")
    assert reader.events(0, quiet, 1 << 30) == ([], PAGE_PROBE)
    assert reader.events(PAGE_PROBE, quiet, 1 << 30) == ([], PAGE_PROBE + 10)


def test_long_joins_come_in_bounded_pages(reader: Reader, writer: Writer) -> None:
    """A page holds so many values at most; the next one goes on behind it."""
    fill(writer, PAGE_PROBE + 10)
    keys = Range.prefix("k")
    first = reader.join(keys, 0, b",", None, 0, 1 << 30)
    assert (first.count, first.more) == (PAGE_PROBE, True)
    rest = reader.join(keys.after(first.last_key), 0, b",", None, 0, 1 << 30)
    assert (rest.count, rest.more) == (10, False)


def test_readers_cannot_write(reader: Reader, writer: Writer) -> None:
    """There is one writing connection."""
    with pytest.raises(apsw.ReadOnlyError):
        reader._connection.execute(sql.SET_META, ("clean", 1))


def test_what_is_committed_is_seen_at_once(reader: Reader, writer: Writer) -> None:
    """By a reader that keeps nothing."""
    assert reader.count(ALL, None) == 0
    fill(writer, 3)
    assert reader.count(ALL, None) == 3
    assert reader.range(ALL, None, 0).revision == 3


def test_a_kept_snapshot_shows_one_state_until_it_is_renewed(
    reader: Reader, writer: Writer
) -> None:
    """All reads see it, whatever is committed or forgotten meanwhile."""
    fill(writer, 3)
    reader.keep(True)
    assert reader.get("k0/0", None) is not None
    fill(writer, 2)
    writer.compact(4)
    assert reader.get("k3/0", None) is None
    assert reader.count(ALL, None) == 3
    assert reader.join(ALL, 0, b",", None, 0, 1 << 30).count == 3
    assert reader.range(ALL, 2, 0).revision == 2
    assert reader.events(0, None, 1 << 30)[1] == 3
    with pytest.raises(FutureRevision):
        reader.range(ALL, 5, 0)
    reader.renew()
    assert reader.get("k3/0", None) is not None
    assert reader.range(ALL, 5, 0).revision == 5
    with pytest.raises(Compacted):
        reader.range(ALL, 2, 0)


def test_a_reader_that_ceases_to_keep_sees_what_is_new(reader: Reader, writer: Writer) -> None:
    """As if it had never kept anything."""
    reader.keep(True)
    assert reader.count(ALL, None) == 0
    reader.renew()  # nothing kept is nothing to renew, the second time
    reader.renew()
    assert reader.events(0, None, 1 << 30)[1] == 0
    fill(writer, 1)
    reader.keep(False)
    assert reader.get("k0/0", None) is not None
    fill(writer, 1)
    assert reader.events(0, None, 1 << 30)[1] == 2


def test_a_kept_snapshot_is_what_a_checkpoint_waits_for(reader: Reader, writer: Writer) -> None:
    """And so it must be let go of."""
    fill(writer, 3)
    reader.keep(True)
    assert reader.get("k0/0", None) is not None
    fill(writer, 1)
    writer.connection.set_busy_timeout(0)
    assert writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE) != (0, 0)
    reader.keep(False)
    assert writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE) == (0, 0)


def test_a_snapshot_is_held_against_a_commit_while_somebody_reads(
    reader: Reader, writer: Writer
) -> None:
    """Once nobody has read for a while, the next reader is told that it may see too much."""
    reader.keep(True)

    def commit() -> int:
        reader.hold()
        fill(writer, 1)
        return writer.revision

    revision = commit()
    assert reader.apart
    assert reader.range(ALL, None, 0).revision == revision - 1
    reader.renew()
    for _ in range(UNREAD):
        revision = commit()
        assert reader.apart
        reader.renew()
    revision = commit()
    assert not reader.apart
    assert reader.range(ALL, None, 0).revision == revision
    reader.renew()
    assert reader.apart
    revision = commit()
    assert reader.apart
    assert reader.range(ALL, None, 0).revision == revision - 1


def test_a_reader_that_begins_to_keep_knows_nothing_of_commits_under_way(
    reader: Reader, writer: Writer
) -> None:
    """It was not told of them before."""
    assert not reader.apart
    fill(writer, 1)
    reader.keep(True)
    assert not reader.apart
    reader.renew()
    assert reader.apart
    reader.keep(False)
    assert not reader.apart


def test_a_snapshot_that_is_there_is_held(reader: Reader, writer: Writer) -> None:
    """Whatever was known of commits when it began, it is from before the one that is told of."""
    reader.keep(True)
    assert reader.range(ALL, None, 0).revision == 0
    assert not reader.apart
    reader.hold()
    fill(writer, 1)
    assert reader.apart
    assert reader.range(ALL, None, 0).revision == 0


def mapped_bytes(reader: Reader) -> int:
    """How much of the file is mapped at most."""
    return int(reader._connection.pragma("mmap_size"))


def test_the_file_is_mapped_while_there_are_reads_only(tmp_path: Path, writer: Writer) -> None:
    """Many of one snapshot; behind a commit it takes as many again."""
    reader = Reader(tmp_path / database.FILE_NAME, maps=True)
    try:
        reader.keep(True)
        for _ in range(2):
            for _ in range(MAPPED_FROM - 1):
                assert reader.get("k", None) is None
            assert mapped_bytes(reader) == 0
            reader.count(ALL, None)
            assert mapped_bytes(reader) == (MAPPED_BYTES if sys.maxsize > 1 << 32 else 0)
            reader.renew()
            assert mapped_bytes(reader) == 0
    finally:
        reader.close()


def resident_of(path: Path) -> int:
    """Bytes of a mapped file that count as memory of this process."""
    found = re.findall(
        rf"^\S+ \S+ \S+ \S+ \d+ +{path}\n(?:\S+: .*\n)*?Rss: +(\d+) kB",
        Path("/proc/self/smaps").read_text(),
        re.MULTILINE,
    )
    return sum(map(int, found)) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc/self/smaps")
def test_lists_leave_little_of_a_mapped_file_resident(tmp_path: Path, writer: Writer) -> None:
    """The file is mapped anew each time that lists have read so much of it."""
    path = tmp_path / database.FILE_NAME
    writer.begin(1000)
    for number in range(48):
        writer.create(f"k{number:02d}", Stamped(b"", b"x" * (1 << 20)))
    writer.commit()
    writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
    reader = Reader(path, maps=True)
    try:
        reader.keep(True)
        for _ in range(MAPPED_FROM):
            reader.get("k", None)
        keys, most = ALL, 0
        for _ in range(48):
            page = reader.join(keys, 0, b",", None, 1, 1 << 20)
            assert page.count == 1
            keys = keys.after(page.last_key)
            most = max(most, resident_of(path))
        assert most <= UNMAPPED_FROM + (2 << 20)
        assert most > UNMAPPED_FROM // 2  # else it was not mapped at all
    finally:
        reader.close()


def test_a_mapped_file_is_read_as_any_other(tmp_path: Path, writer: Writer) -> None:
    """Also behind checkpoints that make it longer, or shorter."""
    reader = Reader(tmp_path / database.FILE_NAME, maps=True)

    def count() -> int:
        """By a reader that has mapped the file."""
        reader.keep(True)
        for _ in range(MAPPED_FROM):
            reader.get("k", None)
        assert sys.maxsize < 1 << 32 or mapped_bytes(reader)
        found = reader.count(ALL, None)
        body = reader.join(ALL, 0, b",", None, 0, 1 << 30).body
        assert body.count(b"x") == 500 * found
        reader.keep(False)
        return found

    try:
        for round_ in range(3):
            fill(writer, 300)
            writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
            assert count() == 300 * (round_ + 1)
        writer.begin(2000)
        for item in reader.range(ALL, None, 0).items:
            writer.delete(item.key, item.revision)
        writer.commit()
        writer.compact(writer.revision)
        while writer.vacuum(1000):
            pass
        writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        assert count() == 0
        fill(writer, 10)
        assert count() == 10
    finally:
        reader.close()


def test_keys_of_the_past_are_counted_in_either_way(
    reader: Reader, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From what is there now and was done since, or from the history of the range."""
    fill(writer, 5)
    writer.begin(2000)
    writer.update("k0/0", VALUE, 1)
    writer.delete("k0/0", 6)
    writer.create("other", VALUE)
    writer.create("k0/0", VALUE)
    writer.delete("k2/2", 3)
    writer.commit()
    expected = [1, 2, 3, 4, 5, 5, 4, 4, 5, 4]
    for back in (1000, 0):
        monkeypatch.setattr("kubetrio.store.sqlite.reader.COUNTED_BACK", back)
        assert [reader.count(ALL, at) for at in range(1, 11)] == expected
    writer.compact(6)
    assert [reader.count(ALL, at) for at in range(6, 11)] == expected[5:]
    assert reader.count(ALL, None) == expected[-1]


def test_counting_some_stops_there(reader: Reader, writer: Writer) -> None:
    """So that nobody counts a long range to learn that it is long."""
    fill(writer, 5)
    assert [reader.count_some(ALL, most) for most in (0, 3, 5, 9)] == [0, 3, 5, 5]
    assert reader.count_some(Range.prefix("none"), 3) == 0


def test_a_reread_reads_the_file(reader: Reader, writer: Writer, tmp_path: Path) -> None:
    """What is remembered would hide that it cannot be read any more."""
    fill(writer, 1)
    writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE, wait=False)
    known = reader.get("k0/0", None)
    assert known is not None
    assert reader.reread("k0/0") == known
    path = tmp_path / database.FILE_NAME
    path.write_bytes(path.read_bytes()[: database.PAGE_BYTES] + b"\xa5" * 20 * database.PAGE_BYTES)
    assert reader.get("k0/0", None) == known
    with pytest.raises(apsw.CorruptError):
        reader.reread("k0/0")


@pytest.mark.parametrize("old", [False, True])
def test_a_page_reads_no_value_that_it_does_not_have(
    reader: Reader, writer: Writer, old: bool
) -> None:
    """That of the next key may be a megabyte; whether there is one is told all the same."""
    fill(writer, 3)
    at = writer.revision if old else None
    if old:
        fill(writer, 1)
    values: list[bytes] = []

    def note(_: apsw.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
        values.extend(column for column in row if isinstance(column, bytes))
        return row

    reader._connection.row_trace = note
    keys = ALL
    for left in (2, 1, 0):
        values.clear()
        page = reader.range(keys, at, 100, 500)
        assert (len(page.items), len(values), page.more) == (1, 1, left > 0)
        keys = keys.after(page.items[0].key)
    assert reader.range(ALL, at, 2, 10_000).more
    assert not reader.range(ALL, at, 3, 10_000).more
