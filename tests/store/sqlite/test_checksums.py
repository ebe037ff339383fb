"""Bit rot is found and named: whatever is served was written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio import __version__
from kubetrio.env import seeded
from kubetrio.store.errors import ChecksumMismatch, Compacted, FutureRevision
from kubetrio.store.model import Event, EventType, JoinResult, KeyValue, Range, Stamped
from kubetrio.store.sqlite import checksums, database
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.inspection import inspect
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.reader import Reader
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.writer import Writer

ALL = Range("", "\U0010ffff")
KEYS = Range.prefix("/maps/")
CONFIG = StoreConfig(compact_interval_s=0, reserve_bytes=0)
LARGE = 6000  # bytes of a value that has pages of its own
SKIP = 4  # bytes that the list leaves out of each value

Read = Callable[[Reader], object]


class Written(NamedTuple):
    """A database, and what was written to it.

    Args:
        data: the file.
        states: value of a key at a revision, of creations and updates.
        events: by revision.
    """

    data: bytes
    states: dict[tuple[str, int], bytes]
    events: dict[int, Event]


def text(number: int, size: int = 40) -> Stamped:
    return Stamped(
        b"same" + b"<%d:" % number + bytes(97 + (number + i) % 26 for i in range(size)), b">"
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Keys that were created, updated and deleted, and a value of several pages."""
    path = tmp_path_factory.mktemp("written") / database.FILE_NAME
    writer = open_writer(path, Writer, now_ms=1000)
    writer.connection.pragma("secure_delete", 1)  # else room that is free has former rows
    told: list[Event] = []
    writer.begin(1000)
    for number in range(5):
        told += writer.create(f"/maps/a{number}", text(number, LARGE if number == 3 else 40))[1]
    for key, expected in (("/maps/a1", 2), ("/maps/a2", 3), ("/maps/a1", 6)):
        told += writer.update(key, text(10 + expected), expected)[1]
    told += writer.delete("/maps/a0", 1, text(99))[1]
    writer.commit()
    writer.close()
    states = {(e.key, e.revision): e.value for e in told if e.type is not EventType.DELETED}
    return Written(path.read_bytes(), states, {event.revision: event for event in told})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flipped") / database.FILE_NAME


def places_of(data: bytes, part: bytes) -> list[int]:
    """Where some bytes stand in a file."""
    places, at = list[int](), data.find(part)
    while at >= 0:
        places.append(at)
        at = data.find(part, at + 1)
    return places


