"""Queue sets whose starts are held, as in the server: invariants over random histories."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from test_queueset import EXECUTING, QUEUED, Model, widths

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.config import (
    FlowSchema,
    LevelKind,
    PolicyRule,
    PriorityLevel,
    Queuing,
    ResourceRule,
    Subject,
)
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.outcomes import Refusal, Rejected
from kubetrio.flow.queueset import QueueSet
from kubetrio.flow.seats import Width
from kubetrio.flow.shuffle import flow_hash
from kubetrio.flow.ticket import Flow, Reason, Ticket

QUEUINGS = (Queuing(4, 2, 2), Queuing(8, 3, 4), Queuing(1, 1, 5))
RULE = ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",))


class Held(Model):
    """The same histories; nothing starts but by ``take``, or at once where nothing waits."""

    def __init__(self, limit: int, queuing: Queuing) -> None:
        super().__init__(limit, queuing)
        self.server = QueueSet(0.0, "level", limit, queuing, held=True)

    def step(self, action: int, pick: int, width: Width, dt: float) -> None:
        self.t += dt
        before = {ticket for ticket in self.alive if ticket.state is EXECUTING}
        queued = sorted((x for x in self.alive if x.state is QUEUED), key=lambda x: x.serial)
        running = sorted(before, key=lambda x: x.serial)
        flow = Flow(f"s{pick % 2}", str(pick), flow_hash("s", str(pick)))
        if action <= 4:
            self.come(flow, width, at_once=action == 0)
        elif action <= 6:
            self.take()
        elif action <= 8 and running:
            ticket = running[pick % len(running)]
            assert self.server.finish(self.t, ticket).started == ()
            self.alive.discard(ticket)
            self.done += 1
        elif action == 9 and queued:
            ticket = queued[pick % len(queued)]
            assert self.server.abandon(self.t, ticket, Reason.CANCELLED) == ()
            self.alive.discard(ticket)
            self.left += 1
        elif action == 10:
            self.limit = pick
            assert self.server.set_limit(self.t, pick) == ()
        elif action == 11:
            queuing = QUEUINGS[pick % 3]
            self.length_limit = max(self.length_limit, queuing.queue_length_limit)
            assert self.server.reconfigure(self.t, queuing) == ()
        else:
            assert self.server.advance(self.t) == ()
        after = {ticket for ticket in self.alive if ticket.state is EXECUTING}
        self.check_counts(bool(after - before))

    def come(self, flow: Flow, width: Width, *, at_once: bool) -> None:
        """A request arrives; it may run at once only where nobody waits."""
        self.arrived += 1
        server = self.server
        waiting, claimed = server.waiting, server._seats_in_use + server._backlog.seats
        outcome = server.arrive(self.t, flow, width, at_once=at_once)
        if isinstance(outcome, Rejected):
            assert claimed >= self.limit
            self.refused += 1
            return
        self.alive.add(outcome)
        if outcome.state is EXECUTING:
            assert at_once
            assert not waiting
            self.run((outcome,))
        elif claimed >= self.limit:
            assert outcome.queue is not None
            assert len(outcome.queue.waiting) <= self.length_limit

    def take(self) -> bool:
        """Start the next one; there is none only if none waits or the next does not fit."""
        server = self.server
        ticket = server.take(self.t)
        if ticket is None:
            free = server._seats_in_use < self.limit
            assert not (
                server.waiting and free and server._fits(server._backlog.next(server._now)[0].seats)
            )
            return False
        self.run((ticket,))
        return True

    def drain(self) -> None:
        self.limit = max(1, self.limit)
        self.server.set_limit(self.t, self.limit)
        for _ in range(10_000):
            if self.take():
                continue
            running = [ticket for ticket in self.alive if ticket.state is EXECUTING]
            due = self.server.next_event_time()
            if not running and due is None:
                break
            self.t = max(self.t, due) if due is not None else self.t + 1
            self.server.advance(self.t)
            for ticket in running:
                self.server.finish(self.t, ticket)
                self.alive.discard(ticket)
                self.done += 1
        assert not self.alive
        assert self.server.drained
        assert self.server._backlog.used == {}


steps = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 5), widths, st.sampled_from([0.0, 0.001, 0.3])),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 5), st.sampled_from(QUEUINGS), steps)
def test_invariants(
    limit: int, queuing: Queuing, history: list[tuple[int, int, Width, float]]
) -> None:
    """Seats keep the limit, queues their length, time its direction; nothing is lost or doubled."""
    model = Held(limit, queuing)
    for step in history:
        model.step(*step)
    model.drain()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4), steps)
def test_taking_all_there_is_changes_nothing(
    limit: int, history: list[tuple[int, int, Width, float]]
) -> None:
    """If the owner takes after every event, the same requests start as where nothing is held."""
    queuing = Queuing(4, 1, 100)  # never full: that is told differently where starts are held
    plain = QueueSet(0, "l", limit, queuing)
    held = QueueSet(0, "l", limit, queuing, held=True)
    pairs: list[tuple[Ticket, Ticket]] = []
    t = 0.0
    for action, pick, width, dt in history:
        t += dt
        if action <= 7:
            flow = Flow("s", str(pick), pick)
            one, two = plain.arrive(t, flow, width), held.arrive(t, flow, width, at_once=True)
            assert type(one) is type(two)
            if isinstance(one, Ticket) and isinstance(two, Ticket):
                pairs.append((one, two))
        else:
            running = [pair for pair in pairs if pair[0].state is EXECUTING]
            if running:
                one, two = running[pick % len(running)]
                plain.finish(t, one)
                held.finish(t, two)
            plain.advance(t)
            held.advance(t)
        while held.take(t):
            pass
        assert [one.state for one, _ in pairs] == [two.state for _, two in pairs]
        assert plain.queues() == held.queues()


def held_dispatcher(*levels: tuple[str, int]) -> Dispatcher:
    """Levels (name, shares) that borrow nothing, each for the user of its name."""
    made = Dispatcher(0.0, 60, held=True)
    made.reconfigure(
        0.0,
        [
            FlowSchema(
                name=name, level=name, rules=(PolicyRule((Subject("User", name),), (RULE,)),)
            )
            for name, _ in levels
        ],
        [
            PriorityLevel(
                name=name,
                kind=LevelKind.QUEUE,
                shares=shares,
                borrowing_limit_percent=0,
                queuing=Queuing(4, 1, 50),
            )
            for name, shares in levels
        ],
    )
    return made


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from([0.0, 0.01, 3.0])),
        max_size=80,
    )
)
def test_dispatcher_invariants(history: list[tuple[int, int, float]]) -> None:
    """Whatever comes and goes, each request of each level starts once, and all drain."""
    made = held_dispatcher(("a", 10), ("b", 30))
    alive: dict[Ticket, bool] = {}  # whether it was started
    t = 0.0

    def start(tickets: tuple[Ticket, ...]) -> None:
        for ticket in tickets:
            assert alive[ticket] is False, "started twice"
            assert ticket.state is EXECUTING
            alive[ticket] = True

    for action, pick, dt in history:
        t += dt
        waiting = [ticket for ticket, started in alive.items() if not started]
        running = [ticket for ticket, started in alive.items() if started]
        if action <= 4:
            user = "ab"[pick % 2]
            outcome = made.arrive(t, RequestDigest(user, (), "get"), at_once=action == 0)
            if not isinstance(outcome, Refusal):
                alive[outcome] = outcome.state is EXECUTING
        elif action <= 6:
            seats = pick + 1
            round_ = made.dispatch(t, seats)
            start(round_.started)
            assert sum(ticket.seats for ticket in round_.started) <= seats
        elif action == 7 and running:
            ticket = running[pick % len(running)]
            assert made.finish(t, ticket).started == ()
            del alive[ticket]
        elif action == 8 and waiting:
            ticket = waiting[pick % len(waiting)]
            made.abandon(t, ticket, Reason.CANCELLED)
            del alive[ticket]
        else:
            made.adjust(t)
        for level in made.statistics(t).levels:
            if level.name in "ab":
                assert level.queues.seats_in_use <= level.limits.nominal
        assert made.waiting == (False in alive.values())
    while made.waiting:
        round_ = made.dispatch(t, 100)
        start(round_.started)
        for ticket in [ticket for ticket, started in alive.items() if started]:
            made.finish(t, ticket)
            del alive[ticket]
    assert not any(started is False for started in alive.values())
