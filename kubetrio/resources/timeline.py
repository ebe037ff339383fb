"""What happened to objects: retained revisions with their time, verb and writer.

A revision of an object is told with the manager whose entry in ``managedFields`` the write made or
changed (`machinery.lastwriter`).  A deletion stores the last state, which does not say who deleted
it; the audit log may.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from kubetrio.machinery.lastwriter import writer_of
from kubetrio.store.model import EventType, Revision
from kubetrio.store.past import Past

Object = dict[str, Any]
VERBS = ("create", "update", "delete")
"""By `EventType`."""
ReadState = Callable[[Past], Awaitable[Object | None]]


class Entry(NamedTuple):
    """A revision of an object, as people read it.

    Args:
        revision: the revision.
        at_ms: when it was made, by the wall clock; 0 where that is not known.
        verb: ``create``, ``update`` or ``delete``.
        manager: who wrote it, as far as it says so; else empty.
        generation: of the object; 0 where it has none.
        encrypted: whether its state cannot be read.
    """

    revision: Revision
    at_ms: int
    verb: str
    manager: str = ""
    generation: int = 0
    encrypted: bool = False

    @property
    def time(self) -> str:
        """When it was made, RFC 3339 with seconds; empty where that is not known."""
        return time_text(self.at_ms)


def time_text(at_ms: int) -> str:
    """Return milliseconds of the wall clock as RFC 3339 with seconds; nothing for 0."""
    if not at_ms:
        return ""
    return f"{dt.datetime.fromtimestamp(at_ms // 1000, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def entry_of(past: Past, before: Object | None, state: Object | None) -> Entry:
    """Return what there is to tell of a revision.

    Args:
        past: the revision.
        before: the state that it replaced; None where that is not known or there was none.
        state: what it brought, of a deletion the last state; None where it is encrypted.
    """
    verb = VERBS[past.type]
    if state is None:
        return Entry(past.revision, past.at_ms, verb, encrypted=True)
    generation = (state.get("metadata") or {}).get("generation")
    manager = ""
    if past.type is not EventType.DELETED:
        created = past.type is EventType.CREATED
        manager = writer_of(before, state, time_text(past.at_ms), created=created)
    known = generation if isinstance(generation, int) else 0
    return Entry(past.revision, past.at_ms, verb, manager, known)


async def timeline(revisions: Sequence[Past], read: ReadState) -> list[Entry]:
    """Return what there is to tell of an object, oldest first.

    Args:
        revisions: those that are kept, oldest first.
        read: the state that one brought, of a deletion the last state; None where it is encrypted.
    """
    entries: list[Entry] = []
    before: Object | None = None
    for past in revisions:
        # The oldest state may be older than the floor: it is there, what made it is not told.
        state = await read(past)
        entries.append(entry_of(past, before, state))
        before = None if past.type is EventType.DELETED else state
    return entries
