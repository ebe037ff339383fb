"""The journal: what is read is what was written, up to the first frame that is not whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.model import EventType, Range, Stamped
from kubetrio.store.sqlite.copies import copy, settled, shrink
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.inspection import inspect
from kubetrio.store.sqlite.journal import HEADER_BYTES, Journal, beside, read
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig

CONFIG = StoreConfig(journal_bytes=256 * 1024, compact_interval_s=0, reserve_bytes=0)
KEYS = Range.prefix("k")
SIZE = 64 * 1024

values = st.binary(max_size=400)
batches = st.lists(st.lists(values, min_size=1, max_size=4), max_size=8)


class Leave(Exception):
    """Leaves `open_store` as a failure does."""


def value(text: str) -> Stamped:
    return Stamped(b'{"rev":', b',"text":"%b"}' % text.encode())


def written(path: Path, batches: Sequence[Sequence[bytes]], base: int = 7) -> Journal:
    """A journal with a frame for each batch; each write replaces the one before it."""
    journal = Journal(path, SIZE, base, 0)
    revision, before = base, b""
    for batch in batches:
        for one in batch:
            done = EventType.UPDATED if before else EventType.CREATED
            journal.note(done, 5, "k", one, -1, (revision, before), 0)
            revision, before = revision + 1, one
        assert journal.fits
        journal.write()
    return journal


def found(path: Path) -> list[bytes]:
    """The values that are read, each unpacked against the one before it."""
    out: list[bytes] = []
    journaled = read(path)
    assert journaled is not None
    for record in journaled.records:
        if record.type is EventType.CREATED:
            out.append(record.key_and_value()[1])
        else:
            out.append(record.value(out[-1]))
    return out


@settings(max_examples=60, deadline=None)
@given(batches, st.data())
def test_a_torn_end_leaves_what_was_whole(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[bytes]],
    data: st.DataObject,
) -> None:
    """Cut off or overwritten anywhere, the frames before are there, and nothing of the rest."""
    path = tmp_path_factory.mktemp("torn") / "j"
    journal = written(path, batches)
    assert found(path) == [one for batch in batches for one in batch]
    assert journal.newest == 7 + sum(map(len, batches))
    content = path.read_bytes()
    ends = [HEADER_BYTES]
    for count in range(len(batches)):
        ends.append(HEADER_BYTES + written(path, batches[: count + 1]).used)
    at = data.draw(st.integers(HEADER_BYTES, ends[-1]))
    whole = [
        one for batch, end in zip(batches, ends[1:], strict=True) if end <= at for one in batch
    ]
    for torn in (content[:at], content[:at] + bytes(len(content) - at)):
        path.write_bytes(torn)
        assert found(path)[: len(whole)] == whole
        # Zeros may be what stood there.
        assert len(found(path)) == len(whole) or content[at : ends[-1]].strip(b"\0") == b""


def test_what_an_older_journal_left_is_not_read(tmp_path: Path) -> None:
    """Though its frames are whole, and stand where the next one would."""
    journal = written(tmp_path / "j", [[b"one"], [b"two"], [b"three"]])
    journal.restart(10, 3)
    assert read(tmp_path / "j") == (10, 3, [])
    journal.note(EventType.CREATED, 5, "k", b"one", -1, (0, b""), 0)
    journal.write()  # as long as the first frame was
    assert found(tmp_path / "j") == [b"one"]


def test_a_file_without_a_header_is_no_journal(tmp_path: Path) -> None:
    """The first write of a fresh one did not get to the disk."""
    (tmp_path / "j").write_bytes(bytes(SIZE))
    assert read(tmp_path / "j") is None
    assert read(tmp_path / "none") is None


def test_a_journal_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    """Taken for none, its records would be lost; the file is left as it is."""
    path = tmp_path / "journal"
    written(path, [[b"one"]]).close()
    path.write_bytes(b"ktjrnl02" + path.read_bytes()[8:])
    content = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match=r"kubetrio.journal is of a newer kubetrio: start"):
        read(path)
    assert path.read_bytes() == content


def test_an_update_takes_few_bytes(tmp_path: Path) -> None:
    """What does not change is not written again."""
    first = b'{"kind":"ConfigMap","data":{"n":"1","text":"%b"}}' % bytes(range(65, 91)) * 20
    journal = written(tmp_path / "j", [[first]])
    before = journal.used
    journal.note(EventType.UPDATED, 5, "k", first.replace(b'"1"', b'"2"'), -1, (8, first), 0)
    journal.write()
    assert journal.used - before < 100 < len(first)


async def fill(store: SqliteStore) -> int:
    """Some of each: created, updated, deleted; the newest revision."""
    first = (await store.create("k/a", value("1"))).revision
    await store.create("k/b", value("x" * 1000))
    gone = (await store.create("k/c", value(""))).revision
    await store.update("k/a", value("2"), expected=first)
    return await store.delete("k/c", expected=gone)


async def crashed(directory: Path, config: StoreConfig = CONFIG) -> int:
    """A directory as a killed server leaves it; its newest revision."""
    revision = 0
    try:
        async with open_store(directory, config, seeded(1)) as store:
            revision = await fill(store)
            raise Leave
    except* Leave:
        pass
    return revision


@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_what_was_answered_is_there_after_a_crash(tmp_path: Path, durability: str) -> None:
    """The database has none of it yet; with or without a journal later."""
    config = StoreConfig(
        journal_bytes=256 * 1024, compact_interval_s=0, reserve_bytes=0, durability=durability
    )
    revision = await crashed(tmp_path, config)
    with inspect(tmp_path / FILE_NAME) as seen:
        assert seen.revision == 0
    async with open_store(tmp_path, StoreConfig(reserve_bytes=0), seeded(1)) as store:
        assert store.revision == revision
        items = (await store.range(KEYS)).items
        assert [(item.key, item.revision) for item in items] == [("k/a", 4), ("k/b", 2)]
        assert not beside(tmp_path / FILE_NAME).exists()


async def test_a_journal_that_is_gone_is_missed(tmp_path: Path) -> None:
    """As the write-ahead log is: what was answered is told to be lost."""
    await crashed(tmp_path)
    beside(tmp_path / FILE_NAME).unlink()
    with pytest.raises(DatabaseUnusable, match="5 revisions are lost"):
        async with open_store(tmp_path, CONFIG, seeded(1)):
            pass


async def test_a_journal_of_another_database_is_refused(tmp_path: Path) -> None:
    """Its revisions do not follow, or do not replace what is there."""
    ours, other = tmp_path / "ours", tmp_path / "other"
    await crashed(other)
    async with open_store(ours, CONFIG, seeded(1)) as store:
        await store.create("k/else", value(""))
    beside(other / FILE_NAME).rename(beside(ours / FILE_NAME))
    with pytest.raises(DatabaseUnusable, match="move the journal away"):
        async with open_store(ours, CONFIG, seeded(1)):
            pass


async def test_an_orderly_stop_leaves_nothing_in_the_journal(tmp_path: Path) -> None:
    """The database is everything; the file keeps its room until a start without a journal."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await fill(store)
    journaled = read(beside(tmp_path / FILE_NAME))
    assert journaled is not None
    assert (journaled.base, journaled.records) == (5, [])
    assert beside(tmp_path / FILE_NAME).stat().st_size == CONFIG.journal_bytes
    with inspect(tmp_path / FILE_NAME) as seen:
        assert seen.revision == 5
    async with open_store(tmp_path, StoreConfig(reserve_bytes=0), seeded(1)):
        assert not beside(tmp_path / FILE_NAME).exists()


