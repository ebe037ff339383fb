"""Calls of etcd by a client: what is tried again, and what is said of a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.harness.transport import MemoryTransport
from kubetrio.store.etcd.client import Client, ClientSettings, open_client
from kubetrio.store.etcd.dialing import Endpoint
from kubetrio.store.etcd.errors import (
    Code,
    EtcdError,
    LeaseNotFound,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from kubetrio.store.etcd.messages import message_class
from kubetrio.store.etcd.requests import Alarm, Get, Put, encode
from kubetrio.store.etcd.watching import WatchSettings
from kubetrio.testing.grpcserver import GrpcServer, ServedCall

A = b"/a"
SETTINGS = ClientSettings(endpoints=["http://a", "http://b"], max_request_bytes=10_000)
Handler = Callable[[ServedCall], Awaitable[None]]


@asynccontextmanager
async def served(
    settings: ClientSettings = SETTINGS, **handlers: Handler
) -> AsyncIterator[tuple[Client, GrpcServer]]:
    """A client of a server that serves at every endpoint, as long as the block lasts."""
    async with trio.open_nursery() as nursery:
        server = GrpcServer(nursery, **handlers)

        async def dial(_: Endpoint) -> MemoryTransport:
            return server.connect()

        async with open_client(settings, seeded(1), dial=dial) as client:
            yield client, server
        nursery.cancel_scope.cancel()


def header(revision: int) -> object:
    """The header of an answer."""
    return message_class("etcdserverpb.ResponseHeader")(revision=revision)


class Failing:
    """A method that fails some times before it answers.

    Args:
        answer: the answer.
        failures: statuses, one for each call that fails.
    """

    def __init__(self, answer: bytes, *failures: tuple[int, str]) -> None:
        self.calls = 0
        self._answer = answer
        self._failures = list(failures)

    async def __call__(self, call: ServedCall) -> None:
        """Handle a call."""
        self.calls += 1
        await call.receive()
        if self._failures:
            await call.finish(*self._failures.pop(0))
        else:
            await call.answer(self._answer)


NO_LEADER = (14, "etcdserver: no leader")
LOST = (14, "etcdserver: request timed out, possibly due to connection lost")
FULL = (8, "etcdserver: too many requests")
RANGED = encode("RangeResponse", header=header(7))
DONE = encode("TxnResponse", header=header(8), succeeded=True)


async def test_reads_are_tried_again(autojump_clock: MockClock) -> None:
    """Whatever is known of the failed one."""
    range_ = Failing(RANGED, NO_LEADER, LOST, LOST)
    async with served(Range=range_) as (client, _):
        assert (await client.range(Get(key=A))).revision == 7
        assert (range_.calls, client.statistics().again) == (4, 3)
        assert client.statistics().failed == 0


async def test_writes_are_tried_again_if_they_were_not_carried_out(
    autojump_clock: MockClock,
) -> None:
    """No leader took it; but one that may have been carried out is its caller's matter."""
    txn = Failing(DONE, NO_LEADER, NO_LEADER, LOST)
    async with served(Txn=txn) as (client, _):
        with pytest.raises(Unavailable, match="connection lost") as raised:
            await client.txn([], [Put(A, b"")])
        assert raised.value.undecided
        assert txn.calls == 3
        assert (await client.txn([], [Put(A, b"")])).revision == 8


async def test_writes_that_do_no_harm_twice(autojump_clock: MockClock) -> None:
    """Are tried again, as reads are, if their caller says so."""
    txn = Failing(DONE, LOST)
    async with served(Txn=txn) as (client, _):
        assert (await client.txn([], [Put(A, b"")], repeatable=True)).revision == 8
    assert txn.calls == 2


async def test_transactions_that_read_are_reads(autojump_clock: MockClock) -> None:
    """They are tried again."""
    async with served(Txn=Failing(DONE, LOST)) as (client, _):
        assert (await client.txn([], [Get(key=A)])).succeeded


async def test_other_errors_are_raised_at_once(autojump_clock: MockClock) -> None:
    """Another member would say the same."""
    range_ = Failing(RANGED, FULL)
    async with served(Range=range_) as (client, _):
        with pytest.raises(EtcdError, match="too many requests"):
            await client.range(Get(key=A))
        assert range_.calls == 1
        assert client.statistics().failed == 1


