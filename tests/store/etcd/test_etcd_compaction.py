"""Turns of compaction, of servers that share an etcd."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.compaction import Compactor
from kubetrio.store.etcd.errors import Code, Unavailable
from kubetrio.store.etcd.layout import COMPACT_REVISION
from kubetrio.testing.etcdmodel import CallError, EtcdModel, etcd_model


@asynccontextmanager
async def compacting(
    count: int, interval_s: float = 300.0, history_s: float = 0.0
) -> AsyncIterator[tuple[EtcdModel, list[Compactor]]]:
    """A model, and servers that take part."""
    settings = ClientSettings(endpoints=["http://a"])
    async with (
        etcd_model() as model,
        open_client(settings, seeded(1), dial=model.dial) as client,
    ):
        yield model, [Compactor(client, interval_s, history_s) for _ in range(count)]


async def test_history_is_kept_for_its_time(autojump_clock: MockClock) -> None:
    """However often turns come."""
    async with compacting(1, history_s=100.0) as (model, [one]):
        revisions = []
        for _ in range(5):
            assert await one.take_turn()
            revisions.append(model.revision)
            assert model.compacted == 0
            await trio.sleep(20)
        for revision in revisions:
            assert await one.take_turn()
            assert model.compacted == revision
            await trio.sleep(20)


async def test_history_up_to_the_last_turn_is_kept(autojump_clock: MockClock) -> None:
    """A first turn knows of nothing that is old; the second forgets what was before the first."""
    async with compacting(1) as (model, [one]):
        assert await one.take_turn()
        assert model.compacted == 0
        first = model.revision
        model.put(b"/a", b"1")
        assert await one.take_turn()
        assert model.compacted == first
        assert model.state()[COMPACT_REVISION].value == b"%d" % first


async def test_one_of_several_servers_compacts(autojump_clock: MockClock) -> None:
    """The others learn the turn that was taken, and each may take the next."""
    async with compacting(2) as (model, [one, two]):
        assert await one.take_turn()
        assert not await two.take_turn()
        first = model.revision
        assert await two.take_turn()
        assert model.compacted == first
        assert not await one.take_turn()
        assert await one.take_turn()


async def test_what_is_compacted_already(autojump_clock: MockClock) -> None:
    """By hand, say: the turn was taken all the same."""
    async with compacting(1) as (model, [one]):
        await one.take_turn()
        model.put(b"/a", b"1")
        model.compact(model.revision)
        assert await one.take_turn()


async def test_a_turn_in_each_interval(autojump_clock: MockClock) -> None:
    """One that fails is logged, and the next one comes; without an interval there is none."""
    async with compacting(1, 60.0) as (model, [one]), trio.open_nursery() as nursery:
        nursery.start_soon(one.run)
        model.fail("Txn", CallError(Code.UNAVAILABLE, "etcdserver: request timed out"))
        await trio.sleep(90)
        assert model.calls["Txn"] == 1
        await trio.sleep(60)
        assert model.state()[COMPACT_REVISION].version == 1
        nursery.cancel_scope.cancel()
    async with compacting(1, 0.0) as (model, [none]):
        with trio.move_on_after(1000):
            await none.run()
        assert not model.calls["Txn"]


async def test_a_turn_that_fails(autojump_clock: MockClock) -> None:
    """Raises what etcd says."""
    async with compacting(1) as (model, [one]):
        model.fail("Txn", CallError(Code.UNAVAILABLE, "etcdserver: request timed out"))
        with pytest.raises(Unavailable, match="timed out"):
            await one.take_turn()
