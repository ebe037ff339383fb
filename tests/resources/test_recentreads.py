"""What lists that are under way share."""

from __future__ import annotations

import gc

import pytest
import trio
from trio.testing import MockClock

from kubetrio.resources.recentreads import Recent, RecentReads
from kubetrio.store.model import JoinResult


async def test_a_part_is_made_once(autojump_clock: MockClock) -> None:
    """For those who ask meanwhile, and for those who ask a little later."""
    del autojump_clock
    recent, made = Recent[bytes](100, len), list[int]()

    async def make() -> bytes:
        made.append(1)
        await trio.sleep(1)
        return b"x" * 10

    parts: list[bytes] = []

    async def ask() -> None:
        parts.append(await recent.get("a", make))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
    await ask()
    assert len(made) == 1
    assert len({id(part) for part in parts}) == 1


async def test_a_part_may_be_shared_and_not_kept() -> None:
    """Such as the first one, when no list is under way."""
    recent, reads = Recent[bytes](100, len), list[bytes]()

    async def make() -> bytes:
        await trio.lowlevel.checkpoint()
        reads.append(b"x" * 10)
        return reads[-1]

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(lambda: recent.get("a", make, keep=False))
    assert (len(reads), recent.bytes) == (1, 0)
    await recent.get("a", make)
    assert (len(reads), recent.bytes) == (2, 10)


@pytest.mark.parametrize(("size", "kept"), [(10, 4), (25, 1), (41, 0)])
async def test_parts_are_bounded_in_bytes(size: int, kept: int) -> None:
    """Those that were asked for longest ago go first; one over the bound is not kept at all."""
    recent = Recent[bytes](40, len)

    async def make() -> bytes:
        return b"x" * size

    for name in range(10):
        await recent.get(name, make)
        assert recent.bytes <= 40
    assert len(recent) == kept
    assert recent.bytes == kept * size
    recent.clear()
    assert (len(recent), recent.bytes) == (0, 0)


async def test_nothing_is_kept_behind_the_last_list() -> None:
    """Lists that are over are let go of, in any order."""
    reads = RecentReads(1000)

    async def make() -> JoinResult:
        return JoinResult(1, b"x" * 7, 1, "k", more=False)

    first, second = reads.begin(), reads.begin()
    await reads.pages.get("a", make)
    del first
    gc.collect()
    assert (reads.entries, reads.bytes) == (1, 7)
    del second
    gc.collect()
    assert (reads.entries, reads.bytes) == (0, 0)
