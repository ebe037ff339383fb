"""Lists with a limit: equal bytes, whatever is kept of them."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.api.encoding.encoders import ObjectEncoder
from kubetrio.resources import limitedlists
from kubetrio.resources.continuetokens import encode_token
from kubetrio.resources.countedlists import Room
from kubetrio.resources.limitedlists import KeptPages, read_pages
from kubetrio.resources.listing import Listing, ListOptions
from kubetrio.resources.paging import Page, RestOfList
from kubetrio.resources.representation import Encoder, ListMeta
from kubetrio.resources.selection import Selection
from kubetrio.wire.negotiate import Accepted
from tests.resources.segments.segmentsworld import PODS, World, by, whole

YAML = Accepted(serializer="yaml", media_type="application/yaml")
INDENTED = Accepted(serializer="json", media_type="application/json", pretty=True)


def text_encoders(world: World) -> list[Encoder]:
    """Of representations that are written while they are read."""
    stored, _, _, table, metadata, _ = world.encoders()
    return [stored, table, metadata, world.other(YAML), world.other(INDENTED)]


async def at_once(
    world: World, encoder: Encoder, limit: int, selection: Selection | None
) -> tuple[bytes, str]:
    """The first objects as a writer has them that gets all in one call, and the token behind."""
    values, _, revision = await world.slow.snapshot(PODS.prefix(""), 0, "", None, max_bytes=0)
    matches = [
        value for value in values if selection is None or selection.matches_bytes(value.value)
    ]
    some, left = matches[:limit], len(matches) - limit
    token = ""
    if left > 0 or (selection is not None and len(some) == limit and some[-1] is not values[-1]):
        token = encode_token(revision, some[-1].key, PODS.prefix(""))
    remaining = left if token and selection is None else None
    meta = ListMeta(resource_version=str(revision), continue_token=token, remaining=remaining)
    writer = encoder.list_writer()
    body = writer.open(meta) + writer.items(some)
    steps = encoder.steps if isinstance(encoder, ObjectEncoder) else ()
    while steps:
        body += steps.popleft().write()
    return body + writer.close(), token


OBJECTS = st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from([0, 40, 700])), max_size=14)


@settings(max_examples=60, deadline=None)
@given(
    sizes=OBJECTS,
    which=st.integers(0, 4),
    limit=st.integers(1, 15),
    waiting_bytes=st.sampled_from([0, 900, 2500, 10**6]),
    selection=st.sampled_from([None, by("app=x")]),
)
def test_equal_to_what_is_written_at_once(
    sizes: list[tuple[str, int]],
    which: int,
    limit: int,
    waiting_bytes: int,
    selection: Selection | None,
) -> None:
    """In each text, whether all, some or none of it can be kept; no room is lost."""

    async def main() -> None:
        world = World()
        for number, (app, size) in enumerate(sizes):
            await world.put(f"p{number:02}", "ab"[number % 2], app=app, text="t" * size)
        listing = Listing(world.store, world.hub, 0, waiting_bytes)
        encoder = text_encoders(world)[which]
        expected, token = await at_once(world, encoder, limit, selection)
        asked = {"limit": limit, "selection": selection}
        assert await whole(listing, PODS, "", encoder, asked) == expected
        asked["continue_token"] = token
        rest = await whole(listing, PODS, "", encoder, asked)
        assert rest == await whole(world.slow, PODS, "", encoder, asked)
        gc.collect()
        assert listing._room.take(waiting_bytes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limitedlists, "CHUNK_BYTES", 1200)
        trio.run(main)


async def filled() -> World:
    """Pages of one object each."""
    world = World()
    for number in range(12):
        await world.put(f"p{number:02}", text="t" * 600_000)
    return world


async def test_a_list_that_is_read_twice_shows_one_revision() -> None:
    """A write between the two readings is not in it, and it is counted once."""
    world = await filled()
    encoder = world.encoders()[0]
    expected = await whole(world.slow, PODS, "", encoder, {"limit": 9})
    listing = Listing(world.store, world.hub, 0, 0)
    body, rest = await listing.open(PODS, "", ListOptions(limit=9), encoder)
    assert len(body) < 1_000_000
    await world.put("p03", text="later")
    await world.remove("p05")
    more = True
    while more and rest is not None:
        piece, more = await rest.next()
        assert len(piece) < 1_000_000
        body += piece
    assert body == expected
    reads = listing.counts.lists(PODS.group_resource)
    assert (reads.lists, reads.fetched, reads.returned) == (1, 9, 9)


async def test_what_is_kept_is_given_back_as_it_is_sent() -> None:
    """And when a list is given up."""
    world = await filled()
    listing = Listing(world.store, world.hub, 0, 6_000_000)
    room, encoder = listing._room, world.encoders()[0]
    _, rest = await listing.open(PODS, "", ListOptions(limit=9), encoder)
    assert isinstance(rest, RestOfList)
    assert not room.take(1_500_000)
    for _ in range(2 * 4):  # what leads a page comes in front of it
        await rest.next()
    assert room.take(1_500_000)
    room.give_back(1_500_000)
    del rest
    gc.collect()
    assert room.take(6_000_000)


def page(size: int, *, more: bool = True) -> Page:
    """A page of one object."""
    return Page(7, b"x" * size, (), 1, f"/k{size}", more)


async def test_pages_for_which_there_is_no_room_are_let_go_of() -> None:
    """All but the first; the last one is known."""
    room = Room(100)
    pages = KeptPages(room)
    for size in (500, 60, 30):
        pages.add(page(size))
    assert (pages.whole, len(pages), room.take(11)) == (True, 3, False)
    for size in (20, 5):
        pages.add(page(size))
    assert (pages.whole, len(pages), pages.count) == (False, 1, 5)
    assert room.take(100)
    assert (pages.last.last_key, pages.last.body) == ("/k5", b"")
    first = await pages.next()
    assert first is not None
    assert (len(first.body), await pages.next()) == (500, None)


async def test_pages_that_have_to_be_kept_need_no_room() -> None:
    """Such as those that a webhook has converted, which may fail a second time."""
    pages = KeptPages(None)
    for _ in range(3):
        pages.add(page(10**6))
    assert (pages.whole, len(pages)) == (True, 3)


async def test_a_page_is_let_go_of_while_the_next_is_read() -> None:
    """One at a time is in memory, if none is kept."""
    alive: list[int] = []
    living: list[Page] = []

    class Body(Page):
        __slots__ = ()

        def __del__(self) -> None:
            living.pop()

    async def read(limit: int, max_bytes: int) -> Page:
        assert (limit, max_bytes) == (0, limitedlists.CHUNK_BYTES)
        alive.append(len(living))
        body = Body(7, b"", (), 1, "/k", len(alive) < 4)
        living.append(page(1))
        return body

    taken: list[Any] = []
    await read_pages(read, 0, lambda one: taken.append(one.more))
    assert (alive, taken) == ([0] * 4, [True, True, True, False])
    assert not living
