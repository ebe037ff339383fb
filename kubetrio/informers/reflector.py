"""A list and then the commits after it: what a follower of a collection is built on.

Prior art: client-go's reflector.  Two things are simpler in the process of the store: the stream
does not break, and an event is here before its writer has an answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from kubetrio.informers.dispatch import Callback, Dispatcher
from kubetrio.store.errors import Compacted, Unreadable
from kubetrio.store.model import Event, EventType, KeyValue, Range, Revision

PAGE_KEYS = 500


class Reflector:
    """Tells one function of all objects of a collection, and of each change from then on.

    What is stored is told as creations, in the order of keys; it is kept nowhere.

    Args:
        dispatcher: the commit stream.
        prefix: of the collection's keys, a folder.
        changed: told of each event, once.
        around: whether values that cannot be read are passed over; else nothing is told of any.
    """

    def __init__(
        self, dispatcher: Dispatcher, prefix: str, changed: Callback, *, around: bool = False
    ) -> None:
        self.prefix = prefix
        self._dispatcher = dispatcher
        self._changed = changed
        self._around = around
        self._listed: Revision = -1  # what the list contains
        self._listing = trio.Lock()

    @property
    def synced(self) -> bool:
        """Whether all that is stored was told."""
        return self._listed >= 0

    async def sync(self) -> Sequence[KeyValue]:
        """List, unless that was done, and follow from then on.

        Returns:
            What was listed; nothing if that was done before.

        Raises:
            StoreError: it cannot be read; the next call tries again.
        """
        if self.synced:
            return ()
        async with self._listing:
            if self._listed >= 0:
                return ()
            since: list[Event] = []
            unsubscribe = self._dispatcher.subscribe(self.prefix, since.append)
            try:
                items, listed = await self._list()
            finally:
                unsubscribe()
            self._listed = listed
            # The list can be ahead of the stream.
            told = self._dispatcher.subscribe(self.prefix, self._changed, after=listed)
            for item in items:
                told.deliver(Event(item.revision, item.key, EventType.CREATED, item.value, None))
            for event in since:
                if event.revision > listed:
                    told.deliver(event)
            return items

    async def _list(self) -> tuple[list[KeyValue], Revision]:
        """The collection at one revision, and that revision."""
        while True:
            try:
                return await self._list_at_once()
            except Compacted:
                continue  # it took longer than history is kept

    async def _list_at_once(self) -> tuple[list[KeyValue], Revision]:
        items, at = list[KeyValue](), None
        pieces = [Range.prefix(self.prefix)]
        while pieces:
            keys = pieces.pop()
            try:
                page = await self._dispatcher.store.range(keys, at=at, limit=PAGE_KEYS)
            except Unreadable as error:
                if not self._around or not error.key:
                    raise
                pieces += [keys.after(error.key), Range(keys.start, error.key)]
                continue
            at = page.revision
            items += page.items
            if page.more:
                pieces.append(keys.after(items[-1].key))
        return items, at or 0
