"""What is kept of a large collection: of each object a small value, shared by all who follow it.

An informer holds whole objects, which is too much for pods.  A function makes a value of the bytes
of an object when it is written; callers that ask with one function get one collection.
client-go's informers have a transform function for this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

import trio

from kubetrio.informers.dispatch import STEP_KEYS, Dispatcher
from kubetrio.informers.redelivery import Listener, Redelivery
from kubetrio.informers.reflector import Reflector
from kubetrio.store.model import Event, EventType

T = TypeVar("T")


Handler = Callable[[str, str, T | None, T | None], None]
"""Told of namespace, name, the value that was and the one that is, each None if there is none."""


class _Handled(Listener, Generic[T]):
    """A handler, and the values of which it missed a change because it raised.

    Args:
        digests: the values as they are.
        collection: that it follows.
        handler: the function.
        redelivery: tells again.
    """

    def __init__(
        self, digests: Digests[T], collection: str, handler: Handler[T], redelivery: Redelivery
    ) -> None:
        super().__init__(collection)
        self._digests = digests
        self._handler = handler
        self._redelivery = redelivery
        # As they were when it was told last, by namespace and name.
        self._missed: dict[tuple[str, str], T | None] = {}

    def tell(self, namespace: str, name: str, old: T | None, new: T | None) -> None:
        """Tell of a change."""
        if self._missed and (namespace, name) in self._missed:
            old = self._missed.pop((namespace, name))
        try:
            self._handler(namespace, name, old, new)
        except Exception as error:  # noqa: BLE001  (logged and told again; others must go on)
            self._missed[namespace, name] = old
            self._redelivery.failed(self, error, f"{namespace}/{name}")

    @property
    def behind(self) -> bool:
        """See `Listener`."""
        return bool(self._missed)

    async def catch_up(self) -> None:
        """Tell again of what was missed, as it is now; see `Listener`."""
        for number, (namespace, name) in enumerate(tuple(self._missed), 1):
            if (namespace, name) in self._missed:
                self.tell(namespace, name, None, self._digests.get(namespace, name))
            if number % STEP_KEYS == 0:
                await trio.lowlevel.checkpoint()


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
        self._redelivery = dispatcher.redelivery
        self._handlers: list[_Handled[T]] = []

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    async def sync(self) -> None:
        """Wait until all that is stored is here.

        Raises:
            StoreError: it cannot be read; the next call tries again.
        """
        await self._reflector.sync()

    def on_change(self, handler: Handler[T]) -> None:
        """Have changes told, and before them what there is already.

        Args:
            handler: it must return at once; what it raises is logged, and it is told again.
        """
        handled = _Handled(self, self._prefix, handler, self._redelivery)
        self._handlers.append(handled)
        for namespace, items in self._namespaces.items():
            for name, value in items.items():
                handled.tell(namespace, name, None, value)

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
            handler.tell(namespace, name, old, new)
