"""The model of etcd: what a client of it sees, and what tests do to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.etcd.client import Client, ClientSettings, open_client
from kubetrio.store.etcd.errors import (
    Code,
    Compacted,
    FutureRevision,
    LeaseNotFound,
    NoSpace,
    TimedOut,
    Unavailable,
)
from kubetrio.store.etcd.requests import Delete, Get, Put, at_revision
from kubetrio.store.etcd.watching import WatchSettings
from kubetrio.testing.etcdmodel import CallError, EtcdModel, etcd_model

A, B, END = b"/a", b"/b", b"/c"


@asynccontextmanager
async def asked(*, call_timeout_s: float = 10.0) -> AsyncIterator[tuple[EtcdModel, Client]]:
    """A model and a client of it."""
    settings = ClientSettings(endpoints=["http://a"], call_timeout_s=call_timeout_s)
    async with (
        etcd_model() as model,
        open_client(settings, seeded(1), dial=model.dial) as client,
    ):
        yield model, client


async def test_reads_are_of_a_revision(autojump_clock: MockClock) -> None:
    """What is compacted, and what is to come, is refused."""
    async with asked() as (model, client):
        first = model.put(A, b"1")
        second = model.put(A, b"2")
        assert (await client.range(Get(key=A))).kvs[0].value == b"2"
        assert (await client.range(Get(key=A, revision=first))).kvs[0].value == b"1"
        model.compact(second)
        with pytest.raises(Compacted):
            await client.range(Get(key=A, revision=first))
        with pytest.raises(FutureRevision):
            await client.range(Get(key=A, revision=second + 1))


async def test_transactions(autojump_clock: MockClock) -> None:
    """One revision for all of it, none where nothing is written, and no room where it is full."""
    async with asked() as (model, client):
        made = await client.txn([at_revision(A, 0)], [Put(A, b"1"), Put(B, b"1")])
        assert made.succeeded
        assert {kv.revision for kv in model.state().values()} == {made.revision}
        lost = await client.txn([at_revision(A, 0)], [Put(A, b"2")], [Get(key=A)])
        assert (lost.succeeded, lost.revision) == (False, made.revision)
        model.full = True
        with pytest.raises(NoSpace):
            await client.txn([], [Put(A, b"2")])
        gone = await client.txn([], [Delete(A)])
        assert list(model.state()) == [B]
        assert list(model.state(made.revision)) == [A, B]
        assert gone.revision == made.revision + 1


async def test_leases_end(autojump_clock: MockClock) -> None:
    """Their keys with them; a lease that is lost takes no key."""
    async with asked() as (model, client):
        lease = await client.lease_grant(5)
        await client.txn([], [Put(A, b"1", lease.id)])
        await trio.sleep(6)
        assert model.state() == {}
        with pytest.raises(LeaseNotFound):
            await client.txn([], [Put(A, b"1", lease.id)])


@pytest.mark.parametrize("done", [True, False])
async def test_calls_fail_as_told(autojump_clock: MockClock, *, done: bool) -> None:
    """With or without being carried out, with a status or with silence."""
    async with asked(call_timeout_s=1) as (model, client):
        model.fail("Txn", CallError(Code.UNAVAILABLE, "etcdserver: request timed out"), done=done)
        with pytest.raises(Unavailable) as failure:
            await client.txn([], [Put(A, b"1")])
        assert failure.value.undecided
        assert bool(model.state()) is done
        model.fail("Txn", None, done=done)
        with pytest.raises(TimedOut):
            await client.txn([], [Put(B, b"1")])
        assert len(model.state()) == 2 * done
        assert model.calls["Txn"] == 2


async def test_watches(autojump_clock: MockClock) -> None:
    """Past and present in order, progress when it is asked for, and the end of history."""
    async with asked() as (model, client):
        first = model.put(A, b"1")
        second = model.put(A, b"2")
        settings = WatchSettings(key=A, end=END, start_revision=first)
        model.behind = 1
        async with client.watch(settings) as watch:
            assert watch.revision == first
            batch = await watch.receive()
            assert [event.kv.revision for event in batch.events] == [first, second]
            model.held = True
            third = model.delete(A)
            watch.request_progress()
            with trio.move_on_after(1) as nothing:
                await watch.receive()
            assert nothing.cancelled_caught
            model.release()
            batch = await watch.receive()
            assert [(event.kv.revision, event.deleted) for event in batch.events] == [(third, True)]
            assert (await watch.receive()).progress
        model.compact(third)
        with pytest.raises(Compacted) as gone:
            async with client.watch(settings) as watch:
                await watch.receive()
        assert gone.value.revision == third


async def test_a_snapshot_is_what_was_there(autojump_clock: MockClock) -> None:
    """Connections break, and what came later is gone."""
    async with asked() as (model, client):
        model.put(A, b"1")
        saved = model.save()
        model.put(A, b"2")
        async with client.watch(WatchSettings(key=A)) as watch:
            model.restore(saved)
            with pytest.raises(Unavailable):
                await watch.receive()
        answer = await client.range(Get(key=A))
        assert (answer.kvs[0].value, answer.revision) == (b"1", saved.revision)


async def test_no_member_answers(autojump_clock: MockClock) -> None:
    """Until one can be reached again."""
    async with asked(call_timeout_s=1) as (model, client):
        model.down = True
        model.cut()
        with pytest.raises(TimedOut):
            await client.newest()
        model.down = False
        assert await client.newest() == model.revision
