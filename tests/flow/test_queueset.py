"""The queues of one level: rules one by one, then invariants over random histories."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Callable

import pytest
from examples import shortened
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow.config import Queuing
from kubetrio.flow.outcomes import Finished, Rejected
from kubetrio.flow.queueset import QueueSet
from kubetrio.flow.seats import ONE_SEAT, Width
from kubetrio.flow.shuffle import flow_hash
from kubetrio.flow.ticket import Flow, Reason, Ticket, TicketState

A, B, C = (Flow("schema", name, i) for i, name in enumerate("abc"))
EXECUTING, QUEUED = TicketState.EXECUTING, TicketState.QUEUED


def level(limit: int = 1, length: int = 10, queues: int = 3) -> QueueSet:
    """A level in which flows A, B and C have a queue each."""
    return QueueSet(0.0, "level", limit, Queuing(queues, 1, length))


def arrive(server: QueueSet, t: float, flow: Flow, width: Width = ONE_SEAT) -> Ticket:
    """Have a request accepted."""
    outcome = server.arrive(t, flow, width, about=f"at {t}")
    assert isinstance(outcome, Ticket)
    return outcome


def test_free_seat_is_taken_at_once() -> None:
    """With a seat free a request executes without waiting."""
    server = level(2)
    assert [arrive(server, 0, A).state for _ in range(3)] == [EXECUTING, EXECUTING, QUEUED]


def test_finish_starts_the_next() -> None:
    """A seat that falls free goes to a waiting request."""
    server = level()
    first, second = arrive(server, 0, A), arrive(server, 0, A)
    assert server.finish(1, first) == Finished((second,), None)
    assert (second.state, second.started_at) == (EXECUTING, 1)
    assert first.state is TicketState.DONE


def test_within_a_queue_first_come_first_served() -> None:
    """Requests of one flow start in the order in which they came."""
    server = level()
    running, *waiting = [arrive(server, i, A) for i in range(5)]
    for expected in waiting:
        (running,) = server.finish(10, running).started
        assert running is expected


def test_queues_take_turns() -> None:
    """A flow with one request does not wait for the many of another."""
    server = level()
    running = arrive(server, 0, A)
    many = [arrive(server, 0, A) for _ in range(5)]
    one = arrive(server, 0.01, B)
    (running,) = server.finish(0.02, running).started
    assert running is one
    assert server.finish(0.03, running).started == (many[0],)


def test_queue_full() -> None:
    """With no seat free and the queue at its length limit a request is refused."""
    server = level(length=2)
    for _ in range(3):
        arrive(server, 0, A)
    assert server.arrive(0, A, ONE_SEAT) == Rejected(Reason.QUEUE_FULL)
    assert arrive(server, 0, B).state is QUEUED


def test_reject_level() -> None:
    """A level without queues executes at once or refuses."""
    server = QueueSet(0, "level", 2)
    running = arrive(server, 0, A)
    arrive(server, 0, A)
    assert server.arrive(0, A, ONE_SEAT) == Rejected(Reason.CONCURRENCY_LIMIT)
    server.finish(1, running)
    assert arrive(server, 1, A).state is EXECUTING


def test_exempt_level_is_unlimited_but_accounted() -> None:
    """An exempt level refuses nothing, whatever its limit says, and counts its seats."""
    server = QueueSet(0, "exempt", None)
    server.set_limit(0, 1, 60)
    tickets = [arrive(server, 0, A, Width(3)) for _ in range(50)]
    assert {ticket.state for ticket in tickets} == {EXECUTING}
    assert server.statistics(0).seats_in_use == 150


def test_least_loaded_queue_of_the_hand() -> None:
    """A request enters the queue of its flow's hand in which least work waits."""
    server = QueueSet(0, "level", 1, Queuing(8, 3, 50))
    flow = Flow("s", "x", flow_hash("s", "x"))
    arrive(server, 0, flow)
    tickets = [arrive(server, 0, flow, Width(width)) for width in (9, 1, 1, 1, 1, 1)]
    used: dict[int, int] = {}
    for ticket in tickets:
        assert ticket.queue is not None
        used[ticket.queue.index] = used.get(ticket.queue.index, 0) + 1
    assert sorted(used.values()) == [1, 2, 3]


def test_lingering() -> None:
    """Seats are held for the additional latency, which the caller is told and asks for."""
    server = level(2)
    first = arrive(server, 0, A, Width(1, 2, 0.5))
    waiting = arrive(server, 0, A)
    assert waiting.state is QUEUED
    assert server.finish(1, first) == Finished((), 1.5)
    assert (first.state, server.next_event_time()) == (TicketState.LINGERING, 1.5)
    assert server.advance(1.49) == ()
    assert server.advance(1.5) == (waiting,)
    assert first.state is TicketState.DONE
    assert server.next_event_time() is None


