"""The pods that wait for a node: which is next, and which wait until something helps them.

A pod is active, or waits out its back-off, or waits for something to happen that may help it.

Source: k8s.io/kubernetes/pkg/scheduler/backend/queue (``PriorityQueue``).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from math import inf

from kubetrio.controllers.scheduler.framework import Happening

LONGEST_REST_S = 300.0
"""Seconds after which a pod is tried again though nothing helps it."""


class Place(Enum):
    """Where a pod that waits is."""

    ACTIVE = "active"
    BACKING_OFF = "backing off"
    RESTING = "resting"
    IN_HAND = "in hand"


@dataclass(slots=True)
class Entry:
    """A pod that waits.

    Args:
        key: namespace and name.
        priority: of the pod.
        since: since when it waits, monotonic seconds.
        number: order of coming.

    Attributes:
        place: where it is.
        attempts: how often it was tried.
        tried: when that was last.
        helped_by: what may help it while it rests.
        missed: what happened while it was in hand.
        due: when it leaves its back-off or its rest.
    """

    key: str
    priority: int
    since: float
    number: int
    place: Place = Place.ACTIVE
    attempts: int = 0
    tried: float = -inf
    helped_by: frozenset[Happening] = frozenset()
    missed: set[Happening] = field(default_factory=set)
    due: float = inf


class WaitingPods:
    """The pods; times are monotonic seconds.

    Args:
        first_backoff_s: how long a pod waits that was tried once, in seconds.
        longest_backoff_s: how long at most.
    """

    def __init__(self, first_backoff_s: float = 1.0, longest_backoff_s: float = 10.0) -> None:
        self._first_s, self._longest_s = first_backoff_s, longest_backoff_s
        self._entries: dict[str, Entry] = {}
        self._active: list[tuple[int, float, int, Entry]] = []
        self._timed: list[tuple[float, int, Entry]] = []  # some of both is out of date
        self._resting: dict[frozenset[Happening], dict[str, Entry]] = {}
        self._in_hand: Entry | None = None
        self._number = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, key: str, priority: int, now: float) -> None:
        """Take a pod in, or try one again at once that has changed."""
        entry = self._entries.get(key)
        if entry is None:
            self._number += 1
            entry = self._entries[key] = Entry(key, priority, now, self._number)
        elif entry.place is Place.IN_HAND:
            entry.missed.update(Happening)
            return
        entry.priority = priority
        self._activate(entry)

    def remove(self, key: str) -> None:
        """Let go of a pod."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._rouse(entry)
            entry.place = Place.IN_HAND  # what heaps have of it is out of date

    def clear(self) -> None:
        """Let go of all pods."""
        for key in tuple(self._entries):
            self.remove(key)

    def _rouse(self, entry: Entry) -> None:
        """Note that a pod rests no longer."""
        if entry.place is Place.RESTING:
            alike = self._resting[entry.helped_by]
            del alike[entry.key]
            if not alike:
                del self._resting[entry.helped_by]

    def _activate(self, entry: Entry) -> None:
        self._rouse(entry)
        entry.place, entry.due = Place.ACTIVE, inf
        heapq.heappush(self._active, (-entry.priority, entry.since, entry.number, entry))

    def _wait(self, entry: Entry, place: Place, due: float) -> None:
        entry.place, entry.due = place, due
        heapq.heappush(self._timed, (due, entry.number, entry))

    def take(self, now: float) -> Entry | None:
        """Take the pod in hand that is next: of the highest priority, and of these the oldest."""
        while self._timed and self._timed[0][0] <= now:
            due, _, entry = heapq.heappop(self._timed)
            if entry.due == due and entry.place in (Place.BACKING_OFF, Place.RESTING):
                self._activate(entry)
        while self._active:
            *_, entry = heapq.heappop(self._active)
            if entry.place is Place.ACTIVE:
                self._in_hand = entry
                entry.place = Place.IN_HAND
                entry.attempts += 1
                entry.tried = now
                entry.missed.clear()
                return entry
        return None

    def next_due(self) -> float:
        """When a pod becomes active by itself; infinite for never."""
        return self._timed[0][0] if self._timed else inf

    def rest(self, entry: Entry, helped_by: frozenset[Happening], now: float) -> None:
        """Put a pod back for which there is no node.

        Args:
            entry: in hand.
            helped_by: what may help it.
            now: the time.
        """
        if self._entries.get(entry.key) is not entry:
            return
        entry.helped_by = helped_by
        if helped_by & entry.missed:
            self.retry(entry)
            return
        self._resting.setdefault(helped_by, {})[entry.key] = entry
        self._wait(entry, Place.RESTING, now + LONGEST_REST_S)

    def retry(self, entry: Entry) -> None:
        """Put a pod back to be tried again after its back-off."""
        if self._entries.get(entry.key) is entry:
            self._rouse(entry)
            seconds = min(self._first_s * 2.0 ** (entry.attempts - 1), self._longest_s)
            self._wait(entry, Place.BACKING_OFF, entry.tried + seconds)

    def put_back(self, entry: Entry) -> None:
        """Take a pod in again that was let go of, to be tried after its back-off."""
        if entry.key not in self._entries:
            self._entries[entry.key] = entry
            self.retry(entry)

    def undo(self, entry: Entry) -> None:
        """Put a pod back as if it had not been taken."""
        if self._entries.get(entry.key) is entry:
            entry.attempts -= 1
            self._activate(entry)

    def happened(self, what: Collection[Happening]) -> None:
        """Have pods tried again that something may help."""
        kinds = frozenset(what)
        for helped_by in [one for one in self._resting if kinds & one]:
            for entry in tuple(self._resting[helped_by].values()):
                self.retry(entry)
        if self._in_hand is not None:
            self._in_hand.missed |= kinds
