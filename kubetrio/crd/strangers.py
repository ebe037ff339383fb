"""Custom resources that other servers of one store write in a version that is not the stored one.

What is stored goes out as it is once all of it is known to be as it would be written today.  Where
others write to the store, that can end: a server whose definition is newer or older writes another
version.  Then objects are looked at again when they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kubetrio.informers.dispatch import Dispatcher, Subscription
from kubetrio.schema.kind import Kind
from kubetrio.store.model import Event, EventType
from kubetrio.wire.jsonwire import encode

if TYPE_CHECKING:
    from kubetrio.crd.customtype import Shared


class Strangers:
    """Hears of objects in other versions.

    Args:
        dispatcher: tells of changes.
        again: is called with the name of a definition whose objects are to be looked at again.
    """

    def __init__(self, dispatcher: Dispatcher, again: Callable[[str], None]) -> None:
        self._dispatcher = dispatcher
        self._again = again
        self._ends: dict[str, Subscription] = {}
        self._counts: dict[str, int] = {}

    def follow(self, name: str, kind: Kind, shared: Shared) -> None:
        """Hear of the objects of a definition from now on, until `end`.

        Args:
            name: of the definition.
            kind: its stored version.
            shared: is no longer settled when an object comes in another version.
        """
        if name in self._ends:
            return
        begin = encode({"kind": kind.kind, "apiVersion": kind.api_version})[:-1]

        def changed(event: Event) -> None:
            if event.type is EventType.DELETED or event.value.startswith(begin):
                return
            self._counts[name] += 1
            if shared.settled:
                shared.settled = False
                self._again(name)

        self._counts[name] = 0
        self._ends[name] = self._dispatcher.subscribe(kind.storage_prefix, changed)

    def count(self, name: str) -> int:
        """Return how many objects of a definition have come in another version."""
        return self._counts.get(name, 0)

    def end(self, name: str) -> None:
        """Hear no more of the objects of a definition."""
        if (end := self._ends.pop(name, None)) is not None:
            end()
            del self._counts[name]
