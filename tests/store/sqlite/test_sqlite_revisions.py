"""Group commit, cancellation, failing disks, and what is seen of a commit when."""

import errno
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.env import run_inline, seeded
from kubetrio.harness.disk import Fault, FaultyDisk
from kubetrio.store.errors import (
    DataDirectoryLocked,
    FutureRevision,
    KeyExists,
    StoreClosed,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUndecided,
)
from kubetrio.store.model import Event, Range, Stamped
from kubetrio.store.sqlite import sync
from kubetrio.store.sqlite.commits import INLINE_BYTES, MAX_BATCH
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.store.sqlite.errors import DatabaseUnusable, StoreBroken
from kubetrio.store.sqlite.maintenance import Maintenance
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.reader import UNREAD, Reader
from kubetrio.store.sqlite.revisions import (
    INLINE_KEYS,
    INLINE_READ_BYTES,
    READERS,
    SqliteStore,
    StoreConfig,
)
from kubetrio.testing.environment import Gate, Hold, gated

KEYS = Range.prefix("k")
NORMAL = StoreConfig(durability="normal")


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[tuple[SqliteStore, Gate]]:
    """A store whose commits can be held."""
    env, gate = gated(1)
    async with open_store(tmp_path, StoreConfig(), env) as store:
        yield store, gate
        gate.open()


def value(size: int = 10) -> Stamped:
    return Stamped(b"", b"x" * size)


class Answers:
    """What was answered, in order."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    async def note(self, name: object, ask: Awaitable[object]) -> None:
        try:
            await ask
        except StoreError as error:
            self.seen.append((name, type(error)))
        else:
            self.seen.append(name)


async def create_many(store: SqliteStore, gate: Gate, count: int, answers: Answers) -> None:
    """Create k0, k1, ...: the first is held in its commit while the others queue in order."""
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        for number in range(count):
            nursery.start_soon(answers.note, number, store.create(f"k{number}", value()))
            await wait_all_tasks_blocked()
        gate.open()


# ---------------------------------------------------------------------- group commit


async def test_writers_share_transactions(
    held: tuple[SqliteStore, Gate], mock_clock: MockClock
) -> None:
    """All that came during a sync share the next one."""
    store, gate = held
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        for number in range(17):
            nursery.start_soon(store.create, f"k{number}", value())
            await wait_all_tasks_blocked()
        mock_clock.jump(1.0)
        gate.open()
    numbers = store.statistics()
    assert (numbers.writes, numbers.commits, numbers.largest_batch) == (17, 2, 16)


async def test_a_probe_reads_from_the_database(tmp_path: Path) -> None:
    """It says nothing while that works, and why not when it does not."""
    async with open_store(tmp_path, NORMAL, seeded(0)) as store:
        await store.probe(1.0)
    with pytest.raises(StoreClosed):
        await store.probe(1.0)


async def test_a_probe_waits_for_the_write_in_flight(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A disk that syncs no more is as bad as one that is not read."""
    hangs = trio.Event()

    async def run(fn: Callable[..., Any], *args: Any) -> Any:
        if isinstance(fn, partial) and fn.func is sync.fdatasync:
            await hangs.wait()
        return await run_inline(fn, *args)

    env = replace(seeded(0), run_blocking=run)
    async with open_store(tmp_path, StoreConfig(), env) as store, trio.open_nursery() as nursery:
        await store.probe(2.0)
        nursery.start_soon(store.create, "k", Stamped(b"", b""))
        await trio.sleep(1.0)
        with pytest.raises(StoreUnavailable, match=r"^no answer within 2 s$"):
            await store.probe(2.0)
        hangs.set()
        await trio.sleep(1.0)
        await store.probe(2.0)


