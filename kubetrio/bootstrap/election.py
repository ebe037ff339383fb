"""Leader election: of several servers on one store, one runs the controllers.

The leader is who holds a Lease and renews it.  Another candidate takes the Lease when it has not
seen it change for the lease duration, by its own monotonic clock: clocks of machines need not
agree.  A leader that cannot renew within the renew deadline stops its work before any other
candidate can begin.

Source: k8s.io/client-go/tools/leaderelection; docs "Leases" (leader election).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import trio

from kubetrio.env import Env
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import OBJECT_MODIFIED, ApiError, conflict
from kubetrio.machinery.timestamps import format_micro
from kubetrio.observe.logs import Log
from kubetrio.resources import objects
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Store

Object = dict[str, Any]

log = Log("kubetrio.bootstrap")
NAMESPACE = "kube-system"
LEASE_S = 15.0
"""How long other candidates wait for a leader that does not renew."""
RENEW_DEADLINE_S = 10.0
"""How long a leader that cannot renew goes on."""
RETRY_S = 2.0
JITTER = 1.2


class LeaderElection:
    """A candidate.

    Args:
        registry: what is served.
        operations: writes.
        store: reads.
        env: wall clock, randomness and identities.
        name: of the Lease.

    Attributes:
        identity: of this candidate.
        leads: whether it is the leader now.
    """

    def __init__(
        self, registry: LiveRegistry, operations: Operations, store: Store, env: Env, *, name: str
    ) -> None:
        kind = registry.by_kind[GroupVersionKind("coordination.k8s.io", "v1", "Lease")]
        self._target = Target(resource=kind, namespace=NAMESPACE, name=name)
        self._operations = operations
        self._store = store
        self._env = env
        self.identity = f"kubetrio_{env.new_uid()}"
        self.leads = False
        self._seen = b""  # the Lease as it was read last
        self._seen_at = 0.0  # since when it has been like that
        self._holder = ""  # who had it then
        self._written_from = 0.0  # when the write began with which this candidate got it last

    async def run(self, lead: Callable[[], Awaitable[object]]) -> NoReturn:
        """Be a candidate until cancelled; run `lead` while this is the leader, then cancel it."""
        try:
            while True:
                # Nothing tells that a Lease has run out: it is looked at.
                while not await self._acquired():  # noqa: ASYNC110
                    await trio.sleep(RETRY_S * (1 + self._env.rng.random() * (JITTER - 1)))
                log.info("this server leads: its controllers begin", lease=self._target.name)
                self.leads = True
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(lead, name="controllers of the leader")
                    await self._keep()
                    nursery.cancel_scope.cancel()
                self.leads = False
                log.warning("this server leads no longer", lease=self._target.name)
        finally:
            if self.leads:
                self.leads = False
                await self._release()

    async def _keep(self) -> None:
        """Renew until that fails for the renew deadline, or another candidate has the Lease."""
        while True:
            # Others count from when they saw the Lease, which may be long before it is answered.
            with trio.move_on_at(self._written_from + RENEW_DEADLINE_S) as deadline:
                await trio.sleep(RETRY_S)
                while not await self._acquired():
                    if self._holder != self.identity:
                        return
                    await trio.sleep(RETRY_S)
            if deadline.cancelled_caught:
                return

    async def _acquired(self) -> bool:
        """Take or renew the Lease; False if another candidate holds it, or nothing can be said."""
        begun = trio.current_time()
        try:
            stored = await self._store.get(self._target.key)
            if stored is None:
                await self._operations.create(self._target, self._first(), OWN)
            elif self._held(stored.value):
                return False
            else:
                await self._operations.patch(self._target, self._taking(stored.revision), OWN)
        except (ApiError, StoreError) as error:
            log.info("the lease of the leader is not had", reason=str(error))
            return False
        self._holder, self._written_from = self.identity, begun
        return True

    def _held(self, value: bytes) -> bool:
        """Look at the Lease as it is stored; whether another candidate has it."""
        if value != self._seen:
            self._seen, self._seen_at = value, trio.current_time()
            lease = objects.read(self._target.resource, value)
            self._holder = (lease.get("spec") or {}).get("holderIdentity") or ""
        running = trio.current_time() < self._seen_at + LEASE_S
        return running and self._holder not in ("", self.identity)

    def _first(self) -> Object:
        kind = self._target.resource
        return {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": self._target.name, "namespace": NAMESPACE},
            "spec": self._spec({}),
        }

    def _spec(self, before: Object) -> Object:
        now = format_micro(self._env.now())
        mine = before.get("holderIdentity") == self.identity
        transitions = before.get("leaseTransitions", 0)
        return {
            **before,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(LEASE_S),
            "acquireTime": before.get("acquireTime", now) if mine else now,
            "renewTime": now,
            "leaseTransitions": transitions if mine or not before else transitions + 1,
        }

    def _taking(self, revision: int) -> Callable[[Object | None], Object]:
        """Return the change that takes the Lease, if it is as it was read."""

        def taken(old: Object | None) -> Object:
            if old is None or old["metadata"]["resourceVersion"] != str(revision):
                kind = self._target.resource.group_resource
                raise conflict(kind, self._target.name, OBJECT_MODIFIED)
            return {**old, "spec": self._spec(old.get("spec") or {})}

        return taken

    async def _release(self) -> None:
        """Let another candidate lead at once; bounded, since the server stops."""
        with trio.move_on_after(RETRY_S, shield=True):
            try:
                await self._operations.patch(self._target, self._released, OWN)
            except (ApiError, StoreError) as error:
                log.info("the lease of the leader is not released", reason=str(error))

    def _released(self, old: Object | None) -> Object:
        spec = (old or {}).get("spec") or {}
        if old is None or spec.get("holderIdentity") != self.identity:
            kind = self._target.resource.group_resource
            raise conflict(kind, self._target.name, OBJECT_MODIFIED)
        now = format_micro(self._env.now())
        gone = {**spec, "leaseDurationSeconds": 1, "renewTime": now}
        del gone["holderIdentity"]
        return {**old, "spec": gone}
