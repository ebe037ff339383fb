"""Heap that is free goes back to the system, and nobody is asked for it in vain for long."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import pytest
import trio
import trio.testing

from kubetrio.env import seeded
from kubetrio.http.heap import (
    GROWN_BYTES,
    INTERVAL_S,
    MOST_INTERVAL_S,
    Heap,
    opened,
    resident_bytes,
    trimmer,
)

MB = 1_000_000
BASE = 70 * MB


@dataclass(slots=True)
class Memory:
    """A heap that keeps what was freed until it is trimmed."""

    used: int = BASE
    held: int = BASE
    trimmed: list[float] = field(default_factory=list)

    def allocate(self, size: int) -> None:
        self.used += size
        self.held = max(self.held, self.used)

    def trim(self) -> None:
        self.trimmed.append(trio.current_time())
        self.held = self.used


@pytest.fixture
async def heap(nursery: trio.Nursery) -> Memory:
    """One that is looked after."""
    made = Memory()
    keeper = Heap(lambda: made.held, made.trim, seeded(0).run_blocking)
    nursery.start_soon(keeper.run)
    await trio.testing.wait_all_tasks_blocked()
    return made


async def test_what_was_freed_goes_back(
    heap: Memory, autojump_clock: trio.testing.MockClock
) -> None:
    heap.allocate(100 * MB)
    heap.allocate(-100 * MB)
    await trio.sleep(INTERVAL_S + 1)
    assert heap.held == BASE


async def test_what_is_freed_long_after_it_was_taken_goes_back_within_a_minute(
    heap: Memory, autojump_clock: trio.testing.MockClock
) -> None:
    heap.allocate(100 * MB)
    await trio.sleep(1_000)
    heap.allocate(-100 * MB)
    await trio.sleep(60)
    assert heap.held == BASE


async def test_little_growth_is_left_alone(
    heap: Memory, autojump_clock: trio.testing.MockClock
) -> None:
    heap.allocate(GROWN_BYTES - 1)
    await trio.sleep(1_000)
    assert heap.trimmed == []


async def test_memory_in_use_is_asked_for_less_often(
    heap: Memory, autojump_clock: trio.testing.MockClock
) -> None:
    heap.allocate(100 * MB)
    await trio.sleep(1_000)
    assert len(heap.trimmed) <= 1_000 / MOST_INTERVAL_S + 3


@pytest.mark.skipif(trimmer() is None, reason="needs the C library of GNU")
def test_the_library_gives_back_holes() -> None:
    """Of many small pieces each tenth stays, so that nothing is free at the end of the heap."""
    trim = trimmer()
    assert trim is not None
    with opened() as file:
        pieces: list[object] = [ctypes.create_string_buffer(4_000) for _ in range(20_000)]
        full = resident_bytes(file.fileno())
        pieces = [piece if number % 10 == 0 else None for number, piece in enumerate(pieces)]
        trim()
        assert resident_bytes(file.fileno()) < full - 30 * MB
