"""A tiny event simulator: clients as data against a queue set or a dispatcher, in virtual time.

There is no event loop and no real clock: a heap of (time, order, action) is all.  What a flow got
is recorded as intervals of held seats, to be integrated over any window afterwards and compared
with ``max_min``, which knows nothing of the code under test.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from kubetrio.flow.outcomes import Finished
from kubetrio.flow.queueset import QueueSet
from kubetrio.flow.seats import ONE_SEAT, Width
from kubetrio.flow.ticket import Flow, Reason, Ticket, TicketState


class Dice:
    """Reproducible uniform numbers (SplitMix64)."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def uniform(self, low: float, high: float) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return low + (high - low) * (z ^ (z >> 31)) / 2**64


class Server(Protocol):
    """What the simulator drives."""

    def arrive(self, t: float, flow: Any, width: Width) -> Any: ...
    def finish(self, t: float, ticket: Ticket) -> Finished: ...
    def abandon(self, t: float, ticket: Ticket, reason: Reason) -> Any: ...
    def next_event_time(self) -> float | None: ...
    def advance(self, t: float) -> tuple[Ticket, ...]: ...


@dataclass(frozen=True)
class Clients:
    """Some equal clients of one flow, each sending its next request after the last one ended.

    With a rate they send at fixed intervals instead, whatever becomes of the requests: so their
    demand does not depend on how long they wait.

    Args:
        flow: what ``arrive`` gets.
        count: how many clients.
        service: seconds a request executes: a number, or (low, high) for a uniform choice.
        think: seconds between a response and the next request, likewise.
        rate: requests per second of each client, if they do not wait for responses.
        width: of every request.
        start, stop: seconds between which requests are sent.
        patience: seconds after which a waiting request is given up; None: never.
        period: if given, requests are sent only in the first half of each such period.
    """

    flow: Any
    count: int
    service: float | tuple[float, float] = 0.1
    think: float | tuple[float, float] = 0.0
    rate: float | None = None
    width: Width = ONE_SEAT
    start: float = 0.0
    stop: float = float("inf")
    patience: float | None = None
    period: float | None = None

    @property
    def demand(self) -> float:
        """Mean seats these clients would hold if none of them ever waited."""
        busy, idle = _mean(self.service), _mean(self.think)
        seconds = busy * self.width.initial_seats
        seconds += self.width.final_seats * self.width.additional_latency_s
        if self.rate is not None:
            return self.count * seconds * self.rate
        return self.count * seconds / (busy + idle)


@dataclass
class Trace:
    """What happened to each of the given ``Clients``, by their position."""

    held: list[list[tuple[float, float, int]]]  # from, to, seats
    waits: list[list[tuple[float, float]]]  # when dispatched, seconds waited
    rejected: list[int]
    gave_up: list[int]
    idle_while_waiting: int = 0

    def seats(self, who: int, since: float, until: float) -> float:
        """Mean seats held over a window."""
        total = sum(
            max(0.0, min(until, end) - max(since, begin)) * seats
            for begin, end, seats in self.held[who]
        )
        return total / (until - since)


def max_min(capacity: float, demands: Sequence[float]) -> list[float]:
    """Max-min fair shares by progressive filling: the smallest demands are met first."""
    shares = [0.0] * len(demands)
    left = capacity
    for done, (demand, who) in enumerate(sorted((d, i) for i, d in enumerate(demands))):
        shares[who] = min(demand, left / (len(demands) - done))
        left -= shares[who]
    return shares


def flows(count: int) -> list[Flow]:
    """Flows with a queue of their own each, in a level dealing hands of one."""
    return [Flow("schema", f"user-{i}", i) for i in range(count)]


def simulate(
    server: Server,
    clients: Sequence[Clients],
    until: float,
    *,
    seed: int = 1,
    every: Sequence[tuple[float, Callable[[float], Any]]] = (),
) -> Trace:
    """Run clients against a server.

    Args:
        server: the queue set or dispatcher.
        clients: who sends requests.
        until: when to stop, in seconds.
        seed: of the random durations.
        every: (period, verb) pairs: verbs that are called with the time and return tickets.
    """
    return _Simulation(server, clients, Dice(seed)).run(until, every)


def _mean(duration: float | tuple[float, float]) -> float:
    return sum(duration) / 2 if isinstance(duration, tuple) else duration


