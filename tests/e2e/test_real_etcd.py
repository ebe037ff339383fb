"""The client of etcd with a real etcd."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from kubetrio.env import Env
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.dialing import TlsFiles
from kubetrio.store.etcd.errors import (
    Compacted,
    EtcdError,
    FutureRevision,
    LeaseNotFound,
    NoSpace,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from kubetrio.store.etcd.pool import PoolSettings
from kubetrio.store.etcd.requests import (
    Compare,
    Delete,
    Deleted,
    Get,
    Put,
    Ranged,
    Result,
    Target,
    at_revision,
    prefix_end,
)
from kubetrio.store.etcd.watching import WatchSettings
from kubetrio.testing.etcd import MISSING, Certificates, Etcd, binaries, binary, etcd
from kubetrio.tls.pki import Pki

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(binary() is None, reason=MISSING),
]
A, B = b"/registry/a", b"/registry/b"
ALL = Get(key=b"/registry/", end=prefix_end(b"/registry/"))
POOL = PoolSettings(first_pause_s=0.05, longest_pause_s=0.2, dial_timeout_s=2)


@pytest.fixture(scope="module", params=binaries())
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Etcd]:
    """One member of each etcd that there is, for tests that do not harm it."""
    with etcd(tmp_path_factory.mktemp("etcd"), program=request.param) as cluster:
        yield cluster


def settings(cluster: Etcd) -> ClientSettings:
    """How a cluster is reached."""
    return ClientSettings(endpoints=cluster.urls, pool=POOL)


async def test_compare_and_swap(running: Etcd) -> None:
    """The first wins; the other learns what it lost to."""
    async with open_client(settings(running), Env()) as client:
        made = await client.txn([at_revision(A, 0)], [Put(A, b"1")], [Get(key=A)])
        assert made.succeeded
        lost = await client.txn([at_revision(A, 0)], [Put(A, b"2")], [Get(key=A)])
        assert not lost.succeeded
        (found,) = lost.answers
        assert isinstance(found, Ranged)
        assert [(kv.value, kv.revision, kv.version) for kv in found.kvs] == [
            (b"1", made.revision, 1)
        ]
        older = Compare(A, Target.VERSION, 1, Result.GREATER)
        assert not (await client.txn([older], [Put(A, b"3")])).succeeded
        gone = await client.txn([at_revision(A, made.revision)], [Delete(A, previous=True)])
        (deleted,) = gone.answers
        assert isinstance(deleted, Deleted)
        assert (deleted.total, deleted.previous[0].value) == (1, b"1")
        assert gone.revision == made.revision + 1 == await client.newest()


async def test_large_values_pass_the_windows(running: Etcd) -> None:
    """A megabyte each way, several at once; what etcd finds too large is said so."""
    value = bytes(range(256)) * 4096
    async with open_client(settings(running), Env()) as client:
        async with trio.open_nursery() as nursery:
            for place in range(4):
                nursery.start_soon(client.txn, [], [Put(b"/large/%d" % place, value)])
        found = await client.range(Get(key=b"/large/", end=b"/large0"))
        assert [kv.value == value for kv in found.kvs] == [True] * 4
        with pytest.raises(TooLarge) as raised:
            await client.txn([], [Put(A, value * 2)])
        assert not raised.value.undecided
        few = await client.range(Get(key=b"/large/", end=b"/large0", limit=1, keys_only=True))
        assert (few.more, few.total, few.kvs[0].value) == (True, 4, b"")


async def test_watch(running: Etcd) -> None:
    """From a revision on, with what was before; progress on request; compaction ends it."""
    async with open_client(settings(running), Env()) as client:
        first = (await client.txn([], [Put(B, b"1")])).revision
        wanted = WatchSettings(key=B, start_revision=first)
        async with client.watch(wanted) as watch:
            batch = await watch.receive()
            assert [(e.kv.revision, e.kv.value) for e in batch.events] == [(first, b"1")]
            watch.request_progress()
            batch = await watch.receive()
            assert (batch.progress, batch.revision, batch.events) == (True, first, [])
            await client.txn([], [Put(B, b"2")])
            await client.txn([], [Delete(B)])
            (put,) = (await watch.receive()).events
            (gone,) = (await watch.receive()).events
            assert put.previous is not None
            assert (put.deleted, put.previous.value) == (False, b"1")
            assert gone.previous is not None
            assert (gone.deleted, gone.previous.value) == (True, b"2")
            assert gone.kv.revision == first + 2
        await client.compact(first + 2)
        with pytest.raises(Compacted):
            await client.range(Get(key=B, revision=first))
        with pytest.raises(Compacted):
            await client.compact(first)
        with pytest.raises(FutureRevision):
            await client.compact(first + 1000)
        with pytest.raises(Compacted) as raised:
            async with client.watch(wanted) as watch:
                await watch.receive()
        assert raised.value.revision == first + 2


async def test_a_reader_that_rests_holds_the_member_back(running: Etcd) -> None:
    """A watch far behind is bounded here, and loses nothing."""
    value = bytes(100_000)
    wanted = WatchSettings(key=b"/slow", previous=False)
    async with open_client(settings(running), Env()) as client, client.watch(wanted) as watch:
        for _ in range(60):
            await client.txn([], [Put(b"/slow", value)])
        versions: list[int] = []
        while len(versions) < 60:
            versions += [event.kv.version for event in (await watch.receive()).events]
        assert versions == list(range(1, 61))


async def test_leases(running: Etcd) -> None:
    """Keys go with their lease; one that is over is not found."""
    async with open_client(settings(running), Env()) as client:
        lease = await client.lease_grant(60)
        await client.txn([], [Put(A, b"leased", lease.id)])
        assert (await client.range(Get(key=A))).kvs[0].lease == lease.id
        assert await client.lease_keep_alive(lease.id) == 60
        assert 0 < await client.lease_remaining(lease.id) <= 60
        await client.lease_revoke(lease.id)
        assert (await client.range(Get(key=A))).kvs == []
        for ask in (client.lease_keep_alive, client.lease_remaining, client.lease_revoke):
            with pytest.raises(LeaseNotFound):
                await ask(lease.id)
        with pytest.raises(LeaseNotFound):
            await client.txn([], [Put(A, b"leased", lease.id)])


async def test_status(running: Etcd) -> None:
    """Of the member that is asked, and of one by its URL."""
    async with open_client(settings(running), Env()) as client:
        status = await client.status()
        assert status.leader == status.member != 0
        assert status.db_bytes >= status.db_used_bytes > 0
        assert (await client.status(running.urls[0])).member == status.member
        assert await client.alarms() == []


async def test_a_full_database(tmp_path: Path) -> None:
    """Writes are refused until there is room and the alarm is taken back; deletions are taken."""
    with etcd(tmp_path, "--quota-backend-bytes", "1000000") as cluster:
        async with open_client(settings(cluster), Env()) as client:

            async def fill() -> None:
                for place in range(400):
                    await client.txn([], [Put(b"/full/%d" % place, bytes(200_000))])

            with pytest.raises(NoSpace) as raised:
                await fill()
            assert not raised.value.undecided
            (alarm,) = await client.alarms()
            assert alarm.kind == "NOSPACE"
            await client.txn([], [Delete(b"/full/", prefix_end(b"/full/"))])
            await client.disarm(alarm)
            assert await client.alarms() == []


async def test_a_member_that_dies_and_comes_back(tmp_path: Path) -> None:
    """Watches say so; reads wait for it; a write that was on its way is undecided."""
    with etcd(tmp_path) as cluster:
        (member,) = cluster.members
        async with open_client(settings(cluster), Env()) as client:
            made = await client.txn([], [Put(A, b"1")])
            async with client.watch(WatchSettings(key=A)) as watch:
                member.kill()
                with pytest.raises(Unavailable):
                    await watch.receive()
            with pytest.raises(EtcdError):
                await client.newest(timeout_s=0.3)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(Env().run_blocking, cluster.restart, member)
                assert await client.newest(timeout_s=60) == made.revision
            assert (await client.range(Get(key=A))).kvs[0].value == b"1"


async def test_three_members_and_one_that_stops(tmp_path: Path) -> None:
    """Whichever member is killed or paused, reads and writes go on with the others."""
    with etcd(tmp_path, members=3) as cluster:
        pool = PoolSettings(
            first_pause_s=0.05, longest_pause_s=0.2, keepalive_s=5, keepalive_timeout_s=1
        )
        wanted = ClientSettings(endpoints=cluster.urls, pool=pool)
        async with open_client(wanted, Env()) as client:
            await client.txn([], [Put(A, b"1")])
            asked = next(m for m in cluster.members if m.url == client.statistics().endpoint)
            asked.kill()
            assert (await client.range(Get(key=A), timeout_s=30)).kvs[0].value == b"1"
            cluster.restart(asked)
            asked = next(m for m in cluster.members if m.url == client.statistics().endpoint)
            asked.signal(signal.SIGSTOP)
            try:
                with pytest.raises(EtcdError) as raised:  # pings find out first
                    await client.txn([], [Put(A, b"lost")], timeout_s=20)
                assert raised.value.undecided
                await client.txn([], [Put(A, b"2")], timeout_s=20)
                assert (await client.range(Get(key=A), timeout_s=30)).kvs[0].value == b"2"
            finally:
                asked.signal(signal.SIGCONT)


async def test_tls(tmp_path: Path, certificates: Pki) -> None:
    """With a client certificate; a wrong authority and a missing certificate are told apart."""
    ca, serving, admin = certificates.ca.cert, certificates.serving, certificates.admin
    files = Certificates(ca, serving.cert, serving.key)
    with etcd(tmp_path, certificates=files) as cluster:
        tls = TlsFiles(ca, admin.cert, admin.key)
        wanted = ClientSettings(endpoints=cluster.urls, tls=tls, pool=POOL)
        async with open_client(wanted, Env()) as client:
            await client.txn([], [Put(A, bytes(500_000))])
            assert len((await client.range(Get(key=A))).kvs[0].value) == 500_000
        wanted = ClientSettings(endpoints=cluster.urls, tls=TlsFiles(), pool=POOL)
        async with open_client(wanted, Env()) as client:
            with pytest.raises(Unauthenticated, match="unable to get local issuer certificate"):
                await client.newest(timeout_s=1)
        wanted = ClientSettings(endpoints=cluster.urls, tls=TlsFiles(ca), pool=POOL)
        async with open_client(wanted, Env()) as client:
            with pytest.raises(Unauthenticated, match=r"bad certificate|certificate required"):
                await client.newest(timeout_s=1)
