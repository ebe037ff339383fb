"""One subscription on the commit stream for all followers of a part of the keys.

Keys are paths, ``/registry/pods/default/web``, and who follows asks for a folder of them or for one
key.  A commit looks each of its keys up by the first two parts of the path, which is the collection
for most kinds: one look into a dictionary where no follower is near.  Deeper folders are looked
up only below a collection in which a follower asked for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import trio

from kubetrio.informers.redelivery import Listener, Redelivery
from kubetrio.store.model import Event, EventType, Gap, KeyValue, Revision, Store

Callback = Callable[[Event], None]
"""Told of an event; called while the commit is announced, before its writer has an answer."""
STEP_KEYS = 20  # are told again without a turn for others


def collection_of(key: str) -> str:
    """The first two folders of a path, ``/registry/pods/``; empty for a path that has fewer."""
    return key[: key.find("/", key.find("/", 1) + 1) + 1]


class Subscription(Listener):
    """A function that is called for each event of a range of keys; calling this ends it.

    Args:
        dispatcher: the commit stream.
        prefix: a folder, ending with a slash, or one key.
        callback: the function.
        after: events of the stream up to this revision are not told.

    Attributes:
        tell: the function to call with an event of the stream.
    """

    def __init__(
        self, dispatcher: Dispatcher, prefix: str, callback: Callback, after: Revision
    ) -> None:
        super().__init__(collection_of(prefix) or prefix)
        self.prefix = prefix
        self._dispatcher = dispatcher
        self._callback = callback
        self._after = after
        self._missed: dict[str, Event] = {}
        self._ended = False
        self.tell = self._usual()

    def __call__(self) -> None:
        """End the subscription; calling it twice is fine."""
        if not self._ended:
            self._ended = True
            self._missed.clear()
            self._dispatcher.end(self)

    def _usual(self) -> Callback:
        return self._callback if self._after < 0 else self._tell_newer

    def rewound(self) -> None:
        """Be told of every event from now on: revisions are of another history than the list."""
        self._after = -1
        if not self._missed:
            self.tell = self._usual()

    def _tell_newer(self, event: Event) -> None:
        if event.revision > self._after:
            self._callback(event)

    def _tell_behind(self, event: Event) -> None:
        """Tell of an event of the stream while something is missed."""
        if event.revision > self._after:
            self.deliver(event)

    def deliver(self, event: Event) -> None:
        """Tell of an event, which need not be of the stream; what is raised is caught."""
        for one in _since(self._missed.pop(event.key, None), event):
            try:
                self._callback(one)
            except Exception as error:  # noqa: BLE001  (logged and told again)
                self.failed(one, error)

    def failed(self, event: Event, error: Exception) -> None:
        """Note that the function raised for an event."""
        if not self._ended:
            self._missed.setdefault(event.key, event)
            self.tell = self._tell_behind
        self._dispatcher.redelivery.failed(self, error, event.key)

    @property
    def behind(self) -> bool:
        """See `Listener`."""
        return bool(self._missed)

    async def catch_up(self) -> None:
        """Tell again of what was missed, as it is stored now; see `Listener`."""
        for number, (key, missed) in enumerate(tuple(self._missed.items()), 1):
            stored = await self._dispatcher.store.get(key)
            if self._missed.get(key) is missed:  # else it was told meanwhile
                self.deliver(_now(missed, stored))
            if number % STEP_KEYS == 0:
                await trio.lowlevel.checkpoint()
        if not self._missed:
            self.tell = self._usual()


def _since(missed: Event | None, event: Event) -> Sequence[Event]:
    """What an event is for who missed an earlier one of its key."""
    if missed is None:
        return (event,)
    if missed.type is EventType.DELETED:  # what came then is another object
        return (missed,) if event is missed else (missed, event)
    kind = event.type if event.type is EventType.DELETED else missed.type
    return (event._replace(type=kind, previous=missed.previous),)


def _now(missed: Event, stored: KeyValue | None) -> Event:
    """What is to be told of a key now."""
    if stored is not None:
        again = missed.type is EventType.DELETED
        kind = EventType.CREATED if again else EventType.UPDATED
        return Event(stored.revision, missed.key, kind, stored.value, None)
    return missed if missed.type is EventType.DELETED else missed._replace(type=EventType.DELETED)


class Dispatcher:
    """Call the followers of a key, and no others.

    What a callback raises costs its subscription alone; see `redelivery`.

    Args:
        store: whose commit stream is followed.

    Attributes:
        redelivery: tells again what callbacks missed that raised.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.redelivery = Redelivery()
        self._everywhere: tuple[Subscription, ...] = ()
        # By collection: subscriptions by the folder or key that they asked for.
        self._collections: dict[str, dict[str, tuple[Subscription, ...]]] = {}
        store.on_commit(self._committed)
        store.on_gap(self._skipped)

    def subscribe(self, prefix: str, callback: Callback, after: Revision = -1) -> Subscription:
        """Have a function called for each event of a range of keys.

        Callbacks of the same range are called in the order of subscription, those of a folder
        before those of what is inside it.

        Args:
            prefix: a folder, ending with a slash, or one key; ``/`` for all there are.
            callback: it must return at once.
            after: events up to this revision are not told.

        Returns:
            Ends the subscription when it is called; calling it twice is fine.
        """
        subscription = Subscription(self, prefix, callback, after)
        if prefix == "/":
            self._everywhere += (subscription,)
        else:
            asked = self._collections.setdefault(collection_of(prefix), {})
            asked[prefix] = (*asked.get(prefix, ()), subscription)
        return subscription

    def end(self, subscription: Subscription) -> None:
        """Call a subscription no more."""
        if subscription.prefix == "/":
            self._everywhere = _without(self._everywhere, subscription)
            return
        collection = collection_of(subscription.prefix)
        asked = self._collections[collection]
        asked[subscription.prefix] = _without(asked[subscription.prefix], subscription)
        if not asked[subscription.prefix]:
            del asked[subscription.prefix]
        if not asked:
            del self._collections[collection]

    def _skipped(self, gap: Gap) -> None:
        """Tell of what differs after a gap, as of changes."""
        if gap.rewound:
            for one in self._subscriptions():
                one.rewound()
        self._committed(gap.changes)

    def _subscriptions(self) -> Iterator[Subscription]:
        yield from self._everywhere
        for asked in self._collections.values():
            for subscriptions in asked.values():
                yield from subscriptions

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            if self._everywhere:
                _tell(self._everywhere, event)
            key = event.key
            at = key.find("/", key.find("/", 1) + 1) + 1  # see `collection_of`
            folder = key[:at]
            asked = self._collections.get(folder)
            if asked is None:
                continue
            _tell(asked.get(folder, ()), event)
            if len(asked) == 1 and folder in asked:
                continue  # the usual case: no follower asked for less than the collection
            while (at := key.find("/", at) + 1) > 0:
                _tell(asked.get(key[:at], ()), event)
            _tell(asked.get(key, ()), event)


def _tell(subscriptions: Iterable[Subscription], event: Event) -> None:
    for one in subscriptions:
        try:
            one.tell(event)
        except Exception as error:  # noqa: BLE001  (logged; it must not end the store)
            one.failed(event, error)


def _without(
    subscriptions: tuple[Subscription, ...], gone: Subscription
) -> tuple[Subscription, ...]:
    return tuple(one for one in subscriptions if one is not gone)
