"""What lists take from segments, made where it is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from kubetrio.api.encoding import encoders
from kubetrio.api.encoding.encoders import json_encoder
from kubetrio.resources import objects
from kubetrio.resources.listing import ListOptions
from kubetrio.resources.objects import Object
from kubetrio.resources.segments.making import Beside, Made
from kubetrio.schema.kind import Kind
from tests.resources.segments.segmentsworld import ACCEPTED, PODS, World, by


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


async def test_a_row_is_made_once_whatever_its_age() -> None:
    """Of each object, by the first list that is kept; a chosen few as well."""
    world = World()
    for number in range(20):
        created, restarted = f"2023-11-14T22:13:{number:02}Z", "2023-11-14T22:13:19Z" * (number % 2)
        await world.put(f"p{number:02}", created=created, restarted=restarted, app="xy"[number % 2])
    encoder, read = world.other(ACCEPTED[2]), Counted()
    await world.quick.open(PODS, "", ListOptions(), encoder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "read", read)
        for seconds, selection in ((0, None), (1, None), (9, by("app=x")), (-4, None), (70, None)):
            world.now += seconds
            options = ListOptions(selection=selection)
            await world.quick.open(PODS, "", options, encoder)
        assert read.calls == 20
    await world.both(encoder)
    await world.both(encoder, selection=by("app=y"))


class Counted:
    """Reads objects and counts them."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, kind: Kind, value: bytes) -> Object:
        self.calls += 1
        return objects.read(kind, value)


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
