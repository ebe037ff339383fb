"""Compaction: steps, file space, the revision counter, and compactions that meet."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.env import seeded
from kubetrio.harness.disk import Fault, FaultyDisk
from kubetrio.store.errors import Compacted, FutureRevision, StoreUnavailable
from kubetrio.store.model import Range, Stamped
from kubetrio.store.sqlite import database
from kubetrio.store.sqlite.commits import INLINE_BYTES
from kubetrio.store.sqlite.compaction import LARGEST_STEP, next_step
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.testing.environment import Gate, Hold, gated

T = TypeVar("T")
Args = TypeVarTuple("Args")

CONFIG = StoreConfig(durability="normal")
KEYS = Range.prefix("k")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        yield store


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[tuple[SqliteStore, Gate]]:
    """A store whose commits can be held."""
    env, gate = gated(1)
    async with open_store(tmp_path, StoreConfig(), env) as store:
        yield store, gate
        gate.open()


def value(size: int = 10) -> Stamped:
    return Stamped(b"", b"x" * size)


async def churn(store: SqliteStore, rounds: int, size: int = 10) -> None:
    """One key, created and then updated: as many revisions as rounds."""
    await store.create("k", value(size))
    for _ in range(rounds - 1):
        await store.update("k", value(size), expected=store.revision)


def rows(directory: Path, table: str) -> int:
    with closing(sqlite3.connect(f"file:{directory / database.FILE_NAME}?mode=ro", uri=True)) as db:
        count: int = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return count


@given(st.integers(1, LARGEST_STEP), st.floats(0, 10), st.floats(0.001, 1))
def test_steps_stay_in_bounds(step: int, took_s: float, target_s: float) -> None:
    """At least one revision, at most so many, and at most twice or half of the last step."""
    following = next_step(step, took_s, target_s)
    assert 1 <= following <= LARGEST_STEP
    assert step // 2 <= following <= step * 2


@pytest.mark.parametrize(
    ("step", "took_s", "following"),
    [(64, 0.001, 128), (64, 0.002, 64), (64, 0.004, 64), (64, 0.005, 32), (1, 9.0, 1)],
)
def test_steps_follow_their_time(step: int, took_s: float, following: int) -> None:
    """Longer when a step was fast, shorter when slow, as it is between."""
    assert next_step(step, took_s, 0.004) == following


@given(st.floats(1e-6, 1e-2), st.integers(1, LARGEST_STEP))
def test_steps_settle_near_the_target(cost_s: float, step: int) -> None:
    """Where a revision costs the same always, steps come to between a quarter and the target."""
    target_s = 0.004
    for _ in range(30):
        step = next_step(step, step * cost_s, target_s)
    assert step == 1 or step == LARGEST_STEP or target_s / 4 <= step * cost_s <= target_s


async def test_compaction_removes_rows(store: SqliteStore, tmp_path: Path) -> None:
    """One live key keeps one row, whatever its past."""
    await churn(store, 500)
    await store.compact(500)
    assert rows(tmp_path, "revision") == 1
    assert rows(tmp_path, "history") == 0


async def test_deletions_are_removed_once_something_newer_is_compacted(
    store: SqliteStore, tmp_path: Path
) -> None:
    """The newest row stays, also when it is a deletion: it is the revision counter."""
    await churn(store, 3)
    await store.delete("k", expected=3)
    await store.compact(4)
    assert rows(tmp_path, "revision") == 1
    await store.create("other", value())
    await store.compact(5)
    assert rows(tmp_path, "revision") == 1
    assert rows(tmp_path, "current") == 1


async def test_without_an_interval_nothing_is_compacted(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """However old it is."""
    config = replace(CONFIG, compact_interval_s=0.0)
    async with open_store(tmp_path, config, seeded(1)) as store:
        await churn(store, 3)
        await trio.sleep(80_000)
        assert store.statistics().compacted == 0


async def test_file_space_is_given_back(tmp_path: Path) -> None:
    """A store that held much and holds little is a small file."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        empty = store.statistics().size_bytes
        for number in range(100):
            await store.create(f"k{number}", value(20_000))
        for number in range(100):
            await store.delete(f"k{number}", expected=number + 1)
        await store._maintenance.checkpoint(store._writer.connection)
        assert store.statistics().size_bytes > 2_000_000
        await store.compact(200)
        await store._maintenance.checkpoint(store._writer.connection)
        assert store.statistics().size_bytes < empty + 10 * 4096


async def test_old_revisions_go_by_age(tmp_path: Path, autojump_clock: MockClock) -> None:
    """What is older than the window goes with the next round; what is younger stays."""
    config = StoreConfig(durability="normal", history_window_s=300, compact_interval_s=60)
    async with open_store(tmp_path, config, seeded(1)) as store:
        await churn(store, 10)
        await trio.sleep(130)
        await store.update("k", value(), expected=10)
        await trio.sleep(160)
        assert store.compacted == 0
        await trio.sleep(60 + 30)
        assert store.compacted == 10
        await trio.sleep(120)
        assert store.compacted == 11


