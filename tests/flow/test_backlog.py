"""Cost of queues, in operations rather than in time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from kubetrio.flow.config import Queuing
from kubetrio.flow.queueset import QueueSet
from kubetrio.flow.seats import ONE_SEAT
from kubetrio.flow.ticket import Flow, Ticket


def lines(work: Callable[[], Any]) -> int:
    """Lines of Python executed by a call: operations, whatever the machine."""
    count = 0

    def local(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return local

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # a collection calls back what others have hung on it, and that has lines too
    sys.settrace(lambda *_: local)
    try:
        work()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count


def full(queues: int, each: int) -> tuple[QueueSet, Ticket]:
    """A level of one seat, in use, with so many requests waiting in each of its queues."""
    server = QueueSet(0.0, "level", 1, Queuing(queues, 1, each))
    flows = [Flow("schema", f"user-{i}", i) for i in range(queues)]
    first = server.arrive(0.0, flows[0], ONE_SEAT)
    assert isinstance(first, Ticket)
    for flow in flows * each:
        assert isinstance(server.arrive(0.0, flow, ONE_SEAT), Ticket)
    assert server.waiting == queues * each
    return server, first


def dispatching(queues: int, each: int) -> int:
    """Operations to finish a request and start the next."""
    server, first = full(queues, each)
    return lines(lambda: server.finish(1.0, first))


def arriving(queues: int, each: int) -> int:
    """Operations of one more arrival."""
    server, _ = full(queues, each)
    server.reconfigure(0.0, Queuing(queues, 1, each + 1))
    return lines(lambda: server.arrive(1.0, Flow("schema", "user-0", 0), ONE_SEAT))


def leaving(queues: int, each: int) -> int:
    """Operations to take a request out of the middle of its queue."""
    server, _ = full(queues, each)
    queue = server._backlog.used[queues // 2]
    ticket = list(queue.waiting)[each // 2]
    return lines(lambda: server.abandon(1.0, ticket))


@pytest.mark.parametrize("work", [dispatching, arriving, leaving])
def test_cost_does_not_grow_with_what_waits(work: Callable[[int, int], int]) -> None:
    """A hundred times as many requests in as many queues cost not one operation more."""
    assert work(8, 1000) == work(8, 10)


def test_dispatch_is_linear_in_the_queues_that_wait() -> None:
    """Each queue in which a request waits costs the same few operations."""
    few, some, many = (dispatching(queues, 4) for queues in (16, 32, 64))
    assert many - some == pytest.approx(2 * (some - few), rel=0.05)
    assert (many - few) / (64 - 16) < 12


def test_arrival_does_not_depend_on_the_number_of_queues() -> None:
    """Only the queues of a flow's hand are looked at."""
    assert arriving(64, 4) == arriving(8, 4)


def test_numbers_for_the_page_do_not_cost_a_look_at_every_request() -> None:
    """Twice a second for each open page, rows of 10,000 requests would be 60 ms of the loop."""

    def cost(each: int) -> int:
        server, _ = full(8, each)
        # What the garbage collector lets go of meanwhile may run lines of its own.
        return min(lines(server.flows) for _ in range(3))

    assert cost(1000) < 2 * cost(10)


def test_numbers_for_the_page_name_the_queues_that_hold_requests() -> None:
    """Their index, requests waiting and requests executing; other queues are only counted."""
    server, first = full(3, 2)
    flows = server.flows()
    assert (flows.queues, list(flows.used)) == (3, [(0, 2, 1), (1, 2, 0), (2, 2, 0)])
    server.finish(1.0, first)
    assert sum(executing for _, _, executing in server.flows().used) == 1
    assert list(QueueSet(0.0, "level", 1, Queuing(128, 1, 5)).flows().used) == []
    assert QueueSet(0.0, "level", 1, None).flows().queues == 0