def test_final_seats_fit_the_limit() -> None:
    """More final seats than the level has are reshaped to as many, for longer."""
    server = level(4)
    ticket = arrive(server, 0, A, Width(1, 10, 0.2))
    assert (ticket.seats, ticket.final_seats) == (4, 4)
    assert server.finish(0, ticket).lingers_until == pytest.approx(0.5)


def test_wide_request_runs_alone() -> None:
    """One wider than the level waits until no seat is in use, and then keeps others out."""
    server = level(3)
    small = arrive(server, 0, A)
    wide = arrive(server, 0, B, Width(5))
    assert server.finish(1, small).started == (wide,)
    after = arrive(server, 1, A)
    assert after.state is QUEUED
    assert server.finish(2, wide).started == (after,)


def test_wide_request_is_not_overtaken_for_ever() -> None:
    """While the next in order does not fit, narrower ones wait rather than starve it."""
    server = level(2)
    first, second = arrive(server, 0, A), arrive(server, 0.5, A)
    wide = arrive(server, 0.5, B, Width(2))
    narrow = arrive(server, 0.6, A)
    assert server.finish(1, first).started == ()
    assert server.statistics(1).schemas["schema"].no_accommodation > 0
    assert server.finish(2, second).started == (wide,)
    assert server.finish(3, wide).started == (narrow,)


def test_abandon() -> None:
    """A request that leaves never runs, and is counted by its reason."""
    server = level()
    running, gone, stays = (arrive(server, 0, A) for _ in range(3))
    assert server.abandon(1, gone, Reason.TIME_OUT) == ()
    assert gone.state is TicketState.LEFT
    assert server.finish(2, running).started == (stays,)
    statistics = server.statistics(2)
    assert (statistics.rejected, statistics.timed_out, statistics.cancelled) == (1, 1, 0)


def test_abandon_may_make_room() -> None:
    """When a wide request that blocked others leaves, they start."""
    server = level(2)
    arrive(server, 0, A)
    wide, narrow = arrive(server, 0, B, Width(2)), arrive(server, 0, B)
    assert server.abandon(1, wide) == (narrow,)


def test_abandon_leaves_no_trace_in_virtual_time() -> None:
    """A request that came and left does not change in which order the others start."""

    def order(*, ghosts: bool) -> list[object]:
        server = level(1, 100)
        running = arrive(server, 0, C)
        for i in range(10):
            for flow in (A, B):
                arrive(server, 1 + i / 100, flow)
            if ghosts:
                left = [arrive(server, 1 + i / 100, A, Width(1 + i)) for _ in range(3)]
                for ticket in left:
                    server.abandon(1.005 + i / 100, ticket)
        started: list[object] = []
        for t in range(2, 22):
            (running,) = server.finish(t, running).started
            started.append((running.flow.distinguisher, running.arrived_at))
        return started

    assert order(ghosts=True) == order(ghosts=False)


def test_abandon_takes_back_what_an_arrival_raised() -> None:
    """A queue's virtual start is as before once the request that raised it has left."""
    server = level(2)
    arrive(server, 0, A)
    arrive(server, 0, B)
    busy = arrive(server, 0, B)
    server.abandon(50, busy)
    before = [dataclasses.replace(row) for row in server.queues()]
    server.abandon(50, arrive(server, 50, A))
    assert list(server.queues()) == before


def test_raising_the_limit_starts_requests() -> None:
    """More seats are used at once; fewer only as requests finish."""
    server = level(1)
    first = arrive(server, 0, A)
    waiting = [arrive(server, 0, A) for _ in range(4)]
    assert server.set_limit(1, 3) == tuple(waiting[:2])
    assert server.set_limit(2, 1) == ()
    assert server.finish(3, first).started == ()
    assert server.statistics(3).seats_in_use == 2


def test_level_without_seats_queues() -> None:
    """With a limit of zero nothing starts, until there are seats."""
    server = level(0)
    ticket = arrive(server, 0, A)
    assert ticket.state is QUEUED
    assert server.set_limit(1, 1) == (ticket,)


