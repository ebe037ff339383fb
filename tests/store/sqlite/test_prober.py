"""Probes: one question at a time, with a time limit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.store.errors import StoreClosed, StoreError, StoreUnavailable
from kubetrio.store.sqlite.prober import FRESH_S, Prober


class Engine:
    """Answers when it may, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers = trio.Event()
        self.answers.set()
        self.error: StoreError | None = None

    async def ask(self) -> None:
        """A question."""
        self.asked += 1
        await self.answers.wait()
        if self.error is not None:
            raise self.error


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator[Prober]:
    """A prober whose task runs."""
    prober = Prober(engine.ask)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(prober.run)
        yield prober
        nursery.cancel_scope.cancel()


async def test_those_who_ask_together_ask_once(autojump_clock: MockClock) -> None:
    """And so do those who ask soon afterwards."""
    engine = Engine()
    async with running(engine) as prober:
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(prober.answer, 1.0)
        await prober.answer(1.0)
        assert engine.asked == 1
        await trio.sleep(2 * FRESH_S)
        await prober.answer(1.0)
        assert engine.asked == 2


async def test_nobody_waits_for_longer_than_the_limit(autojump_clock: MockClock) -> None:
    """Nor does anybody wait again for what has had its time."""
    engine = Engine()
    async with running(engine) as prober:
        engine.answers = trio.Event()
        begun = trio.current_time()
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=r"^no answer within 2 s$"):
                await prober.answer(2.0)
            assert trio.current_time() - begun == pytest.approx(2.0)
        assert engine.asked == 1


async def test_an_answer_is_good_from_when_it_came(autojump_clock: MockClock) -> None:
    """The checks of a health endpoint ask one behind the other, on a busy server too.

    Not for a check that would not have waited for it.
    """
    engine = Engine()
    async with running(engine) as prober:
        engine.answers = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(prober.answer, 20.0)
            await trio.sleep(4 * FRESH_S)
            engine.answers.set()
        await prober.answer(20.0)
        assert engine.asked == 1
        await prober.answer(2 * FRESH_S)
        assert engine.asked == 2


async def test_it_recovers(autojump_clock: MockClock) -> None:
    """A late answer ends it; the next question is a new one."""
    engine = Engine()
    async with running(engine) as prober:
        engine.answers = trio.Event()
        with pytest.raises(StoreUnavailable):
            await prober.answer(2.0)
        engine.answers.set()
        await wait_all_tasks_blocked()
        await prober.answer(2.0)
        assert engine.asked == 2


async def test_what_is_wrong_is_told(autojump_clock: MockClock) -> None:
    """In the engine's words, to all who ask."""
    engine = Engine()
    async with running(engine) as prober:
        engine.error = StoreUnavailable("disk I/O error")
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=r"^disk I/O error$"):
                await prober.answer(2.0)


async def test_the_end_answers_who_waits(autojump_clock: MockClock) -> None:
    """And nobody waits afterwards."""
    engine = Engine()
    engine.answers = trio.Event()
    prober = Prober(engine.ask)

    async def refused() -> None:
        with pytest.raises(StoreUnavailable, match=r"^the store is closed$"):
            await prober.answer(60.0)

    async with trio.open_nursery() as waiting, trio.open_nursery() as nursery:
        nursery.start_soon(prober.run)
        waiting.start_soon(refused)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert trio.current_time() < 60.0
    with pytest.raises(StoreClosed):
        await prober.answer(1.0)


async def test_a_busy_loop_is_no_failed_disk(mock_clock: MockClock) -> None:
    """Time that the event loop takes for others does not count."""
    engine = Engine()
    engine.answers = trio.Event()

    async def held_up() -> None:
        for _ in range(3):
            mock_clock.jump(10.0)  # a pass of the loop that takes ten seconds
            await trio.lowlevel.checkpoint()
        engine.answers.set()

    async with running(engine) as prober, trio.open_nursery() as nursery:
        nursery.start_soon(held_up)
        await prober.answer(2.0)