async def test_a_lone_writer_waits_for_nobody(tmp_path: Path, mock_clock: MockClock) -> None:
    """Its write is committed where it is submitted, once it is known to be alone."""
    env, gate = gated(1)
    async with open_store(tmp_path, StoreConfig(), env) as store, trio.open_nursery() as nursery:
        await store.create("k0", value())
        gate.hold(Hold.BEFORE)
        nursery.start_soon(store.create, "k1", value())
        await wait_all_tasks_blocked()
        for number in range(2, 6):  # and so these find it in flight
            nursery.start_soon(store.create, f"k{number}", value())
        await wait_all_tasks_blocked()
        assert store.statistics().queued == 4
        gate.open()


async def test_large_values_do_not_share_a_transaction(tmp_path: Path) -> None:
    """What is committed on the event loop is bounded in bytes; more goes to a thread."""
    env, gate = gated(1)
    async with open_store(tmp_path, StoreConfig(durability="normal"), env) as store:
        gate.hold(Hold.BEFORE)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.create, "k0", value(INLINE_BYTES + 1))
            await wait_all_tasks_blocked()
            for number in range(1, 7):
                nursery.start_soon(store.create, f"k{number}", value(INLINE_BYTES // 3))
            await wait_all_tasks_blocked()
            assert (store.statistics().commits, store.statistics().queued) == (0, 6)
            gate.open()
        assert store.statistics().largest_batch <= 3
        assert await store.count(KEYS) == 7


async def test_transactions_are_bounded(held: tuple[SqliteStore, Gate]) -> None:
    """More writers than a batch holds need more batches."""
    store, gate = held
    await create_many(store, gate, 1 + 2 * MAX_BATCH + 3, Answers())
    numbers = store.statistics()
    assert numbers.largest_batch == MAX_BATCH


async def test_a_long_queue_lets_others_run(tmp_path: Path) -> None:
    """Also where no batch waits for the disk."""
    async with open_store(tmp_path, NORMAL, seeded(1)) as store, trio.open_nursery() as nursery:
        for number in range(10 * MAX_BATCH):
            nursery.start_soon(store.create, f"k{number}", value())
        seen: set[int] = set()
        while not seen or store.statistics().writes < 10 * MAX_BATCH:
            seen.add(store.statistics().writes)
            await trio.lowlevel.checkpoint()
        assert len(seen) >= 5  # whoever comes first in a round


async def test_waiting_writes_are_counted(held: tuple[SqliteStore, Gate]) -> None:
    """The queue holds those that no transaction has taken."""
    store, gate = held
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.create, "k0", value())
        await wait_all_tasks_blocked()
        for number in range(1, 5):
            nursery.start_soon(store.create, f"k{number}", value())
        await wait_all_tasks_blocked()
        assert store.statistics().queued == 4
        gate.open()
    assert store.statistics().queued == 0


async def test_a_commit_is_announced_once_and_then_answered(
    held: tuple[SqliteStore, Gate],
) -> None:
    """Listeners get each transaction in one piece, before any of its writers goes on."""
    store, gate = held
    answers = Answers()
    batches: list[list[int]] = []

    def hook(events: Sequence[Event]) -> None:
        assert len(answers.seen) <= sum(map(len, batches))
        batches.append([event.revision for event in events])

    store.on_commit(hook)
    await create_many(store, gate, 5, answers)
    assert batches[0] == [1]
    assert [revision for batch in batches for revision in batch] == [1, 2, 3, 4, 5]
    assert sorted(map(str, answers.seen)) == ["0", "1", "2", "3", "4"]


async def test_a_refused_write_concerns_itself_only(held: tuple[SqliteStore, Gate]) -> None:
    """The others of its transaction are stored, with revisions in a row."""
    store, gate = held
    answers = Answers()
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        for number, key in enumerate(["k0", "k1", "k1", "k2"]):
            nursery.start_soon(answers.note, number, store.create(key, value()))
            await wait_all_tasks_blocked()
        gate.open()
    assert set(answers.seen) == {0, 1, (2, KeyExists), 3}
    assert [kv.revision for kv in (await store.range(KEYS)).items] == [1, 2, 3]


async def test_a_write_sees_those_before_it_in_its_transaction(
    held: tuple[SqliteStore, Gate],
) -> None:
    """An update may follow the creation that it was queued behind."""
    store, gate = held
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.create, "k0", value())
        await wait_all_tasks_blocked()
        nursery.start_soon(store.create, "k1", value())
        await wait_all_tasks_blocked()

        async def update() -> None:
            await store.update("k1", value(), expected=2)

        nursery.start_soon(update)
        await wait_all_tasks_blocked()
        gate.open()
    events, _ = await store.events(after=1, max_bytes=1000)
    assert [event.previous for event in events] == [None, value().at(2)]


