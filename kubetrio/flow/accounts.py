"""What a priority level has used until now: seats, times and numbers.  Pure.

The clock and the progress meter ``R`` move here, by what has been charged since the last verb;
``queueset`` decides what starts, and tells what ``R`` means.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping

from kubetrio.flow.backlog import FLOW, Backlog
from kubetrio.flow.config import Queuing
from kubetrio.flow.occupancy import DemandWindow, Occupancy
from kubetrio.flow.report import (
    FlowStatistics,
    QueueSetStatistics,
    QueueStatistics,
    RequestStatistics,
)
from kubetrio.flow.seats import TICKS_PER_SECOND, seconds, ticks
from kubetrio.flow.ticket import Reason, SchemaCounts, Ticket, TicketState


class SeatAccounts:
    """Seats in use, virtual time and counters of one level; base of `QueueSet`, which moves them.

    A base and not a part: every request passes here, and a part would cost calls.

    Args:
        t: now.
        name: of the level.
        limit: current seats; None: without limit (exempt).
    """

    def __init__(self, t: float, name: str, limit: int | None) -> None:
        self.name = name
        self._exempt = limit is None
        self._limit = limit or 0
        self._queuing: Queuing | None = None
        self._now = ticks(t)
        self._r = self._dispatch_r = self._latest_s = 0
        self._serial = 0
        self._backlog = Backlog()
        self._executing: dict[Ticket, None] = {}
        self._lingering: list[tuple[int, int, Ticket]] = []  # heap by time of release
        self._seats_in_use = 0
        self._charged_seats = 0  # initial seats executing and final seats lingering, of queues
        self._counts: dict[str, SchemaCounts] = {}
        self._occupancy = Occupancy()

    @property
    def limit(self) -> int:
        """Current limit in seats; of an exempt level, what it is accounted with."""
        return self._limit

    @property
    def drained(self) -> bool:
        """Whether nothing waits, executes or lingers."""
        return not (self._backlog.waiting or self._executing or self._lingering)

    @property
    def waiting(self) -> int:
        """Requests in queues."""
        return self._backlog.waiting

    @property
    def calm(self) -> bool:
        """Whether a request of one seat may come and go now and leave nothing behind but numbers.

        So it is where there are no queues to be fair to, and where nothing else is going on.
        """
        return self._exempt or (self._limit > 0 and self.drained)

    def passed(self, t: float, schema: str, count: int, busy: float) -> None:
        """Note requests of one seat that came and went, one after the other, while ``calm``.

        The same as ``arrive`` and ``finish`` for each: between two verbs it does not matter when.

        Args:
            t: now.
            schema: name of their FlowSchema.
            count: how many.
            busy: for how long one of them was executing, in seconds; not more than has passed
                since the last verb.
        """
        spent = min(ticks(busy), max(ticks(t) - self._now, 0))
        in_use, asked = self._seats_in_use, self._backlog.seats
        if spent > 0:
            state = (self._backlog.waiting, len(self._executing) + 1, in_use + 1, asked)
            self._occupancy.spend(state, spent)
            self._now += spent
            if self._queuing is not None:
                self._r += spent  # one seat at work, one queue active
        counts = self._counts.get(schema) or self._counts.setdefault(schema, SchemaCounts())
        counts.dispatched += count
        self._serial += count
        self._occupancy.peak = max(self._occupancy.peak, in_use + asked + 1)

    def crossed(self, t: float, spent: Mapping[tuple[int, int], int], peak: int) -> None:
        """Note requests of one seat that were under way in an exempt level until now.

        Args:
            t: now.
            spent: ticks by numbers of requests, read-only and mutating; the time since the last
                verb.
            peak: the most requests at a time.
        """
        self._sync_ticks(ticks(t) - sum(spent.values()))
        executing, in_use = len(self._executing), self._seats_in_use
        for (reads, writes), elapsed in spent.items():
            more = reads + writes
            self._occupancy.spend((0, executing + more, in_use + more, 0), elapsed)
            self._now += elapsed
        self._occupancy.peak = max(self._occupancy.peak, in_use + peak)

    def next_event_time(self) -> float | None:
        """When lingering seats next fall free, so when ``advance`` is due; None: never."""
        return seconds(self._lingering[0][0]) if self._lingering else None

    def take_demand(self, t: float) -> DemandWindow:
        """Demand for seats since the last call of this."""
        self._sync(t)
        return self._occupancy.take_window(self._seats_in_use + self._backlog.seats)

    def statistics(self, t: float) -> QueueSetStatistics:
        """All numbers as of now."""
        self._sync(t)
        rejected = {
            reason: sum(one.rejected[reason] for one in self._counts.values()) for reason in Reason
        }
        starts = self._backlog.starts(self._now) or [self._latest_s]
        discounted = self._backlog.discounted_starts(self._now) or starts
        waiting, executing, seats, demand = self._occupancy.snapshots()
        return QueueSetStatistics(
            limit=self._limit,
            idle=not (self._backlog.waiting or self._executing),
            waiting=self._backlog.waiting,
            executing=len(self._executing),
            lingering=len(self._lingering),
            seats_in_use=self._seats_in_use,
            seats_waiting=self._backlog.seats,
            waiting_queues=len(self._backlog.waiting_in),
            active_queues=self._backlog.active,
            dispatched=sum(one.dispatched for one in self._counts.values()),
            rejected=sum(rejected.values()),
            timed_out=rejected[Reason.TIME_OUT],
            cancelled=rejected[Reason.CANCELLED],
            current_r=self._r,
            dispatch_r=self._dispatch_r,
            latest_s=self._latest_s,
            next_s_bounds=(min(starts), max(starts)),
            next_discounted_s_bounds=(min(discounted), max(discounted)),
            schemas={name: one.row() for name, one in sorted(self._counts.items())},
            waiting_ratio=waiting,
            executing_ratio=executing,
            seat_ratio=seats,
            demand_ratio=demand,
        )

    def queues(self) -> tuple[QueueStatistics, ...]:
        """One row for each queue, in order; empty where there are none."""
        return self._backlog.rows(self._queuing.queues if self._queuing else 0, self._now)

    def requests(self) -> tuple[RequestStatistics, ...]:
        """One row for each request waiting or executing, by queue, those waiting first."""
        rows = self._backlog.requests()
        rows.extend(ticket.row(-1) for ticket in self._executing)
        return tuple(sorted(rows, key=lambda row: (row.queue, row.position < 0, row.position)))

    def flows(self) -> FlowStatistics:
        """Requests by flow; it does not take long where many wait."""
        oldest = self._backlog.oldest()
        return FlowStatistics(
            waiting=self._backlog.flows(),
            executing=Counter(map(FLOW, self._executing)),
            oldest=None if oldest is None else seconds(oldest),
            queues=self._queuing.queues if self._queuing else 0,
            used=self._backlog.counts(),
        )

    def _count_anew(self, gone: Ticket | None) -> None:
        """Work all numbers out from the requests, after a verb that failed for want of memory.

        Args:
            gone: a request that is taken out, in whatever state it is.
        """
        if gone is not None:
            self._executing.pop(gone, None)
            self._lingering = [each for each in self._lingering if each[2] is not gone]
            heapq.heapify(self._lingering)
            self._backlog.forget(gone)
            gone.state = TicketState.LEFT
        executing, lingering = list(self._executing), [each[2] for each in self._lingering]
        self._backlog.count_anew(executing, lingering, self._now)
        self._seats_in_use = sum(ticket.seats for ticket in (*executing, *lingering))
        self._charged_seats = sum(
            ticket.initial_seats for ticket in executing if ticket.queue is not None
        ) + sum(ticket.final_seats for ticket in lingering if ticket.queue is not None)
        for counts in self._counts.values():
            counts.waiting_requests = counts.waiting_seats = 0
            counts.executing_requests = counts.executing_seats = 0
        for queue in self._backlog.waiting_in.values():
            for ticket in queue.waiting:
                ticket.counts.waiting_requests += 1
                ticket.counts.waiting_seats += ticket.seats
        for ticket in executing:
            ticket.counts.executing_requests += 1
        for ticket in (*executing, *lingering):
            ticket.counts.executing_seats += ticket.seats

    def _sync(self, t: float) -> None:
        """Account for the time since the last event; must precede any change of state."""
        now = round(t * TICKS_PER_SECOND)  # `ticks`, and no call: every verb comes here
        if now > self._now:
            self._sync_ticks(now)

    def _sync_ticks(self, now: int) -> None:
        elapsed = now - self._now
        if elapsed <= 0:
            return
        self._now = now
        self._occupancy.spend(
            (self._backlog.waiting, len(self._executing), self._seats_in_use, self._backlog.seats),
            elapsed,
        )
        if self._backlog.active:
            self._r += self._charged_seats * elapsed // self._backlog.active
