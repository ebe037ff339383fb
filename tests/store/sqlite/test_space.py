"""A full disk: what is taken and what is refused, what is said, and how it ends."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.harness.disk import Fault, FaultyDisk
from kubetrio.store.errors import StoreFull
from kubetrio.store.model import Range, Stamped
from kubetrio.store.sqlite import reserve
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.reserve import FILE_NAME, Reserve
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.space import LOOKS_EACH_S, SAID_EACH_S, Space

KEYS = Range.prefix("k")
CONFIG = StoreConfig(durability="normal", reserve_bytes=1 << 20)
BEGINS = "The disk is full"
ENDS = "There is room again"
VALUE = Stamped(b"", b"x" * 100)


class Disk:
    """A disk that can be filled: nothing is allocated, and SQLite may be refused each write."""

    def __init__(self, faulty: FaultyDisk, monkeypatch: pytest.MonkeyPatch) -> None:
        self._faulty = faulty
        self._full = False
        allocate = reserve.fallocate

        def fallocate(fd: int, begin: int, size: int) -> None:
            if self._full:
                raise OSError(errno.ENOSPC, "No space left on device")
            allocate(fd, begin, size)

        monkeypatch.setattr(reserve, "fallocate", fallocate)

    def fill(self, *, reserve_too: bool = False) -> None:
        """Leave no room; with or without what the reserve had."""
        self._full = True
        self._faulty.fault = Fault.FULL if reserve_too else Fault.NONE

    def clear(self) -> None:
        """Make room."""
        self._full = False
        self._faulty.fault = Fault.NONE


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    with FaultyDisk() as faulty:
        yield Disk(faulty, monkeypatch)


async def fill(store: SqliteStore, disk: Disk) -> None:
    """Have a creation find the disk full; then the reserve is what there is."""
    disk.fill(reserve_too=True)
    with pytest.raises(StoreFull):
        await store.create("k/found it", VALUE)
    disk.fill()


async def test_only_deletions_are_taken(
    tmp_path: Path, disk: Disk, autojump_clock: MockClock
) -> None:
    """And what leads to one; the rest is refused at once, and nothing of it is kept."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        for name in "abc":
            await store.create(f"k/{name}", VALUE)
        await fill(store, disk)
        assert store.statistics().refusing
        before = trio.current_time()
        with pytest.raises(StoreFull):
            await store.create("k/d", VALUE)
        with pytest.raises(StoreFull):
            await store.update("k/a", VALUE, expected=1)
        assert trio.current_time() == before
        assert (await store.freeing.update("k/a", VALUE, expected=1)).revision == 4
        assert await store.delete("k/a", expected=4) == 5
        assert [item.key for item in (await store.range(KEYS)).items] == ["k/b", "k/c"]


async def test_a_deletion_that_finds_the_disk_full_goes_through(
    tmp_path: Path, disk: Disk, autojump_clock: MockClock
) -> None:
    """The reserve is given up for it, and it is tried again."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await store.create("k/a", VALUE)
        disk.fill(reserve_too=True)

        async def give_up_the_reserve() -> None:
            while not store.statistics().refusing:
                await trio.lowlevel.checkpoint()
            disk.fill()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(give_up_the_reserve)
            await store.delete("k/a", expected=1)
        assert await store.get("k/a") is None


async def test_history_goes_for_room(tmp_path: Path, disk: Disk, autojump_clock: MockClock) -> None:
    """The past is worth less than a deletion."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        for name in "abc":
            await store.create(f"k/{name}", VALUE)
        await fill(store, disk)
        await store.delete("k/a", expected=1)
        await trio.sleep(LOOKS_EACH_S + 1)
        assert store.compacted == store.revision


async def test_it_ends_by_itself(tmp_path: Path, disk: Disk, autojump_clock: MockClock) -> None:
    """When there is room the reserve is made anew, and writes are taken."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await fill(store, disk)
        await trio.sleep(100)
        assert store.statistics().refusing
        disk.clear()
        await trio.sleep(LOOKS_EACH_S + 1)
        assert not store.statistics().refusing
        assert (tmp_path / FILE_NAME).stat().st_size == CONFIG.reserve_bytes
        await store.create("k/a", VALUE)


async def test_it_does_not_end_while_the_database_cannot_be_written(
    tmp_path: Path, disk: Disk, autojump_clock: MockClock
) -> None:
    """Room for the reserve alone is not enough."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await fill(store, disk)
        disk._full = False
        disk._faulty.fault = Fault.FULL
        await trio.sleep(LOOKS_EACH_S * 3)
        assert store.statistics().refusing
        disk.clear()


