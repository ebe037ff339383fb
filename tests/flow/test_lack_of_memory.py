"""Verbs of flow control that get no memory: no seat is lost, and what waits runs later."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kubetrio
from kubetrio.flow.config import Queuing
from kubetrio.flow.outcomes import Rejected
from kubetrio.flow.queueset import QueueSet
from kubetrio.flow.seats import Width
from kubetrio.flow.ticket import Flow, Ticket, TicketState

FLOW = str(Path(kubetrio.__file__).parent / "flow")
FLOWS = tuple(Flow("schema", name, number) for number, name in enumerate("abc"))
WIDTHS = (Width(1), Width(2), Width(1, 2, 0.5))


class NoMemory:
    """Has the n-th call of flow control raise.

    Args:
        number: of the call, from 1.
    """

    def __init__(self, number: int) -> None:
        self.left = number
        self.where = ""

    def __call__(self, frame: types.FrameType, event: str, _: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(FLOW):
            return
        self.left -= 1
        if not self.left:
            self.where = frame.f_code.co_name
            sys.setprofile(None)
            raise MemoryError

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Count calls as long as the block lasts."""
        if self.left > 0:
            sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)


class Server:
    """A level, and the requests that it has told to run.

    Args:
        refusing: counts calls.
        held: whether starts are held.
    """

    def __init__(self, refusing: NoMemory, *, held: bool) -> None:
        self.refusing, self.held = refusing, held
        self.level = QueueSet(0.0, "level", 3, Queuing(3, 1, 20), held=held)
        self.now = 0.0
        self.running: list[Ticket] = []
        self.waiting: list[Ticket] = []

    def ask(self, verb: Callable[[], Any]) -> Any:
        """Use a verb; one that gets no memory as such gives nothing."""
        self.now += 0.25
        try:
            with self.refusing.armed():
                return verb()
        except MemoryError:
            return None

    def arrive(self, number: int) -> None:
        """Have a request come."""
        flow, width = FLOWS[number % 3], WIDTHS[number % len(WIDTHS)]
        outcome = self.ask(
            lambda: self.level.arrive(self.now, flow, width, at_once=number % 2 == 0)
        )
        if outcome is not None and not isinstance(outcome, Rejected):
            runs = outcome.state is TicketState.EXECUTING
            (self.running if runs else self.waiting).append(outcome)

    def begin(self, started: object) -> None:
        """Run what a verb has started."""
        for ticket in started if isinstance(started, tuple) else ():
            self.waiting.remove(ticket)
            self.running.append(ticket)

    def go_on(self) -> None:
        """Finish one request, and start what waits."""
        if self.running:
            ticket = self.running.pop(0)
            finished = self.ask(lambda: self.level.finish(self.now, ticket))
            assert finished is not None or ticket.state is TicketState.EXECUTING
            if finished is None:
                self.running.append(ticket)
            else:
                self.begin(finished.started)
        self.begin(self.ask(lambda: self.level.advance(self.now)))
        while self.held and (ticket := self.ask(lambda: self.level.take(self.now))) is not None:
            self.begin((ticket,))


def played(number: int, *, held: bool) -> str:
    """Play a history without memory for the n-th call; return where that was."""
    server = Server(NoMemory(number), held=held)
    for request in range(9):
        server.arrive(request)
    for request in range(9, 15):
        server.go_on()
        server.arrive(request)
    if server.waiting:
        left = server.waiting[-1]
        server.begin(server.ask(lambda: server.level.abandon(server.now, left)))
        if left.state is TicketState.LEFT:
            server.waiting.remove(left)
    for _ in range(100):
        server.now += 5
        server.go_on()
    assert not server.running, server.refusing.where
    assert not server.waiting, server.refusing.where
    seen = server.level.statistics(server.now)
    assert server.level.drained
    assert (seen.seats_in_use, seen.seats_waiting, seen.active_queues) == (0, 0, 0)
    (row,) = seen.schemas.values()
    assert (row.waiting_requests, row.waiting_seats) == (0, 0)
    assert (row.executing_requests, row.executing_seats) == (0, 0)
    return server.refusing.where


@pytest.mark.parametrize("held", [False, True], ids=["at once", "held"])
def test_no_seat_is_lost_wherever_memory_lacks(held: bool) -> None:
    """At every fifth call of a history, and the level is as new behind it."""
    places: set[str] = set()
    for number in range(1 + held, 3000, 5):
        where = played(number, held=held)
        if not where:
            break
        places.add(where)
    assert {"arrive", "append", "finish", "dispatched"} <= places


def test_what_executes_stays_counted() -> None:
    """The request without memory goes; those beside it keep their seats and their charge."""
    level = QueueSet(0.0, "level", 3, Queuing(3, 1, 20))
    first = level.arrive(0.0, FLOWS[0], Width(2))
    waits = level.arrive(0.0, FLOWS[1], Width(2))
    assert isinstance(first, Ticket)
    assert isinstance(waits, Ticket)
    before = level.statistics(1.0)
    third = level.arrive(1.0, FLOWS[2], Width(1))
    assert isinstance(third, Ticket)
    level.drop(third)
    after = level.statistics(1.0)
    assert (after.seats_in_use, after.seats_waiting) == (2, 2)
    assert (after.executing, after.waiting, after.active_queues) == (1, 1, 2)
    assert after.next_s_bounds == before.next_s_bounds
    assert level.finish(2.0, first).started == (waits,)
