"""One subscription on the commit stream for everybody who follows a part of the keys.

Keys are paths, ``/registry/pods/default/web``, and who follows asks for a folder of them or for one
key.  A commit looks each of its keys up by the first two parts of the path, which is the collection
for most kinds: one look into a dictionary where nobody is near.  Deeper folders are looked up only
below a collection in which somebody asked for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubetrio.store.model import Event, Store

Callback = Callable[[Event], None]
"""Told of an event; called while the commit is announced, before its writer has an answer."""


def collection_of(key: str) -> str:
    """The first two folders of a path, ``/registry/pods/``; empty for a path that has fewer."""
    return key[: key.find("/", key.find("/", 1) + 1) + 1]


class Dispatcher:
    """Calls who asked for a key, and nobody else.

    Args:
        store: whose commit stream is followed.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._everywhere: tuple[Callback, ...] = ()
        # By collection: callbacks by the folder or key that they asked for.
        self._collections: dict[str, dict[str, tuple[Callback, ...]]] = {}
        store.on_commit(self._committed)

    def subscribe(self, prefix: str, callback: Callback) -> Callable[[], None]:
        """Have a function called for each event of a range of keys.

        Callbacks of the same range are called in the order of subscription, those of a folder
        before those of what is inside it.

        Args:
            prefix: a folder, ending with a slash, or one key; ``/`` for all there are.
            callback: it must return at once.

        Returns:
            Ends the subscription; calling it twice is fine.
        """
        if prefix == "/":
            self._everywhere += (callback,)
        else:
            asked = self._collections.setdefault(collection_of(prefix), {})
            asked[prefix] = (*asked.get(prefix, ()), callback)
        subscribed = True

        def unsubscribe() -> None:
            nonlocal subscribed
            if subscribed:
                subscribed = False
                self._remove(prefix, callback)

        return unsubscribe

    def _remove(self, prefix: str, callback: Callback) -> None:
        if prefix == "/":
            self._everywhere = _without(self._everywhere, callback)
            return
        collection = collection_of(prefix)
        asked = self._collections[collection]
        asked[prefix] = _without(asked[prefix], callback)
        if not asked[prefix]:
            del asked[prefix]
        if not asked:
            del self._collections[collection]

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            for callback in self._everywhere:
                callback(event)
            key = event.key
            at = key.find("/", key.find("/", 1) + 1) + 1  # see `collection_of`
            folder = key[:at]
            asked = self._collections.get(folder)
            if asked is None:
                continue
            for callback in asked.get(folder, ()):
                callback(event)
            if len(asked) == 1 and folder in asked:
                continue  # the usual case: nobody asked for less than the collection
            while (at := key.find("/", at) + 1) > 0:
                for callback in asked.get(key[:at], ()):
                    callback(event)
            for callback in asked.get(key, ()):
                callback(event)


def _without(callbacks: tuple[Callback, ...], gone: Callback) -> tuple[Callback, ...]:
    """All but the first that equals one."""
    at = callbacks.index(gone)
    return callbacks[:at] + callbacks[at + 1 :]
