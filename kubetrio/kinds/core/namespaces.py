"""What admission asks of namespaces, remembered until a commit says otherwise.

Every create asks for a phase, every pod for a policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from kubetrio.kinds.core.podsecurity.policy import Policy, policy_of
from kubetrio.store.model import Event, Watched

PREFIX = "/registry/namespaces/"
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of a namespace."""

    phase: str
    policy: Policy


class Namespaces:
    """Looks namespaces up.

    Args:
        store: where they live; its commit stream invalidates what is remembered.
    """

    def __init__(self, store: Watched) -> None:
        self._store = store
        self._known: dict[str, _Known] = {}
        store.on_commit(self._forget)

    def _forget(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.key.startswith(PREFIX):
                self._known.pop(event.key.removeprefix(PREFIX), None)

    async def phase(self, namespace: str) -> str | None:
        """``Active`` or ``Terminating``; None when there is no such namespace."""
        known = self._known.get(namespace) or await self._read(namespace)
        return None if known is None else known.phase

    async def policy(self, namespace: str) -> Policy | None:
        """What it asks of its pods; None when there is no such namespace."""
        known = self._known.get(namespace) or await self._read(namespace)
        return None if known is None else known.policy

    async def _read(self, namespace: str) -> _Known | None:
        revision = self._store.revision
        found = await self._store.get(PREFIX + namespace)
        if found is None:
            return None
        obj = orjson.loads(found.value)
        known = _Known(
            phase=str((obj.get("status") or {}).get("phase", "Active")),
            policy=policy_of((obj.get("metadata") or {}).get("labels") or {}),
        )
        # A read can be ahead of the commit stream, never behind it: what a later event would
        # correct must not be remembered.
        if found.revision <= revision and len(self._known) < REMEMBERED:
            self._known[namespace] = known
        return known
