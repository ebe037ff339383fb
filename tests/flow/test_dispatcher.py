"""Levels together: configuration, borrowing, draining, refusals."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.config import (
    Distinguisher,
    FlowSchema,
    LevelKind,
    PolicyRule,
    PriorityLevel,
    Queuing,
    ResourceRule,
    Subject,
    digest,
)
from kubetrio.flow.dispatcher import Dispatcher, wait_limit
from kubetrio.flow.outcomes import Refusal
from kubetrio.flow.report import LevelStatistics
from kubetrio.flow.seats import ONE_SEAT, Width
from kubetrio.flow.ticket import Reason, Ticket, TicketState
from kubetrio.schema import builtin

EXECUTING, QUEUED = TicketState.EXECUTING, TicketState.QUEUED
RULE = ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",))


def schema(name: str, level: str = "", uid: str = "") -> FlowSchema:
    """A schema for the user of its name."""
    return FlowSchema(
        name=name,
        uid=uid,
        level=level or name,
        distinguisher=Distinguisher.BY_NAMESPACE,
        rules=(PolicyRule((Subject("User", name),), (RULE,)),),
    )


def queue(name: str, shares: int = 10, lendable: int = 0, length: int = 5) -> PriorityLevel:
    """A level with queues."""
    return PriorityLevel(
        name=name,
        kind=LevelKind.QUEUE,
        shares=shares,
        lendable_percent=lendable,
        queuing=Queuing(4, 2, length),
    )


def dispatcher(*levels: PriorityLevel, server_limit: int = 20) -> Dispatcher:
    """A dispatcher with these levels, each for the user of its name."""
    made = Dispatcher(0.0, server_limit)
    made.reconfigure(0.0, [schema(level.name) for level in levels], levels)
    return made


def request(user: str, verb: str = "get", *groups: str) -> RequestDigest:
    """A request of the user for whom there may be a level."""
    return RequestDigest(
        user, (*groups, "system:authenticated"), verb, namespace="n", resource="pods"
    )


def arrive(made: Dispatcher, t: float, user: str, width: Width = ONE_SEAT) -> Ticket:
    """Have a request accepted."""
    outcome = made.arrive(t, request(user), width)
    assert isinstance(outcome, Ticket)
    return outcome


def levels(made: Dispatcher, t: float = 0.0) -> dict[str, LevelStatistics]:
    """Statistics by level name."""
    return {level.name: level for level in made.statistics(t).levels}


def test_without_configuration() -> None:
    """The mandatory levels exist from the beginning: exempt admits, catch-all admits some."""
    made = Dispatcher(0.0, 10)
    assert list(levels(made)) == ["catch-all", "exempt"]
    root = made.arrive(0, request("root", "get", "system:masters"))
    assert isinstance(root, Ticket)
    assert root.level == "exempt"
    tickets = [made.arrive(0, request("x")) for _ in range(11)]
    assert [type(ticket) for ticket in tickets] == [Ticket] * 10 + [Refusal]


def test_fresh_server() -> None:
    """All bootstrap objects together, with 600 seats: everyone is served by the level meant."""
    objects = builtin.load("bootstrap").items()
    config = digest(
        [value for name, value in objects if name.startswith("FlowSchema ")],
        [value for name, value in objects if name.startswith("PriorityLevelConfiguration ")],
    )
    made = Dispatcher(0.0, 600)
    assert made.reconfigure(0.0, config.schemas, config.levels).dangling == frozenset()
    assert arrive(made, 1, "alice").level == "global-default"
    assert arrive(made, 1, "system:kube-scheduler").level == "workload-high"
    assert {name: one.limits.nominal for name, one in levels(made).items()} == {
        "catch-all": 13,
        "exempt": 0,
        "global-default": 49,
        "leader-election": 25,
        "node-high": 98,
        "system": 74,
        "workload-high": 98,
        "workload-low": 245,
    }


def test_exempt_seats_are_accounted() -> None:
    """Exempt requests are never refused and count against what others can get."""
    made = dispatcher(queue("a", 95))
    for _ in range(50):
        made.arrive(0, request("root", "get", "system:masters"))
    made.adjust(10)
    exempt = levels(made, 10)["exempt"]
    assert (exempt.queues.seats_in_use, exempt.current_limit) == (50, 50)
    assert levels(made, 10)["a"].current_limit == levels(made, 10)["a"].limits.minimum


def test_dangling_schemas() -> None:
    """A schema of a level that is not there is reported and does not match."""
    made = Dispatcher(0.0, 10)
    result = made.reconfigure(0, [schema("a", "nowhere"), schema("b")], [queue("b")])
    assert result.dangling == {"a"}
    assert arrive(made, 0, "a").level == "catch-all"


def test_mandatory_schemas_cannot_drift() -> None:
    """Whatever is stored under a mandatory name, the built-in rules apply, with its uid."""
    made = Dispatcher(0.0, 10)
    made.reconfigure(0, [FlowSchema(name="exempt", level="b", uid="7")], [queue("b")])
    found = made.classify(request("root", "get", "system:masters"))
    assert (found.level, found.schema_uid) == ("exempt", "7")


def test_exempt_level_keeps_what_it_had() -> None:
    """While the exempt object is missing its last configuration holds."""
    tuned = PriorityLevel(name="exempt", kind=LevelKind.EXEMPT, shares=20, uid="x")
    made = Dispatcher(0.0, 100)
    made.reconfigure(0, [], [tuned])
    made.reconfigure(1, [], [])
    assert levels(made)["exempt"].limits.nominal == 80
    assert made.classify(request("root", "get", "system:masters")).level_uid == "x"


def test_shares_are_divided_anew() -> None:
    """Adding, changing and removing levels moves everyone's nominal limit."""
    made = dispatcher(queue("a", 15))

    def nominal() -> dict[str, int]:
        return {name: one.limits.nominal for name, one in levels(made).items()}

    assert nominal() == {"a": 15, "catch-all": 5, "exempt": 0}
    made.reconfigure(1, [], [queue("a", 15), queue("b", 20)])
    assert nominal() == {"a": 8, "b": 10, "catch-all": 3, "exempt": 0}
    made.reconfigure(2, [], [queue("a", 35), queue("b", 20)])
    assert nominal()["a"] == 12
    made.reconfigure(3, [], [queue("b", 20)])
    assert nominal() == {"b": 16, "catch-all": 4, "exempt": 0}


