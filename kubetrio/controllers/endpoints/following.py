"""What controllers of endpoints have in common: they look when services or their pods change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.endpoints.backends import (
    SERVICES,
    ServiceDigest,
    TriggerTimes,
    same_backend,
    services_of,
)
from kubetrio.kinds.core.pods.digests import PodDigest, pods_of

Object = dict[str, Any]
T = TypeVar("T")
Args = TypeVarTuple("Args")
MOST_HERE = 50
"""Pods whose endpoints are worked out at once; that of more is done in a thread."""


class ServiceFollower(Controller):
    """A controller whose keys are ``namespace/name`` of services.

    Args:
        context: what it is made of.
    """

    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pods = pods_of(context.informers)
        self._services = services_of(context.informers)
        self._triggers = TriggerTimes()
        self.sources += [self._pods, self._services]
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
        stored = await self._store.get(SERVICES + key)
        service: Object | None = None if stored is None else orjson.loads(stored.value)
        return service

    async def _worked_out(self, pods: int, fn: Callable[[*Args], T], *args: *Args) -> T:
        """What a function makes of values; with many pods, others go on meanwhile."""
        if pods <= MOST_HERE:
            return fn(*args)
        return await self._env.run_blocking(fn, *args)