@pytest.mark.parametrize("after", [Queuing(1, 1, 1), Queuing(64, 8, 50), None])
def test_reconfigured_queues_drain(after: Queuing | None) -> None:
    """However the queues change, what waits stays and runs in its turn."""
    server = level()
    running = arrive(server, 0, A)
    waiting = {arrive(server, 0, flow) for flow in (A, B, C) for _ in range(3)}
    assert server.reconfigure(1, after) == ()
    for _ in range(9):
        (running,) = server.finish(2, running).started
        waiting.remove(running)
    server.finish(3, running)
    assert not waiting
    assert server.drained
    assert len(server.queues()) == (after.queues if after else 0)


def test_surplus_queues_get_no_more_requests() -> None:
    """After fewer queues are configured, requests enter only the first ones."""
    server = level(queues=3)
    arrive(server, 0, A)
    arrive(server, 0, C)
    server.reconfigure(0, Queuing(2, 1, 10))
    entered = [arrive(server, 0, Flow("schema", str(i), i)).queue for i in range(8)]
    assert {queue.index for queue in entered if queue} == {0, 1}
    assert [row.index for row in server.queues()] == [0, 1, 2]


@pytest.mark.parametrize(
    "misuse",
    [
        lambda server, queued, _: server.finish(1, queued),
        lambda server, _, running: server.abandon(1, running),
        lambda server, _, running: (server.finish(1, running), server.finish(1, running)),
        lambda server, queued, _: (server.abandon(1, queued), server.abandon(1, queued)),
        lambda server, _, running: QueueSet(0, "other", 1).finish(1, running),
    ],
)
def test_misuse_is_an_error(misuse: Callable[[QueueSet, Ticket, Ticket], object]) -> None:
    """Finishing what does not execute, or abandoning what does not wait, raises."""
    server = level()
    running, queued = arrive(server, 0, A), arrive(server, 0, A)
    with pytest.raises(ValueError, match="is not"):
        misuse(server, queued, running)


def test_time_does_not_go_back() -> None:
    """An earlier time counts as the latest."""
    server = level(2)
    arrive(server, 5, A)
    assert arrive(server, 4, A).arrived_at == 5


def test_statistics() -> None:
    """The numbers of the metrics and the debug pages."""
    server = level(2, 10)
    running = arrive(server, 0, A, Width(2))
    arrive(server, 1, A)
    arrive(server, 1, B, Width(2, 1, 0.1))
    statistics = server.statistics(2)
    assert (statistics.waiting, statistics.executing, statistics.lingering) == (2, 1, 0)
    assert (statistics.seats_in_use, statistics.seats_waiting) == (2, 3)
    assert (statistics.waiting_queues, statistics.active_queues, statistics.idle) == (2, 2, False)
    # One queue had both seats for a second, then two shared them.
    assert statistics.current_r == 300_000_000
    assert statistics.next_s_bounds == (200_000_000, 400_300_000 + 300_000)
    schema = statistics.schemas["schema"]
    assert (schema.waiting_requests, schema.waiting_seats) == (2, 3)
    assert (schema.executing_requests, schema.executing_seats) == (1, 2)
    assert statistics.seat_ratio.total == pytest.approx(2e9)
    assert statistics.demand_ratio.total == pytest.approx(1e9 * (1 + 2.5))
    assert statistics.waiting_ratio.total == pytest.approx(1e9 * 2 / 30)
    rows = server.queues()
    assert [(row.index, row.waiting, row.executing, row.seats_in_use) for row in rows] == [
        (0, 1, 1, 2),
        (1, 1, 0, 0),
        (2, 0, 0, 0),
    ]
    assert (rows[1].initial_seats_sum, rows[1].max_seats_sum) == (2, 2)
    assert rows[1].total_work_sum == 2 * 300_000 + 10_000_000
    assert [(row.queue, row.position, row.about) for row in server.requests()] == [
        (0, 0, "at 1"),
        (0, -1, "at 0"),
        (1, 0, "at 1"),
    ]
    assert [row.started_at for row in server.requests()] == [None, 0, None]
    server.finish(3, running)
    assert server.statistics(3).dispatched == 2


def test_demand() -> None:
    """Demand is seats in use and waiting; its peak counts even if it lasted no time."""
    server = level(1)
    running, waiting = arrive(server, 0, A), arrive(server, 0, A)
    spike = arrive(server, 5, A, Width(7))
    server.abandon(5, spike)
    server.abandon(5, waiting)
    window = server.take_demand(10)
    assert (window.duration_s, window.average, window.high_watermark) == (10, 1.5, 9)
    server.finish(10, running)
    assert server.take_demand(20).high_watermark == 1
    assert server.take_demand(30).high_watermark == 0


