"""Phases of namespaces, remembered until a commit says otherwise: every create asks for one."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from kubetrio.store.model import Event, Store

PREFIX = "/registry/namespaces/"
REMEMBERED = 10_000


class NamespacePhases:
    """Looks namespaces up.

    Args:
        store: where they live; its commit stream invalidates what is remembered.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._phases: dict[str, str] = {}
        store.on_commit(self._forget)

    def _forget(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.key.startswith(PREFIX):
                self._phases.pop(event.key.removeprefix(PREFIX), None)

    async def phase(self, namespace: str) -> str | None:
        """``Active`` or ``Terminating``; None when there is no such namespace."""
        known = self._phases.get(namespace)
        if known is not None:
            return known
        revision = self._store.revision
        found = await self._store.get(PREFIX + namespace)
        if found is None:
            return None
        status = orjson.loads(found.value).get("status") or {}
        phase = str(status.get("phase", "Active"))
        # A read can be ahead of the commit stream, never behind it: what a later event would
        # correct must not be remembered.
        if found.revision <= revision and len(self._phases) < REMEMBERED:
            self._phases[namespace] = phase
        return phase