def flipped(data: bytes, bit: int) -> bytes:
    """A file with one bit changed."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def states_of(answer: object) -> Iterator[KeyValue]:
    """What a read has served."""
    if isinstance(answer, KeyValue):
        yield answer
    elif isinstance(answer, list):
        yield from answer


def read_all(reader: Reader, written: Written) -> Iterator[Read]:
    """Each way to read each value."""
    for key in {key for key, _ in written.states}:
        yield lambda reader, key=key: reader.get(key, None)
        for at in range(1, 10):
            yield lambda reader, key=key, at=at: reader.get(key, at)
    for at in (None, *range(1, 10)):
        yield lambda reader, at=at: reader.range(KEYS, at, 0).items
        yield lambda reader, at=at: reader.range(KEYS, at, 2, 1 << 20).items
        yield lambda reader, at=at: reader.join(KEYS, SKIP, b",", at, 0, 1 << 30)
    for after in range(9):
        yield lambda reader, after=after: reader.events(after, None, 1 << 30)[0]


def check(path: Path, written: Written) -> set[tuple[str, int]]:
    """See that whatever can be read was written; returns what errors have named."""
    named: set[tuple[str, int]] = set()
    try:
        reader = Reader(path, frozen=True)
    except (apsw.Error, UnicodeDecodeError):
        return named
    try:
        for read in read_all(reader, written):
            try:
                answer = read(reader)
            except ChecksumMismatch as error:
                named.add((error.key, error.revision))
                continue
            except (apsw.Error, UnicodeDecodeError, Compacted, FutureRevision):
                continue
            _was_written(answer, written)
    finally:
        reader.close()
    return named


def _was_written(answer: object, written: Written) -> None:
    if isinstance(answer, list) and answer and isinstance(answer[0], Event):
        for event in answer:
            assert event == written.events[event.revision]
    elif isinstance(answer, KeyValue | list):
        for item in states_of(answer):
            assert item.value == written.states[item.key, item.revision]
    elif isinstance(answer, JoinResult):
        cut = {value[SKIP:] for value in written.states.values()}
        assert set(answer.body.split(b",")) <= cut | {b""}


def faults(path: Path) -> list[str]:
    """What `kubetrio verify` says."""
    told: list[str] = []
    try:
        with inspect(path) as seen:
            told += [f"{fault.where}: {fault.what}" for fault in seen.faults(lambda: None)]
            told += [
                f"{row.key} at revision {row.revision}" for row in seen.rows() if not row.intact
            ]
    except DatabaseUnusable as error:
        told.append(str(error))
    return told


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_flipped_bit_of_a_value_is_named_and_never_served(
    written: Written, place: Path, data: st.DataObject
) -> None:
    """By each read of the object, with its key and the revision that wrote the value."""
    (key, revision), value = data.draw(st.sampled_from(sorted(written.states.items())))
    middle = value[1:40]  # of a large value, what stands before its other pages
    (at,) = places_of(written.data, middle)
    bit = data.draw(st.integers(at * 8, (at + len(middle)) * 8 - 1))
    place.write_bytes(flipped(written.data, bit))
    assert (key, revision) in check(place, written)
    assert f"{key} at revision {revision}" in faults(place)


@pytest.mark.parametrize("first", range(5))
def test_a_flipped_bit_of_a_key_is_found_and_serves_nothing_else(
    written: Written, place: Path, first: int
) -> None:
    """In each of the three tables: no key gets the value of another, and verify finds it."""
    key = f"/maps/a{first}".encode()
    for at in places_of(written.data, key):
        for bit in range(8 * at + first, 8 * (at + len(key)), 23):
            place.write_bytes(flipped(written.data, bit))
            check(place, written)
            assert faults(place), bit


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_whatever_bit_is_flipped_what_is_served_was_written(
    written: Written, place: Path, data: st.DataObject
) -> None:
    """Anywhere behind the header of the file: lengths, types, revisions, pointers, free room."""
    bit = data.draw(st.integers(100 * 8, len(written.data) * 8 - 1))
    place.write_bytes(flipped(written.data, bit))
    check(place, written)


def test_a_sound_file_has_no_faults(written: Written, place: Path) -> None:
    """And all of its reads are answered."""
    place.write_bytes(written.data)
    assert check(place, written) == set()
    assert faults(place) == []


def test_a_sound_list_is_joined_in_one_call(
    written: Written, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row by row takes three times as long, and is for what is damaged."""
    place.write_bytes(written.data)

    def refuse(*_: object) -> None:
        raise AssertionError("read row by row")

    reader = Reader(place)
    monkeypatch.setattr(reader, "range", refuse)
    for at in (None, 3):
        assert reader.join(KEYS, SKIP, b",", at, 0, 1 << 20).count
    reader.close()


def test_a_row_that_leads_to_an_older_revision_is_found(written: Written, place: Path) -> None:
    """The older value is whole, and not what is there now."""
    place.write_bytes(written.data)
    connection = apsw.Connection(str(place))
    connection.execute("UPDATE current SET rev = 2 WHERE key = '/maps/a1'")
    connection.close()
    reader = Reader(place)
    with pytest.raises(ChecksumMismatch):
        reader.get("/maps/a1", None)
    with pytest.raises(ChecksumMismatch):
        reader.join(KEYS, 0, b",", None, 0, 1 << 20)
    reader.close()


def test_values_without_a_checksum_are_read(written: Written, place: Path) -> None:
    """A former release wrote them; what replaces them has one."""
    place.write_bytes(written.data)
    connection = apsw.Connection(str(place))
    for table in ("revision", "current", "history"):
        connection.execute(f"UPDATE {table} SET checksum = NULL")
    connection.close()
    assert check(place, written) == set()
    writer = open_writer(place, Writer, now_ms=1000)
    writer.begin(1000)
    writer.update("/maps/a4", text(50), 5)
    writer.commit()
    writer.close()
    assert faults(place) == []
    noted = "SELECT checksum IS NULL FROM revision ORDER BY rev DESC LIMIT 2"
    connection = apsw.Connection(str(place))
    assert connection.execute(noted).fetchall() == [(0,), (1,)]
    connection.close()