async def test_the_log_of_a_store_that_rests_is_emptied(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Whatever was read last; while there are writes it is used again, and does not grow."""
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        await churn(store, 10)
        assert await store.count(Range.prefix("k")) == 1
        grown = store._maintenance.log_bytes
        assert grown > 0
        await trio.sleep(61)
        await store.update("k", value(), expected=10)
        assert store._maintenance.log_bytes == grown
        await trio.sleep(60)
        assert store._maintenance.log_bytes == grown
        await trio.sleep(60)
        assert store._maintenance.log_bytes == 0


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("last", ["update", "delete"])
async def test_the_counter_survives_the_compaction_of_everything(
    tmp_path: Path, clean: bool, last: str
) -> None:
    """No revision is made twice, also when the newest one was a deletion and all is compacted."""
    try:
        async with open_store(tmp_path, CONFIG, seeded(1)) as store:
            await churn(store, 5)
            if last == "delete":
                await store.delete("k", expected=5)
            else:
                await store.update("k", value(), expected=5)
            await store.compact(6)
            if not clean:
                raise InterruptedError
    except* InterruptedError:
        pass
    async with open_store(tmp_path, CONFIG, seeded(1)) as store:
        assert (store.revision, store.compacted) == (6, 6)
        assert (await store.create("next", value())).revision == 7
        with pytest.raises(Compacted):
            await store.get("k", at=5)


async def test_compactions_that_meet_never_go_back(tmp_path: Path) -> None:
    """After each step of several compactions the floor is where it was or further."""
    floors: list[int] = []

    class Watched(Gate):
        store: SqliteStore

        async def __call__(self, fn: Callable[[*Args], T], *args: *Args) -> T:
            result = await super().__call__(fn, *args)
            floors.append(self.store.compacted)
            return result

    gate = Watched()
    env = replace(seeded(1), run_blocking=gate)
    async with open_store(tmp_path, CONFIG, env) as store:
        gate.store = store
        await churn(store, 1000)
        gate.hold(Hold.BEFORE)
        async with trio.open_nursery() as nursery:
            for to in (70, 1000, 150, 600, 65):
                nursery.start_soon(store.compact, to)
                await wait_all_tasks_blocked()
            gate.open()
        assert floors == sorted(floors)
        assert store.compacted == 1000


async def test_compaction_waits_for_the_revision_of_an_open_transaction(
    held: tuple[SqliteStore, Gate],
) -> None:
    """A revision that is being committed is no floor before it is committed."""
    store, gate = held
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.create, "k", value())
        await wait_all_tasks_blocked()
        nursery.start_soon(store.compact, 1)
        await wait_all_tasks_blocked()
        assert (store.revision, store.compacted) == (0, 0)
        gate.open()
    assert (store.revision, store.compacted) == (1, 1)


async def test_compaction_to_a_revision_that_was_not_committed(tmp_path: Path) -> None:
    """Where the commit fails, the revision it would have made is in the future."""
    env, gate = gated(1)
    with FaultyDisk() as disk:
        async with open_store(tmp_path, StoreConfig(), env) as store:
            answers: list[type[Exception]] = []

            async def note(expected: type[Exception], ask: Awaitable[object]) -> None:
                with pytest.raises(expected):
                    await ask
                answers.append(expected)

            gate.hold(Hold.BEFORE)
            async with trio.open_nursery() as nursery:
                large = Stamped(b"", bytes(INLINE_BYTES + 1))  # its commit can be held
                nursery.start_soon(note, StoreUnavailable, store.create("k", large))
                await wait_all_tasks_blocked()
                nursery.start_soon(note, FutureRevision, store.compact(1))
                await wait_all_tasks_blocked()
                disk.fault = Fault.FULL
                gate.open()
            disk.fault = Fault.NONE
            assert set(answers) == {StoreUnavailable, FutureRevision}
            assert store.compacted == 0


async def test_a_failed_step_leaves_the_floor_and_the_next_round_resumes(tmp_path: Path) -> None:
    """On a full disk compaction fails as a write does; afterwards it goes on."""
    with FaultyDisk() as disk:
        async with open_store(tmp_path, CONFIG, seeded(1)) as store:
            await churn(store, 200)
            disk.fault = Fault.FULL
            with pytest.raises(StoreUnavailable):
                await store.compact(200)
            assert store.compacted == 0
            assert (await store.get("k", at=3)) is not None
            disk.fault = Fault.NONE
            await store.compact(200)
            assert store.compacted == 200
            assert (await store.create("next", value())).revision == 201


async def test_failed_rounds_do_not_stop_the_store(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk that is full for a while costs compactions, not the server; it is logged."""
    config = StoreConfig(durability="normal", history_window_s=60, compact_interval_s=60)
    with FaultyDisk() as disk:
        async with open_store(tmp_path, config, seeded(1)) as store:
            await churn(store, 100)
            disk.fault = Fault.FULL
            await trio.sleep(200)
            assert store.compacted == 0
            assert "Compaction failed" in caplog.text
            disk.fault = Fault.NONE
            await trio.sleep(61)
            assert store.compacted == 100


async def test_writers_and_readers_go_on_between_steps(held: tuple[SqliteStore, Gate]) -> None:
    """While a step is under way a write waits for it, and no longer than for it."""
    store, gate = held
    await churn(store, 1000)
    order: list[str] = []

    async def note(name: str, ask: Awaitable[object]) -> None:
        await ask
        order.append(name)

    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(note, "compaction", store.compact(1000))
        await wait_all_tasks_blocked()
        nursery.start_soon(note, "write", store.create("other", value()))
        await wait_all_tasks_blocked()
        assert (await store.get("k")) is not None
        gate.open()
    assert order == ["write", "compaction"]
