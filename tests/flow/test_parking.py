"""Parked requests: bytes of each, and how many are looked at."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Awaitable, Callable

import trio
import trio.testing
from test_gate import Asked, World, running

from kubetrio.flow.config import Queuing
from kubetrio.flow.parking import SWEPT

# Of a request that waits, without the task of its connection: some 960 bytes on CPython 3.11, so
# that 10,000 of them stay far below 20 MB.
BYTES_PER_WAITING_REQUEST = 1_900


async def waiting_bytes(count: int, wait: Callable[[Asked], Awaitable[object]]) -> int:
    """Bytes that appear while so many tasks wait in some way."""
    async with trio.open_nursery() as nursery:
        asked = [Asked(f"user-{n % 100}", trio.current_time()) for n in range(count)]
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for one in asked:
            nursery.start_soon(wait, one)
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        nursery.cancel_scope.cancel()
    return after - before


async def test_waiting_requests_are_small(autojump_clock: trio.testing.MockClock) -> None:
    """What the gate keeps for a request that waits, beyond its task, is bounded."""
    del autojump_clock
    count = 1_000
    never = trio.Event()

    async def idle(_asked: Asked) -> None:
        await never.wait()

    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=1, queuing=Queuing(16, 1, count))
        nursery.start_soon(world.request, "first", 1e9)
        await trio.testing.wait_all_tasks_blocked()
        tracemalloc.start()
        try:
            bare = await waiting_bytes(count, idle)
            gated = await waiting_bytes(count, lambda asked: park(world, asked))
        finally:
            tracemalloc.stop()
        nursery.cancel_scope.cancel()
    assert gated - bare < count * BYTES_PER_WAITING_REQUEST


async def park(world: World, asked: Asked) -> None:
    """Wait at the gate; there is no seat to be had."""
    await world.enter(asked, 1e8)
    raise AssertionError("it did not wait")


async def test_a_look_around_is_bounded(autojump_clock: trio.testing.MockClock) -> None:
    """Asking for all of 10,000 clients whether they have left would be 20 ms of the event loop."""
    del autojump_clock
    count, asked = 2_000, 0

    def gone() -> bool:
        nonlocal asked
        asked += 1
        return False

    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=1, queuing=Queuing(16, 1, count))
        nursery.start_soon(world.request, "first", 1e9)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(count):
            one = Asked("a", gone=gone)
            nursery.start_soon(world.enter, one, 1e8)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(1, 4):
            assert world.gate._parked.left(trio.current_time() + 10) == []
            assert asked == min(number * SWEPT, count)
        await trio.sleep(2)
        assert count <= asked <= 4 * count  # the timer gets round to all of them
        nursery.cancel_scope.cancel()
