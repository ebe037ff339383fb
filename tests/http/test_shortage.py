"""While memory is over its limit caches go, and then requests wait for better times."""

from __future__ import annotations

from dataclasses import dataclass

import trio
import trio.testing

from kubetrio.env import seeded
from kubetrio.http.shortage import LOOKS_EACH_S, RELIEVES_EACH_S, MemoryLimit

LIMIT = 1000


@dataclass(slots=True)
class Memory:
    """What a process has: objects, and caches that can go."""

    objects: int = 100
    caches: int = 0
    trimmed: int = 0

    def forget(self) -> None:
        self.caches = 0

    def resident(self) -> int:
        return self.objects + self.caches

    def trim(self) -> None:
        self.trimmed += 1


async def watched(nursery: trio.Nursery, memory: Memory) -> MemoryLimit:
    limit = MemoryLimit(
        LIMIT, memory.forget, seeded(0).run_blocking, resident=memory.resident, trim=memory.trim
    )
    nursery.start_soon(limit.run)
    await trio.testing.wait_all_tasks_blocked()
    return limit


async def test_caches_go_first(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Nobody is refused for what can be made again."""
    memory = Memory(caches=950)
    limit = await watched(nursery, memory)
    await trio.sleep(LOOKS_EACH_S * 1.5)
    assert (memory.caches, memory.trimmed, limit.short) == (0, 1, False)


async def test_requests_wait_until_there_is_memory_again(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """A bit more than none, so that it does not change with each look."""
    memory = Memory()
    limit = await watched(nursery, memory)
    await trio.sleep(LOOKS_EACH_S / 2)
    seen = []
    for objects in (900, 1001, 990, 960, 949, 999):
        memory.objects = objects
        await trio.sleep(LOOKS_EACH_S)
        seen.append(limit.short)
    assert seen == [False, True, True, True, False, False]


async def test_what_does_not_help_is_not_done_all_the_time(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Collecting garbage takes milliseconds."""
    memory = Memory(objects=2000)
    await watched(nursery, memory)
    await trio.sleep(4 * RELIEVES_EACH_S + LOOKS_EACH_S)
    assert 4 <= memory.trimmed <= 5