def test_idle_queues_cost_nothing() -> None:
    """Ten million queues are no more memory than the requests in them."""
    server = QueueSet(0, "level", 1, Queuing(10_000_000, 2, 50))
    for i in range(100):
        ticket = arrive(server, i, Flow("s", str(i), flow_hash("s", str(i))))
        server.finish(i + 0.5, ticket)
    assert server._backlog.used == {}


def test_ten_thousand_waiting_requests_are_small() -> None:
    """10,000 waiting requests take less than 20 MB (about 3 MB)."""
    server = QueueSet(0, "level", 1, Queuing(128, 6, 1000))
    flows = [Flow("s", str(i), flow_hash("s", str(i))) for i in range(100)]
    tracemalloc.start()
    try:
        kept = [arrive(server, 0, flows[i % 100]) for i in range(10_000)]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == 10_000
    assert used < 20_000_000


class Model:
    """Drives a queue set at random and checks, after every step, what must always hold."""

    def __init__(self, limit: int, queuing: Queuing | None) -> None:
        self.server = QueueSet(0.0, "level", limit, queuing)
        self.limit = limit
        self.length_limit = queuing.queue_length_limit if queuing else 0
        self.t = 0.0
        self.r = 0
        self.alive: set[Ticket] = set()
        self.ran: set[Ticket] = set()
        self.arrived = self.refused = self.left = self.done = 0

    def run(self, tickets: tuple[Ticket, ...]) -> None:
        for ticket in tickets:
            assert ticket in self.alive
            assert ticket not in self.ran, "executed twice"
            assert ticket.state is EXECUTING
            self.ran.add(ticket)

    def step(self, action: int, pick: int, width: Width, dt: float) -> None:
        self.t += dt
        before = {ticket for ticket in self.alive if ticket.state is EXECUTING}
        queued = sorted((x for x in self.alive if x.state is QUEUED), key=lambda x: x.serial)
        running = sorted(before, key=lambda x: x.serial)
        if action <= 4:
            self.arrive(Flow(f"s{pick % 2}", str(pick), flow_hash("s", str(pick))), width)
        elif action <= 7 and running:
            ticket = running[pick % len(running)]
            self.run(self.server.finish(self.t, ticket).started)
            self.alive.discard(ticket)
            self.done += 1
        elif action == 8 and queued:
            ticket = queued[pick % len(queued)]
            started = self.server.abandon(self.t, ticket, Reason.TIME_OUT)
            self.alive.discard(ticket)
            self.left += 1
            self.run(started)
        elif action == 9:
            self.limit = pick
            self.run(self.server.set_limit(self.t, pick))
        elif action == 10:
            queuing = (None, Queuing(2, 1, 3), Queuing(8, 3, 2), Queuing(1, 1, 5))[pick % 4]
            self.length_limit = max(self.length_limit, queuing.queue_length_limit if queuing else 0)
            self.run(self.server.reconfigure(self.t, queuing))
        else:
            self.run(self.server.advance(self.t))
        after = {ticket for ticket in self.alive if ticket.state is EXECUTING}
        self.check(bool(after - before))

    def arrive(self, flow: Flow, width: Width) -> None:
        self.arrived += 1
        waiting = {x for x in self.alive if x.state is QUEUED}
        free = self.server._seats_in_use < self.limit
        outcome = self.server.arrive(self.t, flow, width)
        assert {x for x in self.alive if x.state is QUEUED} == waiting, "started another"
        if isinstance(outcome, Rejected):
            self.refused += 1
            return
        self.alive.add(outcome)
        if outcome.state is EXECUTING:
            self.run((outcome,))
        elif not free:
            assert outcome.queue is not None
            assert len(outcome.queue.waiting) <= self.length_limit

    def check(self, began: bool) -> None:
        self.check_counts(began)
        # Requests wait only for seats, and somebody will make room.
        queued = [x for x in self.alive if x.state is QUEUED]
        if queued and self.server._seats_in_use < self.limit:
            assert self.server._executing or self.server._lingering
            assert any(x.seats > 1 for x in queued)

    def check_counts(self, began: bool) -> None:
        server, statistics = self.server, self.server.statistics(self.t)
        queued = [x for x in self.alive if x.state is QUEUED]
        running = [x for x in self.alive if x.state is EXECUTING]
        # No request lost: all that arrived are somewhere, and the counts agree.
        assert self.arrived == self.refused + self.left + self.done + len(self.alive)
        assert len(queued) + len(running) == len(self.alive)
        assert (statistics.waiting, statistics.executing) == (len(queued), len(running))
        assert statistics.rejected == self.refused + self.left
        assert statistics.dispatched == len(self.ran)
        lingering = [ticket for _, _, ticket in server._lingering]
        assert statistics.lingering == len(lingering)
        assert statistics.seats_in_use == sum(x.seats for x in running + lingering)
        assert statistics.seats_waiting == sum(x.seats for x in queued)
        charged = [x.initial_seats for x in running if x.queue]
        charged += [x.final_seats for x in lingering if x.queue]
        assert server._charged_seats == sum(charged)
        for name in ("waiting", "executing"):
            assert getattr(statistics, name) == sum(
                getattr(one, f"{name}_requests") for one in statistics.schemas.values()
            )
        assert statistics.seats_in_use == sum(
            one.executing_seats for one in statistics.schemas.values()
        )
        # Seats exceed the limit only with one wide request alone, or if they did before.
        if began and statistics.seats_in_use > self.limit:
            assert (len(running), lingering) == (1, [])
        # Virtual time never goes back; queues exist exactly while used.
        assert statistics.current_r >= self.r
        self.r = statistics.current_r
        assert server._backlog.active == sum(
            bool(q.executing or q.head) for q in server._backlog.used.values()
        )
        assert set(server._backlog.waiting_in) == {
            i for i, q in server._backlog.used.items() if q.waiting
        }
        for queue in server._backlog.used.values():
            assert queue.head or queue.executing or queue.seats_in_use
            assert queue.head is next(iter(queue.waiting), None)
            assert queue.work == sum(x.work for x in queue.waiting)

    def drain(self) -> None:
        self.run(self.server.set_limit(self.t, max(1, self.limit)))
        for _ in range(10_000):
            running = [ticket for ticket in self.alive if ticket.state is EXECUTING]
            due = self.server.next_event_time()
            if not running and due is None:
                break
            self.t = max(self.t, due) if due is not None else self.t + 1
            self.run(self.server.advance(self.t))
            for ticket in running:
                self.run(self.server.finish(self.t, ticket).started)
                self.alive.discard(ticket)
                self.done += 1
        assert not self.alive
        assert self.server.drained
        assert self.server._backlog.used == {}


