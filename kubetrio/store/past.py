"""Retained revisions of keys, and when they were made: what an engine may have beside the contract.

Engines that have it are found by `past_of`, behind what encrypts over them: times and kinds of
changes are not encrypted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from kubetrio.store.model import EventType, Revision, Store


class Past(NamedTuple):
    """A retained revision of a key.

    Args:
        revision: the revision.
        type: what it did.
        at_ms: when, by the wall clock; 0 where a former kubetrio wrote it, which did not note that.
    """

    revision: Revision
    type: EventType
    at_ms: int


@runtime_checkable
class Retained(Protocol):
    """An engine that tells the revisions of a key."""

    async def revisions_of(self, key: str) -> Sequence[Past]:
        """Return the retained revisions of a key, oldest first."""
        ...

    async def dates(self, revisions: Sequence[Revision]) -> Mapping[Revision, int]:
        """Return milliseconds of the wall clock of those revisions whose times are known."""
        ...


@runtime_checkable
class Wrapping(Protocol):
    """A store that changes what goes to another one."""

    @property
    def engine(self) -> Store:
        """The other one."""
        ...


def past_of(store: Store) -> Retained | None:
    """Return what tells the past of a store; None where its engine cannot."""
    while isinstance(store, Wrapping):
        store = store.engine
    return store if isinstance(store, Retained) else None
