"""Keeps the ServiceCIDR ``kubernetes``: the ranges that the server was started with.

Made when it is missing, widened when a second family is added, and marked ready when it
has no such condition; nothing else about it is changed.

Source: docs "Extend Service IP Ranges"; KEP-1880.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import trio

from kubetrio.env import Env
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe.logs import Log
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN, apply_status
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import StoreError

Object = dict[str, Any]
log = Log("kubetrio.bootstrap")

NAME = "kubernetes"
READY = "Kubernetes default Service CIDR is ready"
INTERVAL_S = 10.0
CONTROLLER = OWN._replace(field_manager="kubernetes-service-cidr-controller")


class DefaultServiceRange:
    """The keeper.

    Args:
        registry: what is served.
        operations: writes.
        dispatcher: the commit stream, which says when to look.
        env: wall clock.
        cidrs: the ranges, the primary family's first.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        dispatcher: Dispatcher,
        env: Env,
        cidrs: Sequence[str],
    ) -> None:
        self._operations = operations
        self._store = dispatcher.store
        self._dispatcher = dispatcher
        self._env = env
        self._cidrs = list(cidrs)
        self._resource = registry.resources["networking.k8s.io", "v1", "servicecidrs"]
        self._target = Target(resource=self._resource, namespace="", name=NAME)
        self._key = self._target.key
        self._woken = trio.Event()

    async def run(self) -> None:
        """Check it after each write of it, with the delay of kube-apiserver."""
        unsubscribe = self._dispatcher.subscribe(self._key, lambda _: self._woken.set())
        try:
            while True:
                await self._woken.wait()
                await trio.sleep(INTERVAL_S)
                self._woken = trio.Event()
                try:
                    await self.keep()
                except (ApiError, StoreError) as error:
                    log.warning("cannot keep the default service range", error=str(error))
                    self._woken.set()
        finally:
            unsubscribe()

    async def keep(self) -> None:
        """Make the object what it should be.

        Raises:
            ApiError: it cannot be written.
        """
        stored = await self._store.get(self._key)
        if stored is None:
            await self._create()
        else:
            cidrs = orjson.loads(stored.value)["spec"]["cidrs"]
            if cidrs != self._cidrs and cidrs == self._cidrs[:1]:
                await self._operations.patch(self._target, self._ranged, OWN)
        await self._say_ready()

    def _now(self) -> str:
        return format_time(self._env.now())

    async def _create(self) -> None:
        obj: Object = {
            "kind": "ServiceCIDR",
            "apiVersion": "networking.k8s.io/v1",
            "metadata": {"name": NAME},
            "spec": {"cidrs": list(self._cidrs)},
        }
        await self._operations.create(Target(resource=self._resource, namespace=""), obj, OWN)

    def _ranged(self, live: Object) -> Object:
        return {**live, "spec": {"cidrs": list(self._cidrs)}, "metadata": dict(live["metadata"])}

    async def _say_ready(self) -> None:
        """Apply the condition, as kube-apiserver's controller does, if there is none."""
        stored = await self._store.get(self._key)
        obj = {} if stored is None else orjson.loads(stored.value)
        if not self._waits(obj):
            return
        now = self._now()
        ready = {"type": "Ready", "status": "True", "message": READY, "lastTransitionTime": now}
        await apply_status(self._operations, self._target, {"conditions": [ready]}, CONTROLLER)

    def _waits(self, obj: Object) -> bool:
        """Whether the server's own ranges have no condition Ready yet."""
        if "deletionTimestamp" in obj.get("metadata", {"deletionTimestamp": ""}):
            return False
        if obj["spec"]["cidrs"] != self._cidrs:
            return False
        states = [
            condition["status"]
            for condition in (obj.get("status") or {}).get("conditions") or ()
            if condition["type"] == "Ready"
        ]
        return not states or states == ["Unknown"]
