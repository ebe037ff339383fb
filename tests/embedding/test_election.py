"""Leader election: one works at a time, and the next one begins when it is gone."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from kubetrio.embedding import Election, LostLease, lead
from kubetrio.machinery.status import ApiError
from kubetrio.testing.server import InProcess, open_api

LEASE = "work"


async def candidate(server: InProcess, name: str, seconds: float, worked: list[str]) -> None:
    """Work for some seconds as soon as it may."""

    async def work() -> None:
        worked.append(f"{name} begins")
        await trio.sleep(seconds)
        worked.append(f"{name} ends")

    await lead(server.client(), server.env, Election(name=LEASE, identity=name), work)


async def test_one_works_at_a_time(autojump_clock: MockClock) -> None:
    """The Lease is given back at the end, so the next need not wait until it has run out."""
    worked: list[str] = []
    async with open_api() as server:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(candidate, server, "a", 60.0, worked)
            await trio.sleep(1)
            nursery.start_soon(candidate, server, "b", 5.0, worked)
        assert worked == ["a begins", "a ends", "b begins", "b ends"]
        assert trio.current_time() - began < 60 + 5 + 4
        client = server.client()
        kind = client.kind("coordination.k8s.io/v1", "Lease")
        spec = (await client.get(kind, LEASE, "kube-system"))["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("", 1)


async def test_a_dead_leader_is_waited_for(autojump_clock: MockClock) -> None:
    """For the time of its Lease since it was first seen, whatever its clock says."""
    worked: list[str] = []
    async with open_api() as server:
        client = server.client()
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": LEASE, "namespace": "kube-system"},
            "spec": {"holderIdentity": "dead", "leaseDurationSeconds": 40},
        }
        await client.create(lease)
        began = trio.current_time()
        await candidate(server, "a", 0.0, worked)
        assert 40 <= trio.current_time() - began < 45


async def test_a_leader_that_lost_its_lease_stops(autojump_clock: MockClock) -> None:
    """Its work is cancelled, and it is told."""
    worked: list[str] = []
    async with open_api() as server:
        client = server.client()
        kind = client.kind("coordination.k8s.io/v1", "Lease")

        async def take() -> None:
            await trio.sleep(11)
            while True:
                found = await client.get(kind, LEASE, "kube-system")
                found["spec"]["holderIdentity"] = "thief"
                try:
                    await client.update(found)
                except ApiError:
                    continue
                return

        async with trio.open_nursery() as nursery:
            nursery.start_soon(take)
            with pytest.raises(LostLease, match="a does not have the Lease work"):
                await candidate(server, "a", 600.0, worked)
        assert worked == ["a begins"]
        found = await client.get(kind, LEASE, "kube-system")
        assert found["spec"]["holderIdentity"] == "thief"
