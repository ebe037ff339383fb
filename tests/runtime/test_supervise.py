"""Background tasks that outlive their failures."""

from __future__ import annotations

import itertools
import logging

import pytest
import trio
from trio.testing import MockClock

from kubetrio.observe.logs import TextFormatter
from kubetrio.runtime.supervise import run_forever_with_backoff


async def test_a_task_that_fails_begins_anew(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """After longer and longer pauses, a minute at most; its traceback is logged once."""
    begun: list[float] = []

    async def run() -> None:
        begun.append(trio.current_time())
        async with trio.open_nursery():
            raise OSError(24, "Too many open files")

    with caplog.at_level(logging.ERROR, "kubetrio"):
        with trio.move_on_after(200):
            await run_forever_with_backoff(run, "reconciler")
    pauses = [after - before for before, after in itertools.pairwise(begun)]
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60])
    assert len(caplog.records) == len(begun)
    lines = [TextFormatter().format(record) for record in caplog.records]
    assert "OSError: [Errno 24] Too many open files" in lines[0]
    assert all("OSError(24, 'Too many open files')" in line for line in lines[1:])
    assert all("\n" not in line.strip() for line in lines[1:])


async def test_another_failure_has_a_traceback_of_its_own(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that was there before another."""
    texts = iter(["one", "one", "two", "one"])

    async def run() -> None:
        raise OSError(next(texts, "last"))

    with caplog.at_level(logging.ERROR, "kubetrio"):
        with trio.move_on_after(10):
            await run_forever_with_backoff(run, "reconciler")
    lines = [TextFormatter().format(record) for record in caplog.records]
    assert ["Traceback" in line for line in lines] == [True, False, True, True]


async def test_the_pause_is_short_again_when_all_was_well(autojump_clock: MockClock) -> None:
    """What failed long ago does not count."""
    begun: list[float] = []

    async def run() -> None:
        begun.append(trio.current_time())
        await trio.sleep(100)
        raise ValueError

    with trio.move_on_after(350):
        await run_forever_with_backoff(run, "reconciler")
    assert [after - before for before, after in itertools.pairwise(begun)] == (
        pytest.approx([101, 101, 101])
    )


async def test_a_task_that_ends_begins_anew(autojump_clock: MockClock) -> None:
    """It is there for as long as the server."""
    count = 0

    async def run() -> None:
        nonlocal count
        count += 1
        await trio.lowlevel.checkpoint()

    with trio.move_on_after(10):
        await run_forever_with_backoff(run, "reconciler")
    assert count == 4
