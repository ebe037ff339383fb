"""Passages without tickets: requests that nothing had to be decided for, kept as numbers.

A *light* passage is alone: nothing else happened from its arrival to its end, so nobody could have
seen it, and only numbers are left of it.  Requests of the exempt level wait for nothing and nobody
waits for them; those under way at the same time *cross*: what is kept is how long how many of them
were under way, since that is all that the level's numbers are made of.

Both are handed to the dispatcher before its next verb.  A passage that is not over then gets its
ticket, as of its arrival.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.entries import Entry
from kubetrio.flow.outcomes import Refused
from kubetrio.flow.seats import ONE_SEAT, seconds, ticks
from kubetrio.flow.ticket import Ticket


class Asked(Protocol):
    """What the gate sees of a request; hashed by identity.

    Attributes:
        started: when it arrived, by Trio's clock.
        seat: belongs to the gate; None before and after.
        gone: whether its client has left, None if nobody can tell.
    """

    started: float
    seat: Entry | Ticket | None
    gone: Callable[[], bool] | None


class _Crossing:
    """Exempt requests under way, and how long there were how many; ends when none is.

    Attributes:
        under_way: requests, in order of arrival.
        spent: ticks by numbers of requests, read-only and mutating.
        peak: the most requests at a time; 0 before it begins.
    """

    __slots__ = ("_now", "_numbers", "peak", "spent", "under_way")

    def __init__(self) -> None:
        self.under_way: dict[Asked, Entry] = {}
        self.spent: dict[tuple[int, int], int] = {}
        self.peak = 0
        self._numbers = [0, 0]
        self._now = 0

    @property
    def accounted(self) -> float:
        """Until when, in seconds."""
        return seconds(self._now)

    def tick(self, t: float) -> None:
        """Account for the time until now; the first time it begins."""
        now = ticks(t)
        if self.peak:
            state = (self._numbers[0], self._numbers[1])
            spent = self.spent.get(state, 0)
            self.spent[state] = spent + now - self._now if now > self._now else spent
        self._now = now

    def enter(self, asked: Asked, entry: Entry) -> None:
        """A request arrives."""
        self.tick(asked.started)
        self.under_way[asked] = entry
        self._numbers[entry.mutating] += 1
        if len(self.under_way) > self.peak:
            self.peak = len(self.under_way)

    def leave(self, t: float, asked: Asked) -> None:
        """A request is over."""
        self.tick(t)
        self._numbers[self.under_way.pop(asked).mutating] -= 1


class Passages:
    """Light and crossing passages of one server.

    Args:
        dispatcher: to whom they are handed on.
        describe: says what a request is.
    """

    def __init__(self, dispatcher: Dispatcher, describe: Callable[[Asked], RequestDigest]) -> None:
        self._dispatcher = dispatcher
        self._describe = describe
        self._calm: dict[str, bool] = {}  # see Dispatcher.calm; emptied by every verb
        self._light: Asked | None = None
        self._crossing = _Crossing()
        self._touched: list[Entry] = []  # with passages not handed on

    def begin(self, asked: Asked, entry: Entry) -> bool:
        """Let a request of one seat pass; False when it needs a ticket.  Else `end` must follow."""
        if self._light is not None:
            if not (entry.exempt and self._cross()):
                self.settle(asked.started)
        elif self._crossing.peak and not entry.exempt:
            self.settle(asked.started)
        asked.seat = entry
        if self._crossing.under_way:
            self._crossing.enter(asked, entry)
            return True
        level = entry.classified.level
        calm = self._calm.get(level)
        if calm is None:
            calm = self._calm[level] = self._dispatcher.calm(level)
        if calm:
            self._light = asked
        else:
            asked.seat = None
        return calm

    def end(self, asked: Asked, entry: Entry, now: float) -> None:
        """Note that a passage is over."""
        spent = now - asked.started
        if not entry.count:
            self._touched.append(entry)
        entry.count += 1
        if self._light is asked:
            self._light = None
            entry.busy += spent
        else:
            self._crossing.leave(now, asked)
        lasted = entry.lasted  # in place: this is on the way of every request
        lasted.counts[bisect_left(lasted.bounds, spent)] += 1
        lasted.total += spent

    def _cross(self) -> bool:
        """Make the light passage a crossing one, if it is exempt."""
        light = self._light
        if light is None:
            raise AssertionError("there is a light passage")
        entry = light.seat
        if not (isinstance(entry, Entry) and entry.exempt):
            return False
        if self._touched or self._crossing.peak:
            self._hand_on(light.started)
        self._light = None
        self._crossing.enter(light, entry)
        return True

    def settle(self, t: float) -> None:
        """Hand on what is not known to the dispatcher yet; must precede any verb but classify."""
        self._calm.clear()
        light = self._light
        if self._touched or self._crossing.peak:
            self._hand_on(t if light is None else light.started)
        if light is not None:
            self._light = None
            entry = light.seat
            if not isinstance(entry, Entry):
                raise AssertionError("a light passage has an entry for a seat")
            ticket = self._dispatcher.arrive(
                light.started, self._describe(light), ONE_SEAT, entry.classified, at_once=True
            )
            if isinstance(ticket, Refused):
                raise AssertionError("a calm level refuses nobody")
            ticket.entry = entry
            light.seat = ticket
            entry.observe(1, ticket.queue_length)

    def _hand_on(self, t: float) -> None:
        crossing = self._crossing
        if crossing.peak:
            self._crossing = _Crossing()
            if crossing.under_way:
                crossing.tick(t)
            self._dispatcher.crossed(crossing.accounted, crossing.spent, crossing.peak)
            for asked, entry in crossing.under_way.items():
                ticket = self._dispatcher.resume(
                    t, asked.started, self._describe(asked), entry.classified
                )
                ticket.entry = entry
                asked.seat = ticket
                entry.observe(1, 0)
        for entry in self._touched:
            classified = entry.classified
            self._dispatcher.passed(
                t,
                classified.level,
                classified.flow.schema,
                entry.count,
                entry.busy,
                mutating=entry.mutating,
            )
            entry.observe(entry.count, 0 if entry.exempt else 1)
            entry.count, entry.busy = 0, 0.0
        self._touched.clear()