widths = st.one_of(
    st.just(ONE_SEAT),
    st.builds(Width, st.integers(1, 4)),
    st.builds(Width, st.integers(1, 3), st.integers(0, 6), st.sampled_from([0.0, 0.05, 1.0])),
)
steps = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 5), widths, st.sampled_from([0.0, 0.001, 0.3])),
    max_size=60,
)


@shortened(400)
@given(st.integers(0, 5), st.sampled_from([None, Queuing(4, 2, 2), Queuing(8, 3, 4)]), steps)
def test_invariants(
    limit: int, queuing: Queuing | None, history: list[tuple[int, int, Width, float]]
) -> None:
    """Over random arrivals, ends, cancellations and reconfigurations nothing is lost or doubled."""
    model = Model(limit, queuing)
    for step in history:
        model.step(*step)
    model.drain()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3), steps)
def test_shortcut_changes_nothing(limit: int, history: list[tuple[int, int, Width, float]]) -> None:
    """Starting at once gives the same state as entering the queue and being dispatched."""

    class Detour(QueueSet):
        def _uncontended(self, ticket: Ticket) -> bool:
            return False

    queuing = Queuing(4, 1, 3)
    plain, detour = QueueSet(0, "l", limit, queuing), Detour(0, "l", limit, queuing)
    pairs: list[tuple[Ticket, Ticket]] = []
    t = 0.0
    for action, pick, width, dt in history:
        t += dt
        if action <= 5:
            flow = Flow("s", str(pick), pick)
            one, two = plain.arrive(t, flow, width), detour.arrive(t, flow, width)
            assert type(one) is type(two)
            if isinstance(one, Ticket) and isinstance(two, Ticket):
                pairs.append((one, two))
        else:
            running = [pair for pair in pairs if pair[0].state is EXECUTING]
            if running:
                one, two = running[pick % len(running)]
                plain.finish(t, one)
                detour.finish(t, two)
            plain.advance(t)
            detour.advance(t)
        assert [one.state for one, _ in pairs] == [two.state for _, two in pairs]
        assert plain.queues() == detour.queues()
        assert plain._r == detour._r


def test_rows_of_many_queues() -> None:
    """A dump takes time and memory for the queues in use, not for those that could be."""
    many = Queuing(queues=10_000_000, hand_size=2, queue_length_limit=50)
    server = QueueSet(0.0, "x", 1, many)
    assert server.queues() == ()
    arrive(server, 0, A)
    assert [row.executing for row in server.queues()] == [1]
