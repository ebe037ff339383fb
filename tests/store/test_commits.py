"""The end of group commit: nobody is left waiting, whatever comes first."""

from collections.abc import Awaitable
from pathlib import Path

import pytest
import trio

from kubetrio.env import seeded
from kubetrio.store import database
from kubetrio.store.commits import Commits
from kubetrio.store.errors import StoreClosed
from kubetrio.store.model import KeyValue, Stamped
from kubetrio.store.sync import open_sync

VALUE = Stamped(b"", b"x")


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
        writer = database.open_writer(path, now_ms=0)
        first = writer.revision + 1
        with open_sync(path.with_name(path.name + "-wal"), env) as sync:
            commits = Commits(
                writer,
                env,
                trio.Semaphore(1, max_value=1),
                sync,
                before_commit=lambda: None,
                announce=lambda _: None,
            )
            scope = trio.CancelScope()

            async def run(commits: Commits = commits, scope: trio.CancelScope = scope) -> None:
                with scope:
                    await commits.run()

            def create(key: str, commits: Commits = commits) -> Awaitable[KeyValue]:
                return commits.submit(database.Writer.create, (key, VALUE), 1)

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