def test_reconfiguration_keeps_requests() -> None:
    """Requests waiting and executing in a level that stays are not disturbed."""
    made = dispatcher(queue("a", 5), server_limit=4)
    tickets = [arrive(made, 0, "a") for _ in range(5)]
    states = [ticket.state for ticket in tickets]
    assert {EXECUTING, QUEUED} == set(states)
    made.reconfigure(1, [schema("a")], [queue("a", 5, length=7)])
    assert [ticket.state for ticket in tickets] == states
    for ticket in tickets:
        made.finish(2, ticket)
    assert levels(made, 2)["a"].queues.dispatched == 5


def test_reconfiguration_may_start_requests() -> None:
    """A level that gets more shares uses them at once."""
    made = dispatcher(queue("a", 1), queue("b", 100), server_limit=10)
    tickets = [arrive(made, 0, "a") for _ in range(5)]
    waiting = {ticket for ticket in tickets if ticket.state is QUEUED}
    started = made.reconfigure(1, [schema("a")], [queue("a", 1000)]).started
    assert set(started) == waiting


def test_removed_level_drains() -> None:
    """A level that is removed gets no new requests, finishes its own, and is gone."""
    made = dispatcher(queue("a", 5), server_limit=4)
    tickets = [arrive(made, 0, "a") for _ in range(4)]
    assert {ticket.state for ticket in tickets} == {EXECUTING, QUEUED}
    made.reconfigure(1, [schema("a")], [])
    assert levels(made)["a"].quiescing
    assert levels(made)["a"].limits.nominal == 2
    assert arrive(made, 1, "a").level == "catch-all"
    for ticket in tickets[:3]:
        made.finish(2, ticket)
    assert "a" in levels(made)
    made.finish(3, tickets[3])
    assert "a" not in levels(made)
    assert levels(made)["catch-all"].limits.nominal == 4


def test_removed_level_drains_by_abandonment_and_lingering() -> None:
    """The last request may also be one that leaves, or seats that lingered."""
    made = dispatcher(queue("a", 5), server_limit=2)
    running = arrive(made, 0, "a", Width(1, 1, 5.0))
    waiting = [arrive(made, 0, "a") for _ in range(3)]
    made.reconfigure(1, [], [])
    assert made.finish(2, running).lingers_until == 7
    for ticket in waiting:
        if ticket.state is QUEUED:
            made.abandon(3, ticket, Reason.CANCELLED)
        else:
            made.finish(3, ticket)
    assert "a" in levels(made, 3)
    assert made.next_event_time() == 7
    made.advance(7)
    assert "a" not in levels(made, 7)


def test_idle_level_is_removed_at_once() -> None:
    """Nothing to drain, nothing to keep."""
    made = dispatcher(queue("a"))
    made.reconfigure(1, [], [])
    assert "a" not in levels(made)


