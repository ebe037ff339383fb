"""Deletes jobs that are over for as long as they say.

Source: docs "Automatic Cleanup for Finished Jobs";
k8s.io/kubernetes/pkg/controller/ttlafterfinished.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.machinery.timestamps import parse_time
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]

ACCOUNT = "ttl-after-finished-controller"
_TTL = b'"ttlSecondsAfterFinished":'
_OVER = ("Complete", "Failed")


def ends_at(job: Object) -> float | None:
    """When a job is to be deleted, in seconds; None if it is not.

    Args:
        job: the job.

    Raises:
        ValueError: it is over, and does not say since when.
    """
    ttl = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    if ttl is None or "deletionTimestamp" in job["metadata"]:
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in _OVER and condition.get("status") == "True":
            since = condition.get("lastTransitionTime")
            if not since:
                meta = job["metadata"]
                raise ValueError(
                    "unable to find the time when the Job "
                    f"{meta['namespace']}/{meta['name']} finished"
                )
            return parse_time(since) + int(ttl)
    return None


class TTLAfterFinished(Controller):
    """The controller; its keys are storage keys of jobs that are over.

    Args:
        context: what it is made of.
    """

    name = "ttl-after-finished-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["batch", "v1", "jobs"]
        self._who = as_service_account(ACCOUNT)
        self.follow_events(self._kind.storage_prefix, self._changed)

    def _changed(self, event: Event) -> None:
        # Nothing is kept of jobs; those that ask for it are read when they may be over.
        if event.type is not EventType.DELETED and _TTL in event.value:
            job = orjson.loads(event.value)
            conditions = (job.get("status") or {}).get("conditions") or ()
            if any(one.get("type") in _OVER and one.get("status") == "True" for one in conditions):
                self.queue.add(event.key)

    async def sync(self, key: str) -> None:
        """Delete a job with what it owns, when its time is up.

        Raises:
            ApiError: it cannot be deleted.
            StoreError: the same, or it cannot be read.
            ValueError: it does not say since when it is over.
        """
        stored = await self._store.get(key)
        if stored is None:
            return
        job: Object = orjson.loads(stored.value)
        until = ends_at(job)
        if until is None:
            return
        left = until - self._env.now()
        if left > 0:
            self.look_again_in(key, left)
            return
        meta = job["metadata"]
        target = Target(self._kind, meta["namespace"], meta["name"])
        options = DeleteOptions(propagation="Foreground", uid=meta["uid"])
        await self._operations.delete(target, options, self._who)
