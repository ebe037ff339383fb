"""Flow control as a whole: classification, levels, borrowing and changes of configuration.

Synchronous and without a clock: every verb takes the time, changes state at once and says which
requests run now.  A level lives through three states::

    (none) --configured--> WANTED --removed, busy--> QUIESCING --drained--> (none)
                              ^---------configured again---------+
    WANTED --removed, drained--> (none)

A quiescing level gets no new requests, since schemas that refer to it are left out, but keeps its
shares until its last seat is free.  The levels ``exempt`` and ``catch-all`` are always wanted:
with the configuration stored, else the one they last had, else the built-in one.  The schemas of
the same names always apply as built in, whatever is stored: their specs may not drift.

Source: KEP-1040; what is mandatory, the API's documentation of flowcontrol/v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from kubetrio.flow.allocate import Demand, LevelDemand, Limits, adjust, level_limits, round_half_up
from kubetrio.flow.classify import Classified, Classifier, RequestDigest
from kubetrio.flow.config import (
    EXEMPT,
    MANDATORY_LEVELS,
    MANDATORY_SCHEMAS,
    FlowSchema,
    LevelKind,
    PriorityLevel,
)
from kubetrio.flow.occupancy import ReadWriteOccupancy
from kubetrio.flow.outcomes import (
    Abandoned,
    Finished,
    Reconfigured,
    Refusal,
    Rejected,
    Round,
    Started,
)
from kubetrio.flow.queueset import QueueSet
from kubetrio.flow.report import (
    DispatcherStatistics,
    FlowStatistics,
    LevelStatistics,
    QueueStatistics,
    RequestStatistics,
)
from kubetrio.flow.retry import RetryAfter
from kubetrio.flow.seats import ONE_SEAT, Width
from kubetrio.flow.ticket import Reason, Ticket, TicketState

LONGEST_WAIT_S = 60.0


def wait_limit(remaining_s: float) -> float:
    """How long a request may wait in a queue, in seconds.

    Args:
        remaining_s: time to the request's deadline; where it has none, the request timeout.
    """
    return min(remaining_s / 4, LONGEST_WAIT_S)


class _Level:
    """A level's queue set with what governs its limit."""

    __slots__ = (
        "config",
        "demand",
        "limits",
        "queues",
        "quiescing",
        "retry",
        "seated",
        "target",
        "turn",
    )

    def __init__(self, t: float, config: PriorityLevel, limits: Limits, *, held: bool) -> None:
        self.config = config
        self.limits = limits
        self.demand = Demand()
        self.target = 0.0
        self.quiescing = False
        self.retry = RetryAfter()
        limit = None if config.kind is LevelKind.EXEMPT else limits.initial
        self.queues = QueueSet(t, config.name, limit, config.queuing, held=held)
        self.seated: dict[Ticket, None] = {}  # with a seat, not run yet (no queues, starts held)
        self.turn = 0.0  # see Dispatcher.dispatch

    @property
    def ready(self) -> bool:
        """Whether something is there to be started."""
        return bool(self.queues.waiting or self.seated)


