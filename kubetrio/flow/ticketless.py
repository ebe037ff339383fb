"""Requests without tickets: those that need no decision, kept as numbers.

A *light* request is alone: no other request arrives or ends while it runs, so no other part can
have seen it, and only its numbers are kept.  Requests of the exempt level never wait, and no
request waits for them; of those in flight at the same time only the time at each number of requests
is kept, because the level's numbers are made of nothing else.

Both are handed to the dispatcher before its next verb.  A request that has not ended by then gets
its ticket, as of its arrival.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.entries import Entry
from kubetrio.flow.outcomes import Refusal
from kubetrio.flow.seats import ONE_SEAT, seconds, ticks
from kubetrio.flow.ticket import Ticket


class Request(Protocol):
    """What the gate sees of a request; hashed by identity.

    Attributes:
        started: when it arrived, by Trio's clock.
        seat: belongs to the gate; None before and after.
        gone: whether its client has left; None if the connection cannot tell.
    """

    started: float
    seat: Entry | Ticket | None
    gone: Callable[[], bool] | None


class ExemptInFlight:
    """Exempt requests in flight, and the time spent at each number of them.

    Attributes:
        under_way: requests, in order of arrival.
        spent: ticks by numbers of requests, read-only and mutating.
        peak: the most requests at a time; 0 before it begins.
    """

    __slots__ = ("_now", "_numbers", "peak", "spent", "under_way")

    def __init__(self) -> None:
        self.under_way: dict[Request, Entry] = {}
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

    def enter(self, request: Request, entry: Entry) -> None:
        """A request arrives."""
        self.tick(request.started)
        self.under_way[request] = entry
        self._numbers[entry.mutating] += 1
        if len(self.under_way) > self.peak:
            self.peak = len(self.under_way)

    def leave(self, t: float, request: Request) -> None:
        """A request is over."""
        self.tick(t)
        self._numbers[self.under_way.pop(request).mutating] -= 1


class TicketlessRequests:
    """Light and exempt requests of one server.

    Args:
        dispatcher: gets the numbers.
        describe: says what a request is.
    """

    def __init__(
        self, dispatcher: Dispatcher, describe: Callable[[Request], RequestDigest]
    ) -> None:
        self._dispatcher = dispatcher
        self._describe = describe
        self._calm: dict[str, bool] = {}  # see Dispatcher.calm; emptied by every verb
        self._light: Request | None = None
        self._exempt = ExemptInFlight()
        self._touched: list[Entry] = []  # with requests not handed on

    def begin(self, request: Request, entry: Entry) -> bool:
        """Let a request of one seat run; False when it needs a ticket.  Else `end` must follow."""
        if self._light is not None:
            if not (entry.exempt and self._join_exempt()):
                self.settle(request.started)
        elif self._exempt.peak and not entry.exempt:
            self.settle(request.started)
        request.seat = entry
        if self._exempt.under_way:
            self._exempt.enter(request, entry)
            return True
        level = entry.classified.level
        calm = self._calm.get(level)
        if calm is None:
            calm = self._calm[level] = self._dispatcher.calm(level)
        if calm:
            self._light = request
        else:
            request.seat = None
        return calm

    def end(self, request: Request, entry: Entry, now: float) -> None:
        """Note that a request is over."""
        spent = now - request.started
        if not entry.count:
            self._touched.append(entry)
        entry.count += 1
        if self._light is request:
            self._light = None
            entry.busy += spent
        else:
            self._exempt.leave(now, request)
        lasted = entry.lasted  # in place: this is on the way of every request
        lasted.counts[bisect_left(lasted.bounds, spent)] += 1
        lasted.total += spent

    def _join_exempt(self) -> bool:
        """Count the light request with those of the exempt level, if it is exempt."""
        light = self._light
        if light is None:
            raise AssertionError("there is a light request")
        entry = light.seat
        if not (isinstance(entry, Entry) and entry.exempt):
            return False
        if self._touched or self._exempt.peak:
            self._hand_on(light.started)
        self._light = None
        self._exempt.enter(light, entry)
        return True

    def settle(self, t: float) -> None:
        """Hand on what is not known to the dispatcher yet; must precede any verb but classify."""
        self._calm.clear()
        light = self._light
        if self._touched or self._exempt.peak:
            self._hand_on(t if light is None else light.started)
        if light is not None:
            self._light = None
            entry = light.seat
            if not isinstance(entry, Entry):
                raise AssertionError("a light request has an entry for a seat")
            ticket = self._dispatcher.arrive(
                light.started, self._describe(light), ONE_SEAT, entry.classified, at_once=True
            )
            if isinstance(ticket, Refusal):
                raise AssertionError("a calm level refuses no request")
            ticket.entry = entry
            light.seat = ticket
            entry.observe(1, ticket.queue_length)

    def _hand_on(self, t: float) -> None:
        exempt = self._exempt
        if exempt.peak:
            self._exempt = ExemptInFlight()
            if exempt.under_way:
                exempt.tick(t)
            self._dispatcher.crossed(exempt.accounted, exempt.spent, exempt.peak)
            for request, entry in exempt.under_way.items():
                ticket = self._dispatcher.resume(
                    t, request.started, self._describe(request), entry.classified
                )
                ticket.entry = entry
                request.seat = ticket
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