# ---------------------------------------------------------------------- cancellation


async def test_a_cancelled_write_that_was_queued_is_not_stored(
    held: tuple[SqliteStore, Gate],
) -> None:
    """It leaves the queue at once, and takes no revision."""
    store, gate = held
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.create, "k0", value())
        await wait_all_tasks_blocked()
        scope = trio.CancelScope()

        async def cancelled() -> None:
            with scope:
                await store.create("k1", value())

        nursery.start_soon(cancelled)
        await wait_all_tasks_blocked()
        nursery.start_soon(store.create, "k2", value())
        await wait_all_tasks_blocked()
        scope.cancel()
        await wait_all_tasks_blocked()
        assert scope.cancelled_caught
        assert store.statistics().queued == 1
        gate.open()
    items = (await store.range(KEYS)).items
    assert [(kv.key, kv.revision) for kv in items] == [("k0", 1), ("k2", 2)]


async def test_a_cancelled_write_that_was_taken_is_waited_for(
    held: tuple[SqliteStore, Gate],
) -> None:
    """Its writer learns the revision; nobody sees "cancelled, yet stored"."""
    store, gate = held
    gate.hold(Hold.BEFORE)
    revisions: list[int] = []
    scope = trio.CancelScope()
    async with trio.open_nursery() as nursery:

        async def write() -> None:
            with scope:
                revisions.append((await store.create("k0", value())).revision)

        nursery.start_soon(write)
        await wait_all_tasks_blocked()
        scope.cancel()
        await wait_all_tasks_blocked()
        assert not revisions
        gate.open()
    assert revisions == [1]
    assert not scope.cancelled_caught


async def test_a_write_in_a_cancelled_scope_is_not_begun(tmp_path: Path) -> None:
    """As every checkpoint."""
    async with open_store(tmp_path, NORMAL, seeded(1)) as store:
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.create("k", value())
        assert scope.cancelled_caught
        await trio.testing.wait_all_tasks_blocked()
        assert await store.get("k") is None


# ---------------------------------------------------------------------- failures


async def test_a_failed_commit_fails_its_writers_and_stores_nothing(tmp_path: Path) -> None:
    """All of the transaction are told, nothing is seen or announced, and the store goes on."""
    env, gate = gated(1)
    with FaultyDisk() as disk:
        async with open_store(tmp_path, StoreConfig(), env) as store:
            await store.create("before", value())
            announced: list[Event] = []
            store.on_commit(announced.extend)
            answers = Answers()
            disk.fault = Fault.FULL
            await create_many(store, gate, 4, answers)
            assert set(answers.seen) == {(number, StoreFull) for number in range(4)}
            assert (await store.range(KEYS)).items == []
            assert (store.revision, announced) == (1, [])

            disk.fault = Fault.NONE
            assert (await store.create("k", value())).revision == 2
            assert [event.revision for event in announced] == [2]
    async with open_store(tmp_path, StoreConfig(), seeded(1)) as store:
        assert store.revision == 2
        assert [kv.key for kv in (await store.range(KEYS)).items] == ["k"]


