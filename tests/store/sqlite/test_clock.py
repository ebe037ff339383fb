"""The clock of revisions: neither stops nor jumps, whatever the wall clock does."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import Env, seeded
from kubetrio.store.model import Stamped
from kubetrio.store.sqlite.clock import Clock
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.inspection import Snapshot
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig

T = TypeVar("T")
Args = TypeVarTuple("Args")

NOW = 1e9
YEAR_S = 365 * 86400.0
VALUE = Stamped(b"", b"x")
CONFIG = StoreConfig(durability="normal", history_window_s=300, compact_interval_s=60)


class Wall:
    """A wall clock that can be set: at once, or at a later look or blocking call of the store."""

    def __init__(self) -> None:
        self.begun = trio.current_time()
        self.ahead = 0.0
        self.left = -1
        self.later = 0.0

    def env(self) -> Env:
        inline = seeded(1)

        async def run_blocking(fn: Callable[[*Args], T], *args: *Args) -> T:
            self.counted()
            return await inline.run_blocking(fn, *args)

        return replace(inline, now=self.now, run_blocking=run_blocking)

    def now(self) -> float:
        self.counted()
        return NOW + self.ahead + trio.current_time() - self.begun

    def counted(self) -> None:
        if not self.left:
            self.ahead = self.later
        self.left -= 1


async def churn(store: SqliteStore, revisions: int) -> None:
    for _ in range(revisions):
        found = await store.get("k")
        if found is None:
            await store.create("k", VALUE)
        else:
            await store.update("k", VALUE, expected=found.revision)


async def test_the_clock_begins_where_the_newest_revision_is(mock_clock: MockClock) -> None:
    """The wall clock counts for a new store only."""
    assert Clock(0, 5000).now_ms() == 5000
    clock = Clock(7000, 5000)
    mock_clock.jump(2.0)
    assert clock.now_ms() == 9000


@pytest.mark.parametrize("ahead", [YEAR_S, -YEAR_S])
async def test_a_jump_does_not_make_revisions_older(
    tmp_path: Path, autojump_clock: MockClock, ahead: float
) -> None:
    """What is younger than the window stays, however far the wall clock is set."""
    wall = Wall()
    async with open_store(tmp_path, CONFIG, wall.env()) as store:
        await churn(store, 10)
        wall.ahead = ahead
        await trio.sleep(200)
        assert store.compacted == 0
        await trio.sleep(200)
        assert store.compacted == 10


@pytest.mark.parametrize("jumps", [(YEAR_S, 0.0), (-YEAR_S, 0.0), (YEAR_S, -YEAR_S)])
async def test_compaction_goes_on_behind_a_jump_there_and_back(
    tmp_path: Path, autojump_clock: MockClock, jumps: Sequence[float]
) -> None:
    """Revisions written meanwhile go when they are older than the window, not a year later."""
    wall = Wall()
    async with open_store(tmp_path, CONFIG, wall.env()) as store:
        for ahead in jumps:
            wall.ahead = ahead
            await churn(store, 10)
            await trio.sleep(1)
        await trio.sleep(400)
        assert store.compacted == store.revision


@pytest.mark.parametrize("jumps", [(YEAR_S, 0.0), (0.0, YEAR_S), (0.0, -YEAR_S)])
async def test_a_jump_between_two_runs_neither_stops_compaction_nor_hurries_it(
    tmp_path: Path, autojump_clock: MockClock, jumps: Sequence[float]
) -> None:
    """The second run goes on where the first one ended."""
    wall = Wall()
    wall.ahead = jumps[0]
    async with open_store(tmp_path, CONFIG, wall.env()) as store:
        await churn(store, 10)
        await trio.sleep(100)
    wall.ahead = jumps[1]
    async with open_store(tmp_path, CONFIG, wall.env()) as store:
        await churn(store, 10)
        await trio.sleep(200)
        assert store.compacted == 0
        await trio.sleep(250)
        assert store.compacted == 20


async def test_short_runs_add_up(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A server that is started again and again compacts, though no run is as long as the window."""
    compacted = 0
    for _ in range(10):
        async with open_store(tmp_path, CONFIG, seeded(1)) as store:
            await churn(store, 5)
            await trio.sleep(70)
            await churn(store, 5)
            compacted = store.compacted
    assert compacted > 0


async def test_times_of_former_versions_do_not_stop_compaction(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """They wrote down what the wall clock said while it was ahead."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await churn(store, 200)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as db, db:
        db.execute("UPDATE revision SET at = at + 31536000000 WHERE rev <= 150")
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await trio.sleep(400)
        assert store.compacted == 200


async def two_lives(directory: Path, wall: Wall) -> list[object]:
    """All that can be told of a store behind work, checkpoints, compactions, an end and a start."""
    config = replace(CONFIG, durability="full", checkpoint_pages=4)
    told: list[object] = []
    for _ in range(2):
        async with open_store(directory, config, wall.env()) as store:
            await churn(store, 4)
            await trio.sleep(200)
            told.append(store.compacted)
            await churn(store, 4)
            await trio.sleep(200)
            told.append(store.compacted)
    with closing(sqlite3.connect(directory / FILE_NAME)) as db:
        told.append(db.execute("SELECT rev, key, at FROM revision").fetchall())
    return told


async def test_a_clock_that_is_set_in_the_middle_of_anything_changes_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """By a year, or back to 1970: before a sync, a step of compaction, a checkpoint, at an end.

    But for the start of a new store, which begins with what the clock says.
    """
    wall = Wall()
    expected = await two_lives(tmp_path / "undisturbed", wall)
    looks = -1 - wall.left
    assert looks > 30
    for number in range(2, looks):
        wall = Wall()
        wall.left, wall.later = number, (YEAR_S, -YEAR_S, -NOW)[number % 3]
        assert await two_lives(tmp_path / str(number), wall) == expected
        assert wall.ahead


async def test_what_is_said_of_a_revision_is_the_time_at_which_it_was_written(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Whether the server stood still for a year before, or its clock was set meanwhile."""
    wall, made = Wall(), list[int]()

    async def write(store: SqliteStore) -> None:
        await churn(store, 1)
        made.append(int((NOW + wall.ahead + trio.current_time() - wall.begun) * 1000))

    async with open_store(tmp_path, CONFIG, wall.env()) as store:
        await write(store)
        wall.ahead = 500.0
        await trio.sleep(3)
        await write(store)
    wall.ahead = YEAR_S
    async with open_store(tmp_path, CONFIG, wall.env()) as store:
        await trio.sleep(10)
        await write(store)
        wall.ahead = -YEAR_S
        await write(store)
        await write(store)
    found = Snapshot(tmp_path / FILE_NAME)
    times = [past.at_ms for past in await found.revisions_of("k")]
    found.close()
    assert all(abs(told - true) < 1500 for told, true in zip(times, made, strict=True)), (
        times,
        made,
    )


async def test_notes_of_the_wall_clock_go_with_the_history_that_they_are_of(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A store that is started ten thousand times keeps a few."""
    for _ in range(5):
        async with open_store(tmp_path, CONFIG, Wall().env()) as store:
            await churn(store, 2)
            await store.compact(store.revision)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        count = file.execute("SELECT count(*) FROM meta WHERE name LIKE 'wall:%'").fetchone()[0]
    assert count <= 2
