"""All of a collection a page at a time, and the commits beside and after that.

It is for who keeps little of large collections, and lets go of them: a `Reflector` holds all of a
collection at one revision while it lists.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from kubetrio.informers.dispatch import Callback, Dispatcher, Subscription
from kubetrio.store.model import Event, EventType, KeyValue, Range

PAGE_KEYS = 100
STEP_KEYS = 20  # are told without a turn for others


class Follower:
    """Tells of each object of a collection, and of each change.

    A change may come before the object that it changed, which is then not told any more.

    Args:
        dispatcher: the commit stream.
        prefix: of the collection's keys, a folder.
        found: told of each object that is stored.
        changed: told of each event.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        prefix: str,
        found: Callable[[KeyValue], object],
        changed: Callback,
    ) -> None:
        self.prefix = prefix
        self._dispatcher = dispatcher
        self._found = found
        self._changed = changed
        self._subscription: Subscription | None = None
        self._touched: set[str] = set()  # told by commits while listing
        self.synced = False

    async def sync(self) -> None:
        """List, unless that was done, and follow from now on.

        Raises:
            StoreError: it cannot be read; the next call tries again.
        """
        if self.synced:
            return
        if self._subscription is None:
            self._subscription = self._dispatcher.subscribe(self.prefix, self._note)
        keys = Range.prefix(self.prefix)
        more = True
        while more:
            # Each page is of the newest revision: what changed in those before was told.
            page = await self._dispatcher.store.range(keys, limit=PAGE_KEYS)
            more = page.more
            for number, item in enumerate(page.items, 1):
                if item.key not in self._touched:
                    self._tell(item)
                if number % STEP_KEYS == 0:
                    await trio.lowlevel.checkpoint()
            if page.items:
                keys = keys.after(page.items[-1].key)
        self.synced = True
        self._touched = set()

    def stop(self) -> None:
        """Follow no more, for good; not while it lists."""
        if self._subscription is not None:
            self._subscription()

    def _tell(self, item: KeyValue) -> None:
        try:
            self._found(item)
        except Exception as error:  # logged, and told again as a change
            if self._subscription is None:
                raise
            event = Event(item.revision, item.key, EventType.CREATED, item.value, None)
            self._subscription.failed(event, error)

    def _note(self, event: Event) -> None:
        if not self.synced:
            self._touched.add(event.key)
        self._changed(event)
