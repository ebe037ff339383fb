"""Reads at revisions from before a replica began, by a model of etcd."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.errors import Compacted, EngineFailed
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.errors import Code
from kubetrio.store.etcd.mapping import Mapping, Translation
from kubetrio.store.etcd.past import PAGE_KEYS, Past
from kubetrio.store.model import EventType, Range, Stamped, unstampable
from kubetrio.testing.etcdmodel import CallError, EtcdModel, etcd_model
from kubetrio.testing.etcdstore import PlainKeys, PlainValues, stored

ALL = Range("a", "z")
PLENTY = 1 << 20


def put(model: EtcdModel, key: str, text: str = "x") -> int:
    return model.put(b"/t/" + key.encode(), stored(Stamped(b"", b";" + text.encode())))


@asynccontextmanager
async def remembered() -> AsyncIterator[tuple[EtcdModel, Past]]:
    """A model, and what reads its past."""
    mapping = Mapping(keys=PlainKeys(b"/t/"), values=PlainValues(), reopen=unstampable)
    settings = ClientSettings(endpoints=["http://a"])
    async with (
        etcd_model() as model,
        open_client(settings, seeded(1), dial=model.dial) as client,
    ):
        yield model, Past(client, Translation(mapping))


async def test_states_of_a_revision(autojump_clock: MockClock) -> None:
    """One key, a range, its number of keys; other prefixes are not counted."""
    async with remembered() as (model, past):
        put(model, "b")
        first = put(model, "a", "1")
        model.put(b"/other", b"")
        put(model, "a", "2")
        put(model, "c")
        found = await past.get("a", first)
        assert found is not None
        assert (found.value, found.revision) == (b"%d;1" % first, first)
        assert await past.get("c", first) is None
        page = await past.range(ALL, first, 0, 0)
        assert [item.key for item in page.items] == ["a", "b"]
        assert (page.revision, page.more) == (first, False)
        assert await past.count(ALL, first) == 2


@pytest.mark.parametrize(("limit", "max_bytes"), [(2, 0), (0, 5)])
async def test_ranges_end_where_they_are_full(
    autojump_clock: MockClock, limit: int, max_bytes: int
) -> None:
    """By keys or by bytes, with a word on whether there is more."""
    async with remembered() as (model, past):
        for key in "abc":
            put(model, key)
        page = await past.range(ALL, model.revision, limit, max_bytes)
        assert [item.key for item in page.items] == ["a", "b"]
        assert page.more
        rest = await past.range(ALL.after("b"), model.revision, limit, max_bytes)
        assert ([item.key for item in rest.items], rest.more) == (["c"], False)


async def test_large_ranges_are_read_page_by_page(autojump_clock: MockClock) -> None:
    """All at the revision that was asked for."""
    async with remembered() as (model, past):
        for number in range(PAGE_KEYS + 1):
            put(model, f"k{number:05d}")
        at = model.revision
        put(model, "l")
        page = await past.range(ALL, at, 0, 0)
        assert len(page.items) == PAGE_KEYS + 1
        assert model.calls["Range"] == 2


async def test_what_is_compacted(autojump_clock: MockClock) -> None:
    """Is refused, the second time without asking etcd."""
    async with remembered() as (model, past):
        first = put(model, "a")
        put(model, "a")
        model.compact(model.revision)
        for _ in range(2):
            with pytest.raises(Compacted):
                await past.get("a", first)
        assert model.calls["Range"] == 1
        with pytest.raises(Compacted):
            await past.events(first - 1, model.revision, None, PLENTY, trusts_progress=True)


@pytest.mark.parametrize("keys", [None, Range("a", "b")])
@pytest.mark.parametrize("trusts_progress", [True, False])
async def test_events_up_to_a_revision(
    autojump_clock: MockClock, keys: Range | None, *, trusts_progress: bool
) -> None:
    """All of them, of some keys or of all, also where none comes at the end."""
    async with remembered() as (model, past):
        begun = model.revision
        made = [put(model, "a", "1"), put(model, "a", "2"), model.delete(b"/t/a")]
        other = put(model, "b")
        if not trusts_progress:
            put(model, "c")  # an event behind all of them
        told, upto = await past.events(begun, other, keys, PLENTY, trusts_progress=trusts_progress)
        assert [event.type for event in told[:3]] == list(EventType)
        assert [event.revision for event in told] == made + [other] * (keys is None)
        assert upto == other


async def test_events_come_in_pages(autojump_clock: MockClock) -> None:
    """Of whole revisions."""
    async with remembered() as (model, past):
        begun = model.revision
        first = put(model, "a")
        both = [put(model, "b"), put(model, "c")]
        last = model.delete(b"/t/b", b"/t/c")
        told, upto = await past.events(begun, last, None, 1, trusts_progress=True)
        assert ([event.revision for event in told], upto) == ([first], first)
        told, upto = await past.events(both[1], last, None, 1, trusts_progress=True)
        assert ([event.revision for event in told], upto) == ([last, last], last)


async def test_an_etcd_that_does_not_answer(autojump_clock: MockClock) -> None:
    """Is an error, in time."""
    async with remembered() as (model, past):
        begun = model.revision
        at = put(model, "a")
        model.held = True
        with pytest.raises(EngineFailed, match="in time") as failure:
            await past.events(begun, at, None, PLENTY, trusts_progress=True)
        assert failure.value.timed_out
        model.fail("Range", CallError(Code.UNKNOWN, "etcdserver: unknown"))
        with pytest.raises(EngineFailed, match="etcdserver: unknown"):
            await past.get("a", at)
