"""Times to live in the SQLite store: over restarts and jumps of the clock, and in steps."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import Env, seeded
from kubetrio.store.model import Event, Range, Stamped
from kubetrio.store.sqlite import leases
from kubetrio.store.sqlite import statements as sql
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.writer import Writer

ALL = Range("\x01", "\U0010ffff")
VALUE = Stamped(b"<", b">")
CONFIG = StoreConfig(durability="normal")
YEAR_S = 365 * 86400.0


def at_another_time(by: float) -> Env:
    """An environment whose wall clock is set otherwise."""
    env = seeded(1)
    return replace(env, now=lambda: env.now() + by)


@pytest.mark.parametrize("ahead", [0.0, YEAR_S, -YEAR_S])
async def test_a_restart_keeps_what_is_left(
    tmp_path: Path, autojump_clock: MockClock, ahead: float
) -> None:
    """Wherever the wall clock is set meanwhile: no sooner, no later."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await store.create("lease", VALUE, ttl_s=60)
        await trio.sleep(40)
        await store.create("newest", VALUE)
    async with open_store(tmp_path, CONFIG, at_another_time(ahead)) as store:
        await trio.sleep(18)
        assert await store.count(ALL) == 2
        await trio.sleep(4)
        assert await store.count(ALL) == 1


async def test_a_crash_keeps_them_too(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A lease is written with its value."""

    async def crash() -> None:
        async with open_store(tmp_path, CONFIG, seeded(1)) as store:
            await store.create("lease", VALUE, ttl_s=60)
            raise ValueError

    with pytest.raises(ExceptionGroup):
        await crash()
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await trio.sleep(62)
        assert await store.count(ALL) == 0


async def test_many_go_in_steps(tmp_path: Path, autojump_clock: MockClock) -> None:
    """So many in a commit at most, and all of them."""
    sizes: list[int] = []

    def note(events: Sequence[Event]) -> None:
        sizes.append(len(events))

    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        for number in range(leases.AT_ONCE + 10):
            await store.create(f"lease/{number}", VALUE, ttl_s=60)
        store.on_commit(note)
        await trio.sleep(62)
        assert sizes == [leases.AT_ONCE, 10]
        assert await store.count(ALL) == 0


async def test_large_ones_go_in_smaller_steps(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A transaction on the event loop does not write megabytes."""
    sizes: list[int] = []
    large = Stamped(b"x" * 60_000, b"")
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        for number in range(5):
            await store.create(f"lease/{number}", large, ttl_s=60)
        store.on_commit(lambda events: sizes.append(len(events)))
        await trio.sleep(62)
        assert sizes == [2, 2, 1]


async def test_the_shorter_one_is_not_waited_for_by_the_longer(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The task that sleeps until the first is over is told of an earlier one."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await store.create("long", VALUE, ttl_s=1000)
        await trio.sleep(1)
        await store.create("short", VALUE, ttl_s=10)
        await trio.sleep(12)
        assert [item.key for item in (await store.range(ALL)).items] == ["long"]


async def test_leases_leave_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Those of older revisions of a key go when they are due; without a lease there is no row."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await store.create("plain", VALUE)
        made = await store.create("lease", VALUE, ttl_s=60)
        made = await store.update("lease", VALUE, expected=made.revision, ttl_s=60)
        await store.update("lease", VALUE, expected=made.revision)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as db:
        assert db.execute("SELECT count(*) FROM lease").fetchone() == (2,)
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await trio.sleep(62)
        assert await store.count(ALL) == 2
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as db:
        assert db.execute("SELECT count(*) FROM lease").fetchone() == (0,)


def test_a_file_of_before_is_opened(tmp_path: Path) -> None:
    """Its schema is brought to this version, and what is in it stays."""
    path = tmp_path / FILE_NAME
    writer = open_writer(path, Writer, now_ms=1000)
    writer.begin(1000)
    writer.create("old", VALUE)
    writer.commit()
    writer.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE lease")
        for table in ("revision", "current", "history"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        db.execute("DELETE FROM migration WHERE version > 1")
    writer = open_writer(path, Writer, now_ms=2000)
    writer.begin(2000)
    _, events = writer.update("old", VALUE, 1, 500)
    writer.commit()
    assert [event.previous for event in events] == [b"<1>"]
    assert writer.next_lease() == 2500
    writer.close()
    with closing(sqlite3.connect(path)) as db:
        versions = db.execute("SELECT version, at FROM migration ORDER BY version").fetchall()
    later = [(version, 2000) for version in range(2, sql.SCHEMA_VERSION + 1)]
    assert versions == [(1, 1000), *later]
