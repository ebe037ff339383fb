"""Fairness in deterministic time, against max-min fair shares computed independently."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from simulator import Clients, Trace, flows, max_min, simulate

from kubetrio.flow.allocate import ADJUSTMENT_PERIOD_S
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
)
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.queueset import QueueSet
from kubetrio.flow.seats import Width
from kubetrio.flow.shuffle import Dealer, flow_hash
from kubetrio.flow.ticket import Flow

SEATS = 20
SEED = 7
TICK = 1e-8  # resolution of times


def level(seats: int = SEATS) -> QueueSet:
    """A level in which every flow has its own queue, long enough for all."""
    return QueueSet(0.0, "level", seats, Queuing(64, 1, 10_000))


def expect_fair(
    trace: Trace,
    clients: Sequence[Clients],
    window: tuple[float, float],
    *,
    seats: float = SEATS,
    within: float = 0.02,
) -> None:
    """Every flow active in the whole window held its fair share, to 2 %, and no seat idled."""
    active = [i for i, c in enumerate(clients) if c.start < window[1] and c.stop > window[0]]
    fair = max_min(seats, [clients[i].demand for i in active])
    got = [trace.seats(i, *window) for i in active]
    assert got == [pytest.approx(share, rel=within) for share in fair]
    assert trace.idle_while_waiting == 0


@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_equal_demands(count: int) -> None:
    """Flows that ask for equally much, and together for too much, get equal shares."""
    clients = [Clients(flow, 15, service=(0.05, 0.15)) for flow in flows(count)]
    trace = simulate(level(), clients, 60, seed=SEED)
    expect_fair(trace, clients, (10, 60))


@pytest.mark.parametrize("count", [2, 4, 7, 10])
def test_unequal_demands(count: int) -> None:
    """Small demands are met in full, the rest is shared equally by the large ones."""
    clients = [
        Clients(flow, 1 + i, service=(0.09, 0.11), rate=10) for i, flow in enumerate(flows(count))
    ]
    if count <= 4:  # 3 or 10 seats asked for: too little
        clients[-1] = Clients(clients[-1].flow, 60, service=(0.05, 0.15))
    trace = simulate(level(), clients, 60, seed=SEED)
    expect_fair(trace, clients, (10, 60))


def test_less_demand_than_seats_never_waits() -> None:
    """While a level has free seats no request of any flow waits at all."""
    clients = [Clients(flow, 6, service=(0.05, 0.3)) for flow in flows(3)]
    trace = simulate(level(), clients, 30, seed=SEED)
    assert max(wait for waits in trace.waits for _, wait in waits) < TICK


@pytest.mark.parametrize("count", [2, 4, 6])
def test_different_widths(count: int) -> None:
    """Shares are of seat-seconds: a flow of wide requests gets as many, in fewer requests."""
    seats = 60
    clients = [
        Clients(flow, 60, service=(0.05, 0.15), width=Width(1 + i % 2))
        for i, flow in enumerate(flows(count))
    ]
    trace = simulate(level(seats), clients, 60, seed=SEED)
    expect_fair(trace, clients, (10, 60), seats=seats)


def test_final_seats_are_charged_too() -> None:
    """Seats held after the response count for fairness like those held before."""
    a, b = flows(2)
    clients = [
        Clients(a, 60, service=(0.05, 0.15), width=Width(1, 2, 0.1)),
        Clients(b, 60, service=(0.05, 0.15)),
    ]
    trace = simulate(level(40), clients, 100, seed=SEED)
    shares = [trace.seats(who, 20, 100) for who in range(2)]
    assert shares[0] == pytest.approx(shares[1], rel=0.02)
    # Two seats are taken from the start of such a request, though charged only while it lingers:
    # of 0.4 seat-seconds taken 0.3 are charged.
    assert shares[0] * 4 / 3 + shares[1] == pytest.approx(40, rel=0.02)


@pytest.mark.parametrize("count", [2, 5, 9])
def test_late_flow(count: int) -> None:
    """A flow that comes late gets an equal share from then on, and no more for having waited."""
    first = [Clients(flow, 15, service=(0.05, 0.15)) for flow in flows(count + 1)]
    clients = [*first[:-1], Clients(first[-1].flow, 15, service=(0.05, 0.15), start=30)]
    trace = simulate(level(), clients, 80, seed=SEED)
    expect_fair(trace, clients, (5, 30))
    expect_fair(trace, clients, (30, 80))


def test_late_flow_beside_lingering_requests() -> None:
    """Seats taken but not charged do not put virtual time ahead of those who are there."""
    a, b, c = flows(3)
    clients = [
        Clients(a, 60, service=(0.05, 0.15), width=Width(1, 2, 0.1)),
        Clients(b, 60, service=(0.05, 0.15)),
        Clients(c, 60, service=(0.05, 0.15), start=50),
    ]
    trace = simulate(level(40), clients, 90, seed=SEED)
    shares = [trace.seats(who, 50.5, 90) for who in range(3)]
    assert shares == [pytest.approx(sum(shares) / 3, rel=0.02)] * 3


def test_flow_that_leaves() -> None:
    """The share of a flow that ends goes to the others at once."""
    a, b, c = flows(3)
    clients = [Clients(a, 20), Clients(b, 20), Clients(c, 20, stop=30)]
    trace = simulate(level(), clients, 80, seed=SEED)
    expect_fair(trace, clients, (5, 30))
    expect_fair(trace, clients, (31, 80))


def test_unused_share_is_not_saved_up() -> None:
    """A flow that used little for long gets no more than its share when it asks for more."""
    a, b = flows(2)
    clients = [
        Clients(a, 2, rate=10, service=(0.05, 0.15), stop=60),
        Clients(b, 40, service=(0.05, 0.15)),
        Clients(a, 40, service=(0.05, 0.15), start=60),
    ]
    trace = simulate(level(), clients, 120, seed=SEED)
    expect_fair(trace, clients[:2], (10, 60))
    late = (61, 120)
    shares = [trace.seats(0, *late) + trace.seats(2, *late), trace.seats(1, *late)]
    assert shares == [pytest.approx(10, rel=0.02)] * 2


def test_excess_share_is_not_held_against_a_flow() -> None:
    """A flow that used what others left does not starve once they ask for more."""
    a, b = flows(2)
    clients = [Clients(a, 2), Clients(b, 40), Clients(a, 40, start=60)]
    trace = simulate(level(), clients, 65, seed=SEED)
    assert trace.seats(1, 60, 62) == pytest.approx(10, rel=0.2)


def test_bursts() -> None:
    """A flow that sends half of the time gets its share of that half, and the others the rest."""
    a, b, c = flows(3)
    clients = [
        Clients(flow, 30, service=(0.05, 0.15), period=period)
        for flow, period in ((a, None), (b, None), (c, 20))
    ]
    trace = simulate(level(), clients, 100, seed=SEED)
    for begin in range(0, 100, 20):
        burst = [trace.seats(who, begin + 0.5, begin + 10) for who in range(3)]
        assert burst == [pytest.approx(SEATS / 3, rel=0.02)] * 3
        # What the burst left in its queue is done within a second.
        rest = [trace.seats(who, begin + 11, begin + 20) for who in range(3)]
        assert rest == [pytest.approx(SEATS / 2, rel=0.02)] * 2 + [0]


def test_time_outs() -> None:
    """Requests that give up waiting cost their flow nothing and gain it nothing."""
    a, b, c = flows(3)
    clients = [
        Clients(a, 60, patience=0.2),
        Clients(b, 60),
        Clients(c, 60, patience=0.05),
    ]
    trace = simulate(level(), clients, 60, seed=SEED)
    assert trace.gave_up[0] > 100
    assert trace.gave_up[2] > 1000
    assert trace.gave_up[1] == 0
    expect_fair(trace, clients, (10, 60))


@pytest.mark.parametrize("count", [2, 4, 8])
def test_mixed_durations(count: int) -> None:
    """Long requests count for their length: flows share time, not numbers of requests."""
    durations = [(0.02, 0.04), (0.3, 0.5), (0.1, 0.1), (1.0, 1.5)]
    clients = [
        Clients(flow, 40, service=durations[i % 4], think=0.0)
        for i, flow in enumerate(flows(count))
    ]
    trace = simulate(level(), clients, 250, seed=SEED)
    expect_fair(trace, clients, (50, 250))


def test_requests_shorter_and_longer_than_the_guess() -> None:
    """The guessed service time of 3 ms favours nobody: it is corrected when a request ends."""
    a, b = flows(2)
    clients = [Clients(a, 20, service=0.001), Clients(b, 20, service=0.05)]
    trace = simulate(level(4), clients, 6, seed=SEED)
    expect_fair(trace, clients, (1, 6), seats=4)


@pytest.mark.parametrize("elephants", [1, 4])
def test_elephants_and_mice(elephants: int) -> None:
    """With real hands, mice get all they ask for, and wait no longer than a few requests."""
    queuing = Queuing(64, 8, 10_000)
    names = [Flow("s", f"user-{i}", flow_hash("s", f"user-{i}")) for i in range(elephants + 5)]
    clients = [Clients(flow, 200, service=(0.03, 0.07)) for flow in names[:elephants]]
    clients += [Clients(flow, 1, service=0.05, rate=10) for flow in names[elephants:]]
    server = QueueSet(0.0, "level", SEATS, queuing)
    trace = simulate(server, clients, 60, seed=SEED)
    full = {card for f in names[:elephants] for card in Dealer(64, 8).deal(f.hash)}
    for who, flow in enumerate(names[elephants:], elephants):
        assert not set(Dealer(64, 8).deal(flow.hash)) <= full
        # Alone a mouse would wait for nothing; here for the next seat to fall free.
        waits = sorted(wait for _, wait in trace.waits[who])
        assert waits[len(waits) // 2] < 0.025
        assert waits[-1] < 0.1
        assert trace.seats(who, 10, 60) == pytest.approx(clients[who].demand, rel=0.02)
    assert trace.idle_while_waiting == 0


def test_full_hands_reject_only_the_elephant() -> None:
    """A flow that fills its hand is refused while others still get in."""
    names = [Flow("s", f"user-{i}", flow_hash("s", f"user-{i}")) for i in range(2)]
    clients = [Clients(names[0], 500), Clients(names[1], 3)]
    trace = simulate(QueueSet(0.0, "level", 5, Queuing(64, 6, 20)), clients, 10, seed=SEED)
    assert trace.rejected[0] > 100
    assert trace.rejected[1] == 0


def dispatcher(*levels: tuple[str, int, int]) -> Dispatcher:
    """A dispatcher with levels (name, shares, lendable percent), each for the user of its name."""
    everything = (ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",)),)
    made = Dispatcher(0.0, 100)
    made.reconfigure(
        0.0,
        [
            FlowSchema(
                name=name,
                level=name,
                distinguisher=Distinguisher.BY_NAMESPACE,
                rules=(PolicyRule((Subject("User", name),), everything),),
            )
            for name, _, _ in levels
        ],
        [
            PriorityLevel(
                name=name,
                kind=LevelKind.QUEUE,
                shares=shares,
                lendable_percent=lendable,
                queuing=Queuing(64, 4, 10_000),
            )
            for name, shares, lendable in levels
        ],
    )
    return made


def request(user: str) -> RequestDigest:
    """A request of the user for whom there is a level."""
    return RequestDigest(user, ("system:authenticated",), "get", namespace="ns", resource="pods")


def seats_over(trace: Trace, who: int, since: float, length: float) -> float:
    """Mean seats of one of the clients from a moment on."""
    return trace.seats(who, since, since + length)


def test_lent_seats_are_used() -> None:
    """A busy level grows beyond its nominal limit by what idle levels lend."""
    server = dispatcher(("idle", 45, 80), ("busy", 50, 50))
    clients = [Clients(request("busy"), 200)]
    trace = simulate(server, clients, 60, every=[(ADJUSTMENT_PERIOD_S, server.adjust)])
    assert seats_over(trace, 0, 30, 30) > 70


def test_lent_seats_come_back_within_one_period() -> None:
    """From one adjustment period after its demand returns, a level has its nominal limit."""
    server = dispatcher(("lender", 45, 80), ("busy", 50, 50))
    clients = [Clients(request("busy"), 200), Clients(request("lender"), 200, start=55)]
    trace = simulate(server, clients, 100, every=[(ADJUSTMENT_PERIOD_S, server.adjust)])
    nominal = {level.name: level.limits.nominal for level in server.statistics(100).levels}
    minimum = {level.name: level.limits.minimum for level in server.statistics(100).levels}
    assert seats_over(trace, 1, 55.2, 4.5) >= minimum["lender"] * 0.98
    # The borrower's requests run on for up to their 0.1 s after the adjustment at 60.
    assert seats_over(trace, 1, 60.2, 39) >= nominal["lender"] * 0.98


def test_levels_do_not_starve_each_other() -> None:
    """A level that lends nothing has its nominal limit at any moment, whatever others do."""
    server = dispatcher(("firm", 20, 0), ("flood", 80, 90))
    clients = [Clients(request("flood"), 3000), Clients(request("firm"), 5, start=20, think=0.05)]
    trace = simulate(server, clients, 40, every=[(ADJUSTMENT_PERIOD_S, server.adjust)])
    assert max(wait for _, wait in trace.waits[1]) < TICK


def test_new_flow_does_not_wait_for_long_requests_of_another() -> None:
    """A mouse gets the next free seat, although an elephant's long requests are not yet done."""
    a, b = flows(2)
    clients = [
        Clients(a, 100, service=(2.0, 4.0)),
        Clients(b, 1, service=0.1, start=100),
    ]
    trace = simulate(level(), clients, 130, seed=SEED)
    waits = [wait for _, wait in trace.waits[1]]
    # Twenty seats of three seconds: one falls free every 0.15 s on average.
    assert sum(waits) / len(waits) < 0.3
    assert max(waits) < 1.5


def test_slow_elephant_at_twenty_times_capacity() -> None:
    """Mice keep their share beside an elephant that asks for twenty times the level."""
    a, *mice = flows(4)
    clients = [Clients(a, 20 * SEATS, service=(0.5, 1.5))]
    clients += [Clients(mouse, 1, service=(0.1, 0.3), rate=5) for mouse in mice]
    trace = simulate(level(), clients, 200, seed=SEED)
    expect_fair(trace, clients, (20, 200))
