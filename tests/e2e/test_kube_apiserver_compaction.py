"""Turns of compaction with a real kube-apiserver on one real etcd."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import trio
from trio.lowlevel import ParkingLot

from kubetrio.env import Env
from kubetrio.store.etcd.client import Client, ClientSettings, open_client
from kubetrio.store.etcd.compaction import Compactor
from kubetrio.store.etcd.errors import Compacted
from kubetrio.store.etcd.layout import COMPACT_REVISION
from kubetrio.store.etcd.requests import Get
from kubetrio.store.etcd.watching import WatchSettings
from kubetrio.testing import kubeapiserver
from kubetrio.testing.etcd import MISSING, binary, etcd
from kubetrio.testing.kubeapiserver import KubeApiServer, kube_apiserver

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(binary() is None, reason=MISSING),
    pytest.mark.skipif(kubeapiserver.binary() is None, reason=kubeapiserver.MISSING),
]
KUBE_INTERVAL_S = 2.0


class Turn(NamedTuple):
    """One turn, as the key says.

    Args:
        version: which turn it is.
        compacted: revision that the key names.
    """

    version: int
    compacted: int


class Beside(NamedTuple):
    """What runs.

    Args:
        client: of etcd.
        kube: a kube-apiserver that takes turns.
        turns: all turns so far.
        taken: wakes who waits for the next one.
    """

    client: Client
    kube: KubeApiServer
    turns: list[Turn]
    taken: ParkingLot

    async def until(self, count: int) -> None:
        """Wait for so many further turns."""
        wanted = len(self.turns) + count
        with trio.fail_after(60):
            while len(self.turns) < wanted:
                await self.taken.park()

    async def is_compacted(self, revision: int) -> bool:
        """Whether etcd has forgotten what was before a revision."""
        try:
            await self.client.range(Get(key=COMPACT_REVISION, revision=revision))
        except Compacted:
            return True
        return False


@asynccontextmanager
async def beside(folder: Path) -> AsyncIterator[Beside]:
    """An etcd, a kube-apiserver with a short interval, and who follows the key."""
    with etcd(folder / "etcd") as cluster:
        flags = ("--etcd-compaction-interval", f"{KUBE_INTERVAL_S}s")
        with kube_apiserver(folder / "kube", cluster.urls[0], *flags) as kube:
            settings = ClientSettings(endpoints=tuple(cluster.urls))
            async with open_client(settings, Env()) as client, trio.open_nursery() as nursery:
                turns, taken = list[Turn](), ParkingLot()
                one = WatchSettings(key=COMPACT_REVISION, start_revision=0)

                async def follow() -> None:
                    async with client.watch(one) as watch:
                        async for batch in watch:
                            for event in batch.events:
                                turns.append(Turn(event.kv.version, int(event.kv.value)))
                            taken.unpark_all()

                nursery.start_soon(follow)
                yield Beside(client, kube, turns, taken)
                nursery.cancel_scope.cancel()


async def test_whoever_wins_the_other_goes_on_from_there(tmp_path: Path) -> None:
    """Both protocols are one: versions count turns, and the key names what is compacted."""
    async with beside(tmp_path) as both:
        await both.until(2)  # of kube-apiserver alone
        for history_s in (0.0, 3600.0):
            ours = Compactor(both.client, 0.0, history_s)
            assert not await ours.take_turn()  # it learns which turn it is
            for _ in range(3):
                assert await ours.take_turn()
            await both.until(1)  # kube-apiserver has lost a turn, and takes the next one
            assert not await ours.take_turn()
            assert await ours.take_turn()
            await both.until(2)
        versions = [turn.version for turn in both.turns]
        assert versions == list(range(versions[0], versions[0] + len(versions)))
        named = [turn.compacted for turn in both.turns]
        assert named == sorted(named)
        assert await both.is_compacted(named[-1] - 1)
        assert not await both.is_compacted(named[-1])


async def test_one_takes_over_from_the_other(tmp_path: Path) -> None:
    """At its second attempt, when the other is gone."""
    async with beside(tmp_path) as both:
        await both.until(2)
        ours = Compactor(both.client, 0.0, 0.0)
        assert not await ours.take_turn()
        await both.until(1)
        assert not await ours.take_turn()
        both.kube.process.kill()
        await Env().run_blocking(both.kube.process.wait)
        attempts = [await ours.take_turn() for _ in range(4)]
        assert attempts[1:] == [True] * 3
        assert await both.is_compacted(both.turns[-1].compacted - 1)
