"""Leader election by a Lease: of several that run the same work, one does it.

Source: client-go, ``tools/leaderelection``: who is not the holder waits until the Lease was not
renewed for its duration, by its own clock since it saw the last renewal; clocks are not compared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import trio

from kubetrio.client.client import Client
from kubetrio.env import Env
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_micro

Object = dict[str, Any]
NOT_FOUND, CONFLICT = 404, 409


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """What is elected for.

    Args:
        name: of the Lease.
        identity: of this candidate, unlike that of all others.
        namespace: of the Lease.
        lease_s: seconds after which a Lease that was not renewed may be taken.
        renew_s: seconds within which the holder must renew it, or stop its work.
        retry_s: seconds between looks and renewals.
    """

    name: str
    identity: str
    namespace: str = "kube-system"
    lease_s: float = 15.0
    renew_s: float = 10.0
    retry_s: float = 2.0


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
    candidate = _Candidate(client, env, election)
    while not await candidate.holds():  # noqa: ASYNC110  (a Lease is asked for, not told of)
        await trio.sleep(election.retry_s)
    lost = False

    async def renew() -> None:
        nonlocal lost
        while True:
            with trio.move_on_after(election.renew_s):
                await trio.sleep(election.retry_s)
                while not await candidate.holds():
                    if candidate.taken:
                        break
                    await trio.sleep(election.retry_s)
                else:
                    continue
            lost = True
            nursery.cancel_scope.cancel()
            return

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(renew)
            await work()
            nursery.cancel_scope.cancel()
    finally:
        with trio.move_on_after(election.retry_s) as scope:
            scope.shield = True
            await candidate.give_back()
    if lost:
        raise LostLease(f"{election.identity} does not have the Lease {election.name} any more")


class _Candidate:
    """One that wants a Lease.

    Attributes:
        taken: whether another candidate was found to have it.
    """

    def __init__(self, client: Client, env: Env, election: Election) -> None:
        self._client = client
        self._env = env
        self._election = election
        self._kind = client.kind("coordination.k8s.io/v1", "Lease")
        self._seen: tuple[object, float] = (None, -inf)
        self.taken = False

    async def holds(self) -> bool:
        """Take or renew the Lease where that may be; whether this candidate has it."""
        wanted = self._election
        try:
            found = await self._client.get(self._kind, wanted.name, wanted.namespace)
        except ApiError as error:
            if error.code != NOT_FOUND:
                return False
            return await self._write(self._client.create, self._lease({}, transitions=0))
        spec = found.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        self.taken = holder not in ("", wanted.identity)
        if self.taken and not self._expired(spec):
            return False
        transitions = int(spec.get("leaseTransitions") or 0)
        moves = holder != wanted.identity
        lease = self._lease(found, transitions=transitions + moves)
        return await self._write(self._client.update, lease)

    async def give_back(self) -> None:
        """Let others have the Lease at once, if this candidate has it."""
        wanted = self._election
        try:
            found = await self._client.get(self._kind, wanted.name, wanted.namespace)
        except ApiError:
            return  # it runs out by itself
        if (found.get("spec") or {}).get("holderIdentity") == wanted.identity:
            spec = {**found["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
            await self._write(self._client.update, {**found, "spec": spec})

    def _expired(self, spec: Object) -> bool:
        """Whether the holder has not renewed since it was first seen so, for the Lease's time."""
        now = trio.current_time()
        state = (spec.get("holderIdentity"), spec.get("renewTime"), spec.get("leaseTransitions"))
        if state != self._seen[0]:
            self._seen = (state, now)
        lasts = float(spec.get("leaseDurationSeconds") or self._election.lease_s)
        return now >= self._seen[1] + lasts

    def _lease(self, found: Object, *, transitions: int) -> Object:
        wanted, now = self._election, format_micro(self._env.now())
        before = found.get("spec") or {}
        kept = before.get("acquireTime") if before.get("holderIdentity") == wanted.identity else now
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": found.get("metadata")
            or {"name": wanted.name, "namespace": wanted.namespace},
            "spec": {
                "holderIdentity": wanted.identity,
                "leaseDurationSeconds": int(wanted.lease_s),
                "acquireTime": kept or now,
                "renewTime": now,
                "leaseTransitions": transitions,
            },
        }

    async def _write(self, write: Callable[[Object], Awaitable[Object]], lease: Object) -> bool:
        try:
            await write(lease)
        except ApiError:
            return False  # another candidate was faster, or the server takes no writes now
        self.taken = False
        return True
