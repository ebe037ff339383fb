"""Lists that say in front how large they are: equal bytes, whatever is kept of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import trio

from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.encoders import ObjectEncoder
from kubetrio.resources.countedlists import KeptItems, Room
from kubetrio.resources.listing import Listing, ListOptions
from kubetrio.resources.representation import Encoder, ListMeta
from kubetrio.resources.segments.making import Beside, Made
from kubetrio.store.model import KeyValue
from tests.resources.segments.segmentsworld import ACCEPTED, PODS, World, by, whole


class Counting(ObjectEncoder):
    """Notes the size of each object that it decodes."""

    made: list[int]

    def decoded(self, value: bytes) -> dict[str, Any]:
        """See `ObjectEncoder`."""
        self.made.append(len(value))
        return super().decoded(value)


def at_once(encoder: Encoder, values: Sequence[KeyValue], revision: int) -> bytes:
    """A list as its writer has it that gets all objects in one call."""
    assert isinstance(encoder, ObjectEncoder)
    writer, steps = encoder.list_writer(), encoder.steps
    body = writer.open(ListMeta(resource_version=str(revision))) + writer.items(values)
    while steps:
        body += steps.popleft().write()
    body += writer.close()
    while steps:
        body += steps.popleft().write()
    return body


async def filled() -> World:
    """Small objects and large ones in turns."""
    world = World()
    for number in range(40):
        text = "t" * (200_000 if number % 7 == 3 else 10)
        await world.put(f"p{number:02}", "ab"[number % 2], app="xy"[number % 3 % 2], text=text)
    return world


@pytest.mark.parametrize("which", [1, 2, 5])
@pytest.mark.parametrize("waiting_bytes", [0, 300_000, 100_000_000])
async def test_equal_to_what_is_written_at_once(which: int, waiting_bytes: int) -> None:
    """In protobuf, CBOR and as metadata; whether all, some or none of it can be kept."""
    world = await filled()
    encoder = world.encoders()[which]
    listing = Listing(world.store, world.hub, 0, waiting_bytes)
    for namespace in ("", "a", "none"):
        values = (await listing.snapshot(PODS.prefix(namespace), 0, "", None, max_bytes=0))[0]
        expected = at_once(encoder, values, world.store.revision)
        assert await whole(listing, PODS, namespace, encoder, {}) == expected
    for options in ({"limit": 10}, {"selection": by("app=y")}, {"selection": by("app=z")}):
        expected = await whole(world.slow, PODS, "", encoder, options)
        assert await whole(listing, PODS, "", encoder, options) == expected


async def test_lists_that_are_read_twice_show_one_revision() -> None:
    """A write between the two readings is not in it."""
    world = await filled()
    encoder = world.encoders()[1]
    expected = await whole(world.slow, PODS, "", encoder, {})
    listing = Listing(world.store, world.hub, 0, 0)
    begin, rest = await listing.open(PODS, "", ListOptions(), encoder)
    await world.put("p00", "a", text="later")
    await world.remove("p01", "b")
    more = True
    while more:
        assert rest is not None
        body, more = await rest.next()
        begin += body
    assert begin == expected


async def test_lists_at_once_make_a_large_item_together() -> None:
    """Each of two readings makes it once for all of them, and nothing is kept afterwards."""
    world = await filled()
    made: list[int] = []
    encoder = Counting(PODS, ACCEPTED[0], "Metadata", lambda: world.now, ByteCache(0))
    encoder.made = made
    listing = Listing(world.store, world.hub, 64 * 1024 * 1024, 0)
    bodies: list[bytes] = []

    async def elsewhere(make: Callable[[], Made]) -> Made:
        await trio.lowlevel.checkpoint()
        return make()

    beside = Beside(16 * 1024, elsewhere)

    async def ask() -> None:
        begin, rest = await listing.open(PODS, "", ListOptions(), encoder, beside)
        more = True
        while more:
            assert rest is not None
            body, more = await rest.next()
            begin += body
        bodies.append(begin)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ask)
    assert len(set(bodies)) == 1
    assert sum(size > 200_000 for size in made) <= 2 * 6
    gc.collect()
    assert listing.recent.bytes == 0


async def test_lists_let_others_run() -> None:
    """Also where all they send was read by another list before."""
    world = World()
    for number in range(20):
        await world.put(f"p{number:02}", text="t" * 600_000)
    listing = Listing(world.store, world.hub, 2000 * 1024 * 1024, 0)
    for encoder in world.encoders()[:2]:
        keeps = listing.recent.begin()
        await whole(listing, PODS, "", encoder, {})
        rounds = [0]

        async def count(rounds: list[int] = rounds) -> None:
            while True:
                rounds[0] += 1
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(count)
            await whole(listing, PODS, "", encoder, {})
            nursery.cancel_scope.cancel()
        assert rounds[0] >= 19  # one for each object behind the first
        del keeps


def test_room_is_given_back() -> None:
    """By a list that is sent, by one that finds none, and by one that is let go of."""
    room = Room(100)
    first, second = KeptItems(room), KeptItems(room)
    first.add([b"x" * 60])
    second.add([b"x" * 60])
    assert (first.whole, second.whole, second.size) == (True, False, 60)
    assert second.pop() is None
    assert first.pop() == b"x" * 60
    assert first.pop() is None
    assert room.take(100)
    room.give_back(100)
    third = KeptItems(room)
    third.add([b"x" * 100])
    assert not room.take(1)
    del third
    gc.collect()
    assert room.take(100)
