"""Going back to a snapshot while the server runs: for tests that begin with a known state.

What is stored is written back as ordinary revisions, so that all that follows the commit stream
follows: informers, the definitions that are served, roles, allocators, quotas, flow control, and
watches of clients.  resourceVersions go on growing.  Admission and finalizers are not asked.

No other client writes meanwhile.  Requests that are under way are waited for, those that come then
wait as for a seat, and the tasks of the server are stopped and begun anew: what they have decided
by the state before is not written after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import trio

from kubetrio.api.flowcontrol import Hold
from kubetrio.api.pipeline import Pipeline
from kubetrio.informers.snapshot import Snapshot
from kubetrio.observe.logs import Log
from kubetrio.resources.objects import restamp
from kubetrio.resources.storing import restore
from kubetrio.server.backgroundtasks import BackgroundTasks
from kubetrio.store.errors import KeyExists, KeyMissing, RevisionMismatch
from kubetrio.store.model import Rewinding

__all__ = ["ResetError", "Snapshot", "SnapshotRestorer"]

log = Log("kubetrio.server")
UNDER_WAY_S = 10.0  # for requests to end: as long as a webhook may take
SETTLING_S = 5.0  # for controllers to look at what was written back
LOOK_EACH_S = 0.0005
TRIES = 16  # writes of others between a look and a write: times to live that end


class ResetError(Exception):
    """What is stored could not be brought back; the text says why."""


class SnapshotRestorer:
    """Makes snapshots of a server and goes back to them.

    Args:
        api: the pipeline.
        background: what the server does of its own accord.
        spared: keys that keep what they have: what the server itself renews.
    """

    def __init__(self, api: Pipeline, background: BackgroundTasks, spared: Collection[str]) -> None:
        self._api = api
        self._background = background
        self._one_at_a_time = trio.Lock()
        self._spared = frozenset(spared)

    async def settled(self) -> None:
        """Wait until no controller has anything to do, but no longer than `SETTLING_S`."""
        with trio.move_on_after(SETTLING_S) as limit:
            await self._background.settled()
        if limit.cancelled_caught:
            log.warning("controllers are still at work", after=SETTLING_S)

    async def snapshot(self) -> Snapshot:
        """Remember what is stored when the controllers have done what there is to do."""
        async with self._one_at_a_time:
            await self.settled()
            return Snapshot(self._api.storage.informers.dispatcher, restamp, self._ttl_s())

    def _ttl_s(self) -> Callable[[str], float]:
        """Times to live by key: those of new objects, since what is left of the old is unknown."""
        lives = {
            kind.storage_prefix: ttl_s
            for kind in self._api.storage.registry.resources.values()
            if (ttl_s := self._api.writes.operations.parts.time_to_live_s(kind))
        }

        def of(key: str) -> float:
            return next((lives[prefix] for prefix in lives if key.startswith(prefix)), 0.0)

        return of

    async def reset(self, snapshot: Snapshot) -> None:
        """Bring back what was stored, and end all watches and other streams of clients.

        Raises:
            ResetError: requests do not end, or another writer goes on.
            StoreError: it cannot be written.
        """
        several = self._api.storage.store.rewinding
        if several is None:
            raise ResetError("the storage engine cannot write several keys at once")
        async with self._one_at_a_time:
            with self._api.edge.flow.hold() as hold:
                await self._alone(hold)
                async with self._background.paused():
                    await self._write_back(snapshot, several)
                    self._api.end_streams()
                    self._background.begin_anew()
                await self.settled()

    async def _alone(self, hold: Hold) -> None:
        """Wait for the requests that are under way.

        Raises:
            ResetError: some do not end.
        """
        in_flight = self._api.edge.in_flight
        with trio.move_on_after(UNDER_WAY_S):
            # The hot path does not announce an end: it is looked for.
            while in_flight.requests > hold.waiting:  # noqa: ASYNC110
                await trio.sleep(LOOK_EACH_S)
            return
        left = in_flight.requests - hold.waiting
        raise ResetError(f"{left} requests are still under way after {UNDER_WAY_S:g} seconds")

    async def _write_back(self, snapshot: Snapshot, several: Rewinding) -> None:
        for _ in range(TRIES):
            changes = [
                change
                for change in snapshot.changes()
                if change.key not in self._spared or not change.expected
            ]
            if not changes:
                return
            try:
                await restore(several, changes)
            except (KeyExists, KeyMissing, RevisionMismatch):
                await trio.lowlevel.checkpoint()
        if any(change.key not in self._spared for change in snapshot.changes()):
            raise ResetError("another client keeps writing to the store")