async def test_the_log_says_when_it_begins_and_ends_and_in_between(
    tmp_path: Path, disk: Disk, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """One line each, and one a minute, however many writes are refused."""
    caplog.set_level("INFO")
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await fill(store, disk)
        for _ in range(50):
            with pytest.raises(StoreFull):
                await store.create("k/a", VALUE)
        await trio.sleep(SAID_EACH_S * 3 - 1)
        disk.clear()
        await trio.sleep(LOOKS_EACH_S + 1)
    said = [record.getMessage() for record in caplog.records]
    assert len([text for text in said if text.startswith(BEGINS)]) == 1
    assert said.count("There is still no room") == 2
    assert said.count(ENDS) == 1


async def test_a_store_opens_on_a_full_disk(
    tmp_path: Path, disk: Disk, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It can be read, and deletions are taken, until there is room."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await store.create("k/a", VALUE)
        await store.create("k/b", VALUE)
    disk.fill()
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        assert caplog.text.count(BEGINS) == 1
        assert await store.get("k/a") is not None
        with pytest.raises(StoreFull):
            await store.create("k/c", VALUE)
        await store.delete("k/a", expected=1)
        disk.clear()
        await trio.sleep(LOOKS_EACH_S + 1)
        await store.create("k/c", VALUE)


async def test_a_store_opens_where_nothing_at_all_can_be_written(
    tmp_path: Path, disk: Disk, autojump_clock: MockClock
) -> None:
    """Not even the note that it is in use, which then comes with the first write."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await store.create("k/a", VALUE)
    disk.fill(reserve_too=True)
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        assert await store.get("k/a") is not None
        with pytest.raises(StoreFull):
            await store.delete("k/a", expected=1)
        disk.fill()
        await store.delete("k/a", expected=1)


async def test_a_full_disk_does_not_disturb_the_end(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """What cannot be written is said, and the next start finds all that was answered."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await store.create("k/a", VALUE)
        disk.fill(reserve_too=True)
    assert "Stopped as by a crash" in caplog.text
    disk.clear()
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        assert await store.get("k/a") is not None


async def test_other_failures_are_logged_once_a_minute(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite refuses writes although there is room: that is no full disk, and yet is said."""
    with FaultyDisk() as faulty:
        async with open_store(tmp_path, CONFIG, seeded(1)) as store:
            faulty.fault = Fault.FULL
            for _ in range(20):
                with pytest.raises(StoreFull):
                    await store.create("k/a", VALUE)
            assert not store.statistics().refusing
            faulty.fault = Fault.NONE
    assert caplog.text.count("A write failed") == 1


async def test_a_new_store_needs_room(tmp_path: Path, disk: Disk) -> None:
    """Where there is none the start ends with one line, and the next one begins anew."""
    disk.fill(reserve_too=True)
    with pytest.raises(DatabaseUnusable, match=r"cannot be made: .*full"):
        async with open_store(tmp_path, CONFIG, seeded(1)):
            pass
    disk.clear()
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        assert store.revision == 0


async def test_the_reserve_is_where_the_database_is(tmp_path: Path) -> None:
    """Which may be a link to another disk."""
    elsewhere, data = tmp_path / "elsewhere", tmp_path / "data"
    async with open_store(elsewhere, CONFIG, seeded(1)):
        pass
    (elsewhere / FILE_NAME).unlink()
    data.mkdir()
    (data / "kubetrio.db").symlink_to(elsewhere / "kubetrio.db")
    async with open_store(data, CONFIG, seeded(1)):
        assert (elsewhere / FILE_NAME).stat().st_size == CONFIG.reserve_bytes
        assert not (data / FILE_NAME).exists()


async def test_who_asks_while_room_is_made_waits_for_the_next_look(
    tmp_path: Path, disk: Disk, autojump_clock: MockClock
) -> None:
    """What is made already was measured without the value whose deletion found none."""
    database = tmp_path / "db"
    space = Space(Reserve(tmp_path, 1 << 20), database)
    space.opening()
    space.opened()
    lengths: list[int] = []

    async def make_room() -> bool:
        space.grow(0, 0)
        lengths.append(database.stat().st_size)
        await trio.sleep(1)
        return False

    async with trio.open_nursery() as nursery:
        nursery.start_soon(space.keep, make_room)
        space.exceeded(1)
        await trio.sleep(0.5)
        assert lengths == [0]
        await space.looked(10_000)
        assert lengths == [0, 10_000]
        nursery.cancel_scope.cancel()
    space.closed()