async def test_a_file_is_written_over(tmp_path: Path) -> None:
    """What it had is not read again, also where the new one says the same of its database."""
    path = tmp_path / "j"
    for size in (SIZE, SIZE, 2 * SIZE):
        journal = Journal(path, size, 7, 0)
        assert journal.held().records == []
        journal.note(EventType.CREATED, 5, "k", b"one", -1, (0, b""), 0)
        journal.write()
        journal.note(EventType.CREATED, 5, "l", b"two", -1, (0, b""), 0)
        journal.write()
        journal.close()
        assert path.stat().st_size == size


async def test_copies_have_what_the_journal_has(tmp_path: Path) -> None:
    """Those of a server that runs, and of one that was killed; both files stay as they are."""
    running = tmp_path / "running"
    async with open_store(running, CONFIG, seeded(1)) as store:
        newest = await fill(store)
        copied = copy(running / FILE_NAME, tmp_path / "copy", lambda _done, _of: None)
        assert copied.revision == newest
        with settled(running / FILE_NAME) as path, inspect(path) as seen:
            assert seen.value("k/a") == b'{"rev":4,"text":"2"}'
            assert list(seen.faults(lambda: None)) == []
        await store.create("k/more", value(""))
    killed = tmp_path / "killed"
    revision = await crashed(killed)
    with settled(killed / FILE_NAME) as path, inspect(path) as seen:
        assert seen.revision == revision
    done = shrink(killed, 0.0, now_ms=0, tell=lambda _done, _of: None)
    assert done.compacted > 0


async def test_reads_and_flushes_take_turns(tmp_path: Path) -> None:
    """Lists, counts and events beside writers that fill the journal again and again."""
    config = StoreConfig(journal_bytes=64 * 1024, compact_interval_s=0, reserve_bytes=0)
    async with open_store(tmp_path, config, seeded(1)) as store:
        for number in range(200):
            await store.create(f"k/{number:03}", value("x" * 50))

        async def write(writer: int) -> None:
            for number in range(writer, 200, 4):
                key = f"k/{number:03}"
                found = await store.get(key)
                assert found is not None
                await store.update(key, value("y" * 2000), expected=found.revision)

        async def look() -> None:
            for _ in range(50):
                assert await store.count(KEYS) == 200
                listed = await store.range(KEYS)
                assert len(listed.items) == 200
                assert max(item.revision for item in listed.items) <= listed.revision
                await store.events(after=store.compacted, max_bytes=1 << 20)

        async with trio.open_nursery() as nursery:
            for writer in range(4):
                nursery.start_soon(write, writer)
            nursery.start_soon(look)
        assert all(b"yyy" in item.value for item in (await store.range(KEYS)).items)
    with inspect(tmp_path / FILE_NAME) as seen:
        assert list(seen.faults(lambda: None)) == []


async def test_history_that_was_compacted_stays_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """After a crash too: a client that was told 410 is not told otherwise."""
    try:
        async with open_store(tmp_path, CONFIG, seeded(1)) as store:
            await fill(store)
            await store.compact(3)
            raise Leave
    except* Leave:
        pass
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        assert store.compacted == 3
