"""The gate: where requests wait for their seat.  The only awaits of flow control.

The dispatcher decides; the gate holds the tasks of the requests that wait, runs the timers and
keeps the pace of the event loop.

One event loop, many connections
--------------------------------
Trio works in rounds: it asks the operating system which sockets are ready, wakes all their tasks,
and runs each to its next wait.  A cheap request is read, executed and answered within one step of
its connection's task.  If it ran when it arrives, seats would never all be taken, nothing would
queue, and the client with most connections would have most of every round.  So:

- what arrives while others wait, or in a *crowded* round, is handed to the dispatcher and parks.
  A round is crowded if more tasks run in it than the *window*: then more could arrive than may be
  executed, and whose turn it is is not known before all of them are there;
- at the end of the round, when all that came has been classified, the dispatcher starts as much as
  the window allows: a few seats.  They run in the next round.  Requests that have started and
  wait for the store or their client hold their seats, which the levels' limits count, but no part
  of the window: they do not use the loop;
- while others have been waiting, a newcomer who precedes them all, as one of a small flow does,
  runs at once: it would be next in any case, and a round is long compared to it;
- in a round that is not crowded everything that can arrive fits the window, so order does not
  matter and requests run at once;
- nor does it matter while all requests are of one flow: then only a round of a hundred is crowded.

Requests of exempt levels run at once, always.

Instruments (``trio.abc.Instrument``) mark the rounds while flows contend, now and then while
there is one flow, and count the tasks that are about to run while there is more than one.  While
there is more to start a task, the pacemaker, keeps the loop from sleeping.

A request that needs no decision runs without a ticket; see `flow.ticketless`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn

import outcome
import trio

from kubetrio.flow.allocate import ADJUSTMENT_PERIOD_S
from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.config import FlowSchema, PriorityLevel
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.entries import Entries, Entry
from kubetrio.flow.observe import Snapshot
from kubetrio.flow.outcomes import Refusal
from kubetrio.flow.parking import SWEEP_S, Parked, ParkedRequests
from kubetrio.flow.report import FlowStatistics, QueueStatistics, RequestStatistics
from kubetrio.flow.rounds import FlowContention, Rounds
from kubetrio.flow.seats import Width
from kubetrio.flow.ticket import Reason, Ticket, TicketState
from kubetrio.flow.ticketless import Request, TicketlessRequests

# Seats started in one round while requests wait.  Measured with 64 connections of one flow and one
# of another: two or four seats are no faster, as a round costs little, and the small flow waits
# 1.4 and 2.8 times as long.
WINDOW_SEATS = 1
# Tasks in a round of which no order need be made.
CROWD_TASKS = 4
# The same while there is one flow only: who comes newly waits for no more than some milliseconds.
LONE_TASKS = 100
# So many of a lone flow may have run since the last look at rounds: then it is time to look.
UNSEEN_TASKS = 50
# While requests wait, one is refused every so many rounds: the loop is for those that execute.
ROUNDS_PER_REFUSAL = 8


class Gate:
    """Admits the requests of one server.

    Args:
        dispatcher: with starts held.
        describe: says what a request is.
        wall: wall clock, seconds since the epoch.
        patience_s: how long requests wait, in seconds, unless they are less patient.
        window: seats started in one round while requests wait.
        crowd: tasks in a round that is not crowded.

    Attributes:
        entries: what is remembered of requests.
        ticketless: of requests without tickets; where exempt ones begin without further ado.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        describe: Callable[[Request], RequestDigest],
        wall: Callable[[], float],
        *,
        patience_s: float = 15.0,
        window: int = WINDOW_SEATS,
        crowd: int = CROWD_TASKS,
    ) -> None:
        self._dispatcher = dispatcher
        self._crowd = crowd
        self._describe = describe
        self._wall = wall
        self._window = window
        self.entries = Entries(dispatcher)
        self.ticketless = TicketlessRequests(dispatcher, describe)
        self._parked = ParkedRequests()
        self._line: dict[trio.lowlevel.Task, None] = {}  # of those to be refused, oldest first
        self._refusing = 0  # rounds with a refusal in line
        self._patience_s = patience_s
        self._retry_after_s = 1  # of the last request that gave up
        self._contention = FlowContention()
        self._rounds = Rounds(self._begin_round)
        self._direct = 0  # requests that ran at once in this round
        self._backlogged = False  # whether requests waited when this round began
        self._more = False  # whether another start may succeed
        self._running = False
        self._closing = False
        self._pacer: trio.lowlevel.Task | None = None  # while it sleeps
        self._timer = trio.CancelScope()
        self._due = 0.0  # when the timer looks around

    def __repr__(self) -> str:
        return f"<Gate {len(self._parked)} parked, {self._dispatcher!r}>"

    # ------------------------------------------------------------------ requests

    def passes(self, request: Request, entry: Entry) -> bool:
        """Let a request of one seat run at once, if there is nothing to wait for.

        When True, `leave` must follow.  When False, `admit` it.  An exempt request of one seat may
        begin without this.
        """
        if not entry.exempt:
            flow = entry.classified.flow
            if flow is not self._contention.flow:
                self._contention.meet(flow, request.started)
            if not self._rounds.watching and (
                self._direct >= UNSEEN_TASKS or request.started < self._contention.until
            ):
                self._watch()
            if not self._quiet(request.started):
                return False
        if not self.ticketless.begin(request, entry):
            return False
        self._direct += 1
        return True

    def pauses(self, request: Request, now: float) -> None:
        """Have the `leave` that follows at once not count as the end of an execution."""
        seat = request.seat
        entry = seat.entry if isinstance(seat, Ticket) else seat
        begun = seat.started_at if isinstance(seat, Ticket) else request.started
        if isinstance(entry, Entry):
            entry.lasted.observe(max(now - (now if begun is None else begun), 0.0), -1)

    def resumed(self, request: Request) -> None:
        """Note that a request that `pauses` has a seat again."""
        seat = request.seat
        entry = seat.entry if isinstance(seat, Ticket) else seat
        if isinstance(entry, Entry):
            entry.histograms.started_again += 1
            entry.histograms.passed_again += isinstance(seat, Entry)

    async def admit(
        self,
        request: Request,
        entry: Entry,
        width: Width,
        patience_s: float,
        *,
        again: bool = False,
    ) -> Refusal | None:
        """Wait for a seat.  Without a refusal `leave` must follow.

        Args:
            request: the request.
            entry: of requests like it.
            width: seats it takes.
            patience_s: how long it may wait, in seconds.
            again: whether it had one before, and is counted; see `pauses`.
        """
        self.ticketless.settle(t := request.started)
        self._watch()
        at_once = not self._running or entry.exempt or self._quiet(t)
        dispatcher, histograms = self._dispatcher, entry.histograms
        ticket = dispatcher.arrive(
            t, self._describe(request), width, entry.classified, at_once=at_once
        )
        if isinstance(ticket, Refusal):
            if not again:
                histograms.seats.observe(width.max_seats)
            histograms.given_up.observe(0.0)
            await self._stand_in_line()
            return ticket
        request.seat = ticket
        ticket.entry = entry
        try:
            parks = ticket.state is TicketState.QUEUED or dispatcher.seated(ticket)
            if parks and self._backlogged and self._direct < self._window:
                parks = not dispatcher.overtakes(t, ticket)
            if not again:
                histograms.seats.observe(width.max_seats)
                if ticket.queue is not None:
                    histograms.queued.observe(ticket.queue_length)
            if not parks:
                self._direct += 1
                if not again:
                    histograms.waited.observe(0.0)
                return None
        except MemoryError:
            self._drop(ticket, request)
            raise
        if patience_s >= self._patience_s:
            refused = await self._park(ticket, request)
        else:
            # Less patient than the rest: the timer, which looks at the oldest, would be late.
            with trio.CancelScope(deadline=t + patience_s) as scope:
                refused = await self._park(ticket, request, scope)
            if scope.cancelled_caught:
                return Refusal(Reason.TIME_OUT, self._retry_after_s)
        if refused is None and not again:
            histograms.waited.observe(trio.current_time() - t)
        return refused

    def leave(self, request: Request, now: float) -> None:
        """Give the seat back; once is enough, twice is fine.

        Args:
            request: the request.
            now: by Trio's clock.
        """
        seat = request.seat
        if seat is None:
            return
        request.seat = None
        try:
            if isinstance(seat, Ticket):
                self._finish(seat, now)
            else:
                self.ticketless.end(request, seat, now)
        except MemoryError:
            if isinstance(seat, Ticket):
                self._drop(seat, request)

    def _drop(self, ticket: Ticket, request: Request) -> None:
        """Take a request out of flow control where memory has lacked for a part of its way."""
        request.seat = None
        self._parked.pop(ticket, None)
        now = trio.current_time()
        if ticket.state is TicketState.EXECUTING:
            self._dispatcher.finish(now, ticket)
        elif ticket.state is TicketState.QUEUED:
            self._dispatcher.abandon(now, ticket, Reason.CANCELLED)
        if self._parked:
            self._kick()

    # ------------------------------------------------------------------ waiting

    async def _park(
        self, ticket: Ticket, request: Request, scope: trio.CancelScope | None = None
    ) -> Refusal | None:
        """Wait until the ticket is started or its time is up."""
        if self._closing:
            return self._give_up(ticket, request, Reason.CANCELLED)
        try:
            self._parked[ticket] = Parked(trio.lowlevel.current_task(), request)
            if self._due > request.started + SWEEP_S:
                self._call_by(request.started + SWEEP_S)
            self._kick()
        except MemoryError:
            self._drop(ticket, request)
            raise

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            late = scope is not None and scope.cancel_called
            del self._parked[ticket]
            refused = self._give_up(ticket, request, Reason.TIME_OUT if late else Reason.CANCELLED)
            self._retry_after_s = refused.retry_after_s
            return trio.lowlevel.Abort.SUCCEEDED

        refused: Refusal | None = await trio.lowlevel.wait_task_rescheduled(abort)
        return refused

    async def _stand_in_line(self) -> None:
        """Wait for one's turn to be refused.

        A refusal is work too.  Were it free, those who come back at once would fill each round.
        """
        if not self._running or self._closing or self._quiet(trio.current_time()):
            return
        task = trio.lowlevel.current_task()
        self._line[task] = None
        self._kick()

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._line.pop(task, None)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def _give_up(self, ticket: Ticket, request: Request, reason: Reason) -> Refusal:
        """Take a request out of flow control, as if it had never come.

        At once, not when its task runs next: until then a round may begin and start it.
        """
        now = trio.current_time()
        self.ticketless.settle(now)
        request.seat = None
        entry = ticket.entry
        if isinstance(entry, Entry):
            entry.histograms.given_up.observe(now - request.started)
        if ticket.state is TicketState.QUEUED:
            retry = self._dispatcher.abandon(now, ticket, reason).retry_after_s
        else:
            self._dispatcher.finish(now, ticket)
            retry = 1
        self._kick()
        return Refusal(reason, retry)

    def _finish(self, ticket: Ticket, now: float) -> None:
        self.ticketless.settle(now)
        entry = ticket.entry
        if isinstance(entry, Entry):
            spent = now - (ticket.started_at or now)
            entry.lasted.observe(max(spent, 0.0))
        lingers_until = self._dispatcher.finish(now, ticket).lingers_until
        if lingers_until is not None and lingers_until < self._due:
            self._call_by(lingers_until)
        if self._parked:
            self._kick()

    def _quiet(self, now: float) -> bool:
        """Return whether no request waits and the order within this round does not matter."""
        if self._parked:
            return False
        if now >= self._contention.until:
            return self._direct < LONE_TASKS
        return self._contention.tasks <= self._crowd and self._direct < self._crowd

    # ------------------------------------------------------------------ the loop

    def _watch(self) -> None:
        if self._running:
            self._rounds.watch()

    def _begin_round(self) -> None:
        """All that came in the last round has been classified: start what goes next."""
        waiting = bool(self._parked or self._line)
        self._direct = 0
        if self._parked and self._more:
            now = trio.current_time()
            window = self._window if now < self._contention.until else LONE_TASKS
            self._start(now, window)
        self._backlogged = bool(self._parked)
        if self._line:
            self._refusing += 1
            if not self._parked or self._refusing % ROUNDS_PER_REFUSAL == 0:
                task = next(iter(self._line))
                del self._line[task]
                trio.lowlevel.reschedule(task)
        self._contention.next_round()
        if not waiting and not self._contention.there:
            self._rounds.rest()

    def _start(self, t: float, seats: int) -> int:
        self.ticketless.settle(t)
        round_ = self._dispatcher.dispatch(t, seats)
        for ticket in round_.started:
            parked = self._parked.pop(ticket)
            trio.lowlevel.reschedule(parked.task)
        self._more = round_.more
        return len(round_.started)

    def _kick(self) -> None:
        """Something may be started now: see to it that the next round comes, and soon."""
        if not self._parked and not self._line:
            return
        self._more = True
        if not self._running:
            while self._more and self._start(trio.current_time(), self._window):
                pass
        elif self._pacer is not None:
            pacer, self._pacer = self._pacer, None
            trio.lowlevel.reschedule(pacer)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep pace and time until cancelled; without it every request runs at its arrival."""
        self._running = True
        try:
            with self._contention:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._pace, name="flow control pacemaker")
                    nursery.start_soon(self._keep_time, name="flow control timer")
                    task_status.started()
        finally:
            self._running = False
            self._rounds.rest()
            self.close()
            self._kick()

    async def _pace(self) -> NoReturn:
        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._pacer = None
            return trio.lowlevel.Abort.SUCCEEDED

        while True:
            if (self._more and self._parked) or self._line:
                await trio.lowlevel.checkpoint()
            else:
                self._pacer = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(abort)

    async def _keep_time(self) -> NoReturn:
        adjust_at = trio.current_time() + ADJUSTMENT_PERIOD_S
        while True:
            due = [adjust_at]
            lingering = self._dispatcher.next_event_time()
            if lingering is not None:
                due.append(lingering)
            now = trio.current_time()
            due.append(self._parked.due(now, self._patience_s))
            self._due = min(due)
            with trio.CancelScope(deadline=self._due) as self._timer:
                await trio.sleep_forever()
            now = trio.current_time()
            self.ticketless.settle(now)
            self._dispatcher.advance(now)
            if now >= adjust_at:
                self._dispatcher.adjust(now)
                adjust_at = now + ADJUSTMENT_PERIOD_S
            for ticket in self._parked.late(now, self._patience_s):
                self._send_away(ticket, Reason.TIME_OUT)
            for ticket in self._parked.left(now):
                self._send_away(ticket, Reason.CANCELLED)
            self._kick()

    def _call_by(self, t: float) -> None:
        """Have the timer look around no later than this."""
        self._due = self._timer.deadline = t

    def _send_away(self, ticket: Ticket, reason: Reason) -> None:
        parked = self._parked.pop(ticket)
        refused = self._give_up(ticket, parked.request, reason)
        trio.lowlevel.reschedule(parked.task, outcome.Value(refused))

    def close(self) -> None:
        """Refuse what waits, and all that would have to wait from now on (shutdown)."""
        self._closing = True
        for ticket in tuple(self._parked):
            self._send_away(ticket, Reason.CANCELLED)
        while self._line:
            trio.lowlevel.reschedule(self._line.popitem()[0])

    # ------------------------------------------------------------------ configuration, numbers

    def reconfigure(
        self, schemas: Iterable[FlowSchema], levels: Iterable[PriorityLevel]
    ) -> frozenset[str]:
        """Take over a configuration; returns the names of dangling schemas."""
        now = trio.current_time()
        self.ticketless.settle(now)
        changed = self._dispatcher.reconfigure(now, schemas, levels)
        self.entries.clear()
        self._kick()
        return changed.dangling

    def remembered(self) -> tuple[int, int]:
        """How many requests are remembered with their class, and how much classes are told by."""
        return len(self.entries), self._dispatcher.remembered()

    def snapshot(self) -> Snapshot:
        """All numbers as of now."""
        now = trio.current_time()
        self.ticketless.settle(now)
        return Snapshot(
            now, self._wall(), self._dispatcher.statistics(now), self.entries.histograms
        )

    def queues(self) -> dict[str, tuple[QueueStatistics, ...]]:
        """Queues by level."""
        self.ticketless.settle(trio.current_time())
        return self._dispatcher.queues()

    def flows(self) -> dict[str, FlowStatistics]:
        """Requests waiting and executing by flow, by level."""
        self.ticketless.settle(trio.current_time())
        return self._dispatcher.flows()

    def requests(self) -> dict[str, tuple[RequestStatistics, ...]]:
        """Requests waiting and executing by level."""
        self.ticketless.settle(trio.current_time())
        return self._dispatcher.requests()

    def executing(self) -> tuple[int, int]:
        """Requests executing now: read-only, mutating."""
        self.ticketless.settle(trio.current_time())
        return self._dispatcher.executing

    def queued(self) -> tuple[int, int]:
        """Requests waiting now: read-only, mutating."""
        return self._dispatcher.queued
