"""Which of several servers on one store runs the controllers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import trio

from kubetrio.env import Env
from kubetrio.informers.election import Candidate, Election
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.observe.logs import Log
from kubetrio.resources import objects
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import Store

Object = dict[str, Any]

log = Log("kubetrio.bootstrap")
JITTER = 1.2


class StoredLease:
    """A Lease in the server's own store; follows `informers.election.Lock`.

    Args:
        registry: what is served.
        operations: writes.
        store: reads.
        name: of the Lease.
        namespace: of the Lease.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        store: Store,
        *,
        name: str,
        namespace: str,
    ) -> None:
        kind = registry.by_kind[GroupVersionKind("coordination.k8s.io", "v1", "Lease")]
        self._target = Target(resource=kind, namespace=namespace, name=name)
        self._operations = operations
        self._store = store

    async def read(self) -> Object | None:
        """The Lease; see `Lock.read`."""
        stored = await self._store.get(self._target.key)
        return None if stored is None else objects.read(self._target.resource, stored.value)

    async def create(self, lease: Object) -> object:
        """Store it; see `Lock.create`."""
        return await self._operations.create(self._target, lease, OWN)

    async def update(self, lease: Object) -> object:
        """Replace it; see `Lock.update`."""
        return await self._operations.replace(self._target, lease, OWN)


class LeaderElection:
    """A server that may lead.

    Args:
        registry: what is served.
        operations: writes.
        store: reads.
        env: wall clock, randomness and identities.
        name: of the Lease.

    Attributes:
        identity: of this server.
        leads: whether it is the leader now.
    """

    def __init__(
        self, registry: LiveRegistry, operations: Operations, store: Store, env: Env, *, name: str
    ) -> None:
        self.identity = f"kubetrio_{env.new_uid()}"
        self._election = Election(name=name, identity=self.identity)
        self.lock = StoredLease(
            registry, operations, store, name=name, namespace=self._election.namespace
        )
        self.candidate = Candidate(self.lock, env, self._election)
        self._env = env
        self.leads = False

    async def run(self, lead: Callable[[], Awaitable[object]]) -> NoReturn:
        """Be a candidate until cancelled; run `lead` while this is the leader, then cancel it."""
        retry_s, name = self._election.retry_s, self._election.name
        try:
            while True:
                # Nothing tells that a Lease has run out: it is looked at.
                while not await self.candidate.acquired():  # noqa: ASYNC110
                    await trio.sleep(retry_s * self._env.rng.uniform(1, JITTER))
                log.info("this server leads: its controllers begin", lease=name)
                self.leads = True
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(lead, name="controllers of the leader")
                    await self.candidate.keep()
                    nursery.cancel_scope.cancel()
                self.leads = False
                log.warning("this server leads no longer", lease=name)
        finally:
            if self.leads:
                self.leads = False
                await self.candidate.release()