def test_a_database_without_the_columns_is_read(written: Written, place: Path) -> None:
    """Where nothing may be changed, so that there is no migration."""
    place.write_bytes(written.data)
    connection = apsw.Connection(str(place))
    for table in ("revision", "current", "history"):
        connection.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
    connection.execute("DELETE FROM migration WHERE version >= ?", (sql.CHECKSUMS_SINCE,))
    connection.pragma("wal_checkpoint", "TRUNCATE")
    connection.close()
    assert check(place, written) == set()
    assert faults(place) == []


@pytest.mark.parametrize("wrong", [None, "text", 7, 1.5])
def test_a_value_of_another_type_is_damaged(wrong: object) -> None:
    """Its row says so where a bit of its head was flipped."""
    assert not checksums.is_intact(None, wrong, 1, 1, None)  # type: ignore[arg-type]
    assert not checksums.is_intact(5, b"x", wrong, wrong, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("journal", [0, 64 * 1024])
async def test_the_store_refuses_what_is_damaged_and_counts_it(
    tmp_path: Path, journal: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Reads and writes of the object; those of others go on."""
    config = dataclasses.replace(CONFIG, journal_bytes=journal)
    async with open_store(tmp_path, config, seeded(1)) as store:
        for number in range(3):
            await store.create(f"/maps/a{number}", text(number), ttl_s=0.0)
    path = tmp_path / database.FILE_NAME
    (at,) = places_of(path.read_bytes(), text(1).at(2)[:30])
    path.write_bytes(flipped(path.read_bytes(), 8 * at + 77))
    async with open_store(tmp_path, config, seeded(1)) as store:
        for ask in (
            lambda: store.get("/maps/a1"),
            lambda: store.range(KEYS),
            lambda: store.range(KEYS, limit=2),
            lambda: store.join(KEYS, skip=0, separator=b",", max_bytes=1 << 20),
            lambda: store.events(after=0, max_bytes=1 << 20),
            lambda: store.update("/maps/a1", text(4), expected=2),
            lambda: store.delete("/maps/a1", expected=2),
        ):
            with pytest.raises(ChecksumMismatch, match="/maps/a1 at revision 2 is damaged") as told:
                await ask()
            assert told.value.key == "/maps/a1"
        assert damaged_values(store) == 1
        named = [each for each in caplog.records if "damaged" in each.getMessage()]
        assert len(named) == 1
        for number in (0, 2):
            await store.update(f"/maps/a{number}", text(7), expected=number + 1)
        assert store.revision == 5


async def test_a_damaged_value_outlives_its_time(tmp_path: Path) -> None:
    """Its deletion would tell watchers what was never written; others go."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        for number in range(3):
            await store.create(f"/maps/a{number}", text(number), ttl_s=1.0)
    path = tmp_path / database.FILE_NAME
    (at,) = places_of(path.read_bytes(), text(1).at(2)[:30])
    path.write_bytes(flipped(path.read_bytes(), 8 * at + 77))
    writer = open_writer(path, Writer, now_ms=1000)
    writer.begin(10**15)
    _, events = writer.expire(10**15, 10, 1 << 20)
    writer.commit()
    assert [event.key for event in events] == ["/maps/a0", "/maps/a2"]
    assert writer.next_lease() is None
    writer.abandon()


@pytest.mark.parametrize("ask", [
    lambda reader: reader.range(KEYS, None, 0),
    lambda reader: reader.range(KEYS, None, 0, 1 << 20),
    lambda reader: reader.range(KEYS, 5, 0),
    lambda reader: reader.join(KEYS, SKIP, b",", None, 0, 1 << 20),
    lambda reader: reader.events(0, None, 1 << 20),
])  # fmt: skip
@pytest.mark.parametrize("part", ["value", "key"])
def test_a_reader_that_met_damage_sees_what_is_written_later(
    written: Written, tmp_path: Path, ask: Read, part: str
) -> None:
    """Errors hold on to what was read from; the snapshot ends all the same."""
    place = tmp_path / database.FILE_NAME
    place.write_bytes(written.data)
    connection = apsw.Connection(str(place))
    if part == "value":
        connection.execute("UPDATE revision SET value = x'00' WHERE rev = 5")
    else:
        for table in ("revision", "current"):
            connection.execute(
                f"UPDATE {table} SET key = cast(x'2f6d6170732f61e2' AS TEXT) WHERE rev = 5"
            )
    connection.close()
    writer = open_writer(place, Writer, now_ms=1000)
    reader = Reader(place)
    reader.keep(True)
    with pytest.raises(ChecksumMismatch) as kept:
        ask(reader)
    assert kept.value.revision == 5
    reader.hold()
    writer.begin(1000)
    writer.create("/maps/new", text(1))
    writer.commit()
    reader.renew()
    assert reader.get("/maps/new", None) is not None
    reader.close()
    writer.abandon()


NO_TEXT = "/maps/a\\xe2"


@pytest.mark.parametrize("journal", [0, 64 * 1024])
async def test_a_key_that_is_no_text_is_named(tmp_path: Path, journal: int) -> None:
    """By the ranges and the events that have it; the objects beside it are served."""
    config = dataclasses.replace(CONFIG, journal_bytes=journal)
    async with open_store(tmp_path, config, seeded(1)) as store:
        for number in range(3):
            await store.create(f"/maps/a{number}", text(number))
    connection = apsw.Connection(str(tmp_path / database.FILE_NAME))
    for table in ("revision", "current"):
        connection.execute(
            f"UPDATE {table} SET key = cast(x'2f6d6170732f61e2' AS TEXT) WHERE rev = 3"
        )
    connection.close()
    async with open_store(tmp_path, config, seeded(1)) as store:
        for ask in (
            lambda: store.range(KEYS),
            lambda: store.range(KEYS, limit=3, max_bytes=1 << 20),
            lambda: store.range(KEYS, at=3),
            lambda: store.join(KEYS, skip=0, separator=b",", max_bytes=1 << 20),
            lambda: store.join(KEYS, skip=0, separator=b",", at=3, max_bytes=1 << 20),
            lambda: store.events(after=0, max_bytes=1 << 20),
            lambda: store.events(after=0, keys=KEYS, max_bytes=1 << 20),
        ):
            with pytest.raises(ChecksumMismatch) as told:
                await ask()
            assert f"{NO_TEXT} at revision 3 is damaged" in str(told.value)
            assert told.value.key == ""  # it cannot be read around
        assert damaged_values(store) == 1
        assert len((await store.range(KEYS, limit=1)).items) == 1  # reads one more
        await store.update("/maps/a0", text(7), expected=1)
        assert (await store.events(after=3, max_bytes=1 << 20))[0][0].key == "/maps/a0"


def test_an_event_without_the_value_before_it_is_damaged(written: Written, tmp_path: Path) -> None:
    """A watcher would take an update for a creation."""
    place = tmp_path / database.FILE_NAME
    place.write_bytes(written.data)
    connection = apsw.Connection(str(place))
    connection.execute("DELETE FROM revision WHERE rev = 6")  # of /maps/a1, which 8 replaced
    connection.close()
    reader = Reader(place)
    assert [event.revision for event in reader.events(6, KEYS, 1)[0]] == [7]
    with pytest.raises(ChecksumMismatch, match="/maps/a1 at revision 6"):
        reader.events(7, KEYS, 1 << 20)
    reader.close()


@pytest.mark.parametrize("says", [
    "DELETE FROM meta WHERE name = 'compacted'",
    "UPDATE meta SET value = 10 WHERE name = 'compacted'",
    "UPDATE meta SET value = -1 WHERE name = 'compacted'",
])  # fmt: skip
def test_a_file_without_its_compacted_revision_is_refused(
    written: Written, tmp_path: Path, says: str
) -> None:
    """Watches would fail, or miss what was compacted; verify tells it too."""
    place = tmp_path / database.FILE_NAME
    place.write_bytes(written.data)
    connection = apsw.Connection(str(place))
    connection.execute(says)
    connection.close()
    with pytest.raises(DatabaseUnusable, match="up to which revision it is compacted"):
        open_writer(place, Writer, now_ms=1000)
    assert faults(place)


def test_a_damaged_note_of_a_release_does_no_harm(written: Written, tmp_path: Path) -> None:
    """It is for people who read; the file is opened and inspected all the same."""
    place = tmp_path / database.FILE_NAME
    place.write_bytes(written.data)
    connection = apsw.Connection(str(place))
    connection.execute(
        "UPDATE meta SET name = cast(x'72656c656173653af0' AS TEXT) WHERE name LIKE 'release:%'"
    )
    connection.close()
    with inspect(place) as seen:
        assert seen.release == "\\xf0"
    open_writer(place, Writer, now_ms=1000).close()
    assert faults(place) == []
    with inspect(place) as seen:
        assert seen.release == __version__


def damaged_values(store: SqliteStore) -> float:
    own = store.statistics().own
    return next(gauge.value for gauge in own if gauge.name == "kubetrio_storage_damaged_values")
