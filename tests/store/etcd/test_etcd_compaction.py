"""Turns of compaction, of servers that share an etcd."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.store.etcd.client import Client, ClientSettings, open_client
from kubetrio.store.etcd.compaction import Compactor
from kubetrio.store.etcd.errors import Code, Compacted, Unavailable
from kubetrio.store.etcd.layout import COMPACT_REVISION
from kubetrio.store.etcd.requests import Compare, Get, Put, Ranged, Target
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


class KubeCompactor:
    """kube-apiserver's part in it: it forgets what was there at its own last turn.

    Source: k8s.io/apiserver/pkg/storage/etcd3/compact.go (compact).
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._version = self._revision = 0
        self.learned: list[int] = []

    async def take_turn(self) -> bool:
        """Compact, unless another server has; then learn what it compacted to."""
        outcome = await self._client.txn(
            [Compare(COMPACT_REVISION, Target.VERSION, self._version)],
            [Put(COMPACT_REVISION, str(self._revision).encode())],
            [Get(key=COMPACT_REVISION)],
        )
        before, self._revision = self._revision, outcome.revision
        if outcome.succeeded:
            self._version += 1
            if before:
                await self._client.compact(before)
            return True
        [answer] = outcome.answers
        assert isinstance(answer, Ranged)
        self._version = answer.kvs[0].version
        self.learned.append(int(answer.kvs[0].value))
        return False


@asynccontextmanager
async def beside_kube(
    history_s: float,
) -> AsyncIterator[tuple[EtcdModel, Compactor, KubeCompactor]]:
    """A model, a server, and a kube-apiserver."""
    settings = ClientSettings(endpoints=["http://a"])
    async with (
        etcd_model() as model,
        open_client(settings, seeded(1), dial=model.dial) as client,
    ):
        yield model, Compactor(client, 60.0, history_s), KubeCompactor(client)


async def test_turns_with_a_kube_apiserver(autojump_clock: MockClock) -> None:
    """Who comes first in an interval compacts; the other learns to what, and may be next."""
    async with beside_kube(0.0) as (model, ours, kube):
        assert await ours.take_turn()
        assert not await kube.take_turn()
        assert kube.learned == [0]
        for _ in range(3):
            before = model.put(b"/a", b"1")
            assert await kube.take_turn()
            assert model.compacted <= before
            assert not await ours.take_turn()
            assert await ours.take_turn()
            assert model.compacted >= before
            assert not await kube.take_turn()
            assert kube.learned[-1] == model.compacted
            await trio.sleep(60)


@pytest.mark.parametrize(("ours_s", "kube_s"), [(60.0, 300.0), (300.0, 60.0), (60.0, 60.0)])
async def test_intervals_that_differ(
    autojump_clock: MockClock, ours_s: float, kube_s: float
) -> None:
    """History is compacted, and kept for the shorter of both: each keeps what it says itself."""
    kept_s = min(300.0, kube_s)
    async with beside_kube(300.0) as (model, ours, kube):
        written: list[tuple[float, int]] = []

        async def turns(interval_s: float, who: Compactor | KubeCompactor) -> None:
            while True:
                await trio.sleep(interval_s)
                with suppress(Compacted):  # by the other, which has another interval
                    await who.take_turn()

        with trio.move_on_after(3000):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(turns, ours_s, ours)
                nursery.start_soon(turns, kube_s + 1, kube)
                while True:
                    written.append((trio.current_time(), model.put(b"/a", b"1")))
                    await trio.sleep(7)
                    young = [at for when, at in written if when > trio.current_time() - kept_s]
                    assert model.compacted <= young[0]
        assert model.compacted > written[len(written) // 2][1]


async def test_the_key_never_names_an_older_revision(autojump_clock: MockClock) -> None:
    """Also where the other keeps less history: what is compacted is compacted for all."""
    async with beside_kube(10_000.0) as (model, ours, kube):
        named = []
        for who in (kube, kube, ours, ours, kube, kube, ours, ours):
            model.put(b"/a", b"1")
            await who.take_turn()
            named.append(int(model.state()[COMPACT_REVISION].value))
            await trio.sleep(60)
        assert named == sorted(named)
        assert named[-1] == model.compacted > 0
        assert not await kube.take_turn()
        assert kube.learned[-1] == model.compacted


async def test_a_key_that_names_nothing(autojump_clock: MockClock) -> None:
    """A turn is taken all the same, as by kube-apiserver, which passes over such a value."""
    async with compacting(1) as (model, [one]):
        model.put(COMPACT_REVISION, b"?")
        assert not await one.take_turn()
        assert await one.take_turn()
        assert model.state()[COMPACT_REVISION].value.isdigit()