async def test_refused_writes_of_a_failed_commit_are_unavailable_too(tmp_path: Path) -> None:
    """A refusal may rest on a write that was not stored, so it is not told."""
    env, gate = gated(1)
    with FaultyDisk() as disk:
        async with open_store(tmp_path, StoreConfig(), env) as store:
            answers = Answers()
            gate.hold(Hold.BEFORE)
            async with trio.open_nursery() as nursery:
                for name, key in (("first", "a"), ("second", "b"), ("third", "b")):
                    nursery.start_soon(answers.note, name, store.create(key, value()))
                    await wait_all_tasks_blocked()
                disk.fault = Fault.FULL
                gate.open()
            assert ("third", StoreFull) in answers.seen
            assert await store.get("b") is None
            disk.fault = Fault.NONE


async def test_a_failed_sync_ends_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what is on the disk then, and trying again proves nothing (fsync(2))."""
    failing = False

    def fdatasync(fd: int) -> None:
        if failing:
            raise OSError(errno.EIO, "Input/output error")
        os.fsync(fd)

    monkeypatch.setattr(sync, "fdatasync", fdatasync)
    answers = Answers()
    announced: list[Event] = []

    async def use() -> None:
        nonlocal failing
        async with open_store(tmp_path, StoreConfig(), seeded(1)) as store:
            await store.create("k0", value())
            store.on_commit(announced.extend)
            failing = True
            async with trio.open_nursery() as nursery:
                for number in range(1, 4):
                    nursery.start_soon(answers.note, number, store.create(f"k{number}", value()))

    with pytest.raises(ExceptionGroup) as caught:
        await use()
    assert caught.group_contains(StoreBroken, match="Input/output error")
    errors = (StoreUndecided, StoreClosed)  # the next start tells whether they were kept
    assert answers.seen  # others, still in the queue, were cancelled with the store
    assert all(isinstance(one, tuple) and one[1] in errors for one in answers.seen)
    assert not announced
    failing = False
    async with open_store(tmp_path, StoreConfig(), seeded(1)) as store:
        assert await store.get("k0") is not None


async def test_behind_a_failed_sync_a_new_snapshot_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compaction renews the snapshot, and then reads would see what no disk may have."""
    async with open_store(tmp_path, StoreConfig(), seeded(1)) as store:
        await store.create("k0", value())

    async def use() -> None:
        async with open_store(tmp_path, StoreConfig(), seeded(1)) as store:
            assert await store.get("k0") is not None

            async def wait(_: object) -> None:
                raise OSError(errno.EIO, "Input/output error")

            monkeypatch.setattr("kubetrio.store.sqlite.sync.WorkerSync.start", lambda _: None)
            monkeypatch.setattr("kubetrio.store.sqlite.sync.WorkerSync.wait", wait)
            with pytest.raises(StoreUndecided):
                await store.create("k1", value())
            store._reader.renew()
            for ask in (
                lambda: store.get("k1"),
                lambda: store.range(KEYS),
                lambda: store.count(KEYS),
                lambda: store.events(after=0, max_bytes=1 << 20),
            ):
                with pytest.raises(StoreClosed):
                    await ask()

    with pytest.raises(ExceptionGroup) as caught:
        await use()
    assert caught.group_contains(StoreBroken)


