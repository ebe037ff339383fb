"""Objects read lately, kept in their newest state.

A read of SQLite takes pages that may not be in its cache, each a system call; the objects that are
asked for again and again do not need that, least of all those that are written again and again
(leases, status), where each write begins with a read.  What is kept is never stale: a commit is
announced before its writer is answered, and the announcement brings the new state.

An object is kept when it is read a second time.  Reads of ever other ones leave no trace: they
would drop what is asked for again, and have each value written to memory that no cache of the
processor holds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from kubetrio.store.model import Event, EventType, KeyValue

OVERHEAD_BYTES = 300  # of an entry beside its value
NOTED = 8192  # keys noted for having been read once, after which all of them are forgotten


class Recent:
    """Newest states by key, bounded in bytes; the oldest entries go first.

    Args:
        max_bytes: bound; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # A plain dict finds its oldest entry by passing over all that were dropped before it.
        self._entries: OrderedDict[str, KeyValue] = OrderedDict()
        self._once: set[int] = set()  # hashes of keys; an equal one of another does no harm
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> KeyValue | None:
        """The newest state of a key, None when it is not kept."""
        return self._entries.get(key)

    def keep(self, found: KeyValue) -> None:
        """Remember what was just read, if it was read before."""
        noted = hash(found.key)
        if noted not in self._once:
            if len(self._once) == NOTED:
                self._once.clear()
            self._once.add(noted)
            return
        if not self._fits(found.value):
            return
        self.forget(found.key)
        self._entries[found.key] = found
        self.bytes += len(found.value) + OVERHEAD_BYTES
        self._trim()

    def forget(self, key: str) -> None:
        """Drop a key, if it is kept."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.bytes -= len(entry.value) + OVERHEAD_BYTES

    def clear(self) -> None:
        """Keep nothing."""
        self._entries.clear()
        self.bytes = 0

    def announced(self, events: Sequence[Event]) -> None:
        """Follow a commit: what it wrote of the keys that are kept."""
        for event in events:
            known = self._entries.get(event.key)
            if known is None:
                continue
            if event.type is not EventType.UPDATED or not self._fits(event.value):
                self.forget(event.key)
                continue
            # In its place in line: only reads keep an object.
            self._entries[event.key] = known._replace(value=event.value, revision=event.revision)
            self.bytes += len(event.value) - len(known.value)
        self._trim()

    def _fits(self, value: bytes) -> bool:
        """Whether an object leaves room for others."""
        return len(value) + OVERHEAD_BYTES <= self._max_bytes // 8

    def _trim(self) -> None:
        while self.bytes > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self.bytes -= len(oldest.value) + OVERHEAD_BYTES