class Dispatcher:
    """All levels of one server.

    Args:
        t: now, in seconds of a monotonic clock.
        server_limit: seats of the server: both ``--max-*-requests-inflight`` together.
        held: what waits is started by ``dispatch`` alone, so by as much as the loop has room for.
    """

    def __init__(self, t: float, server_limit: int, *, held: bool = False) -> None:
        self._server_limit = server_limit
        self._held = held
        self._turn = 0.0
        self._backlog: dict[_Level, None] = {}  # levels with something to start, where held
        self._levels: dict[str, _Level] = {}
        self._schemas: tuple[FlowSchema, ...] = ()
        self._wanted: dict[str, PriorityLevel] = {}
        self._classifier: Classifier
        self._generation = 0
        self._fair_fraction = 0.0
        self._read_write = ReadWriteOccupancy(t)
        self.reconfigure(t, (), ())

    def __repr__(self) -> str:
        return f"<Dispatcher {[level.queues for level in self._levels.values()]}>"

    def remembered(self) -> int:
        """How much classes of requests are remembered by; see `Classifier.remembered`."""
        return self._classifier.remembered()

    def classify(self, request: RequestDigest) -> Classified:
        """The class of a request.

        The answer may be kept for requests of an equal user, groups, verb, resource and
        namespace; ``arrive`` notices when it is out of date.
        """
        return self._classifier.classify(request)

    def arrive(
        self,
        t: float,
        request: RequestDigest,
        width: Width = ONE_SEAT,
        classified: Classified | None = None,
        *,
        at_once: bool = False,
    ) -> Ticket | Refusal:
        """Take in a request.

        Args:
            t: now.
            request: what it is.
            width: seats it takes.
            classified: what ``classify`` said of it, or of one like it.
            at_once: where starts are held, let this one run if none waits and it fits.

        Returns:
            A ticket in state ``EXECUTING`` (run it, unless it is ``seated``) or ``QUEUED`` (some
            verb will return it as started), or the refusal.
        """
        if classified is None or classified.generation != self._generation:
            classified = self._classifier.classify(request)
        level = self._levels[classified.level]
        idle = self._held and not level.ready
        outcome = level.queues.arrive(t, classified.flow, width, request, at_once=at_once)
        if isinstance(outcome, Rejected):
            return Refusal(outcome.reason, level.retry.dropped(t))
        waits = outcome.state is TicketState.QUEUED
        try:
            if self._held:
                if level.config.kind is LevelKind.REJECT and not at_once:
                    level.seated[outcome] = None
                if idle and level.ready:
                    self._backlog[level] = None
                    level.turn = max(level.turn, self._turn)
            self._read_write.change(
                t, waiting=waits, executing=not waits, mutating=request.mutating
            )
        except MemoryError:
            level.seated.pop(outcome, None)
            level.queues.drop(outcome)
            raise
        return outcome

    def finish(self, t: float, ticket: Ticket) -> Finished:
        """Note that a request has been executed, with whatever result.

        Raises:
            ValueError: it was not executing.
        """
        level = self._level(ticket)
        finished = level.queues.finish(t, ticket)
        level.seated.pop(ticket, None)
        with suppress(MemoryError):  # a number of metrics
            self._read_write.change(t, waiting=0, executing=-1, mutating=_mutating(ticket))
        started = self._begun(t, finished.started)
        if level.quiescing:
            started += self._reap(t)
        return Finished(started, finished.lingers_until)

    def seated(self, ticket: Ticket) -> bool:
        """Whether a request has a seat but is to run only when ``dispatch`` returns it."""
        return ticket in self._level(ticket).seated

    def calm(self, level: str) -> bool:
        """Whether requests of one seat may come and go in a level without tickets; see ``passed``.

        The answer holds until the next verb.
        """
        return self._levels[level].queues.calm

    def passed(
        self, t: float, level: str, schema: str, count: int, busy: float, *, mutating: bool
    ) -> None:
        """Note requests that came and went while ``calm``; see ``QueueSet.passed``.

        Args:
            t: now.
            level: where.
            schema: name of their FlowSchema.
            count: how many.
            busy: seconds for which one of them was executing.
            mutating: whether they count as mutating.
        """
        known = self._levels.get(level)
        if known is not None:
            known.queues.passed(t, schema, count, busy)
        self._read_write.passed(t, busy, mutating=mutating)

    def crossed(self, t: float, spent: Mapping[tuple[int, int], int], peak: int) -> None:
        """Note requests that were under way in the exempt level; see ``QueueSet.crossed``.

        Args:
            t: now.
            spent: ticks by numbers of requests, read-only and mutating.
            peak: the most requests at a time.
        """
        self._levels[EXEMPT].queues.crossed(t, spent, peak)
        self._read_write.crossed(t, spent)

    def resume(
        self, t: float, since: float, request: RequestDigest, classified: Classified
    ) -> Ticket:
        """Give a ticket to one of those that are still under way; see ``QueueSet.resume``.

        Args:
            t: now.
            since: when it arrived.
            request: what it is.
            classified: its class, of the exempt level.
        """
        ticket = self._levels[EXEMPT].queues.resume(t, since, classified.flow, request)
        self._read_write.change(t, waiting=0, executing=1, mutating=request.mutating)
        return ticket

    def dispatch(self, t: float, seats: int) -> Round:
        """Start what waits, where starts are held.

        Levels take turns in proportion to their nominal limits, as by start-time fair queuing: a
        level's ``turn`` grows by what it started over its limit, the least one is next, and a
        level that had nothing to start does not save up turns.  Turns not used are others'
        anyway, so borrowing has no say in them.  Within a level its queues decide.

        Args:
            t: now.
            seats: to be started; the last request may be wider than what is left of them.

        Returns:
            What runs now, in this order, and whether more would have found a seat.
        """
        ready = [level for level in self._backlog if level.ready]
        started: list[Ticket] = []
        while ready and seats > 0:
            level = min(ready, key=lambda one: one.turn) if len(ready) > 1 else ready[0]
            try:
                ticket = self._take(t, level)
            except MemoryError:
                break  # what started has to be told of
            if ticket is None:
                ready.remove(level)
                continue
            seats -= ticket.seats
            started.append(ticket)
            if not level.ready:
                del self._backlog[level]
                ready.remove(level)
        return Round(tuple(started), bool(ready))

    def overtakes(self, t: float, ticket: Ticket) -> bool:
        """Start a request that just arrived if ``dispatch`` would start it before any other."""
        if ticket.queue_length > 1:
            return False  # a request of its own queue is before it
        level = self._level(ticket)
        turn = level.turn
        for one in self._backlog:
            if one.turn < turn and one.ready:
                return False
        return self._take(t, level, only=ticket) is not None

    def _take(self, t: float, level: _Level, only: Ticket | None = None) -> Ticket | None:
        """Start a request of a level in its turn."""
        if level.seated:
            ticket = next(iter(level.seated))
            if only not in (None, ticket):
                return None
            del level.seated[ticket]
        else:
            if (started := level.queues.take(t, only)) is None:
                return None
            ticket = started
            with suppress(MemoryError):  # a number of metrics
                self._read_write.change(t, waiting=-1, executing=1, mutating=_mutating(ticket))
        self._turn = level.turn
        level.turn += ticket.seats / max(level.limits.nominal, 1)
        return ticket

    @property
    def waiting(self) -> bool:
        """Whether something waits to be started."""
        return any(level.ready for level in self._levels.values())

    @property
    def executing(self) -> tuple[int, int]:
        """Requests executing: read-only, mutating."""
        return self._read_write.executing()

    @property
    def queued(self) -> tuple[int, int]:
        """Requests waiting: read-only, mutating."""
        return self._read_write.waiting()

    def abandon(self, t: float, ticket: Ticket, reason: Reason) -> Abandoned:
        """Take a waiting request out of its queue.

        Args:
            t: now.
            ticket: the request.
            reason: ``TIME_OUT`` or ``CANCELLED``.

        Raises:
            ValueError: it was not waiting.  If it just started, ``finish`` it instead.
        """
        level = self._level(ticket)
        started = level.queues.abandon(t, ticket, reason)
        self._read_write.change(t, waiting=-1, executing=0, mutating=_mutating(ticket))
        started = self._begun(t, started)
        if level.quiescing:
            started += self._reap(t)
        return Abandoned(started, level.retry.dropped(t))

    def next_event_time(self) -> float | None:
        """When lingering seats next fall free, so when ``advance`` is due; None: never."""
        times = [level.queues.next_event_time() for level in self._levels.values()]
        return min((time for time in times if time is not None), default=None)

    def advance(self, t: float) -> Started:
        """Free the seats that have lingered long enough; return the requests that run now."""
        started: Started = ()
        for level in self._levels.values():
            started += self._begun(t, level.queues.advance(t))
        if any(level.quiescing for level in self._levels.values()):
            started += self._reap(t)
        return started

    def adjust(self, t: float) -> Started:
        """Set the levels' limits by their demand; due every ``ADJUSTMENT_PERIOD_S`` seconds.

        Returns:
            Requests that run now.
        """
        claims: dict[str, LevelDemand] = {}
        for name, level in self._levels.items():
            level.demand = level.demand.after(level.queues.take_demand(t))
            claims[name] = LevelDemand(level.config.kind, level.limits, level.demand)
            level.target = claims[name].target
        adjustment = adjust(claims)
        self._fair_fraction = adjustment.fair_fraction
        started: Started = ()
        for name, limit in adjustment.limits.items():
            # Something must be divided by, even where a level has no seats.
            denominator = limit or max(1, round_half_up(self._server_limit / 10))
            queues = self._levels[name].queues
            started += self._begun(t, queues.set_limit(t, limit, denominator))
        return started

    def reconfigure(
        self, t: float, schemas: Iterable[FlowSchema], levels: Iterable[PriorityLevel]
    ) -> Reconfigured:
        """Take over a configuration; requests under way stay where they are.

        Args:
            t: now.
            schemas: all FlowSchemas.
            levels: all PriorityLevelConfigurations, names distinct.
        """
        given = {level.name: level for level in levels}
        self._schemas = tuple(schemas)
        dangling = frozenset(one.name for one in self._schemas if one.level not in given)
        self._wanted = given
        for name, builtin in MANDATORY_LEVELS.items():
            last = self._levels.get(name)
            self._wanted.setdefault(name, last.config if last else builtin)
        return Reconfigured(self._apply(t), dangling)

    def statistics(self, t: float) -> DispatcherStatistics:
        """All numbers as of now."""
        return DispatcherStatistics(
            server_limit=self._server_limit,
            fair_fraction=self._fair_fraction,
            levels=tuple(
                LevelStatistics(
                    name=name,
                    kind=level.config.kind,
                    quiescing=level.quiescing,
                    limits=level.limits,
                    current_limit=level.queues.limit,
                    demand=level.demand,
                    target=level.target,
                    retry_after_s=level.retry.seconds,
                    queues=level.queues.statistics(t),
                )
                for name, level in sorted(self._levels.items())
            ),
            read_write=self._read_write.snapshots(t),
        )

    def queues(self) -> dict[str, tuple[QueueStatistics, ...]]:
        """Rows of ``dump_queues`` by level, levels in ascending order of name."""
        return {name: level.queues.queues() for name, level in sorted(self._levels.items())}

    def requests(self) -> dict[str, tuple[RequestStatistics, ...]]:
        """Rows of ``dump_requests`` by level, levels in ascending order of name."""
        return {name: level.queues.requests() for name, level in sorted(self._levels.items())}

    def flows(self) -> dict[str, FlowStatistics]:
        """Requests by flow, by level."""
        return {name: level.queues.flows() for name, level in self._levels.items()}

    def _level(self, ticket: Ticket) -> _Level:
        try:
            return self._levels[ticket.level]
        except KeyError:
            raise ValueError(f"{ticket!r} is of no level") from None

    def _begun(self, t: float, started: Started) -> Started:
        for ticket in started:
            self._read_write.change(t, waiting=-1, executing=1, mutating=_mutating(ticket))
        return started

    def _reap(self, t: float) -> Started:
        """Remove the quiescing levels that have drained, so that others get their shares."""
        gone = any(one.quiescing and one.queues.drained for one in self._levels.values())
        return self._apply(t) if gone else ()

    def _apply(self, t: float) -> Started:
        """Make the levels what is wanted, plus what still drains, and divide the seats anew."""
        configs = dict(self._wanted)
        for name, level in list(self._levels.items()):
            level.quiescing = name not in self._wanted
            if level.quiescing and level.queues.drained:
                del self._levels[name]
                self._backlog.pop(level, None)
            elif level.quiescing:
                configs[name] = level.config
        share_sum = sum(config.shares for config in configs.values())
        started: Started = ()
        for name, config in configs.items():
            limits = level_limits(self._server_limit, config, share_sum)
            known = self._levels.get(name)
            if known is None:
                self._levels[name] = _Level(t, config, limits, held=self._held)
            else:
                known.config, known.limits = config, limits
                started += self._begun(t, known.queues.reconfigure(t, config.queuing))
        self._compile()
        queuings = [config.queuing for config in configs.values() if config.queuing]
        capacity = sum(queuing.queues * queuing.queue_length_limit for queuing in queuings)
        seats = sum(level.limits.nominal for level in self._levels.values())
        self._read_write.set_denominators(t, max(capacity, 1), max(seats, 1))
        return started + self.adjust(t)

    def _compile(self) -> None:
        self._generation += 1
        schemas = dict(MANDATORY_SCHEMAS)
        for schema in self._schemas:
            if schema.name in MANDATORY_SCHEMAS:
                schemas[schema.name] = replace(MANDATORY_SCHEMAS[schema.name], uid=schema.uid)
            elif schema.level in self._wanted:
                schemas[schema.name] = schema
        limits = {name: level.limits.max_seats for name, level in self._levels.items()}
        self._classifier = Classifier(schemas.values(), self._wanted, limits, self._generation)


def _mutating(ticket: Ticket) -> bool:
    return isinstance(ticket.about, RequestDigest) and ticket.about.mutating
