"""Leader election by a Lease: of several candidates, one leads.

The leader is who holds the Lease and renews it.  Another candidate takes it when it has not seen it
change for the Lease's duration, by its own monotonic clock: clocks of machines need not agree.  A
leader counts the renew deadline from before the write with which it got the Lease last, so that it
stops its work before any other candidate can begin, however late that write was answered.

Source: k8s.io/client-go/tools/leaderelection; docs "Leases" (leader election).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import trio

from kubetrio.env import Env
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_micro
from kubetrio.observe.logs import Log
from kubetrio.store.errors import StoreError

Object = dict[str, Any]

log = Log("kubetrio.election")


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


class Lock(Protocol):
    """Where the Lease is; each method may raise an `ApiError` or a `StoreError`."""

    async def read(self) -> Object | None:
        """Return the Lease, None if there is none."""
        ...

    async def create(self, lease: Object) -> object:
        """Store a Lease that is not there."""
        ...

    async def update(self, lease: Object) -> object:
        """Replace the Lease, if it still has the resourceVersion that is given."""
        ...


class Candidate:
    """One that wants the Lease.

    Args:
        lock: where it is.
        env: wall clock, for times in the Lease.
        election: what is elected for.
    """

    def __init__(self, lock: Lock, env: Env, election: Election) -> None:
        self._lock = lock
        self._env = env
        self._election = election
        self._seen: Object | None = None  # what the Lease said when it was read last
        self._seen_at = 0.0  # since when it has said that
        self._holder = ""  # who had it then
        self._written_from = 0.0  # when the write began with which this candidate got it last

    async def acquired(self) -> bool:
        """Take or renew the Lease; False if another candidate has it, or nothing can be said."""
        begun = trio.current_time()
        try:
            lease = await self._lock.read()
            if lease is None:
                await self._lock.create(self._mine({}))
            elif self._held(lease.get("spec") or {}):
                return False
            else:
                await self._lock.update(self._mine(lease))
        except (ApiError, StoreError) as error:
            log.info("the lease is not had", lease=self._election.name, reason=str(error))
            return False
        self._holder, self._written_from = self._election.identity, begun
        return True

    async def keep(self) -> None:
        """Renew until that fails for the renew deadline, or another candidate has the Lease."""
        while True:
            # Others count from when they saw the Lease, which may be long before it is answered.
            deadline = self._written_from + self._election.renew_s
            with trio.move_on_at(deadline) as limit:
                await trio.sleep(self._election.retry_s)
                while not await self.acquired():
                    if self._holder != self._election.identity:
                        return
                    await trio.sleep(self._election.retry_s)
            if limit.cancelled_caught:
                return

    async def release(self) -> None:
        """Let another candidate lead at once; bounded, since the caller may be cancelled."""
        election = self._election
        with trio.move_on_after(election.retry_s, shield=True):
            try:
                lease = await self._lock.read()
                spec = (lease or {}).get("spec") or {}
                if lease is not None and spec.get("holderIdentity") == election.identity:
                    now = format_micro(self._env.now())
                    free = {"holderIdentity": "", "leaseDurationSeconds": 1}
                    times = {"acquireTime": now, "renewTime": now}
                    await self._lock.update({**lease, "spec": {**spec, **free, **times}})
            except (ApiError, StoreError) as error:  # it runs out by itself
                log.info("the lease is not released", lease=election.name, reason=str(error))

    def _held(self, spec: Object) -> bool:
        """Look at what the Lease says; whether another candidate has it."""
        if spec != self._seen:
            self._seen, self._seen_at = spec, trio.current_time()
            self._holder = spec.get("holderIdentity") or ""
        lasts_s = float(spec.get("leaseDurationSeconds") or self._election.lease_s)
        running = trio.current_time() < self._seen_at + lasts_s
        return running and self._holder not in ("", self._election.identity)

    def _mine(self, lease: Object) -> Object:
        """The Lease with this candidate as its holder."""
        election, now = self._election, format_micro(self._env.now())
        before = lease.get("spec") or {}
        moves = before.get("holderIdentity") != election.identity
        transitions = int(before.get("leaseTransitions") or 0)
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": election.name, "namespace": election.namespace},
            **lease,
            "spec": {
                **before,
                "holderIdentity": election.identity,
                "leaseDurationSeconds": int(election.lease_s),
                "acquireTime": now if moves else before.get("acquireTime") or now,
                "renewTime": now,
                "leaseTransitions": transitions + bool(moves and before),
            },
        }