async def test_power_may_fail_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered is in the files as they were at the last sync."""
    data, left = tmp_path / "data", tmp_path / "left"
    left.mkdir()

    def fdatasync(fd: int) -> None:
        for name in (FILE_NAME, f"{FILE_NAME}-wal"):
            shutil.copyfile(data / name, left / name)

    monkeypatch.setattr(sync, "fdatasync", fdatasync)
    config = StoreConfig(checkpoint_pages=20)
    async with open_store(data, config, seeded(1)) as store:
        for round_ in range(12):
            answered: list[str] = []

            async def write(key: str, size: int, answered: list[str] = answered) -> None:
                await store.create(key, value(size))
                answered.append(key)

            async with trio.open_nursery() as nursery:
                for number in range(1 + 5 * round_ % 12):
                    nursery.start_soon(write, f"k{round_:02}/{number}", 10 + 700 * number)
            found = tmp_path / f"found{round_}"
            shutil.copytree(left, found)
            async with open_store(found, NORMAL, seeded(1)) as other:
                items = (await other.range(Range.prefix(f"k{round_:02}"))).items
                assert {kv.key for kv in items} >= set(answered)
                assert other.revision >= store.revision


async def test_a_bug_in_a_write_is_loud_and_leaves_nobody_waiting(tmp_path: Path) -> None:
    """A key that is no text ends the store; those who wait are told, nothing is stored."""
    answers = Answers()

    async def use() -> None:
        async with open_store(tmp_path, NORMAL, seeded(1)) as store, trio.open_nursery() as nursery:
            nursery.start_soon(answers.note, "bad", store.create("k\ud800", value()))
            nursery.start_soon(answers.note, "good", store.create("k", value()))

    with pytest.raises(ExceptionGroup) as caught:
        await use()
    assert caught.group_contains(UnicodeEncodeError)
    assert set(answers.seen) == {("bad", StoreUnavailable), ("good", StoreUnavailable)}
    async with open_store(tmp_path, NORMAL, seeded(1)) as store:
        assert store.revision == 0


# ---------------------------------------------------------------------- what is seen when


async def test_reads_do_not_see_what_is_in_flight(held: tuple[SqliteStore, Gate]) -> None:
    """What a failing disk may still take is not shown, on the event loop or elsewhere."""
    store, gate = held
    await store.create("k0", value())
    for where in (Hold.BEFORE, Hold.BEHIND):
        known = store.revision
        gate.hold(where)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.create, f"k{known}", value())
            await wait_all_tasks_blocked()
            assert store.revision == known
            assert (await store.range(KEYS)).revision == known
            assert await store.get(f"k{known}") is None
            assert await store.count(KEYS) == known
            assert await store.events(after=known, max_bytes=1000) == ([], known)
            with pytest.raises(FutureRevision):
                await store.get("k0", at=known + 1)
            gate.open()
        assert (await store.range(KEYS)).revision == known + 1


async def test_reads_that_may_see_what_is_in_flight_wait_for_it(
    held: tuple[SqliteStore, Gate],
) -> None:
    """While a checkpoint runs no snapshot is kept."""
    store, gate = held
    await store.create("k0", value())
    answers = Answers()
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.create, "k1", value())
        await wait_all_tasks_blocked()
        with store._maintenance.nothing_kept():
            nursery.start_soon(answers.note, "get", store.get("k1"))
            nursery.start_soon(answers.note, "count", store.count(KEYS))
            nursery.start_soon(answers.note, "range", store.range(KEYS))
            nursery.start_soon(answers.note, "events", store.events(after=1, max_bytes=1000))
            await wait_all_tasks_blocked()
            assert answers.seen == []
            gate.open()
            await wait_all_tasks_blocked()
    assert set(answers.seen) == {"get", "count", "range", "events"}


async def test_the_first_read_behind_many_writes_waits_for_what_is_in_flight(
    held: tuple[SqliteStore, Gate],
) -> None:
    """No snapshot was taken for readers who had not come for so long; it is for those behind."""
    store, gate = held
    for number in range(UNREAD + 1):
        await store.create(f"k{number}", value())
    answers = Answers()
    gate.hold(Hold.BEHIND)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.create, "new", value())
        await wait_all_tasks_blocked()
        nursery.start_soon(answers.note, "get", store.get("new"))
        nursery.start_soon(answers.note, "range", store.range(KEYS))
        await wait_all_tasks_blocked()
        assert answers.seen == []
        gate.open()
        await wait_all_tasks_blocked()
    assert set(answers.seen) == {"get", "range"}
    gate.hold(Hold.BEHIND)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.create, "newer", value())
        await wait_all_tasks_blocked()
        assert await store.get("newer") is None
        gate.open()


async def test_reads_do_not_see_what_is_not_committed(held: tuple[SqliteStore, Gate]) -> None:
    """Before the commit there is nothing to be seen."""
    store, gate = held
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.create, "k0", value())
        await wait_all_tasks_blocked()
        assert (await store.range(KEYS)).revision == 0
        assert await store.count(KEYS) == 0
        gate.open()


async def test_long_ranges_are_read_elsewhere(held: tuple[SqliteStore, Gate]) -> None:
    """A few at a time, each in a snapshot of its own; short ones do not wait for them."""
    store, gate = held
    for number in range(INLINE_KEYS + 1):
        await store.create(f"k{number}", value())
    answers = Answers()
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        for number in range(READERS + 1):
            nursery.start_soon(answers.note, number, store.range(KEYS))
        await wait_all_tasks_blocked()
        assert answers.seen == []
        assert len((await store.range(KEYS, limit=INLINE_KEYS)).items) == INLINE_KEYS
        gate.open()
    assert len(answers.seen) == READERS + 1
    result = await store.range(KEYS)
    joined = await store.join(KEYS, skip=0, separator=b",", max_bytes=1 << 20)
    assert joined.body == b",".join(kv.value for kv in result.items)
    assert len(result.items) == await store.count(KEYS) == INLINE_KEYS + 1


async def test_large_values_are_read_elsewhere(held: tuple[SqliteStore, Gate]) -> None:
    """However few they are; a page of small ones among them is not."""
    store, gate = held
    await store.create("k0", value(300))
    await store.create("k1", value(300))
    await store.create("k2", value(INLINE_READ_BYTES + 1))
    answers = Answers()
    gate.hold(Hold.BEFORE)
    async with trio.open_nursery() as nursery:
        large = Range("k2", "k3")
        nursery.start_soon(answers.note, "range", store.range(KEYS, limit=100, max_bytes=1000))
        nursery.start_soon(
            answers.note, "join", store.join(large, skip=1, separator=b",", max_bytes=1000)
        )
        await wait_all_tasks_blocked()
        assert answers.seen == []
        assert len((await store.range(KEYS, limit=2, max_bytes=1000)).items) == 2
        joined = await store.join(Range("k0", "k2"), skip=0, separator=b",", max_bytes=1000)
        assert joined.count == 2
        gate.open()
    assert len(answers.seen) == 2


# ---------------------------------------------------------------------- beginning and end


async def test_a_closed_store_takes_no_writes(tmp_path: Path) -> None:
    """They are refused, not left waiting."""
    async with open_store(tmp_path, NORMAL, seeded(1)) as store:
        pass
    with pytest.raises(StoreClosed):
        await store.create("k", value())


async def test_writes_that_wait_at_the_end(tmp_path: Path) -> None:
    """What was taken is stored and answered; what was queued is refused and not stored."""
    env, gate = gated(1)
    answers = Answers()

    async def open_later() -> None:
        await wait_all_tasks_blocked()
        gate.open()

    async with (
        trio.open_nursery() as nursery,
        open_store(tmp_path, StoreConfig(), env) as store,
    ):
        gate.hold(Hold.BEFORE)
        for number in range(3):
            nursery.start_soon(answers.note, number, store.create(f"k{number}", value()))
            await wait_all_tasks_blocked()
        nursery.start_soon(open_later)
    assert set(answers.seen) == {0, (1, StoreClosed), (2, StoreClosed)}
    async with open_store(tmp_path, StoreConfig(), env) as store:
        assert [kv.key for kv in (await store.range(KEYS)).items] == ["k0"]


async def test_a_directory_has_one_store(tmp_path: Path) -> None:
    """The second is refused, and the first does not notice."""
    async with open_store(tmp_path, NORMAL, seeded(1)) as store:
        with pytest.raises(DataDirectoryLocked):
            async with open_store(tmp_path, NORMAL, seeded(1)):
                pass
        assert (await store.create("k", value())).revision == 1


async def test_the_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    """Secrets are in it."""
    directory = tmp_path / "deep" / "data"
    async with open_store(directory, NORMAL, seeded(1)):
        assert directory.stat().st_mode & 0o777 == 0o700


async def test_the_log_is_checkpointed_while_writing(tmp_path: Path) -> None:
    """It does not grow with the number of writes, nor do readers keep it from shrinking."""
    config = StoreConfig(durability="normal", checkpoint_pages=20, wal_limit_pages=60)
    async with open_store(tmp_path, config, seeded(1)) as store:
        for number in range(300):
            await store.create(f"k{number}", value(4000))
            assert await store.count(KEYS) == number + 1
        assert store._maintenance.log_bytes < 150 * 4096
        assert await store.count(KEYS) == 300


async def test_a_failed_checkpoint_does_not_stop_the_store(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    """It is logged and tried again."""
    config = StoreConfig(durability="normal", checkpoint_pages=5)
    with FaultyDisk() as disk:
        async with open_store(tmp_path, config, seeded(1)) as store:
            disk.fault = Fault.SYNC
            for number in range(20):
                await store.create(f"k{number}", value(4000))
            await wait_all_tasks_blocked()
            assert "Checkpoint failed" in caplog.text
            disk.fault = Fault.NONE
            await store.create("k", value())
            assert await store.count(KEYS) == 21


async def test_a_log_is_looked_at_when_it_has_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with each commit while somebody keeps it from being emptied."""
    config = StoreConfig(durability="normal", checkpoint_pages=20, wal_limit_pages=10_000)
    looks, checkpoint = 0, Maintenance.checkpoint

    async def counted(self: Maintenance, copier: apsw.Connection) -> None:
        nonlocal looks
        looks += 1
        await checkpoint(self, copier)

    monkeypatch.setattr(Maintenance, "checkpoint", counted)
    async with open_store(tmp_path, config, seeded(1)) as store:
        await store.create("k", value())
        reader = Reader(tmp_path / FILE_NAME)
        reader.keep(True)
        assert reader.get("k", None) is not None
        for number in range(200):
            await store.create(f"k{number}", value(4000))
        grown = store._maintenance.log_bytes // 4096
        reader.close()
        assert grown > 400
        assert grown // 40 < looks <= grown // 20
        for number in range(20):
            await store.create(f"l{number}", value(4000))
        assert store._maintenance.log_bytes // 4096 == grown  # used again from its beginning