def test_removed_level_may_come_back() -> None:
    """A level configured again while it drains is the same level, with its requests."""
    made = dispatcher(queue("a"))
    ticket = arrive(made, 0, "a")
    made.reconfigure(1, [], [])
    made.reconfigure(2, [schema("a")], [queue("a")])
    assert not levels(made)["a"].quiescing
    arrive(made, 3, "a")
    made.finish(3, ticket)
    assert levels(made)["a"].queues.executing == 1


def test_level_may_change_its_response() -> None:
    """From queues to none and back, without losing anybody."""
    made = dispatcher(queue("a", 5), server_limit=4)
    tickets = [arrive(made, 0, "a") for _ in range(5)]
    reject = PriorityLevel(name="a", kind=LevelKind.REJECT, shares=5)
    made.reconfigure(1, [schema("a")], [reject])
    assert isinstance(made.arrive(1, request("a")), Refusal)
    for ticket in tickets:
        made.finish(2, ticket)
    made.reconfigure(3, [schema("a")], [queue("a", 5)])
    assert arrive(made, 3, "a").state is EXECUTING


def test_old_classification_is_not_used() -> None:
    """A remembered class is looked up anew after the configuration changed."""
    made = dispatcher(queue("a"), queue("b"))
    remembered = made.classify(request("a"))
    made.reconfigure(1, [schema("a", "b")], [queue("b")])
    outcome = made.arrive(1, request("a"), ONE_SEAT, remembered)
    assert isinstance(outcome, Ticket)
    assert outcome.level == "b"


def test_width_bound_is_told() -> None:
    """The class of a request says how wide it may be in its level."""
    made = dispatcher(queue("a", 95), server_limit=100)
    assert made.classify(request("a")).max_seats == 15
    assert made.classify(request("x")).max_seats is None


@pytest.mark.parametrize("reason", [Reason.TIME_OUT, Reason.CANCELLED])
def test_refusals_lengthen_retry_after(reason: Reason) -> None:
    """Requests refused, timed out or cancelled all count towards Retry-After."""
    made = dispatcher(queue("a", 5, length=1000), server_limit=2)
    delays = []
    for second in range(12):
        for _ in range(70):
            ticket = arrive(made, second, "a")
            if ticket.state is QUEUED:
                delays.append(made.abandon(second + 0.1, ticket, reason).retry_after_s)
    assert delays[0] == 1
    assert delays[-1] == 8
    assert levels(made)["a"].retry_after_s == 8


def test_refusal_at_the_door() -> None:
    """A full queue refuses with its reason and the delay."""
    made = dispatcher(queue("a", 5, length=1), server_limit=2)
    outcomes = [made.arrive(0, request("a")) for _ in range(10)]
    assert outcomes[-1] == Refusal(Reason.QUEUE_FULL, 1)


def test_borrowed_seats_return_to_the_owner() -> None:
    """A level that lent has its nominal limit after the next adjustment, if it wants it."""
    made = dispatcher(
        queue("a", 45, 80, length=500), queue("b", 50, 0, length=500), server_limit=100
    )
    for _ in range(300):
        made.arrive(0, request("b"))
    for t in (10, 20):
        made.adjust(t)
    assert levels(made)["b"].current_limit > 80
    for _ in range(60):
        made.arrive(21, request("a"))
    made.adjust(30)
    assert levels(made)["a"].current_limit >= 45


def test_adjustment_starts_requests() -> None:
    """Whoever gets seats by an adjustment runs at once."""
    made = dispatcher(queue("a", 45, 80), queue("b", 50, 0, length=500), server_limit=100)
    tickets = [arrive(made, 0, "b") for _ in range(100)]
    waiting = {ticket for ticket in tickets if ticket.state is QUEUED}
    started = made.adjust(10)
    assert started
    assert set(started) <= waiting


def test_read_and_write_are_told_apart() -> None:
    """The ratio of requests by phase and kind, over the limits of all levels together."""
    made = dispatcher(queue("a", 15), server_limit=20)
    made.arrive(0, request("a", "create"))
    made.arrive(0, request("a", "list"))
    ratios = made.statistics(1).read_write
    assert ratios["executing", "mutating"].total == pytest.approx(1e9 / 20)
    assert ratios["executing", "readOnly"].total == pytest.approx(1e9 / 20)
    assert ratios["waiting", "mutating"].total == 0


def test_rows() -> None:
    """The debug pages' rows, by level in order of name."""
    made = dispatcher(queue("b"), queue("a"))
    arrive(made, 1, "a")
    assert list(made.queues()) == ["a", "b", "catch-all", "exempt"]
    assert [len(rows) for rows in made.queues().values()] == [4, 4, 0, 0]
    (row,) = made.requests()["a"]
    assert (row.schema, row.distinguisher, row.about) == ("a", "n", request("a"))


