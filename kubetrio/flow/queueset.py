"""Fair queuing for server requests: the queues of one priority level.

Theory
------
A level has ``C`` seats.  Its requests come in flows, which shuffle sharding spreads over queues;
what follows is fair to queues.  Imagine a fluid server that gives every *active* queue (one with
a request waiting or executing) the same rate of seats.  Its progress meter ``R`` counts the
seat-seconds given to each active queue so far, and grows at

    dR/dt = seats at work / active queues

(initial seats of what executes, final seats of what lingers).

A real server dispatches whole requests.  It comes close by starting them in the order in which
the fluid server would *finish* them.  For that each queue keeps ``S``, the reading of ``R`` at
which the fluid server would start its next request:

- a request that enters an inactive queue sets ``S = R``;
- dispatching a request of work ``w`` sets ``S += w``, so that the next one starts when this one
  ends.  Work is seats times duration.  The duration is not known, so it is guessed to be ``G`` =
  3 ms on the initial seats; then the final seats are held, for a time that is known;
- while it executes, ``S`` grows by its initial seats times the time that passes: at any moment
  it has used what it has used, and is believed to need another ``G``;
- when it finishes that belief is withdrawn: ``S -= initial seats * G``.  So in the end it was
  charged exactly what it took;
- a request that enters a queue in which none waits raises ``S`` to ``R``: a queue that did not
  ask for all of its share cannot save it up.  One in which requests waited all along keeps its
  ``S``, however far behind: it asked, and the real server is what lags;
- nor is time behind all who wait: ``R`` is raised to the least ``S`` of the queues in which
  requests wait.  Where some queues use less than an equal part the others use more, and would
  else run ahead of ``R`` without bound, and starve once the small ones ask for more;
- the next request to run is the oldest of the queue with the least ``S + w``.  If it needs more
  seats than are free then nothing runs until they are, or wide requests would starve.

The real server deviates from the fluid one by a bounded amount (about ``C`` requests), so over
long times queues get equal seat-seconds, or what they ask for if that is less: max-min fairness.

Source: Demers, Keshav, Shenker, "Analysis and Simulation of a Fair Queueing Algorithm" (1989), as
generalised to requests by KEP-1040; the bound on ``R`` is that of WF2Q+ (Bennett, Zhang, 1996).

Deviations from kube-apiserver
------------------------------
The first four are what it takes to be within 2 % of fair in all of tests/scenarios.

1. *Charged as used.*  There a request is charged ``G`` until it ends, then the difference.  A
   queue with many long requests under way then seems to have used little, and a newcomer
   waits behind it.
2. *Backlogged queues keep their claim.*  There ``S`` is raised at every turn to ``R`` as of the
   arrival of the oldest request waiting, which takes from the flows whose requests are short,
   since these wait the least, whenever the real server lags.
3. *Time follows use.*  There ``dR/dt`` is ``min(C, seats in use or waited for) / active queues``,
   with all seats held.  Where a wide request waits for room, or holds its final seats early, that
   is more than queues are charged, and ``R`` runs away.  Here what moves ``R`` is what is charged:
   initial seats while a request executes, final seats while it lingers.
4. *Ahead is bounded too*: there ``R`` is not raised to the least ``S``.
5. *Ties* go to the request that arrived first, not to the next queue in a circle.
6. *Leaving* undoes what a request did to its queue: if it had raised ``S`` by arriving, that
   is taken back.  And leaving may make room for a narrower request, which then starts at once.
7. *Wide requests* (wider than ``C``) wait until no seat is in use; elsewhere it is until nothing
   executes, while others may linger.
8. *Queues exist while used.*  Fewer queues by reconfiguration just means that no more requests
   enter the surplus ones; their indexes and the hands of flows stay what they are.
9. *No epochs*: integers do not overflow (see ``seats``).

Invariants
----------
With ``fits(n)``: ``seats in use + n <= C``, or ``n > C`` and no seat is in use:

- a request starts only if it fits.  So seats in use exceed ``C`` only while one request wider
  than ``C`` is alone, or after ``C`` was lowered, and then nothing starts;
- if requests wait and one would still fit, then the next in order does not, so something is
  executing or lingering whose end will be the occasion to look again.  Where no request is wider
  than one seat, requests wait only while all ``C`` seats are in use;
- ``R`` never decreases;
- a queue holds more than its length limit only by requests that came while a seat was free (or,
  where starts are held, while a seat would have been free had all that wait been started).

Held starts
-----------
On one event loop a seat is no promise of progress: whatever has one runs when the loop gets to it.
A queue set made with ``held`` therefore starts nothing by itself; its owner asks for the next
request with ``take`` as often as the loop has room.  Order, limits and charges are the same.
"""

