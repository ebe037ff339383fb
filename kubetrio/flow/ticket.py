"""A request's passage through a queue set, and the queue it waits in.

::

            arrive          dispatch            finish
    (none) -------> QUEUED ----------> EXECUTING -------> DONE
               |       |                   | finish, with      ^
               |       | abandon           v additional latency| advance
               |       v                LINGERING -------------+
               |     LEFT
               +-----------------> EXECUTING   (a seat was free, or the level is exempt)

A refused request has no ticket.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum

from kubetrio.flow.report import QueueStatistics, RequestStatistics, SchemaStatistics
from kubetrio.flow.seats import GUESSED_SERVICE_TICKS, Width, seconds


class TicketState(Enum):
    """Where a request is."""

    QUEUED = "queued"
    EXECUTING = "executing"
    LINGERING = "lingering"
    DONE = "done"
    LEFT = "left"


class Reason(StrEnum):
    """Why a request was refused: the label of the metric."""

    QUEUE_FULL = "queue-full"
    CONCURRENCY_LIMIT = "concurrency-limit"
    TIME_OUT = "time-out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Flow:
    """Requests that share one fair share.

    Args:
        schema: name of the FlowSchema.
        distinguisher: what tells it from other flows of the schema.
        hash: 64 bits of entropy for its hand of queues.
    """

    schema: str
    distinguisher: str = ""
    hash: int = 0


class SchemaCounts:
    """Running numbers of one FlowSchema in one level; see ``SchemaStatistics``."""

    __slots__ = (
        "dispatched",
        "executing_requests",
        "executing_seats",
        "no_accommodation",
        "rejected",
        "waiting_requests",
        "waiting_seats",
    )

    def __init__(self) -> None:
        self.waiting_requests = self.waiting_seats = 0
        self.executing_requests = self.executing_seats = 0
        self.dispatched = self.no_accommodation = 0
        self.rejected = dict.fromkeys(Reason, 0)

    def row(self) -> SchemaStatistics:
        """The numbers as a value."""
        return SchemaStatistics(
            waiting_requests=self.waiting_requests,
            waiting_seats=self.waiting_seats,
            executing_requests=self.executing_requests,
            executing_seats=self.executing_seats,
            dispatched=self.dispatched,
            rejected={reason.value: count for reason, count in self.rejected.items()},
            no_accommodation=self.no_accommodation,
        )


class Ticket:
    """A request that was not refused.  Callers read it; only its queue set changes it.

    Attributes:
        level: name of the priority level.
        flow: it belongs to.
        about: what the caller gave to describe it.
        entry: anything its owner wants to find again.
        state: see the module.
        queue_length: requests in its queue just after it entered; 0 where there are no queues.
        initial_seats: while executing.
        final_seats: while lingering; reshaped at dispatch if the level has fewer.
    """

    __slots__ = (
        "about",
        "arrival_r",
        "arrived",
        "counts",
        "entry",
        "final_seats",
        "flow",
        "initial_seats",
        "latency_ticks",
        "level",
        "queue",
        "queue_length",
        "seats",
        "serial",
        "started",
        "state",
        "work",
    )

    def __init__(
        self, level: str, flow: Flow, width: Width, about: object, counts: SchemaCounts
    ) -> None:
        self.level = level
        self.flow = flow
        self.about = about
        self.entry: object = None
        self.counts = counts
        self.state = TicketState.QUEUED
        self.initial_seats = width.initial_seats
        self.final_seats = width.final_seats
        self.latency_ticks = width.latency_ticks
        self.seats = width.max_seats
        self.work = width.work
        self.queue: Queue | None = None
        self.queue_length = 0
        self.serial = self.arrived = self.started = self.arrival_r = 0

    @property
    def arrived_at(self) -> float:
        """When it arrived, in seconds of the clock in use."""
        return seconds(self.arrived)

    @property
    def started_at(self) -> float | None:
        """When it was dispatched, None while it waits or if it left."""
        waiting = self.state in (TicketState.QUEUED, TicketState.LEFT)
        return None if waiting else seconds(self.started)

    def reshape(self, limit: int) -> None:
        """Fit the final seats into a limit, stretching their time so that work is the same."""
        self.latency_ticks = self.final_seats * self.latency_ticks // limit
        self.final_seats = limit
        self.seats = max(self.initial_seats, limit)

    def row(self, position: int) -> RequestStatistics:
        """The request as a value, standing at a position of its queue."""
        return RequestStatistics(
            schema=self.flow.schema,
            distinguisher=self.flow.distinguisher,
            queue=-1 if self.queue is None else self.queue.index,
            position=position,
            arrived_at=self.arrived_at,
            started_at=self.started_at,
            initial_seats=self.initial_seats,
            final_seats=self.final_seats,
            additional_latency_s=seconds(self.latency_ticks),
            about=self.about,
        )

    def __repr__(self) -> str:
        return f"<Ticket {self.serial} {self.state.value} {self.level} {self.flow}>"


class Queue:
    """Requests of some flows: those waiting in order of arrival, and a count of those executing.

    Attributes:
        index: in its queue set.
        waiting: an ordered set: first in, first out, and out of the middle in O(1).
        head: the first of those waiting.
        executing: requests dispatched and not finished.
        flying: initial seats of those.
        seats_in_use: by those, and by those lingering.
        base: such that ``base + flying * now`` is the virtual start; see ``start_r``.
        lift: by how much the present head raised the virtual start, with no request waiting.
        work: units of seat-seconds of all waiting.
        seats_waiting: seats of all waiting.
        initial_seats_waiting: of them, those to begin with.
    """

    __slots__ = (
        "base",
        "executing",
        "flying",
        "head",
        "index",
        "initial_seats_waiting",
        "lift",
        "seats_in_use",
        "seats_waiting",
        "waiting",
        "work",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.waiting: OrderedDict[Ticket, None] = OrderedDict()
        self.head: Ticket | None = None
        self.executing = self.flying = self.seats_in_use = 0
        self.base = self.lift = self.work = self.seats_waiting = self.initial_seats_waiting = 0

    def start_r(self, now: int) -> int:
        """Virtual start of the head, or of the request to come, in units of seat-seconds."""
        return self.base + self.flying * now

    def dispatched(self, ticket: Ticket, now: int) -> None:
        """Charge a request that starts: its work now, its time from now on as it passes."""
        self.lift = 0  # now it is for good
        self.base += ticket.work - ticket.initial_seats * now
        self.flying += ticket.initial_seats
        self.executing += 1
        self.seats_in_use += ticket.seats

    def finished(self, ticket: Ticket, now: int) -> None:
        """Stop the charge for a request, and take back that it would need the guess more."""
        self.base += ticket.initial_seats * (now - GUESSED_SERVICE_TICKS)
        self.flying -= ticket.initial_seats
        self.executing -= 1

    def append(self, ticket: Ticket) -> None:
        """Put a request behind the others."""
        self.waiting[ticket] = None
        self.work += ticket.work
        self.seats_waiting += ticket.seats
        self.initial_seats_waiting += ticket.initial_seats
        if self.head is None:
            self.head = ticket

    def remove(self, ticket: Ticket) -> None:
        """Take out a request, wherever it stands."""
        del self.waiting[ticket]
        self.work -= ticket.work
        self.seats_waiting -= ticket.seats
        self.initial_seats_waiting -= ticket.initial_seats
        if self.head is ticket:
            self.head = next(iter(self.waiting), None)

    def count_anew(
        self, executing: Sequence[Ticket], lingering: Sequence[Ticket], now: int
    ) -> None:
        """Work the numbers out from the requests; the virtual start stays.

        Args:
            executing: requests of this queue that execute.
            lingering: those that hold their final seats.
            now: in ticks.
        """
        start_r = self.start_r(now)
        self.head = next(iter(self.waiting), None)
        self.work = sum(ticket.work for ticket in self.waiting)
        self.seats_waiting = sum(ticket.seats for ticket in self.waiting)
        self.initial_seats_waiting = sum(ticket.initial_seats for ticket in self.waiting)
        self.executing = len(executing)
        self.flying = sum(ticket.initial_seats for ticket in executing)
        self.seats_in_use = sum(ticket.seats for ticket in (*executing, *lingering))
        self.base = start_r - self.flying * now

    def raise_to(self, start_r: int, now: int) -> None:
        """Let the virtual start be no less than this, on account of a new head."""
        self.lift = max(0, start_r - self.start_r(now))
        self.base += self.lift

    def unlift(self, now: int) -> None:
        """Take back what a head that leaves did to the virtual start; the next is the new head."""
        if self.lift:
            self.base -= self.lift
            self.lift = 0
            if self.head is not None:
                self.raise_to(self.head.arrival_r, now)

    def row(self, now: int) -> QueueStatistics:
        """The queue as a value."""
        return QueueStatistics(
            index=self.index,
            waiting=len(self.waiting),
            executing=self.executing,
            seats_in_use=self.seats_in_use,
            next_dispatch_r=self.start_r(now),
            initial_seats_sum=self.initial_seats_waiting,
            max_seats_sum=self.seats_waiting,
            total_work_sum=self.work,
        )
