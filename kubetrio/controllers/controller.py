"""What the controllers of the table have in common: what they are made of, and how they follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from kubetrio.aggregation.aggregation import Aggregation
from kubetrio.auth.trust import ClusterAuthorities
from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.informers.digests import Digests, Handler
from kubetrio.informers.dispatch import Callback
from kubetrio.informers.informer import EventHandler, Informer, Item, SharedInformerFactory
from kubetrio.informers.reconciler import Reconciler
from kubetrio.informers.reflector import Reflector
from kubetrio.quota.stored import StoredQuotas
from kubetrio.resources.operations import Operations
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry

T = TypeVar("T")
Change = Callable[[Item | None, Item | None], None]
"""Told of the item that was and of the one that is, each None if there is none."""


class Context(NamedTuple):
    """What controllers are made of.

    Args:
        registry: what is served.
        operations: writes.
        informers: of the server.
        quotas: counts them.
        env: clocks.
        config: flags.
        trust: authorities, keys and opinions.
        aggregation: what other servers serve.
    """

    registry: LiveRegistry
    operations: Operations
    informers: SharedInformerFactory
    quotas: StoredQuotas
    env: Env
    config: Config
    trust: ClusterAuthorities
    aggregation: Aggregation


class Controller(Reconciler):
    """A controller of the table.

    A subclass has a name, follows in its constructor what it depends on, and puts keys into
    ``self.queue`` when that changes; `sync` brings what a key stands for into order.

    Args:
        context: what it is made of.

    Attributes:
        name: in the table of controllers, in metrics and in logs.
        workers: how many keys it works on at a time.
    """

    name = ""
    workers = 1

    def __init__(self, context: Context) -> None:
        super().__init__(self.name, workers=self.workers)
        self._registry = context.registry
        self._operations = context.operations
        self._informers = context.informers
        self._store = context.informers.store
        self._env = context.env

    def follow(self, kind: Kind, on_change: Change) -> Informer:
        """Have changes of a kind's objects told, and before them what there is already.

        Work begins when all that is stored was told.

        Args:
            kind: a kind of which everything may be kept in memory.
            on_change: it must return at once; what it raises is logged, and it is told again.

        Returns:
            The objects, shared with all who follow the kind.
        """
        informer = self._informers.informer_for(kind)
        self.sources.append(informer)
        informer.add_event_handler(
            EventHandler(
                add=lambda new: on_change(None, new),
                update=on_change,
                delete=lambda old: on_change(old, None),
            )
        )
        return informer

    def follow_digests(self, digests: Digests[T], on_change: Handler[T]) -> Digests[T]:
        """Have changes of a large collection told, of which a small value of each object is kept.

        Args:
            digests: the values, of `SharedInformerFactory.digests`.
            on_change: see `follow`.

        Returns:
            The values.
        """
        self.sources.append(digests)
        digests.on_change(on_change)
        return digests

    def follow_events(self, prefix: str, on_event: Callback) -> None:
        """Have a collection told as events, creations of what is stored first; nothing is kept.

        Args:
            prefix: of the collection's keys, a folder.
            on_event: see `follow`.
        """
        self.sources.append(Reflector(self._informers.dispatcher, prefix, on_event))