class _Simulation:
    def __init__(self, server: Server, clients: Sequence[Clients], rng: Dice) -> None:
        self.server = server
        self.clients = clients
        self.rng = rng
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.order = 0
        self.owner: dict[Ticket, int] = {}
        self.wake: float | None = None
        n = len(clients)
        self.trace = Trace([[] for _ in range(n)], [[] for _ in range(n)], [0] * n, [0] * n)

    def run(self, until: float, every: Sequence[tuple[float, Callable[[float], Any]]]) -> Trace:
        for who, one in enumerate(self.clients):
            for _ in range(one.count):
                # Spread the clients a little: lock-step would be a special case.
                spread = 0.01 if one.rate is None else 1 / one.rate
                first = one.start + self.rng.uniform(0, spread)
                self.at(first, partial(self.send, who=who))
        for period, verb in every:
            self.repeat(period, period, verb)
        while self.events and self.events[0][0] <= until:
            t, _, action = heapq.heappop(self.events)
            action(t)
            self.arm(t)
            self.look()
        for ticket, who in self.owner.items():
            if ticket.state is TicketState.EXECUTING:
                began = ticket.started_at or 0.0
                self.trace.held[who].append((began, until, ticket.initial_seats))
        return self.trace

    def at(self, t: float, action: Callable[[float], None]) -> None:
        self.order += 1
        heapq.heappush(self.events, (t, self.order, action))

    def repeat(self, t: float, period: float, verb: Callable[[float], Any]) -> None:
        def action(now: float) -> None:
            self.started(now, verb(now) or ())
            self.repeat(now + period, period, verb)

        self.at(t, action)

    def arm(self, t: float) -> None:
        due = self.server.next_event_time()
        if due is not None and due != self.wake:
            self.wake = due
            self.at(max(due, t), lambda now: self.started(now, self.server.advance(now)))

    def look(self) -> None:
        if isinstance(self.server, QueueSet):
            server = self.server
            free = server._limit - server._seats_in_use
            if (
                server._backlog.waiting
                and free > 0
                and server._fits(server._backlog.next(server._now)[0].seats)
            ):
                self.trace.idle_while_waiting += 1

    def draw(self, duration: float | tuple[float, float]) -> float:
        return self.rng.uniform(*duration) if isinstance(duration, tuple) else duration

    def send(self, t: float, who: int) -> None:
        one = self.clients[who]
        if t >= one.stop:
            return
        if one.rate is not None:
            self.at(t + 1 / one.rate, lambda now: self.send(now, who))
        if one.period is not None and t % one.period >= one.period / 2:
            self.at(t - t % one.period + one.period, lambda now: self.send(now, who))
            return
        outcome = self.server.arrive(t, one.flow, one.width)
        if not isinstance(outcome, Ticket):
            self.trace.rejected[who] += 1
            self.again(t + 1.0, who)
            return
        self.owner[outcome] = who
        if outcome.state is TicketState.EXECUTING:
            self.execute(t, outcome)
        elif one.patience is not None:
            self.at(t + one.patience, lambda now: self.give_up(now, outcome))

    def give_up(self, t: float, ticket: Ticket) -> None:
        if ticket.state is TicketState.QUEUED:
            who = self.owner.pop(ticket)
            self.trace.gave_up[who] += 1
            left = self.server.abandon(t, ticket, Reason.TIME_OUT)
            self.started(t, left if isinstance(left, tuple) else left.started)
            self.again(t, who)

    def again(self, t: float, who: int) -> None:
        if self.clients[who].rate is None:
            self.at(t, lambda now: self.send(now, who))

    def started(self, t: float, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            self.execute(t, ticket)

    def execute(self, t: float, ticket: Ticket) -> None:
        who = self.owner[ticket]
        self.trace.waits[who].append((t, t - ticket.arrived_at))
        service = self.draw(self.clients[who].service)
        self.at(t + service, lambda now: self.finish(now, t, ticket))

    def finish(self, t: float, began: float, ticket: Ticket) -> None:
        who = self.owner.pop(ticket)
        finished = self.server.finish(t, ticket)
        self.trace.held[who].append((began, t, ticket.initial_seats))
        if finished.lingers_until is not None:
            self.trace.held[who].append((t, finished.lingers_until, ticket.final_seats))
        self.started(t, finished.started)
        self.again(t + self.draw(self.clients[who].think), who)
