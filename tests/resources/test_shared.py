"""Work that several tasks need at once."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.resources.shared import Shared


class Work:
    """Takes a second, and counts how often it was done."""

    def __init__(self) -> None:
        self.begun = 0

    async def __call__(self) -> int:
        self.begun += 1
        mine = self.begun
        await trio.sleep(1)
        return mine


async def ask(shared: Shared[int], key: str, work: Work, found: list[int]) -> None:
    found.append(await shared.get(key, work))


async def test_who_asks_meanwhile_gets_the_same(autojump_clock: MockClock) -> None:
    """Of one key; another key is other work."""
    del autojump_clock
    shared, work, found = Shared[int](), Work(), list[int]()
    async with trio.open_nursery() as nursery:
        for key in ("a", "a", "b", "a"):
            nursery.start_soon(ask, shared, key, work, found)
    assert work.begun == 2
    assert sorted(found) in ([1, 1, 1, 2], [1, 2, 2, 2])


async def test_nothing_is_kept(autojump_clock: MockClock) -> None:
    """Who asks later has it done again."""
    del autojump_clock
    shared, work = Shared[int](), Work()
    assert [await shared.get("a", work), await shared.get("a", work)] == [1, 2]


async def test_the_next_one_begins_again_when_the_first_is_cancelled(
    autojump_clock: MockClock,
) -> None:
    """And nobody hears of the cancellation."""
    del autojump_clock
    shared, work, found = Shared[int](), Work(), list[int]()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as first:
                first.start_soon(ask, shared, "a", work, found)
                await wait_all_tasks_blocked()
                nursery.start_soon(ask, shared, "a", work, found)
                nursery.start_soon(ask, shared, "a", work, found)
                await wait_all_tasks_blocked()
                assert work.begun == 1
                scope.cancel()
    assert (work.begun, found) == (2, [2, 2])


async def test_a_failure_is_told_to_who_did_the_work(autojump_clock: MockClock) -> None:
    """Others try for themselves."""
    del autojump_clock
    shared, work, found = Shared[int](), Work(), list[int]()

    async def fail() -> int:
        await trio.sleep(1)
        raise ValueError("no")

    async def failing() -> None:
        with pytest.raises(ValueError, match="no"):
            await shared.get("a", fail)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(failing)
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, shared, "a", work, found)
    assert found == [1]
