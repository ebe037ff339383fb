"""The watchers of one prefix, and which of them an event concerns.

Most filters of a large cluster are pinned: they ask for one value of one label or field, as each
kubelet does for the pods of its node.  These are found by the values that an event has; all other
filters are asked.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Hashable, Sequence
from typing import Protocol

from kubetrio.store.model import Range, Revision
from kubetrio.watch.choosing import FieldValues, Filter, Pin
from kubetrio.watch.window import Batch


class WatcherState(enum.Enum):
    """Life of a watcher."""

    LAGGING = "lagging"
    LIVE = "live"
    LOST = "lost"
    CLOSED = "closed"


class Sink(Protocol):
    """Where a live watcher's batches go."""

    def offer(self, batch: Batch) -> bool:
        """Take a batch without waiting; False asks for no more until pulled."""
        ...

    def lag(self) -> None:
        """Hear that the watcher has to pull, though `offer` refused nothing."""
        ...


class Watcher:
    """One watch on a prefix or a single key; made by `Hub.subscribe`.

    Args:
        group: watchers of the same keys.
        cursor: revision up to which events have been handed over, or a newer one if what followed
            was for others.
        sink: receiver of live batches.
        pulls: whether it is never handed a batch, and pulls each.
        chooser: what it wants; None for everything.
    """

    __slots__ = ("chooser", "cursor", "group", "pulls", "sink", "state")

    def __init__(
        self, group: Group, cursor: Revision, sink: Sink, *, pulls: bool, chooser: Filter | None
    ) -> None:
        self.group = group
        self.cursor = cursor
        self.sink = sink
        self.pulls = pulls
        self.chooser = chooser
        self.state = WatcherState.LAGGING

    @property
    def keys(self) -> Range:
        """The keys it watches."""
        return self.group.keys


class Equals:
    """Watchers with equal filters.

    Args:
        chooser: one of the filters; None for watchers of everything.
    """

    __slots__ = ("chooser", "watchers")

    def __init__(self, chooser: Filter | None) -> None:
        self.chooser = chooser
        self.watchers: set[Watcher] = set()

    def concerned(self, batch: Batch) -> bool:
        """Whether they want an event of a batch."""
        return self.chooser is None or batch.concerns(self.chooser)


Shelf = dict[Hashable, Equals]
"""By identity of the filter."""


class Choosers:
    """The filters that read the same fields."""

    __slots__ = ("_pinned", "_places", "loose")

    def __init__(self) -> None:
        self.loose: Shelf = {}
        self._pinned: dict[Pin, Shelf] = {}
        self._places: dict[tuple[str, str], int] = {}  # how often each is pinned

    def __bool__(self) -> bool:
        return bool(self.loose or self._pinned)

    def add(self, watcher: Watcher, chooser: Filter) -> None:
        """Add a watcher of some objects."""
        pin = chooser.pin
        if pin is None:
            shelf = self.loose
        elif (known := self._pinned.get(pin)) is not None:
            shelf = known
        else:
            shelf = self._pinned[pin] = {}
            self._places[pin[:2]] = self._places.get(pin[:2], 0) + 1
        equals = shelf.get(chooser.identity)
        if equals is None:
            equals = shelf[chooser.identity] = Equals(chooser)
        equals.watchers.add(watcher)

    def discard(self, watcher: Watcher, chooser: Filter) -> None:
        """Take a watcher out, if it is there."""
        pin = chooser.pin
        shelf = self.loose if pin is None else self._pinned.get(pin, {})
        equals = shelf.get(chooser.identity)
        if equals is None:
            return
        equals.watchers.discard(watcher)
        if not equals.watchers:
            del shelf[chooser.identity]
        if pin is not None and not shelf:
            del self._pinned[pin]
            self._places[pin[:2]] -= 1
            if not self._places[pin[:2]]:
                del self._places[pin[:2]]

    def pinned(self, batch: Batch, reads: FieldValues) -> Collection[Equals]:
        """Those whose pin an object of a batch has."""
        if not self._places:
            return ()
        pins: dict[Pin, None] = {}
        for before, now in batch.seen(reads):
            for where, name in self._places:
                for seen in (before, now):
                    value = None if seen is None else seen.has(where, name)
                    if value is not None:
                        pins[where, name, value] = None
        return [equals for pin in pins for equals in self._pinned.get(pin, {}).values()]


class Group:
    """The watchers of one prefix or key.

    Args:
        prefix: a key prefix that ends with a slash, or a complete key.

    Attributes:
        keys: the keys they watch.
        watchers: live and lagging.
        behind: whether the hub's task has something to hand to the live ones.
        settled: while it has: revision up to which all of them have been handed everything.
    """

    __slots__ = ("_all", "_choosers", "behind", "keys", "prefix", "settled", "watchers")

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.keys = Range.prefix(prefix) if prefix.endswith("/") else Range.single(prefix)
        self.watchers: set[Watcher] = set()
        self._all = Equals(None)
        self._choosers: dict[FieldValues, Choosers] = {}
        self.behind = False
        self.settled: Revision = 0

    def add(self, watcher: Watcher) -> None:
        """Add a watcher."""
        self.watchers.add(watcher)
        chooser = watcher.chooser
        if chooser is None:
            self._all.watchers.add(watcher)
            return
        choosers = self._choosers.get(chooser.reads)
        if choosers is None:
            choosers = self._choosers[chooser.reads] = Choosers()
        choosers.add(watcher, chooser)

    def discard(self, watcher: Watcher) -> None:
        """Take a watcher out, if it is there."""
        self.watchers.discard(watcher)
        chooser = watcher.chooser
        if chooser is None:
            self._all.watchers.discard(watcher)
            return
        choosers = self._choosers.get(chooser.reads)
        if choosers is not None:
            choosers.discard(watcher, chooser)
            if not choosers:
                del self._choosers[chooser.reads]

    def reads(self) -> Sequence[FieldValues]:
        """What filters read of an event."""
        return tuple(self._choosers)

    def candidates(self, batch: Batch) -> Sequence[Equals]:
        """Watchers that may want an event of a batch: ask each whether it does."""
        equals = [self._all] if self._all.watchers else []
        for reads, choosers in self._choosers.items():
            equals += choosers.pinned(batch, reads)
            equals += choosers.loose.values()
        return equals
