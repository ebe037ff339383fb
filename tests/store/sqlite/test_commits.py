"""The end of group commit: nobody is left waiting, whatever comes first."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.errors import StoreClosed
from kubetrio.store.model import KeyValue, Stamped
from kubetrio.store.sqlite import database
from kubetrio.store.sqlite.clock import Clock
from kubetrio.store.sqlite.commits import Commits, Holding
from kubetrio.store.sqlite.errors import StoreBroken
from kubetrio.store.sqlite.recovery import open_writer
from kubetrio.store.sqlite.reserve import Reserve
from kubetrio.store.sqlite.space import Space
from kubetrio.store.sqlite.sync import open_sync
from kubetrio.store.sqlite.writer import Writer

VALUE = Stamped(b"", b"x")
MADE_READY_S = 0.001  # what a write costs before it is submitted


class SlowSync:
    """A disk that takes some time.

    Args:
        takes: so long, seconds.
    """

    def __init__(self, takes: float) -> None:
        self._takes = takes
        self._done = 0.0

    def start(self) -> None:
        self._done = trio.current_time() + self._takes

    async def wait(self) -> None:
        await trio.sleep_until(self._done)


async def write_in_turns(path: Path, clock: MockClock, *, writers: int, disk_s: float) -> Commits:
    """Let writers write 50 times each, one after the other; only they and the disk take time."""
    writer = open_writer(path, Writer, now_ms=0)
    commits = Commits(
        writer,
        seeded(0),
        trio.Semaphore(1, max_value=1),
        SlowSync(disk_s),
        Space(Reserve(path.parent, 0), path),
        Clock(0, 0),
        before_commit=lambda: None,
        announce=lambda _: None,
    )

    async def write(name: int) -> None:
        for number in range(50):
            clock.jump(MADE_READY_S)
            key = f"{name}/{number}"
            await commits.submit(Writer.create, (key, VALUE), 1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(commits.run)
        async with trio.open_nursery() as writing:
            for name in range(writers):
                writing.start_soon(write, name)
        nursery.cancel_scope.cancel()
    writer.close()
    return commits


@pytest.mark.parametrize("disk", [0.5, 1, 3, 6])
async def test_with_a_quick_disk_nobody_waits_for_it(
    tmp_path: Path, autojump_clock: MockClock, disk: float
) -> None:
    """Some stay behind while the others are synced: enough for the event loop to be busy."""
    began = trio.current_time()
    commits = await write_in_turns(
        tmp_path / database.FILE_NAME, autojump_clock, writers=16, disk_s=disk * MADE_READY_S
    )
    least = commits.writes * MADE_READY_S
    assert commits.writes == 800
    assert trio.current_time() - began < 1.15 * least  # to begin with they all wait
    assert commits.writes / commits.commits > 12 - disk / 2  # two halves: 8


@pytest.mark.parametrize(("writers", "disk"), [(16, 20), (16, 100), (5, 1)])
async def test_with_a_slow_disk_all_go_together(
    tmp_path: Path, autojump_clock: MockClock, writers: int, disk: float
) -> None:
    """So do few: a commit more costs them more than to wait."""
    commits = await write_in_turns(
        tmp_path / database.FILE_NAME, autojump_clock, writers=writers, disk_s=disk * MADE_READY_S
    )
    assert commits.writes / commits.commits > 0.95 * writers


async def test_those_behind_do_not_wait_for_writers_who_are_gone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """At the end there are fewer writers than a batch did with, and time does not go on."""
    with trio.fail_after(60):
        commits = await write_in_turns(
            tmp_path / database.FILE_NAME, autojump_clock, writers=7, disk_s=MADE_READY_S
        )
    assert commits.writes == 350


@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
async def test_what_a_writer_began_lands_when_the_end_comes(tmp_path: Path, rounds: int) -> None:
    """A write may begin a batch in the round in which the task that lands it is cancelled."""
    path, env = tmp_path / database.FILE_NAME, seeded(rounds)
    answers: list[object] = []

    async def note(ask: Awaitable[KeyValue]) -> None:
        try:
            answers.append((await ask).revision)
        except StoreClosed:
            answers.append(StoreClosed)

    for attempt in range(10):
        writer = open_writer(path, Writer, now_ms=0)
        first = writer.revision + 1
        with open_sync(path.with_name(path.name + "-wal"), env) as sync:
            commits = Commits(
                writer,
                env,
                trio.Semaphore(1, max_value=1),
                sync,
                Space(Reserve(path.parent, 0), path),
                Clock(0, 0),
                before_commit=lambda: None,
                announce=lambda _: None,
            )
            scope = trio.CancelScope()

            async def run(commits: Commits = commits, scope: trio.CancelScope = scope) -> None:
                with scope:
                    await commits.run()

            def create(key: str, commits: Commits = commits) -> Awaitable[KeyValue]:
                return commits.submit(Writer.create, (key, VALUE), 1)

            with trio.fail_after(5):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(run)
                    await create(f"{attempt}/a")
                    nursery.start_soon(note, create(f"{attempt}/b"))
                    for _ in range(rounds):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
            with pytest.raises(StoreClosed):
                await create(f"{attempt}/c")
        assert answers.pop() in (first + 1, StoreClosed)
        assert not answers
        writer.close()


class CountedSync:
    """A disk that notes when it is synced, and may fail."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.broken = False

    def start(self) -> None:
        self.at.append(trio.current_time())

    async def wait(self) -> None:
        await trio.sleep(0.001)
        if self.broken:
            raise OSError(5, "Input/output error")


