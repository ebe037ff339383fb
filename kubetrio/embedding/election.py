"""Leader election over a client: of several programs that run the same work, one does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from kubetrio.client.client import Client
from kubetrio.env import Env
from kubetrio.informers.election import Candidate, Election
from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
NOT_FOUND = 404


class LostLease(Exception):
    """The Lease was not renewed in time, or another candidate has it: the work was stopped."""


async def lead(
    client: Client, env: Env, election: Election, work: Callable[[], Awaitable[None]]
) -> None:
    """Wait to be the leader, and work for as long as this candidate is it.

    The Lease is given back when the work ends.

    Args:
        client: reads and writes the Lease.
        env: wall clock, for times in the Lease.
        election: what is elected for.
        work: the leader's work; it is cancelled when the Lease is lost.

    Raises:
        LostLease: the Lease was lost before the work ended.
    """
    candidate = Candidate(_ClientLease(client, election), env, election)
    while not await candidate.acquired():  # noqa: ASYNC110  (a Lease is asked for, not told of)
        await trio.sleep(election.retry_s)
    lost = False

    async def keep() -> None:
        nonlocal lost
        await candidate.keep()
        lost = True
        nursery.cancel_scope.cancel()

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep)
            await work()
            nursery.cancel_scope.cancel()
    finally:
        await candidate.release()
    if lost:
        raise LostLease(f"{election.identity} does not have the Lease {election.name} any more")


class _ClientLease:
    """A Lease that a client reads and writes; follows `informers.election.Lock`."""

    def __init__(self, client: Client, election: Election) -> None:
        self._client = client
        self._election = election
        self._kind = client.kind("coordination.k8s.io/v1", "Lease")

    async def read(self) -> Object | None:
        """The Lease; see `Lock.read`."""
        election = self._election
        try:
            return await self._client.get(self._kind, election.name, election.namespace)
        except ApiError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    async def create(self, lease: Object) -> object:
        """Store it; see `Lock.create`."""
        return await self._client.create(lease)

    async def update(self, lease: Object) -> object:
        """Replace it; see `Lock.update`."""
        return await self._client.update(lease)
