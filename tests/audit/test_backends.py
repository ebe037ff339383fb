"""Backends: who waits for what, what is bounded, what is lost and told."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
from recording import Recorder, event

from kubetrio.audit.auditor import Auditor
from kubetrio.audit.backends import (
    Backend,
    BatchConfig,
    Buffered,
    Grouped,
    LogPlugin,
    PostError,
    WebhookPlugin,
)
from kubetrio.audit.counting import Counting
from kubetrio.audit.policy import Chosen, Level, Policy
from kubetrio.audit.rotation import Plain
from kubetrio.env import seeded

ANYTHING = Policy([], Chosen(Level.METADATA))


@asynccontextmanager
async def running(*backends: Backend, counting: Counting | None = None) -> AsyncIterator[Auditor]:
    auditor = Auditor(ANYTHING, backends, counting or Counting())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(auditor.run)
        yield auditor
        await auditor.close(5.0)
        nursery.cancel_scope.cancel()


def batched(
    plugin: Recorder, counting: Counting | None = None, most_bytes: int = 10**6, **config: Any
) -> Buffered:
    given = {"buffer_size": 100, "max_size": 4, "max_wait_s": 30.0, **config}
    return Buffered(plugin, BatchConfig(**given), counting or Counting(), most_bytes)


# ---------------------------------------------------------------------- batch


async def test_a_full_batch_goes_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """And what is left waits for its time."""
    plugin = Recorder()
    async with running(batched(plugin)) as auditor:
        start = trio.current_time()
        for number in range(5):
            assert auditor.take(event(number)) is None
        await trio.sleep(60)
        assert plugin.batches == [["id-0", "id-1", "id-2", "id-3"], ["id-4"]]
        assert [time - start for time in plugin.times] == pytest.approx([0, 30])


async def test_batches_are_throttled(autojump_clock: trio.testing.MockClock) -> None:
    """A burst goes at once, then so many a second."""
    plugin = Recorder()
    backend = batched(plugin, max_size=2, qps=2.0, burst=3, at_a_time=100)
    async with running(backend) as auditor:
        start = trio.current_time()
        for number in range(12):
            auditor.take(event(number))
        await trio.sleep(10)
        assert [round(time - start, 3) for time in plugin.times] == [0, 0, 0, 0.5, 1.0, 1.5]


async def test_more_than_the_buffer_holds_is_lost_and_told(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """What was there first is kept; each lost event is counted and logged."""
    plugin, counting = Recorder(), Counting()
    plugin.gate = trio.Event()
    backend = batched(plugin, counting, buffer_size=3, max_size=2)
    with caplog.at_level(logging.ERROR, "kubetrio"):
        async with running(backend) as auditor:
            for number in range(9):
                auditor.take(event(number))
            assert counting.errors == {"buffered": 4}
            plugin.gate.set()
    assert plugin.flat() == [f"id-{number}" for number in range(5)]
    assert caplog.records[0].message == (
        "Error in audit plugin 'buffered' affecting 1 audit events: audit buffer queue blocked"
    )


async def test_bytes_are_bounded_too(autojump_clock: trio.testing.MockClock) -> None:
    """Large events fill the buffer before their number does, also while they are being sent."""
    plugin, counting = Recorder(), Counting()
    plugin.gate = trio.Event()
    backend = batched(plugin, counting, 10_000, max_size=1, qps=1000.0, burst=9, at_a_time=9)
    async with running(backend) as auditor:
        for number in range(3):
            auditor.take(event(number, request_object=b"x" * 4000))
            await trio.sleep(1)  # it is being sent, and still held
        assert counting.errors == {"buffered": 1}
        plugin.gate.set()
        await trio.sleep(1)
        auditor.take(event(3, request_object=b"x" * 4000))
        assert counting.errors == {"buffered": 1}


async def test_closing_flushes(autojump_clock: trio.testing.MockClock) -> None:
    """Without waiting for full batches; later events are lost and counted."""
    plugin, counting = Recorder(), Counting()
    backend = batched(plugin, counting)
    async with running(backend, counting=counting) as auditor:
        for number in range(6):
            auditor.take(event(number))
        start = trio.current_time()
        await auditor.close(5.0)
        assert trio.current_time() - start < 0.01
        assert plugin.flat() == [f"id-{number}" for number in range(6)]
        auditor.take(event(7))
        assert counting.errors == {"buffered": 1}


async def test_closing_ends_in_time(autojump_clock: trio.testing.MockClock) -> None:
    """Whatever hangs."""
    plugin = Recorder()
    plugin.gate = trio.Event()
    async with running(batched(plugin)) as auditor:
        auditor.take(event())
        start = trio.current_time()
        await auditor.close(5.0)
        assert trio.current_time() - start == pytest.approx(5)
        plugin.gate.set()


# ---------------------------------------------------------------------- blocking


async def test_blocking_waits_until_it_is_written(autojump_clock: trio.testing.MockClock) -> None:
    """With all that came before in one queue; nobody waits for the first event of a request."""
    plugin = Recorder()
    plugin.gate = trio.Event()
    async with running(Grouped(plugin)) as auditor:
        assert auditor.take(event(0, "RequestReceived")) is None
        wait = auditor.take(event(1))
        assert wait is not None
        with trio.move_on_after(10) as scope:
            await wait
        assert scope.cancelled_caught
        second = auditor.take(event(2))
        plugin.gate.set()
        assert second is not None
        assert await second
        assert plugin.flat() == ["id-0", "id-1", "id-2"]


async def test_those_who_wait_are_written_together(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """While one write goes on, the next ones gather."""
    plugin = Recorder()
    plugin.gate = trio.Event()
    async with running(Grouped(plugin)) as auditor, trio.open_nursery() as nursery:
        for number in range(5):
            wait = auditor.take(event(number))
            assert wait is not None
            nursery.start_soon(lambda wait=wait: wait)
            await trio.testing.wait_all_tasks_blocked()
        plugin.gate.set()
    assert plugin.batches == [["id-0"], ["id-1", "id-2", "id-3", "id-4"]]


# ---------------------------------------------------------------------- truncation


# ---------------------------------------------------------------------- log and webhook


async def test_lines_are_written_in_order(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """In batch mode too, where nobody waits for them."""
    path = tmp_path / "log"
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    env, counting = seeded(0), Counting()
    plugin = LogPlugin(Plain(fd), env, counting)
    single = BatchConfig(buffer_size=5000, max_size=1, max_wait_s=0.0)
    async with running(Buffered(plugin, single, counting)) as auditor:
        for number in range(2500):
            auditor.take(event(number))
    found = [orjson.loads(line)["auditID"] for line in path.read_bytes().splitlines()]
    assert found == [f"id-{number}" for number in range(2500)]
    os.close(fd)


async def test_a_log_that_cannot_be_written_is_told(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Each event that is lost is in the server's log, and requests go on."""
    fd = os.open("/dev/full", os.O_WRONLY)
    counting = Counting()
    async with running(Grouped(LogPlugin(Plain(fd), seeded(0), counting))) as auditor:
        wait = auditor.take(event())
        assert wait is not None
        assert await wait
    assert counting.errors == {"log": 1}
    assert 'id=\\"id-0\\"' in caplog.text or "id-0" in str(caplog.records[0].__dict__)
    os.close(fd)


async def test_a_webhook_is_tried_five_times(autojump_clock: trio.testing.MockClock) -> None:
    """Later and later; then the events are lost and counted."""
    tried: list[float] = []

    async def post(body: bytes) -> None:
        assert orjson.loads(body)["items"][0]["auditID"] == "id-0"
        tried.append(trio.current_time())
        raise PostError("no")

    counting = Counting()
    plugin = WebhookPlugin(post, 10.0, seeded(0), counting)
    assert await plugin.process([event()]) == [False]
    pauses = [after - before for before, after in pairwise(tried)]
    assert len(pauses) == 4
    for pause, least in zip(pauses, (10, 15, 22.5, 33.75), strict=True):
        assert least <= pause <= least * 1.2
    assert counting.errors == {"webhook": 1}


async def test_a_webhook_that_comes_back_gets_the_events(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nothing is lost then."""
    bodies: list[bytes] = []

    async def post(body: bytes) -> None:
        bodies.append(body)
        if len(bodies) < 3:
            raise PostError("not yet")

    counting = Counting()
    plugin = WebhookPlugin(post, 1.0, seeded(0), counting)
    assert await plugin.process([event(0), event(1)]) == [True, True]
    assert len(bodies) == 3
    assert not counting.errors
