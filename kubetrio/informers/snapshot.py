"""What was stored at a moment, and the writes that bring it back.

Nothing is copied when a snapshot is made: of each key that changes afterwards, the value it had is
kept, which the commit stream brings along (copy on write).  So a snapshot costs what has changed,
compaction cannot take it away, and going back takes no read.

A key that is back at its value is let go of; a resourceVersion does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.store.model import Change, Event, EventType, Revision, Stamped

OBJECTS = "/registry/"
"""Keys below this are objects; the store keeps its own notes elsewhere."""


class _Touched(NamedTuple):
    """A key that changed.

    Args:
        before: its value at the snapshot, None where there was none.
        newest: what happened to it last.
    """

    before: bytes | None
    newest: Event


class Snapshot:
    """The state of a store when this was made; `close` it when it is not needed any more.

    Args:
        dispatcher: the commit stream.
        reopen: complete bytes with the hole for the revision open again.
        ttl_s: how long an object stays that is brought back, in seconds, by its key; 0 for ever.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        reopen: Callable[[bytes], Stamped],
        ttl_s: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        self.revision: Revision = dispatcher.store.revision
        self._reopen = reopen
        self._ttl_s = ttl_s
        self._touched: dict[str, _Touched] = {}
        self._unsubscribe = dispatcher.subscribe("/", self._note)

    def close(self) -> None:
        """Follow the store no more; calling it twice is fine."""
        self._unsubscribe()
        self._touched.clear()

    def _note(self, event: Event) -> None:
        key = event.key
        if not key.startswith(OBJECTS):
            return
        known = self._touched.get(key)
        before = event.previous if known is None else known.before
        self._touched[key] = _Touched(before, event)

    def changes(self) -> Sequence[Change]:
        """The writes that bring the state back, none of them of a key twice."""
        result: list[Change] = []
        for key, (before, newest) in list(self._touched.items()):
            change = self._change(key, before, newest)
            if change is None:
                del self._touched[key]
            else:
                result.append(change)
        return result

    def _change(self, key: str, before: bytes | None, newest: Event) -> Change | None:
        gone = newest.type is EventType.DELETED
        if before is None:
            if gone:
                return None
            return Change(EventType.DELETED, key, None, newest.revision)
        value = self._reopen(before)
        if gone:
            return Change(EventType.CREATED, key, value, 0, self._ttl_s(key))
        if self._reopen(newest.value) == value:
            return None
        return Change(EventType.UPDATED, key, value, newest.revision, self._ttl_s(key))
