"""Which member is asked, and how often one is dialled."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.env import seeded
from kubetrio.harness.transport import MemoryTransport
from kubetrio.store.etcd.dialing import Endpoint
from kubetrio.store.etcd.errors import Code, EtcdError, Unavailable
from kubetrio.store.etcd.pool import Pool, PoolSettings
from kubetrio.testing.grpcserver import GrpcServer, ServedCall

PATH = "/etcdserverpb.KV/Range"
ENDPOINTS = [Endpoint(f"http://{name}:1", name, 1, False) for name in ("a", "b", "c")]
SETTINGS = PoolSettings(dial_timeout_s=2, first_pause_s=1, longest_pause_s=8)


class Members:
    """Members of a cluster: which are up, which hang, and when each was dialled."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.down: set[str] = set()
        self.hanging: set[str] = set()
        self.dialled: list[tuple[str, float]] = []
        self.servers: dict[str, GrpcServer] = {}
        self._nursery = nursery

    async def dial(self, endpoint: Endpoint) -> MemoryTransport:
        """See `Dial`."""
        name = endpoint.host
        self.dialled.append((name, trio.current_time()))
        if name in self.down:
            raise Unavailable(f"dial {name}: connection refused", Code.UNAVAILABLE)
        if name in self.hanging:
            await trio.sleep_forever()

        async def say(call: ServedCall) -> None:
            await call.answer(name.encode())

        server = self.servers[name] = GrpcServer(self._nursery, Range=say)
        return server.connect()

    @property
    def order(self) -> str:
        """Names of members in the order in which they were dialled."""
        return "".join(name for name, _ in self.dialled)


@asynccontextmanager
async def pooled(count: int = 3) -> AsyncIterator[tuple[Pool, Members]]:
    """A pool and its members, as long as the block lasts."""
    async with trio.open_nursery() as nursery:
        members = Members(nursery)
        pool = Pool(ENDPOINTS[:count], SETTINGS, members.dial, seeded(1), nursery)
        nursery.start_soon(pool.run)
        yield pool, members
        nursery.cancel_scope.cancel()


async def asked(pool: Pool) -> str:
    """The member that answers."""
    with trio.fail_after(100):
        connection = await pool.connection()
        return (await connection.unary(PATH, b"", 10)).decode()


async def test_one_connection_for_all(autojump_clock: MockClock) -> None:
    """Dialled when it is wanted, and not by each that waits."""
    async with pooled() as (pool, members):
        await trio.sleep(10)
        assert members.dialled == []
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(asked, pool)
        assert len(members.dialled) == 1
        assert pool.endpoint is not None
        assert pool.endpoint.host == members.order


async def test_clients_begin_at_different_members(autojump_clock: MockClock) -> None:
    """By their randomness."""
    begun = set()
    async with trio.open_nursery() as nursery:
        for seed in range(20):
            members = Members(nursery)
            pool = Pool(ENDPOINTS, SETTINGS, members.dial, seeded(seed), nursery)
            nursery.start_soon(pool.run)
            begun.add(await asked(pool))
        nursery.cancel_scope.cancel()
    assert begun == {"a", "b", "c"}


async def test_the_next_member_when_one_is_down(autojump_clock: MockClock) -> None:
    """At once in the first round."""
    async with pooled() as (pool, members):
        first = ENDPOINTS[pool._at].host
        members.down.add(first)
        assert await asked(pool) != first
        assert trio.current_time() == 0
        assert (pool.dials, pool.failed_dials) == (2, 1)


async def test_a_member_that_does_not_answer_a_dial(autojump_clock: MockClock) -> None:
    """Is left after the time-out."""
    async with pooled() as (pool, members):
        members.hanging.add(ENDPOINTS[pool._at].host)
        await asked(pool)
        assert trio.current_time() == pytest.approx(2)


async def test_rounds_rest_longer_and_longer(autojump_clock: MockClock) -> None:
    """Between one half and three halves of the pause, which doubles up to the longest."""
    async with pooled(1) as (pool, members):
        members.down.add("a")
        with trio.move_on_after(100):
            await pool.connection()
        times = [at for _, at in members.dialled]
        pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
        for pause, usual in zip(pauses, [1, 2, 4, 8, 8, 8, 8], strict=False):
            assert usual * 0.5 <= pause <= usual * 1.5
        assert len(set(pauses)) == len(pauses)
        assert 10 <= len(times) <= 30
        members.down.clear()
        await asked(pool)
        assert "connection refused" in str(pool.error)


async def test_a_broken_connection(autojump_clock: MockClock) -> None:
    """Is replaced by one to the next member; without a pause, if it had worked."""
    async with pooled() as (pool, members):
        first = await asked(pool)
        await trio.sleep(10)
        members.servers[first].connections[0].drop()
        await wait_all_tasks_blocked()
        assert await asked(pool) != first
        assert trio.current_time() == pytest.approx(10)


async def test_members_that_break_every_connection(autojump_clock: MockClock) -> None:
    """Are not stormed: short connections count as failures."""
    async with pooled() as (pool, members):
        with trio.move_on_after(60):
            while True:
                name = await asked(pool)
                members.servers[name].connections[0].drop()
                await wait_all_tasks_blocked()
        assert 10 <= len(members.dialled) <= 60


async def test_distrust(autojump_clock: MockClock) -> None:
    """Another member is asked; calls that are under way go on; a new connection is kept."""
    async with pooled() as (pool, members):
        first = await asked(pool)
        connection = await pool.connection()
        pool.distrust(connection)
        assert await pool.connection() is connection
        await trio.sleep(5)
        async with connection.stream(PATH) as stream:
            pool.distrust(connection)
            assert await asked(pool) != first
            assert await stream.receive() == first.encode()
        pool.distrust(connection)  # it is not the one that is asked
        assert len(members.dialled) == 2
    async with pooled(1) as (pool, members):
        await asked(pool)
        connection = await pool.connection()
        await trio.sleep(5)
        pool.distrust(connection)
        assert await pool.connection() is connection


async def test_a_certain_member(autojump_clock: MockClock) -> None:
    """By the connection that there is, or by one for the block."""
    async with pooled() as (pool, members):
        first = await asked(pool)
        for endpoint in ENDPOINTS:
            async with pool.to(endpoint) as connection:
                assert await connection.unary(PATH, b"", 1) == endpoint.host.encode()
        await wait_all_tasks_blocked()
        assert len(members.dialled) == 3
        assert await asked(pool) == first
        for name, server in members.servers.items():
            open_now = server.connections[0].transport.closed
            assert open_now == (name != first) or server.connections[0].transport.unread == 0
        members.down.add("b" if first != "b" else "c")
        with pytest.raises(EtcdError, match="connection refused"):
            async with pool.to(ENDPOINTS["abc".index(members.down.copy().pop())]):
                pass
