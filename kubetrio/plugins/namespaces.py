"""What admission asks of namespaces: every create for a phase, every pod for a policy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson

from kubetrio.informers.informer import EventHandler, Item, SharedInformerFactory
from kubetrio.plugins.podsecurity.policy import Policy, policy_of

PREFIX = "/registry/namespaces/"


Provide = Callable[[str], Awaitable[None]]
"""Makes a namespace; raises `ApiError`, also when it is there already."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of a namespace."""

    phase: str
    policy: Policy


class Namespaces:
    """Looks namespaces up.

    Args:
        informers: of the server.
        defaults: the policy of namespaces that say nothing of it.
    """

    def __init__(self, informers: SharedInformerFactory, defaults: Policy) -> None:
        self._defaults = defaults
        self._store = informers.store
        self._informer = informers.informer(PREFIX)
        self._known: dict[str, _Known] = {}
        self._informer.add_event_handler(
            EventHandler(update=lambda _, new: self._forget(new), delete=self._forget)
        )

    def _forget(self, item: Item) -> None:
        self._known.pop(item.key[len(PREFIX) :], None)

    async def phase(self, namespace: str) -> str | None:
        """``Active`` or ``Terminating``; None when there is no such namespace."""
        known = self._known.get(namespace) or await self._read(namespace)
        return None if known is None else known.phase

    async def policy(self, namespace: str) -> Policy | None:
        """What it asks of its pods; None when there is no such namespace."""
        known = self._known.get(namespace) or await self._read(namespace)
        return None if known is None else known.policy

    async def _read(self, namespace: str) -> _Known | None:
        await self._informer.sync()
        obj = self._informer.lister.get(namespace)
        if obj is not None:
            known = self._known[namespace] = self._summary(obj)
            return known
        # The store may be ahead of the commit stream, but what is ahead is not remembered.
        stored = await self._store.get(PREFIX + namespace)
        return None if stored is None else self._summary(orjson.loads(stored.value))

    async def get(self, namespace: str) -> dict[str, Any] | None:
        """A whole namespace; it must not be changed."""
        await self._informer.sync()
        obj = self._informer.lister.get(namespace)
        if obj is not None:
            return obj
        stored = await self._store.get(PREFIX + namespace)
        return None if stored is None else orjson.loads(stored.value)

    def _summary(self, obj: dict[str, Any]) -> _Known:
        labels = (obj.get("metadata") or {}).get("labels") or {}
        return _Known(
            phase=str((obj.get("status") or {}).get("phase", "Active")),
            policy=policy_of(labels, self._defaults),
        )
