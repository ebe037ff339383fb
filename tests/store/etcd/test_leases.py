"""`kubetrio.store.etcd.leases`: values that end about together share a lease."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from kubetrio.store.etcd.leases import MOST_KEYS, LeaseManager
from kubetrio.store.etcd.requests import Lease


class Granting:
    """Grants leases and notes for how long."""

    def __init__(self) -> None:
        self.granted: list[int] = []

    async def grant(self, ttl_s: int) -> Lease:
        self.granted.append(ttl_s)
        return Lease(len(self.granted), ttl_s)


async def test_a_value_that_stays_has_no_lease() -> None:
    """None is made."""
    granting = Granting()
    assert await LeaseManager(granting.grant, 60).lease_for(0) == 0
    assert granting.granted == []


async def test_values_of_a_minute_share_a_lease(autojump_clock: MockClock) -> None:
    """It lasts for the last of them; afterwards there is another."""
    granting = Granting()
    leases = LeaseManager(granting.grant, 60)
    assert await leases.lease_for(3600) == 1
    await trio.sleep(59)
    assert await leases.lease_for(3600) == 1
    await trio.sleep(2)
    assert await leases.lease_for(3600) == 2
    assert granting.granted == [3660, 3660]


async def test_a_value_does_not_last_much_longer_than_it_says(autojump_clock: MockClock) -> None:
    """A short one has no part in the lease of a long one; a twentieth of its time is the most."""
    granting = Granting()
    leases = LeaseManager(granting.grant, 60)
    assert await leases.lease_for(3600) == 1
    assert await leases.lease_for(100) == 2
    assert granting.granted == [3660, 105]


async def test_a_lease_has_a_bounded_number_of_keys(autojump_clock: MockClock) -> None:
    """etcd deletes them in one transaction."""
    granting = Granting()
    leases = LeaseManager(granting.grant, 60)
    given = [await leases.lease_for(3600) for _ in range(MOST_KEYS + 1)]
    assert given == [1] * MOST_KEYS + [2]


async def test_a_lease_that_is_gone_is_given_no_more() -> None:
    """It may have been revoked."""
    granting = Granting()
    leases = LeaseManager(granting.grant, 60)
    await leases.lease_for(3600)
    leases.forget()
    assert await leases.lease_for(3600) == 2
