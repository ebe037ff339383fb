"""Passages against tickets: whoever looks must not see which of them a request had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.config import EXEMPT, PolicyRule, ResourceRule, Subject
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.entries import Entry
from kubetrio.flow.observe import SchemaHistograms
from kubetrio.flow.report import DispatcherStatistics
from kubetrio.flow.ticket import Ticket
from kubetrio.flow.ticketless import TicketlessRequests

EVERYTHING = (ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",)),)
MASTERS = (PolicyRule((Subject("Group", "system:masters"),), EVERYTHING),)
SEATS = 50


@dataclass(eq=False)
class Asked:
    about: RequestDigest
    started: float
    seat: Entry | Ticket | None = None
    gone: Callable[[], bool] | None = None


class ByTicket:
    """The reference: a ticket for each."""

    def __init__(self) -> None:
        self.dispatcher = Dispatcher(0.0, SEATS, held=True)
        self.under_way: dict[int, Ticket] = {}

    def arrive(self, t: float, number: int, about: RequestDigest) -> None:
        ticket = self.dispatcher.arrive(t, about, at_once=True)
        assert isinstance(ticket, Ticket)
        self.under_way[number] = ticket

    def leave(self, t: float, number: int) -> None:
        self.dispatcher.finish(t, self.under_way.pop(number))


class ByPassage:
    """What the gate does where there is nothing to wait for."""

    def __init__(self) -> None:
        self.dispatcher = Dispatcher(0.0, SEATS, held=True)
        self.ticketless = TicketlessRequests(self.dispatcher, lambda request: request.about)  # type: ignore[attr-defined]
        self.under_way: dict[int, Asked] = {}
        self.entries: dict[RequestDigest, Entry] = {}
        self.tickets = 0

    def arrive(self, t: float, number: int, about: RequestDigest) -> None:
        classified = self.dispatcher.classify(about)
        entry = self.entries.get(about)
        if entry is None:
            mutating = about.verb == "create"
            exempt = classified.level == EXEMPT
            histograms = SchemaHistograms()
            entry = self.entries[about] = Entry(
                classified, (), histograms, mutating, histograms.executed, exempt=exempt
            )
        asked = self.under_way[number] = Asked(about, t)
        if not self.ticketless.begin(asked, entry):
            self.ticketless.settle(t)
            ticket = self.dispatcher.arrive(t, about, classified=classified, at_once=True)
            assert isinstance(ticket, Ticket)
            asked.seat = ticket
            self.tickets += 1

    def leave(self, t: float, number: int) -> None:
        asked = self.under_way.pop(number)
        if isinstance(asked.seat, Ticket):
            self.ticketless.settle(t)
            self.dispatcher.finish(t, asked.seat)
        else:
            assert asked.seat is not None
            self.ticketless.end(asked, asked.seat, t)


def seen(numbers: DispatcherStatistics) -> DispatcherStatistics:
    """What is compared: all but virtual time, which moves with nobody waiting for it."""
    levels = []
    for level in numbers.levels:
        still = dict.fromkeys(("current_r", "dispatch_r", "latest_s"), 0)
        bounds = dict.fromkeys(("next_s_bounds", "next_discounted_s_bounds"), (0, 0))
        queues = replace(level.queues, **still, **bounds)  # type: ignore[arg-type]
        levels.append(replace(level, queues=queues))
    return replace(numbers, levels=tuple(levels))


USERS = st.sampled_from(
    [
        RequestDigest("admin", ("system:masters",), "get", resource="pods"),
        RequestDigest("admin", ("system:masters",), "create", resource="pods"),
        RequestDigest("someone", (), "get", resource="pods"),
    ]
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("arrive"), USERS),
        st.tuples(st.just("leave"), st.integers(0, 30)),
        st.tuples(st.just("wait"), st.integers(1, 2000)),
        st.tuples(st.just("look"), st.none()),
    ),
    max_size=60,
)


@settings(deadline=None)  # the first run imports
@given(EVENTS)
def test_requests_without_tickets_leave_the_numbers_of_tickets(
    events: list[tuple[str, RequestDigest | int | None]],
) -> None:
    """Requests executing, seats, counts and time-weighted histograms are those of tickets."""
    plain, quick = ByTicket(), ByPassage()
    milliseconds = serial = 0
    for what, argument in [*events, ("look", None)]:
        t = milliseconds / 1000
        if what == "arrive" and isinstance(argument, RequestDigest):
            serial += 1
            plain.arrive(t, serial, argument)
            quick.arrive(t, serial, argument)
        elif what == "leave" and isinstance(argument, int) and plain.under_way:
            number = sorted(plain.under_way)[argument % len(plain.under_way)]
            plain.leave(t, number)
            quick.leave(t, number)
        elif what == "wait" and isinstance(argument, int):
            milliseconds += argument
        elif what == "look":
            quick.ticketless.settle(t)
            ours, theirs = quick.dispatcher, plain.dispatcher
            assert seen(ours.statistics(t)) == seen(theirs.statistics(t))
            assert ours.executing == theirs.executing
            arrivals = [
                sorted(
                    (row.schema, row.arrived_at, row.started_at) for row in one.requests()[EXEMPT]
                )
                for one in (ours, theirs)
            ]
            assert arrivals[0] == arrivals[1]


def test_exempt_requests_need_no_tickets() -> None:
    """However many of them are under way, and whatever of them ends first."""
    quick = ByPassage()
    admin = RequestDigest("admin", ("system:masters",), "create", resource="pods")
    for number in range(20):
        quick.arrive(number / 10, number, admin)
    for number in reversed(range(20)):
        assert isinstance(quick.under_way[number].seat, Entry)
        quick.leave(4 - number / 10, number)
    quick.ticketless.settle(5.0)
    level = {one.name: one for one in quick.dispatcher.statistics(5.0).levels}[EXEMPT]
    assert (level.queues.executing, level.queues.dispatched) == (0, 20)
    assert quick.tickets == 0