from __future__ import annotations

import heapq

from kubetrio.flow.accounts import SeatAccounts
from kubetrio.flow.config import Queuing
from kubetrio.flow.outcomes import Finished, Rejected, Started
from kubetrio.flow.seats import ONE_SEAT, Width, seconds, ticks
from kubetrio.flow.shuffle import Dealer
from kubetrio.flow.ticket import Flow, Queue, Reason, SchemaCounts, Ticket, TicketState


class QueueSet(SeatAccounts):
    """The queues and seats of one level.  Every verb takes the time and completes at once.

    Times are seconds of one monotonic clock; an earlier time than before counts as the latest.
    A ticket that a verb returns as started, or in state ``EXECUTING``, is to be run by the caller
    and given to ``finish`` exactly once.

    Args:
        t: now.
        name: of the level.
        limit: current seats, not negative; None: without limit and queues (exempt).
        queuing: queues; None: refuse what finds no seat.
        held: what waits is started by ``take`` alone.

    Raises:
        ValueError: hands that cannot be dealt.
    """

    def __init__(
        self,
        t: float,
        name: str,
        limit: int | None,
        queuing: Queuing | None = None,
        *,
        held: bool = False,
    ) -> None:
        super().__init__(t, name, limit)
        self._held = held
        self._dealer: Dealer | None = None
        self.reconfigure(t, queuing)

    def __repr__(self) -> str:
        return (
            f"<QueueSet {self.name} {self._seats_in_use}/{self._limit} seats, "
            f"{len(self._executing)} executing, {self._backlog.waiting} waiting>"
        )

    def resume(self, t: float, since: float, flow: Flow, about: object) -> Ticket:
        """Give a ticket to a request of one seat that has been under way in an exempt level.

        Args:
            t: now.
            since: when it arrived; what it has taken until now is known (see ``crossed``).
            flow: it belongs to.
            about: anything, for ``requests``.
        """
        self._sync(t)
        counts = self._counts.get(flow.schema) or self._counts.setdefault(
            flow.schema, SchemaCounts()
        )
        ticket = self._ticket(flow, ONE_SEAT, about, counts)
        self._start(ticket)
        ticket.arrived = ticket.started = ticks(since)
        return ticket

    def take(self, t: float, only: Ticket | None = None) -> Ticket | None:
        """Start the next waiting request, if it fits; the one way to do so where they are held.

        Args:
            t: now.
            only: start nothing but this one, and count a tie as its turn.
        """
        self._sync(t)
        return self._start_next(only, tie=True)

    def arrive(
        self,
        t: float,
        flow: Flow,
        width: Width,
        about: object = None,
        *,
        at_once: bool = False,
    ) -> Ticket | Rejected:
        """Take in a request.

        Args:
            t: now.
            flow: it belongs to.
            width: seats it takes.
            about: anything, for ``requests``.
            at_once: where starts are held, start this one if none waits and it fits.

        Returns:
            A ticket in state ``EXECUTING`` (run it) or ``QUEUED`` (some verb will return it as
            started), or the refusal.  No other request starts by this.

        Raises:
            MemoryError: the request was not taken in.
        """
        self._sync(t)
        counts = self._counts.get(flow.schema) or self._counts.setdefault(
            flow.schema, SchemaCounts()
        )
        queuing = self._queuing
        if queuing is None:
            if not (self._exempt or self._fits(width.max_seats)):
                counts.rejected[Reason.CONCURRENCY_LIMIT] += 1
                return Rejected(Reason.CONCURRENCY_LIMIT)
            ticket = self._ticket(flow, width, about, counts)
            try:
                self._start(ticket)
            except MemoryError:
                self._count_anew(ticket)
                raise
        else:
            assert self._dealer is not None  # noqa: S101  (levels with queues have one)
            queue = self._backlog.choose(self._dealer.deal(flow.hash), self._serial)
            full = len(queue.waiting) >= queuing.queue_length_limit
            claimed = self._seats_in_use + (self._backlog.seats if self._held else 0)
            if full and claimed >= self._limit:
                counts.rejected[Reason.QUEUE_FULL] += 1
                return Rejected(Reason.QUEUE_FULL)
            ticket = self._ticket(flow, width, about, counts)
            ticket.queue = queue
            try:
                self._enter(queue, ticket, at_once=at_once or not self._held)
            except MemoryError:
                self._count_anew(ticket)
                raise
        demand = self._seats_in_use + self._backlog.seats
        if demand > self._occupancy.peak:
            self._occupancy.peak = demand
        return ticket

    def _enter(self, queue: Queue, ticket: Ticket, *, at_once: bool) -> None:
        """Start a request if none waits and it fits, or have it wait."""
        if at_once and self._uncontended(ticket):
            # The usual case, without the detour through the queue; the same comes of it.
            ticket.queue_length = 1
            self._backlog.activate(queue, self._r)
            queue.raise_to(self._r, self._now)
            self._begin(queue, ticket, queue.start_r(self._now))
        else:
            self._backlog.append(queue, ticket, self._r, self._now)
            if not self._held:
                self._start_next(only=ticket)

    def finish(self, t: float, ticket: Ticket) -> Finished:
        """Note that a request has been executed, with whatever result.

        Raises:
            ValueError: it was not executing.
        """
        if ticket.state is not TicketState.EXECUTING:
            self._move(ticket, TicketState.EXECUTING, TicketState.LINGERING)  # which says why not
        try:
            return self._finished(t, ticket)
        except MemoryError:
            self.drop(ticket)
            return Finished(self._dispatch(), None)

    def drop(self, ticket: Ticket) -> None:
        """Take a request out, in whatever state it is, where memory lacks to do it in order."""
        self._count_anew(ticket)

    def _finished(self, t: float, ticket: Ticket) -> Finished:
        self._move(ticket, TicketState.EXECUTING, TicketState.LINGERING)
        self._sync(t)
        del self._executing[ticket]
        ticket.counts.executing_requests -= 1
        queue = ticket.queue
        if queue is not None:
            self._charged_seats -= ticket.initial_seats
            queue.finished(ticket, self._now)
            self._backlog.settle(queue)
        if ticket.latency_ticks:
            release = self._now + ticket.latency_ticks
            heapq.heappush(self._lingering, (release, ticket.serial, ticket))
            if queue is not None:
                self._charged_seats += ticket.final_seats
            return Finished(self._dispatch(), seconds(release))
        self._release(ticket)
        return Finished(self._dispatch(), None)

    def abandon(self, t: float, ticket: Ticket, reason: Reason = Reason.CANCELLED) -> Started:
        """Take a waiting request out of its queue: its client is gone or it waited too long.

        Args:
            t: now.
            ticket: the request.
            reason: ``TIME_OUT`` or ``CANCELLED``.

        Returns:
            Requests that run now.

        Raises:
            ValueError: it was not waiting.  If it just started, ``finish`` it instead.
        """
        if ticket.state is not TicketState.QUEUED:
            self._move(ticket, TicketState.QUEUED, TicketState.LEFT)  # which says why not
        try:
            self._take_out(t, ticket)
        except MemoryError:
            self.drop(ticket)
        ticket.counts.rejected[reason] += 1
        return self._dispatch()

    def _take_out(self, t: float, ticket: Ticket) -> None:
        """Take a waiting request out of its queue."""
        self._move(ticket, TicketState.QUEUED, TicketState.LEFT)
        self._sync(t)
        queue = ticket.queue
        assert queue is not None  # noqa: S101  (what waits has a queue)
        was_head = queue.head is ticket
        self._backlog.remove(queue, ticket)
        if was_head:
            queue.unlift(self._now)
        self._backlog.settle(queue)

    def advance(self, t: float) -> Started:
        """Free the seats that have lingered long enough; return the requests that run now."""
        until = max(ticks(t), self._now)
        while self._lingering and self._lingering[0][0] <= until:
            self._sync_ticks(self._lingering[0][0])
            ticket = heapq.heappop(self._lingering)[2]
            try:
                self._move(ticket, TicketState.LINGERING, TicketState.DONE)
                if ticket.queue is not None:
                    self._charged_seats -= ticket.final_seats
                self._release(ticket)
            except MemoryError:
                self.drop(ticket)
        self._sync_ticks(until)
        return self._dispatch()

    def set_limit(self, t: float, limit: int, denominator: int | None = None) -> Started:
        """Change the current limit; what executes stays, so the limit may be exceeded a while.

        Args:
            t: now.
            limit: seats, not negative.
            denominator: what utilization is measured against; None: the limit, but at least 1.

        Returns:
            Requests that run now.
        """
        self._sync(t)
        self._limit = limit
        self._set_denominators(denominator)
        return self._dispatch()

    def reconfigure(self, t: float, queuing: Queuing | None) -> Started:
        """Change the queues.  Waiting requests stay in theirs; return the ones that run now.

        Raises:
            ValueError: hands that cannot be dealt.
        """
        self._sync(t)
        if queuing != self._queuing:
            self._dealer = Dealer(queuing.queues, queuing.hand_size) if queuing else None
            self._queuing = queuing
        self._set_denominators(None)
        return self._dispatch()

    def _ticket(self, flow: Flow, width: Width, about: object, counts: SchemaCounts) -> Ticket:
        ticket = Ticket(self.name, flow, width, about, counts)
        self._serial += 1
        ticket.serial = self._serial
        ticket.arrived = self._now
        ticket.arrival_r = self._r
        return ticket

    def _move(self, ticket: Ticket, before: TicketState, after: TicketState) -> None:
        if ticket.state is not before or ticket.level != self.name:
            raise ValueError(f"{ticket!r} is not {before.value} in {self.name}")
        ticket.state = after

    def _fits(self, seats: int) -> bool:
        if seats > self._limit:
            return not self._seats_in_use
        return self._seats_in_use + seats <= self._limit

    def _uncontended(self, ticket: Ticket) -> bool:
        return (
            not self._backlog.waiting
            and self._seats_in_use < self._limit
            and self._fits(ticket.seats)
        )

    def _dispatch(self) -> Started:
        """Start requests while the next one fits."""
        started: list[Ticket] = []
        if not self._held:
            try:
                while (ticket := self._start_next()) is not None:
                    started.append(ticket)
            except MemoryError:
                pass  # what started is told of; the next verb goes on
        return tuple(started)

    def _end(self, head: Ticket) -> int:
        """Virtual finish of the head of a queue."""
        queue = head.queue
        assert queue is not None  # noqa: S101  (what waits has a queue)
        return queue.start_r(self._now) + head.work

    def _start_next(self, only: Ticket | None = None, *, tie: bool = False) -> Ticket | None:
        """Start the next request if it fits, and is the only one allowed if one is given.

        Args:
            only: the one allowed, at the head of its queue.
            tie: whether it is allowed also if it is as good as the next.
        """
        if not self._backlog.waiting or self._seats_in_use >= self._limit:
            return None
        ticket, least_start = self._backlog.next(self._now)
        if only is not None and ticket is not only:
            if not tie or self._end(only) != self._end(ticket):
                return None
            ticket = only
        if not self._fits(ticket.seats):
            ticket.counts.no_accommodation += 1
            return None
        queue = ticket.queue
        assert queue is not None  # noqa: S101  (what waits has a queue)
        try:
            self._backlog.remove(queue, ticket)
            self._begin(queue, ticket, least_start)
        except MemoryError:
            self._executing.pop(ticket, None)
            ticket.state = TicketState.QUEUED
            queue.waiting[ticket] = None  # where it was
            queue.waiting.move_to_end(ticket, last=False)
            self._backlog.waiting_in[queue.index] = queue
            self._count_anew(None)
            raise
        return ticket

    def _begin(self, queue: Queue, ticket: Ticket, least_start: int) -> None:
        """Charge a request to its queue, in virtual time, and start it."""
        if ticket.final_seats > self._limit:
            ticket.reshape(self._limit)
        now = self._now
        self._dispatch_r, self._latest_s = self._r, queue.start_r(now)
        self._r = max(self._r, least_start)
        self._charged_seats += ticket.initial_seats
        queue.dispatched(ticket, now)
        self._start(ticket)

    def _start(self, ticket: Ticket) -> None:
        ticket.state = TicketState.EXECUTING
        ticket.started = self._now
        self._executing[ticket] = None
        self._seats_in_use += ticket.seats
        ticket.counts.executing_requests += 1
        ticket.counts.executing_seats += ticket.seats
        ticket.counts.dispatched += 1

    def _release(self, ticket: Ticket) -> None:
        ticket.state = TicketState.DONE
        self._seats_in_use -= ticket.seats
        ticket.counts.executing_seats -= ticket.seats
        queue = ticket.queue
        if queue is not None:
            self._backlog.release(queue, ticket.seats)

    def _set_denominators(self, denominator: int | None) -> None:
        queuing = self._queuing
        capacity = queuing.queues * queuing.queue_length_limit if queuing else 1
        self._occupancy.set_denominators(capacity, denominator or max(self._limit, 1))
