"""`kubetrio.bootstrap.election`: one of several candidates leads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.bootstrap.election import LeaderElection
from kubetrio.informers.election import Election
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.model import KeyValue
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

USUAL = Election(name="lead", identity="")
LEASE_S, RETRY_S = USUAL.lease_s, USUAL.retry_s
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/lead"


class Candidate:
    """A candidate, and whether it works.

    Args:
        server: whose Lease it wants.
    """

    def __init__(self, server: InProcess) -> None:
        api = server.api
        self.election = LeaderElection(
            api.storage.registry,
            api.writes.operations,
            api.storage.store,
            server.env,
            name="lead",
        )
        self.works = False
        self.begun = 0

    async def lead(self) -> None:
        """Work until cancelled."""
        self.works, self.begun = True, self.begun + 1
        try:
            await trio.sleep_forever()
        finally:
            self.works = False

    @asynccontextmanager
    async def standing(self) -> AsyncIterator[trio.CancelScope]:
        """Be a candidate as long as the block lasts."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.election.run, self.lead)
            yield nursery.cancel_scope
            nursery.cancel_scope.cancel()


async def test_one_of_two_leads(
    server: InProcess, client: Client, autojump_clock: MockClock
) -> None:
    """It renews; the other follows at once when it stops in order."""
    one, two = Candidate(server), Candidate(server)
    async with trio.open_nursery() as nursery:
        async with one.standing():
            await trio.sleep(1)
            nursery.start_soon(two.election.run, two.lead)
            await trio.sleep(10 * LEASE_S)
            assert (one.works, two.works) == (True, False)
            spec = (await client.request("GET", LEASE)).json()["spec"]
            assert spec["holderIdentity"] == one.election.identity
            assert spec["leaseDurationSeconds"] == LEASE_S
        await trio.sleep(2 * RETRY_S)
        assert (one.works, two.works) == (False, True)
        spec = (await client.request("GET", LEASE)).json()["spec"]
        assert spec["holderIdentity"] == two.election.identity
        assert spec["leaseTransitions"] >= 1
        nursery.cancel_scope.cancel()


async def test_a_leader_that_is_gone_is_followed(
    server: InProcess, client: Client, autojump_clock: MockClock
) -> None:
    """After the duration of its Lease, and not before."""
    gone, two = Candidate(server), Candidate(server)
    assert await gone.election.candidate.acquired()
    async with two.standing():
        await trio.sleep(LEASE_S - RETRY_S)
        assert not two.works
        await trio.sleep(3 * RETRY_S)
        assert two.works


async def test_a_leader_that_cannot_renew_stops(
    server: InProcess, client: Client, autojump_clock: MockClock
) -> None:
    """Before another candidate may begin; it stands again afterwards."""
    one = Candidate(server)
    async with one.standing():
        await trio.sleep(1)
        assert one.works
        taken = {"spec": {"holderIdentity": "another"}}
        headers = {"Content-Type": "application/merge-patch+json"}
        assert (await client.request("PATCH", LEASE, json=taken, headers=headers)).status == 200
        await trio.sleep(2 * RETRY_S)
        assert not one.works
        await trio.sleep(2 * LEASE_S)
        assert one.works, "the other never renewed it"
        assert one.begun == 2


async def test_a_leader_whose_answers_are_late_stops_in_time(
    server: InProcess, client: Client, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others count from when the Lease was stored, not from when its holder heard of that."""
    late, two = Candidate(server), Candidate(server)
    renew, led = late.election.lock._operations.replace, trio.Event()

    async def answered_late(*arguments: Any) -> Any:
        if led.is_set():
            await trio.sleep_forever()
        written = await renew(*arguments)
        await trio.sleep(LEASE_S / 2)
        led.set()
        return written

    def working() -> list[bool]:
        return [late.works, two.works]

    async with late.standing():
        await trio.sleep(1)
        operations = SimpleNamespace(replace=answered_late)
        monkeypatch.setattr(late.election.lock, "_operations", operations)
        async with two.standing():
            await led.wait()
            assert working() == [True, False]
            while working() != [False, True]:
                assert working() != [True, True]
                await trio.sleep(RETRY_S / 10)


async def test_a_new_leader_bears_a_failure(
    server: InProcess, client: Client, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the renew deadline, from its first renewal on."""
    gone, two = Candidate(server), Candidate(server)
    assert await gone.election.candidate.acquired()
    get, failures = two.election.lock._store.get, 0

    async def fails_once(key: str) -> KeyValue | None:
        nonlocal failures
        if two.works and not failures:
            failures = 1
            raise StoreUnavailable("for a moment")
        return await get(key)

    monkeypatch.setattr(two.election.lock, "_store", SimpleNamespace(get=fails_once))
    async with two.standing():
        await trio.sleep(3 * LEASE_S)
        assert failures
        assert (two.works, two.begun) == (True, 1)
