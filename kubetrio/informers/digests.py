"""What is kept of a large collection: of each object a small value, shared by all who follow it.

An informer holds whole objects, which is too much for pods.  A function makes a value of the bytes
of an object when it is written; whoever asks with the same function gets the same collection.
client-go's informers have a transform function for this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.reflector import Reflector
from kubetrio.store.model import Event, EventType

T = TypeVar("T")


class Digests(Generic[T]):
    """A collection as values by namespace and name; empty until `sync`.

    Args:
        dispatcher: the commit stream.
        prefix: of the collection's keys, a folder.
        make: a value from the bytes of an object; called while a commit is announced.
    """

    def __init__(self, dispatcher: Dispatcher, prefix: str, make: Callable[[bytes], T]) -> None:
        self._prefix = prefix
        self._make = make
        self._namespaces: dict[str, dict[str, T]] = {}
        self._reflector = Reflector(dispatcher, prefix, self._changed)
        self._handlers: list[Callable[[str, str, T | None, T | None], None]] = []

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    async def sync(self) -> None:
        """Wait until all that is stored is here.

        Raises:
            StoreError: it cannot be read; the next call tries again.
        """
        await self._reflector.sync()

    def on_change(self, handler: Callable[[str, str, T | None, T | None], None]) -> None:
        """Have changes told, and before them what there is already.

        Args:
            handler: told of namespace, name, the value that was and the one that is, each None
                where there is none; it must return at once.
        """
        self._handlers.append(handler)
        for namespace, items in self._namespaces.items():
            for name, value in items.items():
                handler(namespace, name, None, value)

    def get(self, namespace: str, name: str) -> T | None:
        """The value of an object, None when there is none."""
        return self._namespaces.get(namespace, {}).get(name)

    def within(self, namespace: str) -> Mapping[str, T]:
        """The values of a namespace by name; of cluster-scoped objects when that is empty."""
        return self._namespaces.get(namespace, {})

    def everywhere(self) -> Iterable[tuple[str, str, T]]:
        """All there are, with namespace and name; nothing may be written meanwhile."""
        for namespace, items in self._namespaces.items():
            for name, value in items.items():
                yield namespace, name, value

    def _changed(self, event: Event) -> None:
        namespace, _, name = event.key[len(self._prefix) :].rpartition("/")
        items = self._namespaces.get(namespace)
        if event.type is EventType.DELETED:
            new = None
            old = None if items is None else items.pop(name, None)
            if items is not None and not items:
                del self._namespaces[namespace]
        else:
            new = self._make(event.value)
            if items is None:
                items = self._namespaces[namespace] = {}
            old = items.get(name)
            items[name] = new
        for handler in self._handlers:
            handler(namespace, name, old, new)
