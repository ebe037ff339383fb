"""`kubetrio.informers.election`: a candidate and the Lease, wherever that is."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import MockClock

from kubetrio.informers.election import Candidate, Election
from kubetrio.machinery.status import ApiError
from kubetrio.testing.environment import seeded

Object = dict[str, Any]


class Kept:
    """A Lease in memory, which may answer late or not at all.

    Attributes:
        lease: the Lease.
        late_s: how long its holder waits for the answer to a write that is done.
        fails: how many calls fail next.
    """

    def __init__(self) -> None:
        self.lease: Object | None = None
        self.late_s = 0.0
        self.fails = 0

    async def read(self) -> Object | None:
        if self.fails:
            self.fails -= 1
            raise ApiError(500, "InternalError", "for a moment")
        return self.lease

    async def create(self, lease: Object) -> None:
        assert self.lease is None
        await self.update(lease)

    async def update(self, lease: Object) -> None:
        self.lease = lease
        await trio.sleep(self.late_s)


def candidate(kept: Kept, name: str) -> Candidate:
    return Candidate(kept, seeded(1), Election(name="l", identity=name))


async def test_the_lease_says_who_has_it_and_how_often_that_changed(
    autojump_clock: MockClock,
) -> None:
    """What others wrote into it stays."""
    kept = Kept()
    one, two = candidate(kept, "one"), candidate(kept, "two")
    assert await one.acquired()
    assert not await two.acquired()
    assert kept.lease is not None
    assert (kept.lease["kind"], kept.lease["metadata"]["name"]) == ("Lease", "l")
    assert kept.lease["spec"]["leaseTransitions"] == 0
    kept.lease["spec"]["strategy"] = "theirs"
    await one.release()
    assert kept.lease["spec"]["holderIdentity"] == ""
    assert await two.acquired()
    spec = kept.lease["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 1)
    assert spec["strategy"] == "theirs"


async def test_the_duration_is_that_of_the_lease(autojump_clock: MockClock) -> None:
    """Not the one that this candidate would give it, and by this candidate's clock."""
    kept = Kept()
    kept.lease = {"spec": {"holderIdentity": "gone", "leaseDurationSeconds": 40}}
    one = candidate(kept, "one")
    assert not await one.acquired()
    await trio.sleep(39)
    assert not await one.acquired()
    await trio.sleep(2)
    assert await one.acquired()


async def test_the_deadline_counts_from_before_the_write(autojump_clock: MockClock) -> None:
    """An answer that is late leaves its holder less time: others count from the write."""
    kept = Kept()
    kept.late_s = 7.5
    one = candidate(kept, "one")
    assert await one.acquired()
    kept.late_s = 100.0
    begun = trio.current_time()
    await one.keep()
    assert trio.current_time() - begun == 10.0 - 7.5


async def test_failures_are_borne_until_the_deadline(autojump_clock: MockClock) -> None:
    """And no longer."""
    kept = Kept()
    one = candidate(kept, "one")
    assert await one.acquired()
    kept.fails = 3
    with trio.move_on_after(60) as kept_on:
        await one.keep()
    assert kept_on.cancelled_caught
    kept.fails = 1000
    begun = trio.current_time()
    await one.keep()
    assert trio.current_time() - begun <= 10.0
