"""Writes that room comes of in the end, which a full disk takes one after the other."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TypeVar, TypeVarTuple

import trio

from kubetrio.store.errors import StoreFull
from kubetrio.store.model import KeyValue, Revision, Stamped
from kubetrio.store.sqlite.commits import Commits
from kubetrio.store.sqlite.leases import Leases
from kubetrio.store.sqlite.space import FREED_BYTES, Space
from kubetrio.store.sqlite.writer import Writer, Wrote

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class FreeingWrites:
    """Deletions, and the updates that lead to them; follows `store.model.Updating`.

    Args:
        commits: the writes of the store.
        space: whether there is room.
        leases: times to live.
    """

    def __init__(self, commits: Commits, space: Space, leases: Leases) -> None:
        self._commits = commits
        self._space = space
        self._leases = leases
        self._one_at_a_time = trio.Lock()  # on a full disk

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key as a step towards its deletion; see `Updating.update`."""
        ttl_ms = ceil(ttl_s * 1000)
        size = len(value.before) + len(value.after)
        stored = await self.submit(Writer.update, (key, value, expected, ttl_ms), size)
        if ttl_ms:
            self._leases.written(ttl_ms)
        return stored

    async def submit(
        self,
        apply: Callable[[Writer, *Arguments], Wrote[T]],
        arguments: tuple[*Arguments],
        size: int,
    ) -> T:
        """Submit a write that room comes of: where there is none for it, room is made first.

        Args:
            apply: makes the change in the open transaction.
            arguments: for it, behind the writer.
            size: bytes of values.

        Raises:
            StoreError: of `apply`, or the store is closed or could not commit.
        """
        space = self._space
        if not space.full:
            try:
                return await self._commits.submit(apply, arguments, size, frees=True)
            except StoreFull:
                if not space.full:
                    raise
        # The last values of a few deletions take the room that is left, so they go one by one.
        async with self._one_at_a_time:
            # The disk may have room again, and then no task makes any.
            if self._space.full and space.freed and space.freed + size > FREED_BYTES:
                await space.looked()
            space.freed += size
            try:
                return await self._commits.submit(apply, arguments, size, frees=True)
            except StoreFull:
                if not self._space.full:
                    raise
            await space.looked(size)
            space.freed += size
            return await self._commits.submit(apply, arguments, size, frees=True)