def test_foreign_ticket() -> None:
    """A ticket of a level that is not there is refused as a mistake."""
    ticket = arrive(dispatcher(queue("a")), 0, "a")
    with pytest.raises(ValueError, match="of no level"):
        Dispatcher(0.0, 1).finish(1, ticket)


@pytest.mark.parametrize(("remaining", "limit"), [(60, 15), (20, 5), (1000, 60)])
def test_wait_limit(remaining: float, limit: float) -> None:
    """A quarter of the time a request has, at most a minute."""
    assert wait_limit(remaining) == limit


class Model:
    """Drives a dispatcher at random and checks that nothing is lost, doubled or left over."""

    def __init__(self) -> None:
        self.made = dispatcher(queue("a"), queue("b", 20, 50), server_limit=8)
        self.t = 0.0
        self.alive: set[Ticket] = set()
        self.ran: set[Ticket] = set()

    def run(self, tickets: Iterable[Ticket]) -> None:
        for ticket in tickets:
            assert ticket in self.alive
            assert ticket not in self.ran, "executed twice"
            assert ticket.state is EXECUTING
            self.ran.add(ticket)

    def step(self, action: int, pick: int, width: Width, dt: float) -> None:
        self.t += dt
        made, t = self.made, self.t
        of = {
            state: sorted(
                (x for x in self.alive if x.state is state), key=lambda x: (x.level, x.serial)
            )
            for state in (QUEUED, EXECUTING)
        }
        if action <= 4:
            user, groups = (("a", ()), ("b", ()), ("c", ()), ("r", ("system:masters",)))[pick % 4]
            outcome = made.arrive(t, request(user, "get", *groups), width)
            if isinstance(outcome, Ticket):
                self.alive.add(outcome)
                if outcome.state is EXECUTING:
                    self.run([outcome])
        elif action <= 7 and of[EXECUTING]:
            ticket = of[EXECUTING][pick % len(of[EXECUTING])]
            self.alive.discard(ticket)
            self.run(made.finish(t, ticket).started)
        elif action == 8 and of[QUEUED]:
            ticket = of[QUEUED][pick % len(of[QUEUED])]
            self.alive.discard(ticket)
            self.run(made.abandon(t, ticket, Reason.TIME_OUT).started)
        elif action == 9:
            names = ["a", "b", "c"][: pick % 4]
            shares = 1 + pick * 7
            self.run(
                made.reconfigure(
                    t,
                    [schema(name) for name in names],
                    [queue(n, shares, 10 * pick) for n in names],
                ).started
            )
        elif action == 10:
            self.run(made.adjust(t))
        else:
            self.run(made.advance(t))
        self.check()

    def check(self) -> None:
        statistics = self.made.statistics(self.t)
        assert {level.name for level in statistics.levels} >= {"exempt", "catch-all"}
        waiting = sum(level.queues.waiting for level in statistics.levels)
        executing = sum(level.queues.executing for level in statistics.levels)
        assert waiting == sum(x.state is QUEUED for x in self.alive)
        assert executing == sum(x.state is EXECUTING for x in self.alive)
        for level in statistics.levels:
            assert not (level.quiescing and level.name in ("exempt", "catch-all"))
            if level.quiescing:
                queues = level.queues
                assert queues.waiting or queues.executing or queues.lingering

    def drain(self) -> None:
        self.run(self.made.reconfigure(self.t, [schema("a")], [queue("a", 100)]).started)
        for _ in range(2000):
            running = [ticket for ticket in self.alive if ticket.state is EXECUTING]
            due = self.made.next_event_time()
            if not self.alive and due is None:
                break
            self.t = max(self.t, due) if due is not None else self.t + 10
            self.run(self.made.advance(self.t))
            self.run(self.made.adjust(self.t))
            for ticket in running:
                self.alive.discard(ticket)
                self.run(self.made.finish(self.t, ticket).started)
        assert not self.alive
        assert list(levels(self.made, self.t)) == ["a", "catch-all", "exempt"]


steps = st.lists(
    st.tuples(
        st.integers(0, 11),
        st.integers(0, 9),
        st.sampled_from([ONE_SEAT, ONE_SEAT, Width(2), Width(1, 3, 0.5)]),
        st.sampled_from([0.0, 0.01, 3.0]),
    ),
    max_size=50,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_invariants(history: list[tuple[int, int, Width, float]]) -> None:
    """Whatever happens, no request is lost or run twice, and removed levels drain and go."""
    model = Model()
    for step in history:
        model.step(*step)
    model.drain()