async def test_nothing_waits_without_a_bound(autojump_clock: MockClock) -> None:
    """Members that fail for ever, that do not answer, and that cannot be reached."""
    range_ = Failing(RANGED, *[LOST] * 1000)
    async with served(Range=range_, Txn=hang) as (client, _):
        with pytest.raises(Unavailable):
            await client.range(Get(key=A))
        assert trio.current_time() == pytest.approx(10, abs=1.1)
        assert 10 <= range_.calls <= 60
        began = trio.current_time()
        with pytest.raises(TimedOut) as raised:
            await client.txn([], [Put(A, b"")], timeout_s=3)
        assert raised.value.undecided
        assert trio.current_time() - began == pytest.approx(3)


async def hang(_: ServedCall) -> None:
    """Do not answer."""
    await trio.sleep_forever()


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (Unavailable("dial a:2379: connection refused"), TimedOut),
        (Unauthenticated("https://a: TLS: certificate has expired"), Unauthenticated),
    ],
)
async def test_members_that_cannot_be_reached(
    error: EtcdError, raised: type[EtcdError], autojump_clock: MockClock
) -> None:
    """The error says why; nothing was carried out."""

    async def dial(_: Endpoint) -> MemoryTransport:
        raise error

    async with open_client(SETTINGS, seeded(1), dial=dial) as client:
        for ask in (
            client.newest(timeout_s=5),
            client.txn([], [Put(A, b"")], timeout_s=5),
            client.lease_keep_alive(1, timeout_s=5),
        ):
            with pytest.raises(raised, match=str(error)) as found:
                await ask
            assert not found.value.undecided
        with pytest.raises(raised, match=str(error)):
            async with client.watch(WatchSettings(key=A), timeout_s=5):
                pass
        assert trio.current_time() == pytest.approx(20)
        assert client.statistics().error == str(error)


async def test_requests_that_are_too_large(autojump_clock: MockClock) -> None:
    """Are not sent."""
    async with served() as (client, server):
        with pytest.raises(TooLarge, match="of at most 10000") as raised:
            await client.txn([], [Put(A, bytes(10_000))])
        assert not raised.value.undecided
        assert server.connections == []


async def test_answers_that_cannot_be_read(autojump_clock: MockClock) -> None:
    """A write with one is undecided."""
    async with served(Txn=Failing(b"\xff\xff")) as (client, _):
        with pytest.raises(EtcdError, match="no TxnResponse") as raised:
            await client.txn([], [Put(A, b"")])
        assert raised.value.undecided
        assert raised.value.code == Code.INTERNAL


async def test_leases(autojump_clock: MockClock) -> None:
    """A lease that is not there has no time left."""
    gone = encode("LeaseTimeToLiveResponse", TTL=-1)
    async with served(
        LeaseGrant=Failing(encode("LeaseGrantResponse", ID=5, TTL=60), LOST),
        LeaseKeepAlive=Failing(encode("LeaseKeepAliveResponse", ID=5), NO_LEADER),
        LeaseTimeToLive=Failing(gone),
        LeaseRevoke=Failing(b"", (5, "etcdserver: requested lease not found")),
    ) as (client, _):
        assert await client.lease_grant(60) == (5, 60)
        for ask in (client.lease_keep_alive, client.lease_remaining, client.lease_revoke):
            with pytest.raises(LeaseNotFound):
                await ask(5)


async def test_alarms_and_status(autojump_clock: MockClock) -> None:
    """As etcd says them; a member that does not answer is given up."""
    requests: list[bytes] = []
    alarm = message_class("etcdserverpb.AlarmMember")(memberID=9, alarm=1)

    async def alarms(call: ServedCall) -> None:
        requests.append(await call.receive())
        await call.answer(encode("AlarmResponse", alarms=[alarm]))

    async with served(Alarm=alarms, Status=hang) as (client, _):
        assert await client.alarms() == [Alarm(9, "NOSPACE")]
        await client.disarm(Alarm(9, "NOSPACE"))
        assert requests == [b"", b"\x08\x02\x10\x09\x18\x01"]
        for endpoint in ("", "http://b"):
            with pytest.raises(TimedOut):
                await client.status(endpoint, timeout_s=2)


async def test_errors_of_the_block_are_its_own(autojump_clock: MockClock) -> None:
    """No group is around them."""
    with pytest.raises(KeyError, match="mine"):
        async with open_client(SETTINGS, seeded(1)):
            raise KeyError("mine")


async def test_mistakes() -> None:
    """No endpoints, or what is none."""
    for endpoints, text in (([], "no endpoints"), (["ftp://a"], "ftp://a: not a URL")):
        with pytest.raises(ValueError, match=text):
            async with open_client(ClientSettings(endpoints=endpoints), seeded(1)):
                pass