async def test_a_full_disk_does_not_fail_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What was acknowledged is there at the next start; that it was no orderly stop is logged."""
    with FaultyDisk() as disk:
        async with open_store(tmp_path, StoreConfig(), seeded(1)) as store:
            await store.create("k", Stamped(b"", b"x"))
            disk.fault = Fault.FULL
        assert "Stopped as by a crash" in caplog.text
        disk.fault = Fault.NONE
        async with open_store(tmp_path, StoreConfig(), seeded(1)) as store:
            assert await store.get("k") is not None


@pytest.mark.parametrize("read", ["get", "range", "join"])
async def test_damage_that_is_met_while_reading_says_what_to_do(tmp_path: Path, read: str) -> None:
    """A file that was closed in order is not checked whole when it is opened."""
    async with open_store(tmp_path, NORMAL, seeded(1)) as store:
        for number in range(300):
            await store.create(f"k{number:03}", value(2000))
    path = tmp_path / FILE_NAME
    content = bytearray(path.read_bytes())
    content[20 * 4096 : 60 * 4096] = b"\xa5" * (40 * 4096)
    path.write_bytes(content)

    async def use(store: SqliteStore) -> None:
        if read == "range":
            await store.range(KEYS)
        elif read == "join":
            await store.join(KEYS, skip=0, separator=b",", max_bytes=1 << 20)
        else:
            for number in range(300):
                await store.get(f"k{number:03}")

    async with open_store(tmp_path, NORMAL, seeded(1)) as store:
        with pytest.raises(DatabaseUnusable, match=r"is damaged .* restore a backup"):
            await use(store)
