"""What lists take from segments, made where it is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from kubetrio.api.encoding.encoders import json_encoder
from kubetrio.resources.listing import ListOptions
from kubetrio.resources.segments.making import Beside, Made
from tests.resources.segments.segmentsworld import ACCEPTED, PODS, World


@pytest.fixture
async def world() -> World:
    """Thirty Pods in three namespaces, and each list asked for once."""
    world = World()
    for number in range(30):
        await world.put(f"p{number:02}", "abc"[number % 3], app="xyz"[number % 3 - 1])
    return world


async def test_ages_pass(world: World) -> None:
    """Rows are made again when their texts change, and only then."""
    encoder = world.encoders()[3]
    for seconds in (0, 0, 1, 0.5, 3600, 7, 90000, -90000, 10**8):
        world.now += seconds
        await world.both(encoder)


async def test_large_objects_are_made_beside(world: World) -> None:
    """Those alone, once; the list is the same."""
    await world.put("large", text="t" * 2000)
    encoder = world.other(ACCEPTED[0])
    ran = 0

    async def run(make: Callable[[], Made]) -> Made:
        nonlocal ran
        ran += 1
        await trio.lowlevel.checkpoint()
        return make()

    expected = await world.both(encoder)
    await world.quick.open(PODS, "", ListOptions(), json_encoder(PODS))
    world.quick.segments.cache._collections[PODS.prefix("")].forget_forms()
    for _ in range(2):
        begin, rest = await world.quick.open(PODS, "", ListOptions(), encoder, Beside(1000, run))
        assert (begin, rest, ran) == (expected, None, 1)


async def test_lists_at_two_times_make_the_same_rows(world: World) -> None:
    """One whose time is older does not undo what the other made, again and again."""
    encoder = world.other(ACCEPTED[2])
    await world.both(encoder)
    await world.both(encoder)
    async with trio.open_nursery() as nursery:
        for number in range(6):
            world.now += (-1) ** number * 10
            nursery.start_soon(world.quick.open, PODS, "", ListOptions(), encoder)
    await world.both(encoder)