Write = Callable[[str], Awaitable[object]]
HELD_S = 30.0


@asynccontextmanager
async def holding(path: Path, sync: CountedSync) -> AsyncIterator[Write]:
    """A writer of keys, of which those below ``/held/`` may wait for the disk."""
    writer = open_writer(path, Writer, now_ms=0)
    commits = Commits(
        writer,
        seeded(0),
        trio.Semaphore(1, max_value=1),
        sync,
        Space(Reserve(path.parent, 0), path),
        Clock(0, 0),
        before_commit=lambda: None,
        announce=lambda _: None,
        holding=Holding(("/held/",), HELD_S),
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(commits.run)
        yield lambda key: commits.submit(Writer.create, (key, VALUE), 1)
        nursery.cancel_scope.cancel()
    writer.close()


async def test_what_is_held_back_is_synced_in_time(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Once for all of it, so long after the first; with nothing new there is no other."""
    sync = CountedSync()
    async with holding(tmp_path / "db", sync) as write:
        began = trio.current_time()
        for number in range(3):
            await write(f"/held/{number}")
            await trio.sleep(10 - (trio.current_time() - began) % 10)
        assert sync.at == []
        await trio.sleep(3600)
        assert sync.at == pytest.approx([began + HELD_S], abs=0.01)
        await write("/held/later")
        await trio.sleep(HELD_S + 1)
        assert len(sync.at) == 2


async def test_another_write_takes_along_what_is_held_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It is synced before it is answered, and that is a sync of everything."""
    sync = CountedSync()
    async with holding(tmp_path / "db", sync) as write:
        await write("/held/a")
        await write("/other/a")
        assert len(sync.at) == 1
        await trio.sleep(3600)
        assert len(sync.at) == 1


async def test_a_batch_with_another_write_is_not_held_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Whichever of them is the first."""
    sync = CountedSync()
    async with holding(tmp_path / "db", sync) as write, trio.open_nursery() as nursery:
        for key in ("/held/a", "/other/a", "/held/b"):
            nursery.start_soon(write, key)
        await trio.sleep(1)
        assert len(sync.at) == 1


async def test_a_disk_that_fails_behind_an_answer_ends_the_store(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """As one that fails before it: a second sync may succeed without the data."""
    sync = CountedSync()
    sync.broken = True
    with pytest.RaisesGroup(pytest.RaisesExc(StoreBroken)):
        async with holding(tmp_path / "db", sync) as write:
            await write("/held/a")
            await trio.sleep(HELD_S + 1)
