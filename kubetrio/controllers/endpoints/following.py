"""What controllers of endpoints have in common: they look when services or their pods change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

import orjson

from kubetrio.controllers.endpoints.backends import (
    SERVICES,
    ServiceDigest,
    TriggerTimes,
    same_backend,
    services_of,
)
from kubetrio.env import Env
from kubetrio.informers.controller import Controller
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.core.pods.digests import PodDigest, pods_of

Object = dict[str, Any]
T = TypeVar("T")
Args = TypeVarTuple("Args")
WORKERS = 5
MOST_HERE = 50
"""Pods whose endpoints are worked out at once; that of more is done in a thread."""


class ServiceFollower(Controller):
    """A controller whose keys are ``namespace/name`` of services.

    Args:
        name: in the table of controllers.
        informers: say what services and pods there are.
        env: threads.
    """

    def __init__(self, name: str, informers: SharedInformerFactory, env: Env) -> None:
        self._env = env
        self._store = informers.store
        self._pods = pods_of(informers)
        self._services = services_of(informers)
        self._triggers = TriggerTimes()
        super().__init__(name, [self._pods, self._services], workers=WORKERS)
        self._services.on_change(self._service_changed)
        self._pods.on_change(self._pod_changed)

    def _service_changed(
        self, namespace: str, name: str, _: ServiceDigest | None, new: ServiceDigest | None
    ) -> None:
        del new
        self.queue.add(f"{namespace}/{name}")

    def _pod_changed(
        self, namespace: str, _: str, old: PodDigest | None, new: PodDigest | None
    ) -> None:
        if old is not None and new is not None and same_backend(old, new):
            return
        for name, service in self._services.within(namespace).items():
            if (old is not None and service.selects(old)) or (
                new is not None and service.selects(new)
            ):
                self.queue.add(f"{namespace}/{name}")

    async def _service(self, key: str) -> Object | None:
        """A service as it is stored."""
        found = await self._store.get(SERVICES + key)
        service: Object | None = None if found is None else orjson.loads(found.value)
        return service

    async def _worked_out(self, pods: int, fn: Callable[[*Args], T], *args: *Args) -> T:
        """What a function makes of values; with many pods, others go on meanwhile."""
        if pods <= MOST_HERE:
            return fn(*args)
        return await self._env.run_blocking(fn, *args)
